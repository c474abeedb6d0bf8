//! Runs a loop: a small loop over a pure state machine. The machine says what to do; the runner does it,
//! writes it into the journal, and tells those who watch.
//!
//! Decides nothing that the core can decide. Stops in one place; clean-up lives once, after the loop.

mod abandoned_loop;
mod accept_new;
mod agent_pool;
mod allowance;
mod allowed_commands;
mod baseline;
mod begin;
mod branch_choice;
mod breaker;
mod budget;
mod checkpoint;
mod clean_check;
mod commands;
mod control;
mod cost;
mod files;
mod forecast;
mod goal;
mod gutter;
mod idle;
mod in_progress;
mod jobs;
mod kept_events;
mod killed_runs;
mod link;
mod lost_journal;
mod mode;
mod next_steps;
mod place;
mod policies;
mod preview;
mod questions;
mod rebuilt_files;
mod reconcile;
mod record;
mod restore;
mod results;
pub mod rewrite;
mod settle;
mod start_options;
mod status_files;
mod tidy;
mod view;
mod wait;
mod workspace_found;

pub use crate::{
    board::{Board, TaskScope},
    error::{Changed, LoopError, LoopFailure},
};
pub use agent_pool::Fallback;
pub use allowance::{AllowanceStart, allowance_of};
pub use begin::{LoopRequest, Setup};
pub use branch_choice::{BranchRequest, BranchStart, StartPoint, start_of};
pub use breaker::breaker_of_worktree;
pub use checkpoint::{CheckpointRequest, create_checkpoint};
pub(crate) use files::TEMPLATE;
pub use files::check_configured_paths;
pub use goal::{goal_of, write_goal};
pub use idle::{IdleWorktree, QueueRemainder, register, run_waiting_commands};
pub use killed_runs::{Leftover, WorktreeLook};
pub use lost_journal::copies_of_journal;
pub use mode::{Execution, Iterations, Mode, project_of};
#[cfg(test)]
pub(crate) use policies::change as change_policy;
pub use preview::{Preview, preview};
pub use rewrite::{revert, squash};
pub use start_options::{LoopBounds, bounds_of, parent_of};
pub use tidy::{UntidyWorktree, tidy_programs};
pub use workspace_found::{WorkspaceFound, WorkspaceLook};

use std::{
    collections::HashSet,
    path::PathBuf,
    time::{Duration, Instant},
};

use jiff::Timestamp;
use ralph_core::{
    breaker::BreakerState,
    change::{CompiledPolicy, DecidingFiles},
    config::Config,
    economics::{KnownCost, Prices},
    event::Event,
    goal::Goal,
    id::LoopId,
    job::{Job, Outcome},
    loop_machine::{IterationSummary, Loop, LoopAction, LoopStep},
    secret::Redaction,
    task::{Status as TaskStatus, TaskId},
    termination::{Stop, TaskDecision},
    time::to_the_second,
    verify::{LandedTests, VerifyReport},
};

use self::{
    budget::BudgetDecision,
    clean_check::CleanWatch,
    control::{AskOutcome, ControlChannel},
    forecast::ForecastState,
    link::{JournalLink, LinkedIteration, QueueProgress},
    reconcile::{CutOff, Reopen, UnfinishedPolicy},
    record::Worked,
    status_files::FilesWritten,
    view::{LoopMoment, View},
};
use crate::{
    agent::CostLimit,
    artefacts::Artefacts,
    clock::Clock,
    config_files::ConfigFiles,
    disk_fault::DiskFault,
    environment::Environment,
    error::file_error,
    git::{Guard, Oid, Repo, Status},
    heartbeat::{Heartbeat, LoopActivity},
    iteration::{self, Services},
    lock::Lock,
    loop_files::LoopFiles,
    process::Containment,
    progress_file::ProgressFile,
    report::{RedactedReporter, Reporter},
    source::Snapshots,
    store::{Journal, RepositoryId, Step},
    team::TeamBudgets,
    workspace::{BeforeRun, Layers, check_there},
};

/// A running loop: what it decides by, what it works with, and where it tells of it.
pub struct LoopRunner {
    loop_id: LoopId,
    place: LoopPlace,
    settings: LoopSettings,
    files: ProjectFiles,
    board: Board,
    journal: Box<dyn Journal>,
    /// Decides what is done between two iterations.
    machine: Loop,
    costs: CostWatch,
    runtime: AgentRuntime,
    control: ControlChannel,
    output: LoopOutput,
    baseline: Option<VerifyReport>,
    /// The tests of commands that are not part of the baseline: those of tasks.
    landed_tests: Vec<LandedTests>,
    clean: CleanWatch,
    began: Instant,
    /// The time that earlier processes had of the same allowance.
    earlier_time: Duration,
    /// The task that its file says is in progress.
    marked: Option<in_progress::ProgressMark>,
    /// Records that this run of the command has changed something.
    changed: Changed,
}

