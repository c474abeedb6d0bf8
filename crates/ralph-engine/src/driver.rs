//! The driver: a small loop over a pure state machine. The machine says what to do; the driver does
//! it, writes it into the journal, and tells whoever watches.
//!
//! Decides nothing that the core can decide. Stops in one place; clean-up lives once, after the loop.

mod baseline;
mod begin;
mod board;
mod bundle;
mod config_files;
mod cost;
mod files;
mod hands;
mod inspect;
mod iterate;
mod keep;
mod land;
mod logs;
mod notes;
mod onlooker;
mod patch;
mod preview;
mod reconcile;
mod record;
mod restore;
pub mod rewrite;
mod text;
mod verify;
mod wait;

pub use begin::{Setup, Wanted};
pub use board::{Board, Scope};
pub use hands::Fallback;
pub use preview::{Preview, preview};
pub use rewrite::{revert, squash};

use std::{collections::HashSet, path::PathBuf, time::Instant};

use jiff::Timestamp;
use ralph_core::{
    agent::Usage,
    change::{BadGlob, CompiledPolicy},
    config::Config,
    event::{Blocked, Event},
    iteration::IllegalStep,
    prompt::TemplateError,
    select::UnknownTask,
    task::{TaskId, graph::Problem},
    termination::{
        AfterLimit, Decision, Fate, Last, LimitRow, Limits, Standing, Stop, Work, Worker, decide,
    },
    verdict::Verdict,
    verify::VerifyReport,
};

use self::reconcile::Leftover;
use crate::{
    agent::StopRequest,
    clock::Clock,
    environment::Environment,
    git::{GitError, Guard, Oid, Repo, RepoProblem, Status},
    lock::{Lock, LockError},
    process::Containment,
    report::Reporter,
    source::{Snapshots, SourceError},
    store::{Journal, JournalError, RepositoryId},
};

