//! The driver: a small loop over a pure state machine. The machine says what to do; the driver does
//! it, writes it into the journal, and tells whoever watches.
//!
//! Decides nothing that the core can decide. Stops in one place; clean-up lives once, after the loop.

mod artefacts;
mod attend;
mod baseline;
mod begin;
mod board;
mod budget;
mod bundle;
mod checkpoint;
mod config_files;
mod cost;
mod desk;
mod error;
mod files;
mod foresee;
mod given_up;
mod goal;
mod gutter;
mod hand_over;
mod hands;
mod health;
mod idle;
mod inspect;
mod iterate;
mod keep;
mod kept;
mod land;
mod logs;
mod mind;
mod notes;
mod obey;
mod onlooker;
mod patch;
mod place;
mod policies;
mod preview;
mod reconcile;
mod record;
mod restore;
pub mod rewrite;
mod settle;
mod standing;
mod start;
mod tally;
mod text;
mod verify;
mod wait;

pub use artefacts::{Execution, Iterations, Mode, project_of};
pub use begin::{Setup, Wanted};
pub use board::{Board, Scope};
pub use checkpoint::{Asked, create_checkpoint};
pub use error::LoopError;
pub use goal::{goal_of, write_goal};
pub use hands::Fallback;
pub use idle::{Idle, Left, obey_waiting, register};
pub use kept::{Bounds, bounds_of};
pub use preview::{Preview, preview};
pub use rewrite::{revert, squash};

use std::{path::PathBuf, time::Instant};

use jiff::Timestamp;
use ralph_core::{
    breaker::Breaker,
    change::CompiledPolicy,
    config::Config,
    economics::Prices,
    event::{Blocked, Event},
    goal::Goal,
    task::TaskId,
    termination::{
        AfterLimit, Decision, Last, LimitRow, Limits, Standing, Stop, Work, Worker, decide,
    },
    verdict::Verdict,
    verify::VerifyReport,
};

use self::{
    budget::MaySpend,
    health::{Doing, Gate, Pulse},
    obey::{Heard, Pace},
    reconcile::Leftover,
    tally::RunTally,
};
use crate::{
    agent::StopRequest,
    clock::Clock,
    environment::Environment,
    git::{Guard, Oid, Repo, Status},
    lock::Lock,
    loop_files::LoopFiles,
    process::Containment,
    report::Reporter,
    source::Snapshots,
    store::{Journal, RepositoryId},
};

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
    /// The project that is executed, where it is one.
    artefacts: Option<artefacts::Artefacts>,
    /// The goal that is worked at, where it is one.
    goal: Option<Goal>,
    hands: hands::Hands,
    containment: Containment,
    environment: Environment,
    baseline: Option<VerifyReport>,
    limits: Limits,
    /// What of them flags said.
    bounds: kept::Bounds,
    prices: Prices,
    stop: StopRequest,
    line: obey::Line,
    clock: Box<dyn Clock>,
    reporter: Box<dyn Reporter>,
    tally: RunTally,
    /// What others can read of this loop; none where nothing is begun, or it can't be written.
    loop_files: Option<LoopFiles>,
    breaker: Breaker,
    /// Its heartbeat, where its files can be written.
    pulse: Option<Pulse>,
    _lock: Option<Lock>,
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
        let worktree = self.root.to_string_lossy().into_owned();
        let records = self
            .journal
            .last_records(&self.repository, &worktree)
            .await?;
        self.recall_limits(&records, began);
        self.recall_breaker(&records);
        drop(records);
        self.obey().await?;
        self.note_edits().await?;
        self.tell_questions().await?;
        self.settle_leftover().await?;
        self.foresee_at_start().await?;
        let mut measured = Measured::NotYet;
        loop {
            self.does(Doing::Between, None);
            self.obey().await?;
            let decision = self.decide(began);
            self.settle(decision.fate).await?;
            match self.ask_person().await? {
                Heard::Something => continue,
                Heard::Nothing => {}
            }
            let stop = self.aborted().or(decision.stop);
            let stop = stop.map(|stop| self.for_want_of_money(stop));
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
                self.run_status()?;
                continue;
            }
            if let Some(limit) = decision.limit {
                self.follow(limit).await;
                if matches!(limit, AfterLimit::Wait { .. }) {
                    continue;
                }
            }
            match self.pass_breaker().await {
                Gate::Open => {}
                Gate::AskAgain => continue,
            }
            self.choose_worker();
            self.reload_tasks().await?;
            let Some(task) = self.board.next() else {
                // Somebody edited the task file in between.
                return Ok(
                    match (self.board.all_complete(), self.board.open_questions()) {
                        (true, _) => Stop::AllComplete,
                        (false, 0) => self.for_want_of_money(Stop::NothingReady),
                        (false, _) => Stop::Question,
                    },
                );
            };
            if let Some(stop) = self.spent() {
                return Ok(stop);
            }
            match self.may_spend(&task).await? {
                MaySpend::Yes => {}
                MaySpend::AskAgain => continue,
                MaySpend::No(stop) => return Ok(stop),
                MaySpend::NotThis(alert) => {
                    self.set_aside_unfunded(&task, alert).await?;
                    continue;
                }
            }
            let status = self.repo.status().await?;
            if let Some(reason) = self.not_ours(&status) {
                return Ok(Stop::Halted { reason });
            }
            let verdict = self.iterate(&task, status, began).await?;
            self.note_verdict(&task, &verdict);
            self.note_in_breaker(&verdict);
            self.take_new_tasks().await?;
            self.look_for_circles(&task).await?;
            if verdict == Verdict::Verified {
                self.foresee().await?;
            }
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
            last: last.map(|last| Last {
                settled: last.settled,
                ..self
                    .board
                    .last((&last.task, &last.verdict), &last.circling, &self.config)
            }),
            iterations: self.tally.counted(),
            now: self.now(),
            elapsed: began.elapsed(),
            spent: self.tally.spent,
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
            ills: self.ills(),
        };
        decide(&standing, &self.limits)
    }

    async fn end(mut self, stop: Stop, began: Instant) -> Result<LoopReport, LoopError> {
        if let Some(path) = self.write_results(&stop, began.elapsed()).await? {
            let message = format!("the results are in {path}");
            self.tell(&Event::Notice { message });
        }
        let moment = self.checkpoint_at(&stop);
        self.journal
            .end_loop_at(&self.repository, &stop, &moment)
            .await?;
        self.close_loop_files(&stop, began, &moment.id).await?;
        if let Some(guard) = self.guard.take() {
            guard.release()?;
        }
        let event = Event::LoopEnded {
            sentence: stop.sentence(),
            hint: self.hint(&stop),
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

    /// Says what the loop does, to whoever looks on from outside.
    fn does(&self, doing: Doing, quiet_until: Option<Timestamp>) {
        if let Some(pulse) = &self.pulse {
            pulse.doing(doing, quiet_until);
        }
    }

    fn tell(&mut self, event: &Event) {
        self.reporter.report(event, self.clock.now());
    }

    fn now(&self) -> Timestamp {
        self.clock.now()
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
