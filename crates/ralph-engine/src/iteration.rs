//! One iteration: takes a job, works on it in a workspace, and gives back an outcome.
//!
//! Performs what the core's state machine asks for. Knows no task board, no queue of commands and no
//! journal: what it has to write down or ask goes through a [`LoopLink`]. It lands nothing: an outcome
//! that may land is landed by the loop.

mod agent;
mod bundle;
mod cost;
mod diagnosis;
mod flow_results;
mod handoff;
mod inspect;
mod keep;
mod logs;
mod replay;
mod verify;
mod wait;

pub(crate) use bundle::bundle;
pub(crate) use cost::accounts;
pub(crate) use diagnosis::{DIAGNOSIS_FOLDER, MOST_TOLD, prepare_diagnosis, what_to_find_out};
pub use flow_results::kept_at as flow_results_kept_at;
pub(crate) use inspect::Findings;
#[cfg(feature = "team")]
pub(crate) use logs::PROMPT;
pub(crate) use logs::{IterationFiles, LOGS};
pub(crate) use verify::{CommandRun, VerifyPorts, run_verify_commands};
pub(crate) use wait::{Wait, WaitEnd, WaitPorts, wait_until};

use std::{
    collections::HashSet,
    time::{Duration, Instant},
};

use async_trait::async_trait;
use ralph_core::{
    event::Event,
    iteration::{Action, Iteration, StepDone},
    job::{IterationLog, JOB_VERSION, Job, JobLimits, LandingState, Outcome},
    loop_machine::WorkMoved,
    record::Guidance,
    verdict::Verdict,
};

use crate::{
    agent::{Agent, StopRequest},
    clock::Clock,
    environment::Environment,
    error::LoopError,
    failpoint::failpoint,
    git::Oid,
    heartbeat::{HeartbeatWriter, LoopActivity},
    journal_text::oid,
    process::Containment,
    report::Reporter,
    store::Step,
    supervisor::AgentControl,
    workspace::{Workspace, check_there},
};

/// The loop that an iteration belongs to, as far as the iteration talks to it.
#[async_trait(?Send)]
pub(crate) trait LoopLink {
    /// Takes a step that is done or about to be; it is written with the next flush, or with the end.
    fn add_step(&mut self, step: Step);

    /// Makes the steps so far durable.
    async fn flush(&mut self) -> Result<(), LoopError>;

    /// The same where a run has ended and another begins: the phase that ended is kept as a checkpoint.
    async fn flush_phase(&mut self, log: &IterationLog) -> Result<(), LoopError>;

    /// Returns what people said that the next run of an agent is told.
    async fn guidance(&mut self) -> Result<Vec<Guidance>, LoopError>;

    /// Takes what people said to the running agent.
    fn take_told(&mut self) -> Vec<Guidance>;

    /// The control of a running agent.
    fn control(&mut self) -> &mut dyn AgentControl;
}

/// Everything that an iteration works with besides its workspace.
pub(crate) struct Services<'a> {
    pub(crate) agent: &'a dyn Agent,
    /// The agent's name in records.
    pub(crate) agent_name: String,
    pub(crate) containment: Containment,
    pub(crate) environment: &'a Environment,
    pub(crate) clock: &'a dyn Clock,
    pub(crate) reporter: &'a mut dyn Reporter,
    pub(crate) stop: StopRequest,
    pub(crate) heartbeat: Option<HeartbeatWriter>,
    pub(crate) link: &'a mut dyn LoopLink,
    /// Models of which it was said that they have no price.
    pub(crate) unpriced: &'a mut HashSet<String>,
}

impl Services<'_> {
    pub(crate) fn tell(&mut self, event: &Event) {
        self.reporter.report(event, self.clock.now());
    }

    fn does(&self, activity: LoopActivity, quiet_until: Option<jiff::Timestamp>) {
        if let Some(heartbeat) = &self.heartbeat {
            heartbeat.set_activity(activity, quiet_until);
        }
    }
}

/// An iteration on its way.
pub(crate) struct IterationContext<'a> {
    pub(crate) job: &'a Job,
    pub(crate) base: Oid,
    pub(crate) machine: Iteration,
    pub(crate) log: IterationLog,
    /// The progress file as the agent found it.
    pub(crate) progress: String,
    pub(crate) agent: AgentSeen,
    /// The tree that an attempt that is continued made of the working tree.
    pub(crate) continued: Option<Oid>,
    /// Where the branch stood when the tree was staged.
    pub(crate) tip: Option<Oid>,
    /// Guidance of people that the agents are told.
    pub(crate) guidance: Vec<Guidance>,
    pub(crate) moved: WorkMoved,
    deadline: Deadline,
}

/// Whether an agent was started: until then, what is in the tree is only what ralph put there.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum AgentSeen {
    NotYet,
    Started,
}