/// Where a loop works: the repository, and where its branch stands.
struct LoopPlace {
    root: PathBuf,
    data_dir: PathBuf,
    /// ralph's own folder for this worktree, outside of the repository.
    state_dir: PathBuf,
    repo: Repo,
    guard: Option<Guard>,
    before_run: BeforeRun,
    repository: RepositoryId,
    branch: String,
    /// Where the branch was started from.
    start: StartPoint,
    base: Oid,
    /// The working tree as it was found before the next iteration.
    tree: Option<Status>,
    /// The layers that agents work in; none where they work in the user's own folder.
    layers: Option<Layers>,
    _lock: Option<Lock>,
}

/// The beginning of the work on an iteration.
enum Beginning<'a> {
    Fresh,
    /// A crash cut it off.
    CutOff(CutOff<'a>),
    /// It was about to land, and a person moved the branch.
    Moved {
        steps: &'a [Step],
        outcome: Box<Outcome>,
    },
}

/// The work that a loop was told to do, and its limits.
struct LoopSettings {
    config: Config,
    policy: CompiledPolicy,
    /// The files that decide what the verify commands do, as they stood when the loop began.
    deciding: DecidingFiles,
    prices: Prices,
    /// The limits that flags set.
    bounds: start_options::LoopBounds,
    /// Since when the limits count.
    allowance: AllowanceStart,
    /// True if the limit of iterations follows from the open tasks.
    counts_tasks: bool,
    /// The goal that is worked at, where it is one.
    goal: Option<Goal>,
}

/// The files in the user's folder that are ralph's.
struct ProjectFiles {
    config_files: ConfigFiles,
    progress: ProgressFile,
    snapshots: Snapshots,
    /// Task files that are not on the board, and ralph's to leave alone all the same.
    other_sources: Vec<PathBuf>,
    /// The project that is executed, where it is one.
    artefacts: Option<Artefacts>,
}

/// The pool of agents, and how they are started.
struct AgentRuntime {
    pool: agent_pool::AgentPool,
    containment: Containment,
    environment: Environment,
}

/// Where a loop tells of itself.
struct LoopOutput {
    reporter: Box<dyn Reporter>,
    clock: Box<dyn Clock>,
    /// The files by which others follow this loop; none where nothing is begun.
    loop_files: Option<LoopFiles>,
    files_written: FilesWritten,
    /// Its heartbeat, once it has begun.
    heartbeat: Option<Heartbeat>,
    /// Events that are to be in the journal.
    events: kept_events::EventBuffer,
}

impl LoopOutput {
    /// Nothing is shown, sent or kept before secrets are taken out of it.
    fn new(reporter: Box<dyn Reporter>, clock: Box<dyn Clock>, redaction: Redaction) -> Self {
        let events = kept_events::EventBuffer::new();
        let shown = events.listen(reporter);
        Self {
            reporter: Box::new(RedactedReporter { redaction, shown }),
            clock,
            loop_files: None,
            files_written: FilesWritten::default(),
            heartbeat: None,
            events,
        }
    }
}

/// Facts about costs beside what is spent.
#[derive(Default)]
struct CostWatch {
    /// The budgets of a team, where there is one.
    team: Option<TeamBudgets>,
    /// The budget that is used up first, as it stood before the last iteration.
    nearest: Option<CostLimit>,
    /// Models of which it was said that they have no price.
    unpriced: HashSet<String>,
    forecast: ForecastState,
    /// The cost of the iterations that ended in this process.
    known: KnownCost,
    alerted: Vec<budget::ToldAlert>,
}

impl CostWatch {
    fn of(team: Option<TeamBudgets>) -> Self {
        Self {
            team,
            ..Self::default()
        }
    }
}

/// The end of a loop.
#[derive(Debug, Clone, PartialEq)]
pub struct LoopReport {
    pub stop: Stop,
    pub iterations: u32,
}

