//! One run of an agent within an iteration: its context, limits and watchers, and what came of it.

use std::{ffi::OsString, time::Duration};

use async_trait::async_trait;
use ralph_core::{
    agent::{AgentReport, Ending},
    config::{StoreMode, SyncPart},
    event::Event,
    iteration::{AgentEnded, RanBy, StepDone},
    signal::{parse_signals, without_prompt},
};

use super::{
    AgentSeen, IterationContext, IterationFiles, LimitOwner, Services,
    cost::{budget_left, run_cost, stopped_by_its_cost},
    handoff::{handoff_of_run, handoff_watcher},
    logs::ReportTap,
};
use crate::{
    agent::{Conclusion, Credential, DoneFile, RunContext, run_line},
    environment::Environment,
    error::LoopError,
    failpoint::failpoint,
    heartbeat::LoopActivity,
    process::{CommandSpec, SpawnError},
    supervisor::{
        AgentRunSpec, CostWatcher, HandoffWatcher, HealthWatcher, MeterWatcher, QuietLimits,
        RunDeadline, RunLimits, RunPorts, SpaceWatcher, SupervisedRun, TreeProbe, WatchedRun,
        Watcher, agent_report, run_agent,
    },
    workspace::{Workspace, check_there},
};

/// The prompt of a run, and its number.
#[derive(Clone, Copy)]
pub(super) struct PlannedPrompt<'a> {
    pub(super) run: u32,
    pub(super) text: &'a str,
}

/// Everything that a run of an iteration is watched for.
struct RunWatchers {
    cost: Option<CostWatcher>,
    space: Option<SpaceWatcher>,
    use_of_machine: Option<MeterWatcher>,
    health: HealthWatcher,
    handoff: Option<HandoffWatcher>,
}

impl RunWatchers {
    /// Health before handoff: it must hear of a choice that the other one follows.
    fn all(&mut self) -> Vec<&mut dyn Watcher> {
        let mut all: Vec<&mut dyn Watcher> = Vec::new();
        all.extend(self.cost.as_mut().map(|w| w as &mut dyn Watcher));
        all.extend(self.space.as_mut().map(|w| w as &mut dyn Watcher));
        let meter = self.use_of_machine.as_mut();
        all.extend(meter.map(|w| w as &mut dyn Watcher));
        all.push(&mut self.health);
        all.extend(self.handoff.as_mut().map(|w| w as &mut dyn Watcher));
        all
    }
}

/// Starts the agent, and reads what it made of its prompt.
pub(super) async fn run(
    context: &mut IterationContext<'_>,
    workspace: &mut dyn Workspace,
    services: &mut Services<'_>,
    files: &mut IterationFiles,
    prompt: PlannedPrompt<'_>,
) -> Result<StepDone, LoopError> {
    context.agent = AgentSeen::Started;
    let done_file = workspace.before_run(context.job)?;
    tell_run_started(context, services, files, prompt.run);
    let store = &context.job.config.store;
    if store.mode() == StoreMode::Sync && store.include.contains(&SyncPart::Prompts) {
        files.keep_prompt(prompt.run, prompt.text);
    }
    let run = run_context(context, workspace, services, prompt);
    let mut watchers = run_watchers(context, &*workspace, services);
    let ran = supervise(
        context,
        workspace,
        services,
        files,
        (&run, &done_file, &mut watchers),
    )
    .await?;
    failpoint("agent-ended");
    check_there(workspace.root())?;
    workspace.after_run(context.job)?;
    // An agent that can't be started is an outcome like any other: the record says so.
    let SupervisedRun {
        mut report,
        failed_calls,
    } = ran.unwrap_or_else(|error| SupervisedRun {
        report: unavailable(&error.to_string()),
        failed_calls: Vec::new(),
    });
    context.log.failed_calls = failed_calls;
    let was_full = watchers.space.and_then(SpaceWatcher::into_flag);
    context.log.flags.extend(was_full);
    if let Some(cost) = watchers.cost {
        *services.unpriced = cost.into_unpriced();
    }
    if matches!(report.ending, Ending::TimedOut { .. })
        && context.deadline.whose == LimitOwner::Command
    {
        // The end of the command's own time is a stop, not a failure of this task.
        report.ending = Ending::Stopped;
    }
    let credentials = services.agent.facts().credentials;
    name_withheld_keys(&mut report.ending, services.environment, credentials);
    name_hidden_program(&mut report.ending, services.environment, &run.env);
    stopped_by_its_cost(context, &mut report);
    let elapsed = Duration::try_from_secs_f64(report.seconds).unwrap_or_default();
    let health = watchers.health.ended(&report.ending, elapsed);
    report.health = health.state;
    for event in health.told {
        files.event(&event);
        services.tell(&event);
    }
    let said = without_prompt(&report.final_message, prompt.text);
    let mut signals = parse_signals(&said, &context.job.task.id);
    if let Some(goal) = &context.job.goal {
        signals = goal.restrict_signals(signals);
    }
    if signals.claim.is_none() {
        signals.claim = workspace.claim_in_files(context.job, &done_file);
    }
    let asked = watchers.handoff.as_ref().and_then(|h| h.asked().cloned());
    let handoff = handoff_of_run(context, asked, &report, &signals);
    let by = RanBy {
        agent: services.agent_name.clone(),
        command: shown_command(&services.agent.command(&run)),
    };
    Ok(StepDone::AgentEnded(Box::new(AgentEnded {
        by,
        report,
        signals,
        handoff,
    })))
}