impl<'a> IterationContext<'a> {
    pub(crate) fn new(job: &'a Job, progress: String) -> Result<Self, LoopError> {
        Ok(Self {
            base: oid(&job.start.base_commit)?,
            machine: Iteration::new(job.policy),
            log: IterationLog::default(),
            progress,
            agent: AgentSeen::NotYet,
            continued: None,
            tip: None,
            guidance: job.prompt.guidance.clone(),
            moved: WorkMoved::Yes,
            deadline: Deadline::of(&job.limits),
            job,
        })
    }

    /// Takes the steps that the journal has of an iteration that was cut off.
    pub(crate) fn fold(&mut self, steps: &[Step]) -> Result<(), LoopError> {
        for step in steps {
            if let Step::Done(done) = step {
                self.log.observe(done);
                self.machine.apply(done)?;
            }
        }
        Ok(())
    }
}

/// Works on a job from its prompt to its outcome.
pub(crate) async fn run(
    job: &mut Job,
    workspace: &mut dyn Workspace,
    services: &mut Services<'_>,
) -> Result<Outcome, LoopError> {
    let continued = match workspace.start(job).await? {
        Ok(continued) => continued,
        // What was kept may not fit a branch that went on: then the base is the start.
        Err(message) => {
            services.tell(&Event::Notice { message });
            job.start.attempt_ref = None;
            None
        }
    };
    let mut context = IterationContext::new(job, workspace.progress().read()?)?;
    context.continued = continued;
    workspace.progress().write(&context.progress)?;
    go_on(context, workspace, services).await
}

/// Works on an iteration that was about to land when a person moved the branch.
pub(crate) async fn go_on_after_move(
    job: &Job,
    steps: &[Step],
    before: Outcome,
    workspace: &mut dyn Workspace,
    services: &mut Services<'_>,
) -> Result<Outcome, LoopError> {
    let mut context = IterationContext::new(job, workspace.progress().read()?)?;
    context.fold(steps)?;
    context.agent = AgentSeen::Started;
    context.log = before.log;
    context.guidance = before.guidance;
    go_on(context, workspace, services).await
}

/// Works on an iteration from wherever it stands.
pub(crate) async fn go_on(
    mut context: IterationContext<'_>,
    workspace: &mut dyn Workspace,
    services: &mut Services<'_>,
) -> Result<Outcome, LoopError> {
    let config = &context.job.config;
    let mut files = IterationFiles::open(
        workspace.root(),
        context.job.number,
        config.logs.max_mb.get(),
    )?;
    drive(&mut context, workspace, services, &mut files).await?;
    files.close();
    outcome(context, workspace).await
}

/// Performs actions until the tree is to land, or only the record is left to write.
async fn drive(
    context: &mut IterationContext<'_>,
    workspace: &mut dyn Workspace,
    services: &mut Services<'_>,
    files: &mut IterationFiles,
) -> Result<(), LoopError> {
    let mut prompt = String::new();
    loop {
        check_there(workspace.root())?;
        let action = context.machine.next();
        if let Some(done) = cost::out_of_budget(context, &action) {
            note(context, services, &done).await?;
            continue;
        }
        let done = match action {
            Action::Bundle { run, fix } => {
                context.guidance = services.link.guidance().await?;
                let made = bundle(context, workspace, run, fix.as_ref()).await?;
                prompt = services.environment.redaction().hide(&made).into_owned();
                files.heading(&format!("prompt of run {run}"));
                files.line(&prompt);
                StepDone::Bundled {
                    prompt_bytes: prompt.len() as u64,
                }
            }
            Action::StartAgent { run } => {
                let run = agent::PlannedPrompt { run, text: &prompt };
                agent::run(context, workspace, services, files, run).await?
            }
            Action::Wait { attempt, message } => {
                let began = Instant::now();
                let done =
                    wait::wait_for_api(context, workspace, services, attempt, &message).await?;
                context.deadline = context.deadline.put_off(began.elapsed());
                done
            }
            Action::Inspect => inspect::inspect(context, workspace, services, files).await?,
            Action::Verify => match replay::replay(context, workspace, services, files).await? {
                Some(done) => done,
                None => verify::verify(context, workspace, services, files).await?,
            },
            Action::Keep { verdict } => keep::keep(context, workspace, &verdict).await?,
            Action::Land | Action::Record { .. } | Action::Done => return Ok(()),
        };
        note(context, services, &done).await?;
    }
}