/// Why ralph itself could not go on. Everything else is an outcome.
#[derive(Debug, thiserror::Error)]
pub enum LoopError {
    #[error(transparent)]
    Git(#[from] GitError),
    #[error(transparent)]
    Repository(#[from] RepoProblem),
    #[error("the working tree has changes that are not committed: {}", paths.join(", "))]
    Dirty { paths: Vec<String> },
    #[error(transparent)]
    Source(#[from] SourceError),
    #[error("{}", list_problems(.0))]
    Graph(Vec<String>),
    #[error(transparent)]
    UnknownTask(#[from] UnknownTask),
    #[error("task {0} is a container: its leaves are worked on, not itself")]
    Container(TaskId),
    #[error(transparent)]
    Journal(#[from] JournalError),
    #[error(transparent)]
    Lock(#[from] LockError),
    #[error(transparent)]
    Template(#[from] TemplateError),
    #[error(transparent)]
    BadGlob(#[from] BadGlob),
    #[error(transparent)]
    IllegalStep(#[from] IllegalStep),
    #[error("can't {what} {path}")]
    File {
        what: &'static str,
        path: PathBuf,
        source: std::io::Error,
    },
    /// A revert or squash that a crash cut off could not be brought to an end.
    #[error(transparent)]
    Rewrite(#[from] Box<rewrite::RewriteError>),
    /// An agent or a person left the branch while no ralph was there to see it.
    #[error("HEAD is at {found}, but an interrupted loop works on branch {branch}")]
    LeftBranch { branch: String, found: String },
    /// An agent had edited `ralph.yaml` when ralph was killed. It is put back; read it again.
    #[error("{0} was edited while an agent ran, and is put back")]
    ConfigRestored(PathBuf),
}

fn list_problems(problems: &[String]) -> String {
    match problems {
        [one] => one.clone(),
        many => format!(
            "{} problems in the task graph:\n  {}",
            many.len(),
            many.join("\n  ")
        ),
    }
}

impl LoopError {
    fn graph(problems: &[Problem], place: impl Fn(&Problem) -> String) -> Self {
        Self::Graph(
            problems
                .iter()
                .map(|p| format!("{}: {p}", place(p)))
                .collect(),
        )
    }
}

/// Everything a running loop has at hand.
pub struct Driver {
    root: PathBuf,
    state_dir: PathBuf,
    repo: Repo,
    guard: Option<Guard>,
    journal: Journal,
    repository: RepositoryId,
    loop_id: String,
    branch: String,
    base: Oid,
    config: Config,
    config_files: config_files::ConfigFiles,
    policy: CompiledPolicy,
    board: Board,
    snapshots: Snapshots,
    /// Task files that are not on the board, and ralph's to leave alone all the same.
    other_sources: Vec<PathBuf>,
    hands: hands::Hands,
    containment: Containment,
    environment: Environment,
    baseline: Option<VerifyReport>,
    limits: Limits,
    stop: StopRequest,
    clock: Box<dyn Clock>,
    reporter: Box<dyn Reporter>,
    tally: RunTally,
    _lock: Option<Lock>,
}

/// What this run of the command comes to.
#[derive(Debug, Default)]
struct RunTally {
    iterations: u32,
    errors_in_a_row: u32,
    fruitless: u32,
    fruitless_tasks: HashSet<TaskId>,
    usage: Usage,
    last: Option<LastIteration>,
    /// Usage limits that were met in a row.
    limit: Option<LimitRow>,
}

#[derive(Debug)]
struct LastIteration {
    task: TaskId,
    verdict: Verdict,
}

/// How a loop ended.
#[derive(Debug, Clone, PartialEq)]
pub struct LoopReport {
    pub stop: Stop,
    pub iterations: u32,
}

/// Runs a loop from its start to its stop.
pub async fn run_loop(setup: Setup) -> Result<LoopReport, LoopError> {
    let began = Instant::now();
    let mut driver = Driver::begin(setup).await?;
    let stop = driver.work(began).await?;
    driver.end(stop, began).await
}

impl Driver {
    /// Iterates until something says stop.
    async fn work(&mut self, began: Instant) -> Result<Stop, LoopError> {
        self.reconcile(Leftover::GoOn).await?;
        self.recall_limits(began).await?;
        if !self.board.has_work() {
            return Ok(self.decide(began).stop.unwrap_or(Stop::NothingReady));
        }
        self.measure_baseline().await?;
        loop {
            let decision = self.decide(began);
            self.settle(decision.fate).await?;
            if let Some(stop) = decision.stop {
                return Ok(stop);
            }
            if let Some(limit) = decision.limit {
                self.follow(limit).await;
                if matches!(limit, AfterLimit::Wait { .. }) {
                    continue;
                }
            }
            self.choose_worker();
            self.reload_tasks().await?;
            let Some(task) = self.board.next() else {
                // Somebody edited the task file in between.
                return Ok(if self.board.all_complete() {
                    Stop::AllComplete
                } else {
                    Stop::NothingReady
                });
            };
            let status = self.repo.status().await?;
            if let Some(reason) = self.not_ours(&status) {
                return Ok(Stop::Halted { reason });
            }
            let verdict = self.iterate(&task, status, began).await?;
            self.note_verdict(&task, &verdict);
        }
    }

    fn note_verdict(&mut self, task: &TaskId, verdict: &Verdict) {
        let (at, worker) = (self.now(), self.hands.worker());
        match (verdict, worker) {
            (Verdict::LimitHit { .. }, _) => {
                let max_wait = self.limits.usage.max_wait;
                let row = LimitRow::next(self.tally.limit, at, worker, max_wait);
                self.tally.no_iteration(task, verdict, Some(row));
            }
            (Verdict::AgentUnavailable { .. }, Worker::Fallback) => {
                self.tally.no_iteration(task, verdict, self.tally.limit);
            }
            _ => self.tally.note(task, verdict),
        }
    }

    /// Why the working tree is not what an iteration may start from: somebody else is at work in it.
    fn not_ours(&self, status: &Status) -> Option<String> {
        if status.branch.as_deref() != Some(&self.branch) {
            let now = status.branch.as_deref().unwrap_or("no branch");
            return Some(format!("HEAD is on {now} now, not on {}", self.branch));
        }
        let foreign = self.foreign_changes(status);
        if foreign.is_empty() {
            return None;
        }
        Some(format!("somebody else changed {}", foreign.join(", ")))
    }

    fn decide(&self, began: Instant) -> Decision {
        let last = self.tally.last.as_ref();
        let standing = Standing {
            last: last.map(|last| self.board.last(&last.task, &last.verdict, &self.config)),
            iterations: self.tally.iterations,
            now: self.now(),
            elapsed: began.elapsed(),
            spent: self.tally.spent(),
            errors_in_a_row: self.tally.errors_in_a_row,
            fruitless: self.tally.fruitless,
            fruitless_tasks: u32::try_from(self.tally.fruitless_tasks.len()).unwrap_or(u32::MAX),
            work: Work {
                all_complete: self.board.all_complete(),
                other_ready: self.board.ready_besides(last.map(|l| &l.task)),
                same_ready: last.is_some_and(|l| self.board.is_ready(&l.task)),
            },
            limit: self.tally.limit,
            main_back_at: self.hands.back_at(),
            signal: *self.stop.borrow(),
        };
        decide(&standing, &self.limits)
    }

    /// Does to the last task what was decided.
    async fn settle(&mut self, fate: Fate) -> Result<(), LoopError> {
        let Some(task) = self.tally.last.as_ref().map(|l| l.task.clone()) else {
            return Ok(());
        };
        match fate {
            Fate::Keep => Ok(()),
            Fate::SetAside { question } => self.set_aside(&task, question).await,
            Fate::Block { reason } => self.block(&task, reason).await,
        }
    }

    async fn end(mut self, stop: Stop, began: Instant) -> Result<LoopReport, LoopError> {
        let now = self.clock.now();
        self.journal.end_loop(&self.loop_id, &stop, now).await?;
        if let Some(guard) = self.guard.take() {
            guard.release()?;
        }
        let event = Event::LoopEnded {
            sentence: stop.sentence(),
            hint: stop.hint().map(str::to_owned),
            exit_code: stop.exit_code(),
            iterations: self.tally.iterations,
            tasks: self.board.tally(),
            seconds: began.elapsed().as_secs_f64(),
            usage: self.tally.usage,
            blocked: self.board.blocked(),
            stop: stop.clone(),
        };
        self.tell(&event);
        self.reporter.finish();
        self.journal.close().await?;
        Ok(LoopReport {
            stop,
            iterations: self.tally.iterations,
        })
    }

    fn tell(&mut self, event: &Event) {
        self.reporter.report(event, self.clock.now());
    }

    fn now(&self) -> Timestamp {
        self.clock.now()
    }
}

impl RunTally {
    /// Nobody could work, which says nothing of the task or the loop: nothing is counted.
    fn no_iteration(&mut self, task: &TaskId, verdict: &Verdict, limit: Option<LimitRow>) {
        self.last = Some(LastIteration {
            task: task.clone(),
            verdict: verdict.clone(),
        });
        self.limit = limit;
    }

    fn note(&mut self, task: &TaskId, verdict: &Verdict) {
        self.no_iteration(task, verdict, None);
        self.iterations += 1;
        self.errors_in_a_row = if verdict.is_agent_error() {
            self.errors_in_a_row + 1
        } else {
            0
        };
        if *verdict == Verdict::Verified {
            self.fruitless = 0;
            self.fruitless_tasks.clear();
        } else {
            self.fruitless += 1;
            self.fruitless_tasks.insert(task.clone());
        }
    }
}

/// What blocks what, for a person: bounded.
fn blocked_lines(blocked: Vec<(TaskId, Vec<ralph_core::select::Blocker>)>) -> Vec<Blocked> {
    blocked
        .into_iter()
        .map(|(task, by)| Blocked {
            task: task.to_string(),
            by: by.iter().map(ToString::to_string).collect(),
        })
        .collect()
}

/// The settled history of the last iteration, for deciding what follows from it.
impl Board {
    fn last<'a>(&self, task: &'a TaskId, verdict: &'a Verdict, config: &Config) -> Last<'a> {
        let state = self.state(task);
        Last {
            task,
            verdict,
            attempts: self.attempts(task),
            max_attempts: self.max_attempts(task, config),
            same_failure: state.map_or(0, |s| s.same_failure),
        }
    }
}
