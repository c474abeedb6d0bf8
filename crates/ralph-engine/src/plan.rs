//! Asks an agent for a plan: one that reads and answers, in rounds until the answer will do.
//!
//! Each round is a fresh process. No file of the repository may be different afterwards: what an
//! agent changed is put back where that is sure, and named where it is not. Writes no tasks, and
//! decides nothing about an answer: that is the caller's, by what it checks.

mod watch;

pub use watch::{Changes, Remains};

use std::{
    collections::HashSet,
    path::{Path, PathBuf},
    time::{Duration, Instant},
};

use ralph_core::{
    agent::{AgentEvent, AgentReport, Ending, Usage},
    economics::{Alert, BudgetAction},
    plan::Repair,
    prompt::TemplateError,
};

use crate::{
    agent::{Agent, RunContext, StopRequest},
    clock::{Clock as _, SystemClock},
    dot_ralph,
    environment::Environment,
    git::{self, GitError, Repo},
    identity,
    lock::{Lock, LockError, LockUse},
    plain_file,
    process::{CappedLog, Containment, LogCaps, SpawnError},
    side_budget::SideBudget,
    store::JournalError,
    supervisor::{
        AgentRunSpec, AgentTap, CostWatcher, RunDeadline, RunLimits, RunPorts, StopOnly, Watcher,
        run_agent,
    },
};
use watch::Before;

/// Of an agent's raw stream this much is kept.
const LOG_BYTES: u64 = 8 * 1024 * 1024;
const LOG_TAIL: usize = 1024 * 1024;

/// The agent to ask for a plan, and its limits.
pub struct PlanRequest {
    /// The name of what is asked for: `plan` leaves `plan.stream` and `plan-answer.txt` in `.ralph/logs/`.
    pub name: &'static str,
    pub root: PathBuf,
    pub data_dir: PathBuf,
    pub agent: Box<dyn Agent>,
    pub containment: Containment,
    pub environment: Environment,
    pub git_environment: git::GitEnvironment,
    pub stop: StopRequest,
    pub patience: PlanLimits,
    /// The budget, in which the cost is recorded too.
    pub budget: SideBudget,
    /// Hears what the agent does as it does it.
    pub onlooker: Box<dyn FnMut(&AgentEvent)>,
}

#[derive(Debug, Clone, Copy)]
pub struct PlanLimits {
    /// Rounds at most: the first, and those that put an answer right.
    pub rounds: u32,
    /// For all rounds together.
    pub time: Duration,
    pub idle: Duration,
    pub idle_with_tool: Duration,
    pub grace: Duration,
}

/// The prompt, and the check of an answer.
pub struct Question<'a, T> {
    pub prompt: &'a dyn Fn(Option<&Repair>) -> Result<String, TemplateError>,
    /// The value of an answer, or what is wrong with it, in sentences.
    pub check: &'a dyn Fn(&str) -> Result<T, Vec<String>>,
}

/// The result of asking for a plan. Never an error: an agent that fails is an outcome.
#[derive(Debug)]
pub struct PlanReport<T> {
    pub outcome: Outcome<T>,
    pub agent: String,
    pub rounds: u32,
    /// Of all rounds.
    pub usage: Usage,
    /// The files that the agent changed although it was to read only.
    pub changes: Changes,
    /// Where its last answer is, if it gave one.
    pub answer_file: Option<PathBuf>,
}

#[derive(Debug)]
pub enum Outcome<T> {
    Answered(T),
    /// The last answer, too, would not do.
    Wrong {
        faults: Vec<String>,
    },
    /// The agent gave no answer.
    Ended(Ending),
    /// A budget does not let an agent be started.
    Denied(Alert),
}