/// Runs a loop from its start to its stop. However it stops, by a decision or by an error, it goes
/// through [`LoopRunner::end`].
pub async fn run_loop(setup: Setup) -> Result<LoopReport, LoopFailure> {
    let (mut runner, start) = LoopRunner::begin(setup).await?;
    let worked = match runner.set_up(start).await {
        Ok(()) => runner.work().await,
        Err(error) => Err(error),
    };
    let worked = match worked {
        Ok(stop) => runner.run_clean_check_at_end(stop).await,
        failed => failed,
    };
    runner.end(worked).await
}

/// The workspace of an iteration, lent from the fields of a runner.
macro_rules! workspace {
    ($runner:ident) => {{
        let own_paths = $runner.own_paths();
        let folder = $crate::workspace::InPlace {
            root: &$runner.place.root,
            state_dir: &$runner.place.state_dir,
            repo: &$runner.place.repo,
            guard: $runner.place.guard.as_ref(),
            before: match $runner.place.layers {
                Some(_) => None,
                None => Some(&mut $runner.place.before_run),
            },
            policy: &$runner.settings.policy,
            deciding: &$runner.settings.deciding,
            source: &mut $runner.board.source,
            snapshots: &mut $runner.files.snapshots,
            artefacts: $runner.files.artefacts.as_mut(),
            config_files: &$runner.files.config_files,
            progress: &$runner.files.progress,
            own_paths,
            read_only: $crate::workspace::read_only_data(
                &$runner.place.data_dir,
                &$runner.place.root,
                &$runner.runtime.environment,
            ),
            trusted: match ($runner.runtime.environment.sandbox(), &$runner.place.layers) {
                (Some(_), None) => $crate::workspace::trusted_paths(
                    &$runner.place.repo,
                    &$runner.files.config_files,
                ),
                (None, _) | (_, Some(_)) => Vec::new(),
            },
            has_mounts: $runner.runtime.containment.has_mount_namespace()
                || $runner
                    .runtime
                    .environment
                    .sandbox()
                    .is_some_and($crate::sandbox::Sandbox::has_own_root),
        };
        $crate::workspace::of_user(folder, $runner.place.layers.as_mut())
    }};
}
use workspace;

impl LoopRunner {
    /// Performs what the loop decides until it ends.
    async fn work(&mut self) -> Result<Stop, LoopError> {
        self.resume_from_journal().await?;
        loop {
            check_there(&self.place.root)?;
            let done = match self.machine.next(&self.view()) {
                LoopAction::ObeyCommands => {
                    self.set_activity(LoopActivity::Between, None);
                    self.carry_out_commands().await?;
                    self.show_open_questions().await?;
                    LoopStep::CommandsObeyed
                }
                LoopAction::Settle { task_decision } => {
                    let may_ask = task_decision != TaskDecision::Keep;
                    self.settle(task_decision).await?;
                    if may_ask {
                        self.show_open_questions().await?;
                    }
                    LoopStep::Settled
                }
                LoopAction::AskPerson => match self.ask_person().await? {
                    AskOutcome::DecideAgain => LoopStep::PersonAnswered,
                    AskOutcome::NothingToAsk => LoopStep::NothingAsked,
                },
                LoopAction::Pause => {
                    self.wait_while_paused().await?;
                    LoopStep::Resumed
                }
                LoopAction::MeasureBaseline => {
                    self.measure_baseline().await?;
                    self.set_state_running()?;
                    LoopStep::BaselineMeasured
                }
                LoopAction::WaitForLimit { until } => {
                    self.wait_for_limit(until).await;
                    LoopStep::LimitWaited
                }
                LoopAction::UseFallback { until } => {
                    self.runtime.pool.rest_until(until);
                    LoopStep::FallbackChosen
                }
                LoopAction::WaitForBreaker { until } => {
                    self.wait_for_breaker(until).await;
                    LoopStep::BreakerWaited
                }
                LoopAction::ChooseAgent => {
                    self.choose_worker();
                    LoopStep::AgentChosen
                }
                LoopAction::ReloadTasks => {
                    self.reload_tasks().await?;
                    LoopStep::TasksReloaded
                }
                LoopAction::CheckBudget { task } => match self.ask_budgets(&task).await? {
                    BudgetDecision::Yes => LoopStep::BudgetAllows,
                    BudgetDecision::AskAgain => LoopStep::BudgetAsksAgain,
                    BudgetDecision::No(alert) => LoopStep::BudgetDenies(alert),
                },
                LoopAction::CheckTree { .. } => match self.find_foreign_work().await? {
                    Some(reason) => LoopStep::TreeIsForeign { reason },
                    None => LoopStep::TreeIsOurs,
                },
                LoopAction::Iterate { task } => {
                    self.changed = Changed::Something;
                    let ended = self.iterate(&task).await?;
                    LoopStep::IterationEnded(Box::new(ended))
                }
                LoopAction::End(stop) => return Ok(stop),
            };
            self.apply_step(done).await?;
        }
    }