fn tell_run_started(
    context: &IterationContext<'_>,
    services: &mut Services<'_>,
    files: &mut IterationFiles,
    run: u32,
) {
    let agent = services.agent_name.clone();
    let failure = context.log.failure.as_ref();
    files.heading(&format!("agent {agent} run {run}"));
    files.stream.push(run_line(run, &agent).as_bytes());
    services.tell(&Event::RunStarted {
        run,
        agent,
        fix_only: failure.is_some(),
        tail: failure.map(|f| f.tail.clone()).unwrap_or_default(),
    });
}

fn run_context(
    context: &IterationContext<'_>,
    workspace: &dyn Workspace,
    services: &Services<'_>,
    prompt: PlannedPrompt<'_>,
) -> RunContext {
    let job = context.job;
    let own = [
        ("RALPH_TASK_ID", job.task.id.to_string()),
        ("RALPH_ITERATION", job.number.to_string()),
        ("RALPH_ATTEMPT", job.attempt.to_string()),
        ("RALPH_RUN", prompt.run.to_string()),
        ("RALPH_RUN_ID", format!("{}-{}", job.iteration, prompt.run)),
        ("RALPH_PURPOSE", job.purpose().as_str().to_owned()),
    ];
    RunContext {
        cwd: workspace.root().to_owned(),
        env: services
            .environment
            .for_agent(services.agent.facts().credentials, &own),
        prompt: prompt.text.to_owned(),
        labels: job.task.labels.clone(),
        budget: budget_left(context),
    }
}

/// The watchers of a run that begins now.
fn run_watchers(
    context: &IterationContext<'_>,
    workspace: &dyn Workspace,
    services: &mut Services<'_>,
) -> RunWatchers {
    let cost =
        run_cost(context).map(|cost| CostWatcher::new(cost, std::mem::take(services.unpriced)));
    let watched = WatchedRun {
        iteration: context.job.number,
        task: context.job.task.id.to_string(),
        agent: services.agent_name.clone(),
    };
    let heartbeat = services.heartbeat.clone();
    let policy = context.job.config.health.clone();
    let limits = run_limits(context);
    let quiet = QuietLimits {
        idle: limits.idle,
        idle_with_tool: limits.idle_with_tool,
    };
    let now = services.clock.now();
    let health = HealthWatcher::new(policy, watched, quiet, heartbeat, now);
    // Written once, with all that is new.
    services.does(LoopActivity::Agent, None);
    let sandbox = services.environment.sandbox.as_deref();
    RunWatchers {
        cost,
        space: workspace.space().map(SpaceWatcher::new),
        use_of_machine: sandbox.map(|sandbox| MeterWatcher::new(sandbox.limits())),
        health,
        handoff: handoff_watcher(context),
    }
}