#[derive(Debug, thiserror::Error)]
pub enum PlanError {
    #[error(transparent)]
    Lock(#[from] LockError),
    #[error(transparent)]
    Git(#[from] GitError),
    #[error(transparent)]
    Template(#[from] TemplateError),
    #[error(transparent)]
    Journal(#[from] JournalError),
    #[error("can't write {path}")]
    File {
        path: PathBuf,
        source: std::io::Error,
    },
}

pub async fn ask<T>(
    mut asking: PlanRequest,
    question: &Question<'_, T>,
) -> Result<PlanReport<T>, PlanError> {
    // A loop that works here would change files, and be blamed on the one that is asked.
    let _lock = Lock::acquire(&asking.data_dir, &asking.root, LockUse::Command)?;
    let state_dir = state_dir(&asking)?;
    let repo = Repo::open(&asking.root, &state_dir, &asking.git_environment).await?;
    let logs = logs_folder(&asking.root)?;
    let before = Before::look(&repo).await?;
    let mut log = open_log(&logs.join(format!("{}.stream", asking.name)))?;
    let talk = converse(&mut asking, question, &mut log, &logs).await;
    // Whatever happened, the files are looked at.
    let changes = before.compare(&repo).await?;
    let talk = talk?;
    Ok(PlanReport {
        outcome: talk.outcome,
        agent: asking.agent.name(),
        rounds: talk.rounds,
        usage: talk.usage,
        changes,
        answer_file: talk.answer_file,
    })
}

struct PlanRounds<T> {
    outcome: Outcome<T>,
    rounds: u32,
    usage: Usage,
    answer_file: Option<PathBuf>,
}

async fn converse<T>(
    asking: &mut PlanRequest,
    question: &Question<'_, T>,
    log: &mut CappedLog,
    logs: &Path,
) -> Result<PlanRounds<T>, PlanError> {
    let until = Instant::now() + asking.patience.time;
    let mut usage = Usage::default();
    let mut repair: Option<Repair> = None;
    let mut answer_file = None;
    let mut round = 0;
    let outcome = loop {
        round += 1;
        let prompt = (question.prompt)(repair.as_ref())?;
        if let BudgetAction::Deny { alert } = asking.budget.ask_budgets(SystemClock.now()).await? {
            break Outcome::Denied(alert);
        }
        let report = run_round(asking, prompt, round, until, log).await;
        let report = match report {
            Ok(report) => report,
            // One that can't be started is an outcome like any other.
            Err(error) => {
                let message = error.to_string();
                break Outcome::Ended(Ending::Unavailable { message });
            }
        };
        let agent = asking.agent.name();
        let recorded = asking.budget.record(&agent, &report, SystemClock.now());
        recorded.await?;
        usage.add(&report.usage);
        if report.ending != Ending::Finished {
            break Outcome::Ended(report.ending);
        }
        let answer = report.final_message;
        answer_file = Some(keep_answer(logs, asking.name, &answer)?);
        match (question.check)(&answer) {
            Ok(value) => break Outcome::Answered(value),
            Err(faults) if round >= asking.patience.rounds => break Outcome::Wrong { faults },
            Err(faults) => repair = Some(Repair { answer, faults }),
        }
    };
    Ok(PlanRounds {
        outcome,
        rounds: round,
        usage,
        answer_file,
    })
}

async fn run_round(
    asking: &mut PlanRequest,
    prompt: String,
    round: u32,
    until: Instant,
    log: &mut CappedLog,
) -> Result<AgentReport, SpawnError> {
    let patience = asking.patience;
    let context = RunContext {
        cwd: asking.root.clone(),
        env: asking.environment.for_agent(
            asking.agent.facts().credentials,
            &[("RALPH_RUN", round.to_string())],
        ),
        prompt: asking.environment.redaction().hide(&prompt).into_owned(),
        labels: Vec::new(),
        budget: asking.budget.left(),
    };
    let limits = RunLimits {
        deadline: Some(RunDeadline {
            at: until,
            minutes: patience.time.as_secs() / 60,
        }),
        idle: patience.idle,
        idle_with_tool: patience.idle_with_tool,
        grace: patience.grace,
    };
    let cost = asking.budget.run_cost();
    let mut cost = cost.map(|cost| CostWatcher::new(cost, HashSet::new()));
    log.push(crate::agent::run_line(round, &asking.agent.name()).as_bytes());
    let spec = AgentRunSpec {
        agent: &*asking.agent,
        context: &context,
        containment: asking.containment,
        keeper: asking.environment.keeper,
        mounts: None,
        sandbox: asking.environment.sandbox.as_deref(),
        limits: &limits,
        redaction: asking.environment.redaction(),
        done_file: None,
    };
    let ports = RunPorts {
        watchers: cost.iter_mut().map(|w| w as &mut dyn Watcher).collect(),
        control: &mut StopOnly::new(&mut asking.stop),
        tap: &mut EventTap(&mut *asking.onlooker),
        tree: None,
        log,
    };
    Ok(run_agent(spec, ports).await?.report)
}

/// Passes the events of the agent on.
struct EventTap<'a>(&'a mut dyn FnMut(&AgentEvent));

impl AgentTap for EventTap<'_> {
    fn agent_event(&mut self, event: AgentEvent) {
        (self.0)(&event);
    }
}

/// Apart from that of loops, which an interrupted one may still need.
fn state_dir(asking: &PlanRequest) -> Result<PathBuf, PlanError> {
    let name = identity::worktree_name(&asking.root);
    let path = asking.data_dir.join("plans").join(name);
    match std::fs::create_dir_all(&path) {
        Ok(()) => Ok(path),
        Err(source) => Err(PlanError::File { path, source }),
    }
}

fn logs_folder(root: &Path) -> Result<PathBuf, PlanError> {
    let path = root.join(dot_ralph::FOLDER).join("logs");
    let made = dot_ralph::ensure(root).and_then(|()| std::fs::create_dir_all(&path));
    match made {
        Ok(()) => Ok(path),
        Err(source) => Err(PlanError::File { path, source }),
    }
}

fn open_log(path: &Path) -> Result<CappedLog, PlanError> {
    let caps = LogCaps {
        total: LOG_BYTES,
        tail: LOG_TAIL,
    };
    let made = plain_file::make_room(path).and_then(|()| CappedLog::create(path, caps));
    made.map_err(|source| PlanError::File {
        path: path.to_owned(),
        source,
    })
}

/// The answer as it was given, for a person to look at where it would not do.
fn keep_answer(logs: &Path, name: &str, answer: &str) -> Result<PathBuf, PlanError> {
    let path = logs.join(format!("{name}-answer.txt"));
    match plain_file::replace(&path, answer.as_bytes()) {
        Ok(()) => Ok(path),
        Err(source) => Err(PlanError::File { path, source }),
    }
}
