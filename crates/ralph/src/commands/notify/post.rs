//! Puts messages to people beside a loop: what they are made of, how they are sent, and what is said
//! of those that were not.

use std::{path::Path, time::Duration};

use ralph_core::{
    config::{Config, NotifyConfig},
    notification::{BudgetAlert, NotificationWatch},
    secret::{NamedValue, Redaction},
};
use ralph_engine::{
    environment::Environment,
    notify::{self, Means, Outbox, Post, Trace},
    process::Containment,
    report::Reporter,
};

use crate::{error::CommandError, output, project::Project};

/// The configured ways to send messages.
pub(crate) fn means<'a>(
    project: &'a Project,
    environment: &'a Environment,
    containment: Containment,
) -> Means<'a> {
    let config = &project.config().notify;
    let name = config.webhook_token_env.as_ref();
    Means {
        config,
        environment,
        containment,
        token: name.and_then(|name| project.variable(name.as_str())),
    }
}

/// Refuses settings that this build of ralph has no part for, before anything is changed.
pub(crate) fn check_built_in(
    config: &NotifyConfig,
    has_webhooks: bool,
) -> Result<(), CommandError> {
    if config.webhook.is_some() && !has_webhooks {
        let error = "`notify.webhook` is set, and this build of ralph has no webhooks";
        return Err(CommandError::user(error).hint(WEBHOOK_HINT));
    }
    Ok(())
}

/// How to get a build that can send to a webhook.
pub(crate) const WEBHOOK_HINT: &str =
    "build ralph with `--features webhook`, or use `notify.command`";

/// Puts a listener before the reporter of a loop. Must be called within its runtime.
pub(crate) fn attach(
    project: &Project,
    reporter: Box<dyn Reporter>,
    means: &Means<'_>,
) -> Result<(Box<dyn Reporter>, Outbox), CommandError> {
    let config = project.config();
    check_built_in(&config.notify, notify::HAS_WEBHOOKS)?;
    let alert = config.loop_.max_cost_usd.map(|max| BudgetAlert {
        max,
        percent: config.notify.budget_alert_percent,
    });
    let post = Post {
        watch: NotificationWatch::new(project_name(project.root()), alert),
        on: config.notify.on.clone(),
        redaction: redaction(config, means),
        ways: notify::ways(means),
        trace: Trace::in_folder(&project.data_dir()?),
        timeout: Duration::from_secs(config.notify.timeout_seconds.get().into()),
    };
    Ok(notify::attach(reporter, post))
}

/// Waits for the messages under way, unless they are given up, and says what was not sent. `failure` is why
/// ralph itself could not go on, where the loop has not said it.
pub(crate) async fn close(
    outbox: Outbox,
    failure: Option<&str>,
    give_up: impl Future<Output = ()>,
) {
    if let Some(why) = failure {
        outbox.failed(why, Project::now());
    }
    for trouble in outbox.finish(give_up).await {
        output::print_warning(&trouble);
    }
}

/// The name of the folder, which a person knows the project by.
pub(crate) fn project_name(root: &Path) -> String {
    let name = root.file_name().unwrap_or(root.as_os_str());
    name.to_string_lossy().into_owned()
}

/// Hides all that is known to be secret, and every value that the configuration gives to agents.
pub(crate) fn redaction(config: &Config, means: &Means<'_>) -> Redaction {
    let mut config = config.clone();
    let values = config.agent_envs().flat_map(|env| env.0.iter());
    let values = values.map(|(name, value)| NamedValue::new(name, value));
    means.environment.redaction().with(values)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn with_webhook(url: Option<&str>) -> NotifyConfig {
        let url = url.map(|url| serde_json::from_value(url.into()).unwrap());
        NotifyConfig {
            webhook: url,
            ..NotifyConfig::default()
        }
    }

    #[test]
    fn a_webhook_that_is_not_built_in_is_refused_by_name() {
        let config = with_webhook(Some("https://hooks.test.invalid/x"));
        let error = check_built_in(&config, false).unwrap_err();
        assert_eq!(error.exit_code(), 2);
        assert_eq!(
            error.sentences(),
            ["`notify.webhook` is set, and this build of ralph has no webhooks"]
        );
        assert_eq!(
            error.hint_text(),
            Some("build ralph with `--features webhook`, or use `notify.command`")
        );
    }

    #[test]
    fn what_is_built_in_or_not_wanted_is_taken() {
        let config = with_webhook(Some("https://hooks.test.invalid/x"));
        assert!(check_built_in(&config, true).is_ok());
        assert!(check_built_in(&with_webhook(None), false).is_ok());
    }
}
