//! The limits and policies of the configuration, in the words of the core.
//!
//! Only puts values where they belong; decides nothing.

use ralph_core::{
    breaker::BreakerPolicy,
    change::ChangePolicy,
    config::Config,
    termination::{LimitPolicy, Limits, Span},
};

use crate::agent::kinds;

pub(super) fn limits(config: &Config, span: Span) -> Limits {
    Limits {
        max_iterations: config.loop_.max_iterations,
        max_time: config.loop_.max_minutes.as_ref().map(|m| m.duration()),
        max_cost: config.loop_.max_cost_usd,
        on_max_attempts: config.loop_.on_max_attempts,
        gutter: super::gutter::policy(config),
        max_errors: config.loop_.max_errors.get(),
        max_recoveries: config.health.max_recoveries,
        max_no_progress: config.loop_.max_no_progress.get(),
        usage: LimitPolicy {
            on_limit: config.limits.on_usage_limit,
            max_wait: config.limits.max_wait_minutes.duration(),
            unknown_wait: config.limits.unknown_wait_minutes.duration(),
        },
        span,
    }
}

pub(crate) fn change(config: &Config) -> ChangePolicy {
    let globs = |list: &[ralph_core::config::GlobPattern]| {
        list.iter().map(|g| g.as_str().to_owned()).collect()
    };
    let agent_settings = kinds().iter().flat_map(|kind| kind.settings);
    ChangePolicy {
        protected: globs(&config.safety.protected_paths),
        max_file_bytes: u64::from(config.safety.max_file_mb.get()) * 1024 * 1024,
        secret_allowlist: globs(&config.safety.secret_allow),
        protect_tests: config.safety.protect_tests,
        verify_lands: globs(&config.verification.lands),
        agent_settings: agent_settings.map(|path| (*path).to_owned()).collect(),
    }
}

pub(super) fn breaker(config: &Config) -> BreakerPolicy {
    let breaker = &config.breaker;
    BreakerPolicy {
        failures: breaker.failures.get(),
        window: breaker.window.get(),
        cooldown: breaker.cooldown_minutes.duration(),
    }
}
