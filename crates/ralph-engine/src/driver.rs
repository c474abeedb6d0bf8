//! The driver: a small loop over a pure state machine. The machine says what to do; the driver does
//! it, writes it into the journal, and tells whoever watches.
//!
//! Decides nothing that the core can decide. Stops in one place; clean-up lives once, after the loop.

mod attend;
mod baseline;
mod begin;
mod board;
mod bundle;
mod config_files;
mod desk;
mod files;
mod hands;
mod idle;
mod inspect;
mod iterate;
mod keep;
mod land;
mod logs;
mod notes;
mod obey;
mod preview;
mod reconcile;
mod record;
mod restore;
mod start;
mod text;
mod verify;
mod wait;

pub use begin::{Setup, Wanted};
pub use board::{Board, Scope};
pub use hands::Fallback;
pub use idle::{Idle, Left, obey_waiting, register};
pub use preview::{Preview, preview};

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
        AfterLimit, Decision, Fate, Last, LimitRow, Limits, Settled, Standing, Stop, Work, Worker,
        decide,
    },
    verdict::Verdict,
    verify::VerifyReport,
};

use self::{
    obey::{Heard, Pace},
    reconcile::Leftover,
};
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
    line: obey::Line,
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
    /// The number of the last iteration.
    number: u64,
    /// Usage limits that were met in a row.
    limit: Option<LimitRow>,
}

#[derive(Debug)]
struct LastIteration {
    task: TaskId,
    verdict: Verdict,
    settled: Settled,
}

/// Whether the baseline is known.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Measured {
    Yes,
    NotYet,
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
        self.recall_limits().await?;
        self.obey().await?;
        self.tell_questions().await?;
        self.settle_leftover().await?;
        let mut measured = Measured::NotYet;
        loop {
            self.obey().await?;
            let decision = self.decide(began);
            self.settle(decision.fate).await?;
            match self.ask_person().await? {
                Heard::Something => continue,
                Heard::Nothing => {}
            }
            let stop = self.aborted().or(decision.stop);
            // Who paused is there, and may be about to answer.
            if self.line.pace == Pace::Paused && matches!(stop, None | Some(Stop::Question)) {
                self.rest().await?;
                continue;
            }
            if let Some(stop) = stop {
                return Ok(stop);
            }
            if measured == Measured::NotYet {
                self.measure_baseline().await?;
                measured = Measured::Yes;
                continue;
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
                return Ok(
                    match (self.board.all_complete(), self.board.open_questions()) {
                        (true, _) => Stop::AllComplete,
                        (false, 0) => Stop::NothingReady,
                        (false, _) => Stop::Question,
                    },
                );
            };
            let status = self.repo.status().await?;
            if let Some(reason) = self.not_ours(&status) {
                return Ok(Stop::Halted { reason });
            }
            let verdict = self.iterate(&task, status, began).await?;
            let (at, worker) = (self.now(), self.hands.worker());
            self.tally.note(&task, &verdict, at, worker);
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
            last: last.map(|last| Last {
                settled: last.settled,
                ..self.board.last(&last.task, &last.verdict, &self.config)
            }),
            iterations: self.tally.iterations,
            now: self.now(),
            elapsed: began.elapsed(),
            errors_in_a_row: self.tally.errors_in_a_row,
            fruitless: self.tally.fruitless,
            fruitless_tasks: u32::try_from(self.tally.fruitless_tasks.len()).unwrap_or(u32::MAX),
            work: Work {
                all_complete: self.board.all_complete(),
                other_ready: self.board.ready_besides(last.map(|l| &l.task)),
                same_ready: last.is_some_and(|l| self.board.is_ready(&l.task)),
                questions: self.board.open_questions(),
            },
            limit: self.tally.limit,
            main_back_at: self.hands.back_at(),
            signal: *self.stop.borrow(),
        };
        decide(&standing, &self.limits)
    }

    /// Does to the last task what was decided, once.
    async fn settle(&mut self, fate: Fate) -> Result<(), LoopError> {
        let Some(last) = self.tally.last.as_mut() else {
            return Ok(());
        };
        last.settled = Settled::Yes;
        let (task, verdict, n) = (last.task.clone(), last.verdict.clone(), self.tally.number);
        self.settle_task(&task, fate, (&verdict, n)).await
    }

    async fn settle_task(
        &mut self,
        task: &TaskId,
        fate: Fate,
        after: (&Verdict, u64),
    ) -> Result<(), LoopError> {
        match fate {
            Fate::Keep => Ok(()),
            Fate::SetAside { question } => self.set_aside(task, question, after).await,
            Fate::Block { reason } => self.block(task, reason).await,
        }
    }

    /// A crash may have come between the end of an iteration and what follows from it.
    async fn settle_leftover(&mut self) -> Result<(), LoopError> {
        let Some(record) = self.journal.last_records(&self.loop_id, 1).await?.pop() else {
            return Ok(());
        };
        let Ok(task) = TaskId::parse(&record.task_id) else {
            return Ok(());
        };
        let source = self.board.source.name().to_owned();
        let questions = self.journal.questions(&self.repository, &source).await?;
        let asked = questions.iter().any(|q| q.iteration == record.iteration);
        if asked || !self.board.is_ready(&task) {
            return Ok(());
        }
        let last = self.board.last(&task, &record.verdict, &self.config);
        let fate = ralph_core::termination::fate(&last, &self.limits);
        let after = (&record.verdict, record.iteration);
        self.settle_task(&task, fate, after).await
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
    fn note(&mut self, task: &TaskId, verdict: &Verdict, at: Timestamp, worker: Worker) {
        self.last = Some(LastIteration {
            task: task.clone(),
            verdict: verdict.clone(),
            settled: Settled::NotYet,
        });
        // It says nothing of the task or the agent: nothing is counted.
        if let Verdict::LimitHit { .. } = verdict {
            return self.limited(at, worker);
        }
        self.limit = None;
        // Cut short by a person: it is the same iteration when it is begun again.
        if *verdict == Verdict::Interrupted {
            return;
        }
        self.iterations += 1;
        self.errors_in_a_row = if verdict.is_agent_error() {
            self.errors_in_a_row + 1
        } else {
            0
        };
        if *verdict == Verdict::Verified {
            self.fruitless = 0;
            self.fruitless_tasks.clear();
        } else if *verdict != Verdict::Escalated {
            // A question is no failure: others may be ready that have none.
            self.fruitless += 1;
            self.fruitless_tasks.insert(task.clone());
        }
    }

    fn limited(&mut self, at: Timestamp, of: Worker) {
        let before = self.limit;
        self.limit = Some(LimitRow {
            count: before.map_or(0, |row| row.count).saturating_add(1),
            since: before.map_or(at, |row| row.since),
            last_at: at,
            of,
        });
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
    fn last<'a>(&self, task: &TaskId, verdict: &'a Verdict, config: &Config) -> Last<'a> {
        let state = self.state(task);
        Last {
            verdict,
            attempts: self.attempts(task),
            max_attempts: self.max_attempts(task, config),
            same_failure: state.map_or(0, |s| s.same_failure),
            settled: Settled::NotYet,
        }
    }
}