    /// Goes on from what the journal has: an iteration that a crash cut off, limits, questions.
    async fn resume_from_journal(&mut self) -> Result<(), LoopError> {
        self.reconcile(UnfinishedPolicy::Resume).await?;
        self.recall_allowance().await?;
        let worktree = self.place.root.to_string_lossy().into_owned();
        let records = self
            .journal
            .last_records(&self.place.repository, &worktree)
            .await?;
        self.recall_limits(&records);
        self.recall_breaker(&records);
        drop(records);
        self.carry_out_commands().await?;
        self.note_edits().await?;
        self.tell_questions().await?;
        self.settle_interrupted().await?;
        self.forecast_at_start().await
    }

    /// Tells the machine what was done, and people what it makes of that.
    async fn apply_step(&mut self, done: LoopStep) -> Result<(), LoopError> {
        let (ended, verified) = match &done {
            LoopStep::IterationEnded(ended) => (true, ended.verdict.completes()),
            _ => (false, false),
        };
        let breaker = self.machine.breaker().state();
        let now = self.loop_moment();
        let view = View::new(&self.board, &self.settings.config, now);
        self.machine.apply(done, &view);
        self.tell_breaker_change(breaker);
        self.write_events().await?;
        if ended {
            self.recall_reserve().await?;
        }
        if verified {
            self.forecast_after_iteration().await?;
        }
        Ok(())
    }

    fn redaction(&self) -> &Redaction {
        self.runtime.environment.redaction()
    }