/// Runs the agent while the loop may ask for something, and the reporter is told.
async fn supervise(
    context: &mut IterationContext<'_>,
    workspace: &mut dyn Workspace,
    services: &mut Services<'_>,
    files: &mut IterationFiles,
    (run, done_file, watchers): (&RunContext, &DoneFile, &mut RunWatchers),
) -> Result<Result<SupervisedRun, SpawnError>, LoopError> {
    let limits = run_limits(context);
    let mut tap = ReportTap::new(&mut files.text, services.reporter, services.clock);
    let spec = AgentRunSpec {
        agent: services.agent,
        context: run,
        containment: services.containment,
        keeper: services.environment.keeper,
        mounts: workspace.mounts()?,
        sandbox: services.environment.sandbox.as_deref(),
        limits: &limits,
        redaction: services.environment.redaction(),
        done_file: Some(done_file),
    };
    let ports = RunPorts {
        watchers: watchers.all(),
        control: services.link.control(),
        tap: &mut tap,
        tree: Some(&WorkspaceTree(workspace)),
        log: &mut files.stream,
    };
    let ran = run_agent(spec, ports).await;
    context.guidance.extend(services.link.take_told());
    Ok(ran)
}

/// The work of the agent so far, without ralph's own folder.
struct WorkspaceTree<'a>(&'a dyn Workspace);

#[async_trait(?Send)]
impl TreeProbe for WorkspaceTree<'_> {
    async fn fingerprint(&self) -> Option<u64> {
        self.0.fingerprint().await
    }
}

fn run_limits(context: &IterationContext<'_>) -> RunLimits {
    let config = &context.job.config.loop_;
    RunLimits {
        deadline: Some(RunDeadline {
            at: context.deadline.at,
            minutes: context.deadline.minutes,
        }),
        idle: config.idle_minutes.duration(),
        idle_with_tool: config.idle_minutes_tool.duration(),
        grace: Duration::from_secs(u64::from(config.stop_grace_seconds.get())),
    }
}

/// A key that ralph withholds is the likeliest reason why an agent is not let in.
fn name_withheld_keys(ending: &mut Ending, environment: &Environment, own: &'static [Credential]) {
    let Ending::Auth { message } = ending else {
        return;
    };
    let keys = environment.keys_withheld_from(own);
    if !keys.is_empty() {
        let some = keys[..keys.len().min(5)].join(", ");
        message.push_str(&format!(
            " (withheld from agents: {some}; `safety.pass_env` lets a variable through)"
        ));
    }
}

/// A program that it needs may be out of sight.
fn name_hidden_program(
    ending: &mut Ending,
    environment: &Environment,
    vars: &[(OsString, OsString)],
) {
    let Ending::Unavailable { message } = ending else {
        return;
    };
    let sandbox = environment.sandbox.as_deref();
    if let Some(hint) = sandbox.and_then(|sandbox| sandbox.hint_of_hidden(message, vars)) {
        message.push_str(&format!(" ({hint})"));
    }
}

/// The report of an agent that could not be started.
fn unavailable(message: &str) -> AgentReport {
    let ending = Ending::Unavailable {
        message: message.to_owned(),
    };
    agent_report(Conclusion::new(ending, String::new()), 0, Duration::ZERO)
}

/// The command line of an agent's program, for the record: never its prompt or its environment, and not
/// what is written inline, where a secret may stand.
fn shown_command(spec: &CommandSpec) -> Vec<String> {
    let text = |word: &OsString| match word.to_string_lossy() {
        word if word.trim_start().starts_with('{') => "(inline JSON)".to_owned(),
        word => word.into_owned(),
    };
    std::iter::once(&spec.program)
        .chain(&spec.args)
        .map(text)
        .collect()
}
