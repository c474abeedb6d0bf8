//! One run of an agent without a conversation, for its final message or for what it writes.
//!
//! Says how the run ended; what its words are worth is for others to judge.

use std::{collections::HashSet, ffi::OsString, fs::File, path::PathBuf, time::Duration};

use ralph_core::{
    agent::{AgentEvent, AgentReport},
    config::Config,
    secret::Redaction,
};

use crate::{
    agent::{Agent, RunContext, RunCost, StopRequest},
    process::{CappedLog, Containment, KeeperName, LogCaps, SpawnError},
    sandbox::Sandbox,
    supervisor::{
        AgentRunSpec, AgentTap, CostWatcher, RunDeadline, RunLimits, RunPorts, StopOnly, Watcher,
        run_agent,
    },
};

/// The input that every run of an interview has in common.
#[derive(Debug, Clone)]
pub struct Headless<'a> {
    pub cwd: PathBuf,
    /// The whole environment, already scrubbed.
    pub env: Vec<(OsString, OsString)>,
    pub containment: Containment,
    /// The walls around it.
    pub sandbox: Option<&'a Sandbox>,
    /// Takes secrets out of its prompt and of what it says.
    pub redaction: Redaction,
}

/// Runs the agent with a prompt to its end. `cost` is what it may cost.
pub async fn run_headless(
    agent: &dyn Agent,
    headless: &Headless<'_>,
    config: &Config,
    cost: Option<RunCost>,
    prompt: String,
    stop: &mut StopRequest,
) -> Result<AgentReport, SpawnError> {
    let context = RunContext {
        cwd: headless.cwd.clone(),
        env: headless.env.clone(),
        prompt: headless.redaction.hide(&prompt).into_owned(),
        labels: Vec::new(),
        budget: cost
            .as_ref()
            .map(|cost| cost.limit.max.without(cost.limit.spent)),
    };
    let limit = config.loop_.max_minutes_per_iteration.duration();
    let limits = RunLimits {
        deadline: Some(RunDeadline {
            at: std::time::Instant::now() + limit,
            minutes: limit.as_secs() / 60,
        }),
        idle: config.loop_.idle_minutes.duration(),
        idle_with_tool: config.loop_.idle_minutes_tool.duration(),
        grace: Duration::from_secs(u64::from(config.loop_.stop_grace_seconds.get())),
    };
    let mut cost = cost.map(|cost| CostWatcher::new(cost, HashSet::new()));
    let mut log = nowhere(agent)?;
    let spec = AgentRunSpec {
        agent,
        context: &context,
        containment: headless.containment,
        keeper: KeeperName::default(),
        mounts: None,
        sandbox: headless.sandbox,
        limits: &limits,
        redaction: &headless.redaction,
        done_file: None,
    };
    let ports = RunPorts {
        watchers: cost.iter_mut().map(|w| w as &mut dyn Watcher).collect(),
        control: &mut StopOnly::new(stop),
        tap: &mut NoTap,
        tree: None,
        log: &mut log,
    };
    Ok(run_agent(spec, ports).await?.report)
}

/// Drops what is said on the way: the result is in files and the final message.
fn nowhere(agent: &dyn Agent) -> Result<CappedLog, SpawnError> {
    let sink = File::options().write(true).open("/dev/null");
    let sink = sink.map_err(|source| SpawnError::Contain {
        program: agent.name(),
        step: "opening /dev/null",
        source,
    })?;
    Ok(CappedLog::new(sink, LogCaps::default()))
}

struct NoTap;

impl AgentTap for NoTap {
    fn agent_event(&mut self, _event: AgentEvent) {}
}