    fn view(&self) -> View<'_> {
        View::new(&self.board, &self.settings.config, self.loop_moment())
    }

    /// Works on a task once, and gathers what the loop has to know of it.
    async fn iterate(&mut self, task: &TaskId) -> Result<IterationSummary, LoopError> {
        let status = match self.place.tree.take() {
            Some(status) => status,
            None => self.place.repo.status().await?,
        };
        let worker = self.runtime.pool.worker();
        let job = self.new_job(task, &status).await?;
        self.tell_started(&job);
        self.mark_in_progress(&job)?;
        let worked = self.perform(job, Beginning::Fresh).await?;
        let finished = self.finish(worked).await?;
        self.take_new_tasks().await?;
        self.alert_after(task).await?;
        let gutter_findings = self.gutter_findings(task, &finished.verdict).await?;
        Ok(IterationSummary {
            task: task.clone(),
            number: finished.number,
            verdict: finished.verdict,
            worker,
            health: finished.health,
            moved: finished.moved,
            usage: finished.usage,
            spent: finished.spent,
            gutter_findings,
        })
    }

    fn tell_started(&mut self, job: &Job) {
        self.tell(&Event::IterationStarted {
            iteration: job.number,
            iteration_id: job.iteration.clone(),
            task: job.task.id.to_string(),
            title: job.task.text.title.clone(),
            attempt: job.attempt,
            max_attempts: job.max_attempts,
            nth: self.machine.tally().counted() + 1,
            max_iterations: self.machine.limits().max_iterations,
            guidance: u32::try_from(job.prompt.guidance.len()).unwrap_or(u32::MAX),
            diagnoses: job.diagnose.clone(),
        });
    }

    /// Works on a job in the user's folder; one that was cut off is gone on with.
    async fn perform(
        &mut self,
        mut job: Job,
        beginning: Beginning<'_>,
    ) -> Result<Worked, LoopError> {
        let of = LinkedIteration {
            id: job.iteration.clone(),
            number: job.number,
            task: job.task.id.clone(),
            title: self.redaction().hide(&job.task.text.title).into_owned(),
            phase: self.phase_template(&job),
        };
        let stop = self.control.stop.clone();
        let source = self.board.source.name().to_owned();
        let mut workspace = workspace!(self);
        let mut link = JournalLink {
            journal: &mut *self.journal,
            repository: &self.place.repository,
            worktree: self.place.root.to_string_lossy().into_owned(),
            source,
            stop: stop.clone(),
            control: &mut self.control,
            clock: &*self.output.clock,
            of,
            pending: Vec::new(),
            queue: QueueProgress::default(),
            events: self.output.events.clone(),
            loop_id: &self.loop_id,
        };
        let mut services = Services {
            agent: self.runtime.pool.agent(),
            agent_name: self.runtime.pool.name(),
            containment: self.runtime.containment,
            environment: &self.runtime.environment,
            clock: &*self.output.clock,
            reporter: &mut *self.output.reporter,
            stop,
            heartbeat: self.output.heartbeat.as_ref().map(Heartbeat::writer),
            link: &mut link,
            unpriced: &mut self.costs.unpriced,
        };
        let (outcome, reopen) = match beginning {
            Beginning::Fresh => {
                let outcome = iteration::run(&mut job, &mut *workspace, &mut services).await?;
                (outcome, Reopen::No)
            }
            Beginning::Moved { steps, outcome } => {
                let outcome = iteration::go_on_after_move(
                    &job,
                    steps,
                    *outcome,
                    &mut *workspace,
                    &mut services,
                );
                (outcome.await?, Reopen::No)
            }
            Beginning::CutOff(cut_off) => {
                let went_on = reconcile::go_on(&job, cut_off, &mut *workspace, &mut services);
                went_on.await?
            }
        };
        let pending = link.pending;
        drop(workspace);
        self.place.before_run.release()?;
        if reopen == Reopen::Yes {
            self.board
                .write_status(&job.task.id, TaskStatus::Open, None)?;
        }
        Ok(Worked {
            job,
            outcome,
            pending,
        })
    }

    /// Looks at the working tree; returns why it is not what an iteration may start from.
    async fn find_foreign_work(&mut self) -> Result<Option<String>, LoopError> {
        let status = self.place.repo.status().await?;
        let reason = self.tree_problem(&status);
        self.place.tree = Some(status);
        Ok(reason)
    }

    fn tree_problem(&self, status: &Status) -> Option<String> {
        if status.branch.as_deref() != Some(&self.place.branch) {
            let now = status.branch.as_deref().unwrap_or("no branch");
            return Some(format!(
                "HEAD is on {now} now, not on {}",
                self.place.branch
            ));
        }
        // Beside a layer people can work on: what they change is left alone.
        let foreign = self.foreign_changes(status);
        if foreign.is_empty() || self.place.layers.is_some() {
            return None;
        }
        Some(format!(
            "{} changed outside of this loop",
            foreign.join(", ")
        ))
    }

    /// The one exit of a loop, for every stop and every error: writes the end down, tells people, and puts
    /// the git folder back. What fails on the way does not keep the rest from being done.
    async fn end(mut self, worked: Result<Stop, LoopError>) -> Result<LoopReport, LoopFailure> {
        let (stop, mut failure) = match worked {
            Ok(stop) => (stop, None),
            Err(error) => (error.as_stop(self.changed), Some(error)),
        };
        let is_there = check_there(&self.place.root).is_ok();
        if is_there {
            keep_first(&mut failure, self.take_back_mark());
            keep_first(&mut failure, self.write_results(&stop).await);
        }
        keep_first(&mut failure, self.write_events().await);
        keep_first(&mut failure, self.close_loop(&stop).await);
        if is_there {
            keep_first(&mut failure, self.restore_at_end());
        }
        if let Some(guard) = self.place.guard.take() {
            keep_first(&mut failure, guard.release());
        }
        let hidden = restore::hide_in_taken_away(&self.place.state_dir, self.redaction());
        keep_first(&mut failure, hidden);
        if failure.is_none() {
            let folder = &self.place.state_dir;
            let discarded = self.files.snapshots.discard(folder);
            keep_first(
                &mut failure,
                discarded.map_err(|e| file_error("remove", folder, e)),
            );
        }
        self.bring_back_at_end().await;
        // A loop that was done and whose end could not be written has failed all the same.
        let stop = match &failure {
            Some(error) => error.as_stop(self.changed),
            None => stop,
        };
        let fault = failure.as_ref().and_then(|error| DiskFault::of(error));
        let hint = match fault {
            Some(fault) => Some(self.hint_of_fault(fault)),
            None => self.hint(&stop),
        };
        let event = Event::LoopEnded {
            next: self.next_steps().await,
            sentence: stop.end_sentence(self.board.tally().unverified),
            hint: hint.clone(),
            exit_code: stop.exit_code(),
            iterations: self.machine.tally().iterations,
            tasks: self.board.tally(),
            seconds: self.began.elapsed().as_secs_f64(),
            usage: self.machine.tally().usage,
            cost: self.costs.known,
            blocked: self.board.blocked(),
            stop: stop.clone(),
        };
        self.tell(&event);
        self.output.reporter.finish();
        self.give_back_budget().await;
        keep_first(&mut failure, self.journal.close().await);
        match failure {
            None => Ok(LoopReport {
                stop,
                iterations: self.machine.tally().iterations,
            }),
            Some(error) => Err(LoopFailure {
                error,
                changed: self.changed,
                told: Some(stop),
                hint: fault.and(hint),
            }),
        }
    }

    /// Puts back what programs changed of what ralph trusts, where an error came between them and that.
    fn restore_at_end(&mut self) -> Result<(), LoopError> {
        if !self.place.before_run.is_in_force() {
            return Ok(());
        }
        if let Some(guard) = &self.place.guard {
            guard.reopen_places()?;
            self.place.before_run.restore_refs()?;
            guard.restore_changed()?;
        }
        let state_dir = &self.place.state_dir;
        self.files.config_files.put_back(state_dir)?;
        Ok(self.place.before_run.release()?)
    }

    /// Writes the end into the journal and into the files of the loop. One that failed in the midst of
    /// an iteration stays open in the journal: the next run brings that iteration to its end.
    async fn close_loop(&mut self, stop: &Stop) -> Result<(), LoopError> {
        let moment = self.checkpoint_at(stop);
        let failed = matches!(stop, Stop::Failed { .. });
        let unfinished = failed
            && self
                .journal
                .unfinished_iteration(&self.loop_id)
                .await?
                .is_some();
        let ended = if unfinished {
            Ok(())
        } else {
            let (repository, id) = (&self.place.repository, &self.loop_id);
            let journal = &mut *self.journal;
            journal
                .end_loop(repository, id, stop, moment.at, Some(&moment))
                .await
        };
        let checkpoint = (!unfinished).then_some(&moment.id);
        let closed = self.close_loop_files(stop, checkpoint).await;
        ended?;
        closed
    }

    fn loop_moment(&self) -> LoopMoment {
        LoopMoment {
            now: self.output.clock.now(),
            elapsed: self.elapsed(),
            signal: self.control.stop.asked(),
            main_back_at: self.runtime.pool.back_at(),
            pause: self.control.pause,
            person: self.control.person(),
            executes: self.files.artefacts.is_some(),
        }
    }

    fn tell_breaker_change(&mut self, before: BreakerState) {
        let breaker = self.machine.breaker();
        let (failures, of) = (breaker.failures(), breaker.samples());
        let sentence = match (before, breaker.state()) {
            (BreakerState::Closed | BreakerState::HalfOpen, BreakerState::Open) => {
                let until = breaker.until().map(to_the_second);
                let until = until.map(|at| format!("; the next one is let through at {at}"));
                format!(
                    "the circuit breaker opens: {failures} of the last {of} iterations failed{}",
                    until.unwrap_or_default()
                )
            }
            (BreakerState::HalfOpen | BreakerState::Open, BreakerState::Closed) => {
                "the circuit breaker closes: the agent works again".to_owned()
            }
            (BreakerState::Open, BreakerState::HalfOpen) => {
                "the circuit breaker lets one iteration through: how it goes decides".to_owned()
            }
            (BreakerState::Closed, BreakerState::HalfOpen)
            | (BreakerState::Closed, BreakerState::Closed)
            | (BreakerState::HalfOpen, BreakerState::HalfOpen)
            | (BreakerState::Open, BreakerState::Open) => return,
        };
        self.tell_breaker(sentence);
    }

    /// Says what the loop does, to those who look on from outside.
    fn set_activity(&self, activity: LoopActivity, quiet_until: Option<Timestamp>) {
        if let Some(heartbeat) = &self.output.heartbeat {
            heartbeat.set_activity(activity, quiet_until);
        }
    }

    fn tell(&mut self, event: &Event) {
        self.output.reporter.report(event, self.output.clock.now());
    }

    fn notice(&mut self, message: impl Into<String>) {
        let message = message.into();
        self.tell(&Event::Notice { message });
    }

    fn warn(&mut self, message: impl Into<String>) {
        let message = message.into();
        self.tell(&Event::Warning { message });
    }

    fn now(&self) -> Timestamp {
        self.output.clock.now()
    }
}

/// Keeps the first error of several steps that are all to be done.
fn keep_first<T, E: Into<LoopError>>(first: &mut Option<LoopError>, done: Result<T, E>) {
    if let Err(error) = done {
        first.get_or_insert(error.into());
    }
}