/// Moves on, and has steps written down where a crash must not lose them: after an agent, and before
/// what can't be taken back. The others wait for the next of these writes.
pub(crate) async fn note(
    context: &mut IterationContext<'_>,
    services: &mut Services<'_>,
    done: &StepDone,
) -> Result<(), LoopError> {
    let done = &services.environment.redaction().hide_in(done.clone());
    context.log.observe(done);
    context.machine.apply(done)?;
    let link = &mut *services.link;
    link.add_step(Step::Done(done.clone()));
    match (done, context.machine.next()) {
        // The first run's intent was written when the iteration began.
        (StepDone::Bundled { .. }, _) if context.machine.run() == 1 => {}
        (StepDone::Bundled { .. }, _) => {
            link.add_step(Step::Intent("agent".into()));
            link.flush_phase(&context.log).await?;
        }
        (StepDone::AgentEnded(_), _) => {
            link.flush().await?;
            failpoint("agent-recorded");
        }
        // With the next run's intent.
        (StepDone::Waited { .. }, _) => {}
        (StepDone::Inspected { .. }, _) => failpoint("inspected"),
        (StepDone::Verified { .. }, Action::Land) => {
            link.add_step(Step::Intent("land".into()));
            link.flush().await?;
            failpoint("land-intended");
        }
        (StepDone::Verified { .. }, _) => {
            link.flush().await?;
            failpoint("verified");
        }
        (StepDone::Landed { .. } | StepDone::LandRefused { .. }, _) => failpoint("landed"),
        // Brought to the same place again after a crash.
        (StepDone::LandMoved | StepDone::Replayed { .. } | StepDone::Overtaken { .. }, _) => {}
        (StepDone::Kept { .. } | StepDone::Interrupted, _) => failpoint("kept"),
        (StepDone::OutOfBudget { .. } | StepDone::Recorded, _) => {}
    }
    Ok(())
}

/// Gathers what an iteration came to.
async fn outcome(
    context: IterationContext<'_>,
    workspace: &mut dyn Workspace,
) -> Result<Outcome, LoopError> {
    let (verdict, landing) = match context.machine.next() {
        Action::Land => (context.machine.landed_as(), LandingState::Due),
        Action::Record { verdict } => (verdict, LandingState::Settled),
        // Recorded before a crash: only the files are left, and they can wait.
        _ => (Verdict::Interrupted, LandingState::Settled),
    };
    let trace = keep::trace(&context, workspace, &verdict).await?;
    let diagnosis = diagnosis::diagnosis(&context, workspace, &verdict);
    Ok(Outcome {
        version: JOB_VERSION,
        iteration: context.job.iteration.clone(),
        landing,
        agent_started: context.agent == AgentSeen::Started,
        tree_ref: context.log.kept.clone(),
        tip: context.tip.map(|tip| tip.to_string()),
        unverified: context.machine.is_unverified(),
        last_run: context.machine.run(),
        moved: context.moved,
        trace,
        diagnosis,
        guidance: context.guidance,
        log: context.log,
        verdict,
    })
}

/// Keeps the work of an outcome that was to land, and was refused.
pub(crate) async fn keep_refused(
    job: &Job,
    outcome: &mut Outcome,
    workspace: &mut dyn Workspace,
) -> Result<StepDone, LoopError> {
    let mut context = IterationContext::new(job, workspace.progress().read()?)?;
    context.agent = AgentSeen::Started;
    context.log = std::mem::take(&mut outcome.log);
    let kept = keep::keep(&mut context, workspace, &outcome.verdict).await;
    outcome.log = context.log;
    let kept = kept?;
    outcome.log.observe(&kept);
    outcome.tree_ref = outcome.log.kept.clone();
    Ok(kept)
}

/// When a run of an agent must be over, and by whose limit.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Deadline {
    at: Instant,
    minutes: u64,
    whose: LimitOwner,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum LimitOwner {
    Iteration,
    /// Of the command: `loop.max_minutes`.
    Command,
}

impl Deadline {
    /// The nearer one of the iteration's own limit and that of the command, from now.
    fn of(limits: &JobLimits) -> Self {
        let now = Instant::now();
        let own = Self {
            at: now + Duration::from_millis(limits.own_ms),
            minutes: limits.own_ms / 60_000,
            whose: LimitOwner::Iteration,
        };
        let command = limits.run_left_ms.map(|left| Self {
            at: now + Duration::from_millis(left),
            minutes: limits.run_minutes,
            whose: LimitOwner::Command,
        });
        command.filter(|command| command.at < own.at).unwrap_or(own)
    }

    /// Returns what is left of the time of the command, where that is the limit.
    fn left_of_command(self) -> Option<Duration> {
        match self.whose {
            LimitOwner::Iteration => None,
            LimitOwner::Command => Some(self.at.saturating_duration_since(Instant::now())),
        }
    }

    /// A wait is not the agent's time; it is the command's.
    fn put_off(self, waited: Duration) -> Self {
        match self.whose {
            LimitOwner::Iteration => Self {
                at: self.at + waited,
                ..self
            },
            LimitOwner::Command => self,
        }
    }
}

#[cfg(test)]
mod tests;
