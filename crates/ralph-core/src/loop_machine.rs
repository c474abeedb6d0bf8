//! The loop as a state machine: says what to do between two iterations, and takes what was done.
//!
//! Does nothing by itself. The engine performs each [`LoopAction`] and answers with a [`LoopStep`]; what
//! the machine has to know of tasks, time and people it asks of a [`LoopView`]. It ends in one way:
//! with [`LoopAction::End`].

use std::{collections::HashSet, time::Duration};

use jiff::Timestamp;

use crate::{
    agent::Usage,
    breaker::{Breaker, BreakerState, Sample},
    config::{OnMaxAttempts, OnOpen},
    dollars::Dollars,
    economics::{Alert, Reserve},
    gutter::GutterFindings,
    health::HealthState,
    record::IterationRecord,
    task::TaskId,
    termination::{
        AfterLimit, AgentTrouble, Decision, FailingStreak, Last, LimitRow, Limits, LoopSnapshot,
        RemainingWork, Settled, Stop, TaskDecision, Tripped, Worker, decide,
    },
    time::to_the_second,
    verdict::Verdict,
};

/// The loop's surroundings, as far as its decisions depend on them.
pub trait LoopView {
    fn now(&self) -> Timestamp;
    /// Returns how long this run of the command takes already.
    fn elapsed(&self) -> Duration;
    /// Returns the signal that asked for a stop.
    fn signal(&self) -> Option<i32>;
    /// Returns what is left to do beside `last`, the task of the last iteration.
    fn work(&self, last: Option<&TaskId>) -> RemainingWork;
    /// Returns the attempts that a task was charged for, and how many it may have.
    fn attempts(&self, task: &TaskId) -> ChargedAttempts;
    /// Returns the task to work on now.
    fn next_task(&self) -> Option<TaskId>;
    /// Returns a task whose turn it is and that is out of attempts, where that ends the loop.
    fn exhausted_task(&self) -> Option<(TaskId, ChargedAttempts)>;
    /// Returns when the agent of the loop is tried again, while another one works in its place.
    fn main_back_at(&self) -> Option<Timestamp>;
    /// Returns whether a person paused the loop.
    fn pause_state(&self) -> PauseState;
    /// Returns whether a person is at the terminal who can be asked.
    fn person(&self) -> PersonAtTerminal;
}

/// The charged attempts of a task, and its limit.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ChargedAttempts {
    pub made: u32,
    pub max: u32,
    /// Those in a row that came to nothing, up to the last one.
    pub idle_in_a_row: u32,
}

/// Describes what the engine is to do next.
#[derive(Debug, Clone, PartialEq)]
#[must_use]
pub enum LoopAction {
    /// Carry out the commands that wait in the queue.
    ObeyCommands,
    /// Do to the task of the last iteration what was decided about it.
    Settle {
        task_decision: TaskDecision,
    },
    /// Ask the person at the terminal, if there is a question that they have not put off.
    AskPerson,
    /// Wait until a person resumes the loop.
    Pause,
    /// Run the verify commands once, before the first attempt.
    MeasureBaseline,
    /// Wait for a usage limit to reset.
    WaitForLimit {
        until: Timestamp,
    },
    /// Let the fallback agent work until then.
    UseFallback {
        until: Timestamp,
    },
    /// Wait until the circuit breaker lets one iteration through.
    WaitForBreaker {
        until: Timestamp,
    },
    /// Choose the agent that works next.
    ChooseAgent,
    /// Read the task file again if it changed.
    ReloadTasks,
    /// Ask the budgets whether this task may be worked on.
    CheckBudget {
        task: TaskId,
    },
    /// Look whether the working tree is as ralph left it.
    CheckTree {
        task: TaskId,
    },
    Iterate {
        task: TaskId,
    },
    End(Stop),
}

/// Describes what was done about an action.
#[derive(Debug, Clone, PartialEq)]
pub enum LoopStep {
    CommandsObeyed,
    Settled,
    /// The person said something, or a command came meanwhile.
    PersonAnswered,
    /// No question is open but those that were put off.
    NothingAsked,
    Resumed,
    BaselineMeasured,
    LimitWaited,
    FallbackChosen,
    BreakerWaited,
    AgentChosen,
    TasksReloaded,
    BudgetAllows,
    /// Time has passed, or the task was set aside: everything is decided again.
    BudgetAsksAgain,
    BudgetDenies(Alert),
    TreeIsOurs,
    TreeIsForeign {
        reason: String,
    },
    IterationEnded(Box<IterationSummary>),
}

/// An iteration that has ended, as far as the loop depends on it.
#[derive(Debug, Clone, PartialEq)]
pub struct IterationSummary {
    pub task: TaskId,
    pub number: u64,
    pub verdict: Verdict,
    pub worker: Worker,
    pub health: HealthState,
    pub moved: WorkMoved,
    pub usage: Usage,
    pub spent: Dollars,
    pub gutter_findings: GutterFindings,
}

/// Tells whether the loop is paused by a person.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum PauseState {
    #[default]
    Running,
    Paused,
}

/// Tells whether a person is at the terminal, and when they are asked.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum PersonAtTerminal {
    #[default]
    Away,
    /// Asked when there is nothing else to do.
    There,
    /// Asked before anything else is done.
    Needed,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Baseline {
    Unknown,
    Measured,
}

#[derive(Debug, Clone, PartialEq)]
enum LoopPhase {
    Commands,
    Settling(Decision),
    Asking(Decision),
    Deciding(Decision),
    Breaker,
    Reloading,
    Selecting,
    CheckingTree(TaskId),
    Iterating(TaskId),
    Over(Stop),
}

/// A loop on its way from one iteration to the next.
#[derive(Debug, Clone)]
pub struct Loop {
    limits: Limits,
    on_open: OnOpen,
    phase: LoopPhase,
    baseline: Baseline,
    /// A person answered a question by ending the loop.
    aborted: bool,
    tally: LoopTally,
    breaker: Breaker,
}

impl Loop {
    pub fn new(limits: Limits, breaker: Breaker, on_open: OnOpen) -> Self {
        Self {
            limits,
            on_open,
            phase: LoopPhase::Commands,
            baseline: Baseline::Unknown,
            aborted: false,
            tally: LoopTally::default(),
            breaker,
        }
    }

    pub fn limits(&self) -> &Limits {
        &self.limits
    }

    pub fn tally(&self) -> &LoopTally {
        &self.tally
    }

    pub fn tally_mut(&mut self) -> &mut LoopTally {
        &mut self.tally
    }

    pub fn breaker(&self) -> &Breaker {
        &self.breaker
    }

    /// Ends the loop at the next decision, because a person said so.
    pub fn abort(&mut self) {
        self.aborted = true;
    }

    pub fn is_aborted(&self) -> bool {
        self.aborted
    }

    /// Makes the breaker from the iterations that the journal has, newest first. One iteration is let
    /// through even if it is open: anyone who starts ralph wants to see it tried.
    pub fn recall_breaker(&mut self, mut breaker: Breaker, now: Timestamp) {
        breaker.look(now);
        breaker.let_one_through();
        self.breaker = breaker;
    }

    /// Returns what to do next.
    pub fn next(&self, view: &dyn LoopView) -> LoopAction {
        match &self.phase {
            LoopPhase::Commands => LoopAction::ObeyCommands,
            LoopPhase::Settling(decision) => LoopAction::Settle {
                task_decision: decision.task_decision.clone(),
            },
            LoopPhase::Asking(decision) if self.asks_now(decision, view) => LoopAction::AskPerson,
            LoopPhase::Asking(decision) => self.gate(decision, view),
            LoopPhase::Deciding(decision) => self.gate(decision, view),
            LoopPhase::Breaker => self.pass_breaker(),
            LoopPhase::Reloading => LoopAction::ReloadTasks,
            LoopPhase::Selecting => self.select(view),
            LoopPhase::CheckingTree(task) => LoopAction::CheckTree { task: task.clone() },
            LoopPhase::Iterating(task) => LoopAction::Iterate { task: task.clone() },
            LoopPhase::Over(stop) => LoopAction::End(stop.clone()),
        }
    }

    /// Takes what was done.
    pub fn apply(&mut self, done: LoopStep, view: &dyn LoopView) {
        self.phase = match done {
            LoopStep::CommandsObeyed => LoopPhase::Settling(self.decide(view)),
            LoopStep::Settled => {
                if let Some(last) = &mut self.tally.last {
                    last.settled = Settled::Yes;
                }
                match std::mem::replace(&mut self.phase, LoopPhase::Commands) {
                    LoopPhase::Settling(decision) => LoopPhase::Asking(decision),
                    other => other,
                }
            }
            LoopStep::NothingAsked => {
                match std::mem::replace(&mut self.phase, LoopPhase::Commands) {
                    LoopPhase::Asking(decision) => LoopPhase::Deciding(decision),
                    other => other,
                }
            }
            LoopStep::BaselineMeasured => {
                self.baseline = Baseline::Measured;
                LoopPhase::Commands
            }
            LoopStep::BreakerWaited => {
                self.breaker.look(view.now());
                LoopPhase::Commands
            }
            LoopStep::PersonAnswered
            | LoopStep::Resumed
            | LoopStep::LimitWaited
            | LoopStep::BudgetAsksAgain => LoopPhase::Commands,
            LoopStep::FallbackChosen => LoopPhase::Breaker,
            LoopStep::AgentChosen => LoopPhase::Reloading,
            LoopStep::TasksReloaded => LoopPhase::Selecting,
            LoopStep::BudgetAllows => match self.select(view) {
                LoopAction::CheckBudget { task } => LoopPhase::CheckingTree(task),
                _ => LoopPhase::Selecting,
            },
            LoopStep::BudgetDenies(alert) => LoopPhase::Over(Stop::BudgetDenied(alert)),
            LoopStep::TreeIsOurs => match std::mem::replace(&mut self.phase, LoopPhase::Commands) {
                LoopPhase::CheckingTree(task) => LoopPhase::Iterating(task),
                other => other,
            },
            LoopStep::TreeIsForeign { reason } => LoopPhase::Over(Stop::Halted { reason }),
            LoopStep::IterationEnded(ended) => {
                let max_wait = self.limits.usage.max_wait;
                self.breaker.note(Sample::of(&ended.verdict), view.now());
                self.tally.add(*ended, view.now(), max_wait);
                LoopPhase::Commands
            }
        };
    }

    /// Returns what follows from where the loop stands now.
    pub fn decide(&self, view: &dyn LoopView) -> Decision {
        let last = self.tally.last.as_ref();
        let attempts = last.map(|last| view.attempts(&last.task));
        let snapshot = LoopSnapshot {
            last: last.zip(attempts).map(|(last, attempts)| Last {
                task: &last.task,
                verdict: &last.verdict,
                attempts: attempts.made,
                max_attempts: attempts.max,
                idle_in_a_row: attempts.idle_in_a_row,
                gutter_findings: &last.gutter_findings,
                settled: last.settled,
            }),
            iterations: self.tally.counted(),
            now: view.now(),
            elapsed: view.elapsed(),
            spent: self.tally.spent,
            reserve: self.tally.reserve,
            errors_in_a_row: self.tally.errors_in_a_row,
            fruitless: self.tally.fruitless,
            fruitless_tasks: u32::try_from(self.tally.fruitless_tasks.len()).unwrap_or(u32::MAX),
            work: view.work(last.map(|last| &last.task)),
            limit: self.tally.limit,
            main_back_at: view.main_back_at(),
            signal: view.signal(),
            agent_trouble: self.agent_trouble(),
        };
        decide(&snapshot, &self.limits)
    }

    fn agent_trouble(&self) -> AgentTrouble {
        let is_open = self.breaker.state() == BreakerState::Open;
        let ends = is_open && self.on_open == OnOpen::Stop;
        AgentTrouble {
            tripped: ends.then(|| Tripped {
                failures: self.breaker.failures(),
                of: self.breaker.samples(),
                until: self.breaker.until().map(to_the_second),
            }),
            sick: self.tally.sick,
        }
    }

    /// A question stops nothing while there is other work: the person is asked when the loop is idle.
    fn asks_now(&self, decision: &Decision, view: &dyn LoopView) -> bool {
        if view.signal().is_some() || self.aborted {
            return false;
        }
        let is_idle = view.pause_state() == PauseState::Paused
            || decision.stop == Some(Stop::Question)
            || matches!(decision.limit, Some(AfterLimit::Wait { .. }));
        match view.person() {
            PersonAtTerminal::Away => false,
            PersonAtTerminal::There => is_idle,
            PersonAtTerminal::Needed => true,
        }
    }

    /// Ends the loop, pauses it, or leads on to what must be waited for before an iteration.
    fn gate(&self, decision: &Decision, view: &dyn LoopView) -> LoopAction {
        let stop = if self.aborted {
            Some(Stop::Aborted)
        } else {
            decision.stop.clone()
        };
        // A person who paused is there, and may be about to answer.
        if view.pause_state() == PauseState::Paused && matches!(stop, None | Some(Stop::Question)) {
            return LoopAction::Pause;
        }
        if let Some(stop) = stop {
            return LoopAction::End(self.or_unfunded(stop));
        }
        if self.baseline == Baseline::Unknown {
            return LoopAction::MeasureBaseline;
        }
        match decision.limit {
            Some(AfterLimit::Wait { until }) => LoopAction::WaitForLimit { until },
            Some(AfterLimit::Fallback { until }) => LoopAction::UseFallback { until },
            None => self.pass_breaker(),
        }
    }

    fn pass_breaker(&self) -> LoopAction {
        match (self.breaker.state(), self.breaker.until()) {
            (BreakerState::Open, Some(until)) => LoopAction::WaitForBreaker { until },
            (BreakerState::Open | BreakerState::HalfOpen | BreakerState::Closed, _) => {
                LoopAction::ChooseAgent
            }
        }
    }

    /// Takes the next task, unless a person's edit left none or one is out of attempts.
    fn select(&self, view: &dyn LoopView) -> LoopAction {
        let Some(task) = view.next_task() else {
            let last = self.tally.last.as_ref();
            let work = view.work(last.map(|last| &last.task));
            return LoopAction::End(match (work.all_complete, work.questions) {
                (true, _) => Stop::AllComplete,
                (false, 0) => self.or_unfunded(Stop::NothingReady),
                (false, _) => Stop::Question,
            });
        };
        if self.limits.on_max_attempts == OnMaxAttempts::Halt
            && let Some((task, attempts)) = view.exhausted_task()
        {
            return LoopAction::End(Stop::Attempts {
                task: task.to_string(),
                attempts: attempts.made,
                max: attempts.max,
            });
        }
        LoopAction::CheckBudget { task }
    }

    /// Where nothing is ready because a task is out of money, that is the reason.
    fn or_unfunded(&self, stop: Stop) -> Stop {
        match (stop, self.tally.unfunded) {
            (Stop::NothingReady, Some(alert)) => Stop::BudgetDenied(alert),
            (stop, _) => stop,
        }
    }
}

/// The breaker as the iterations of the journal leave it; `records` are newest first.
pub fn breaker_of(policy: crate::breaker::BreakerPolicy, records: &[IterationRecord]) -> Breaker {
    let past = records.iter().rev();
    let past = past.map(|record| (&record.verdict, record.started_at, record.ended_at));
    Breaker::folded(policy, past)
}

/// Describes what this run of the command comes to.
#[derive(Debug, Clone, Default)]
pub struct LoopTally {
    pub iterations: u32,
    /// Those of them that looked for a cause, and are no attempts.
    diagnoses: u32,
    pub errors_in_a_row: u32,
    /// Iterations in a row that ended with a sick agent.
    pub sick: Option<FailingStreak>,
    /// Iterations since the last verified commit, and their tasks.
    pub fruitless: u32,
    pub fruitless_tasks: HashSet<TaskId>,
    pub usage: Usage,
    /// Tells what the iterations that have ended cost.
    pub spent: Dollars,
    /// The last task that was set aside because its own budget denied it.
    pub unfunded: Option<Alert>,
    pub last: Option<LastIteration>,
    /// Tells what another iteration may cost, as far as that is known.
    pub reserve: Option<Reserve>,
    /// Iterations of earlier processes that count against the same limits.
    pub earlier: EarlierIterations,
    /// The number of the last iteration.
    pub number: u64,
    /// Usage limits that were met in a row.
    pub limit: Option<LimitRow>,
}

/// Iterations that earlier processes made of a loop.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct EarlierIterations {
    counted: u32,
}

impl EarlierIterations {
    /// Takes one as [`LoopTally`] would have; one that ended because ralph was gone counts too.
    pub fn add(&mut self, verdict: &Verdict, is_cut_off: bool) {
        let counts = match verdict {
            Verdict::Interrupted => is_cut_off,
            Verdict::LimitHit { .. } | Verdict::Diagnosed => false,
            Verdict::Verified
            | Verdict::Unverified
            | Verdict::Progress
            | Verdict::UnverifiedProgress
            | Verdict::Unclaimed
            | Verdict::Failed { .. }
            | Verdict::NoChange { .. }
            | Verdict::Refused { .. }
            | Verdict::Escalated
            | Verdict::Budget { .. }
            | Verdict::Handoff { .. }
            | Verdict::TimedOut { .. }
            | Verdict::Terminated { .. }
            | Verdict::Overloaded { .. }
            | Verdict::Overtaken { .. }
            | Verdict::AgentUnavailable { .. }
            | Verdict::AgentError { .. } => true,
        };
        self.counted += u32::from(counts);
    }
}

#[derive(Debug, Clone)]
pub struct LastIteration {
    pub task: TaskId,
    pub verdict: Verdict,
    pub settled: Settled,
    pub gutter_findings: GutterFindings,
}

/// Tells whether an agent that handed over has changed anything.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum WorkMoved {
    #[default]
    Yes,
    No,
}

impl LoopTally {
    /// The iterations that a limit of them is about: a diagnosis is part of the attempt after it.
    pub fn counted(&self) -> u32 {
        self.iterations - self.diagnoses + self.earlier.counted
    }

    /// A person has said how to go on: what came before says nothing of what comes now.
    pub fn forget_fruitless(&mut self) {
        self.fruitless = 0;
        self.fruitless_tasks.clear();
    }

    /// Takes an iteration in which no agent could work: it says nothing of the task or the loop, and
    /// nothing is counted.
    pub fn add_idle(
        &mut self,
        task: &TaskId,
        verdict: &Verdict,
        gutter_findings: GutterFindings,
        limit: Option<LimitRow>,
    ) {
        self.last = Some(LastIteration {
            task: task.clone(),
            verdict: verdict.clone(),
            settled: Settled::NotYet,
            gutter_findings,
        });
        self.limit = limit;
    }

    /// Takes the figures of an iteration that a crash had cut off: it was part of an earlier run.
    pub fn add_recovered(&mut self, number: u64, usage: &Usage, spent: Dollars) {
        self.number = number;
        self.usage.add(usage);
        self.spent = self.spent.plus(spent);
    }

    /// Takes an iteration that has ended.
    fn add(&mut self, ended: IterationSummary, at: Timestamp, max_wait: Duration) {
        self.add_recovered(ended.number, &ended.usage, ended.spent);
        let limit = match (&ended.verdict, ended.worker) {
            (Verdict::LimitHit { .. }, worker) => {
                Some(LimitRow::next(self.limit, at, worker, max_wait))
            }
            (Verdict::AgentUnavailable { .. }, Worker::Fallback) => self.limit,
            _ => {
                self.count(&ended);
                None
            }
        };
        self.add_idle(&ended.task, &ended.verdict, ended.gutter_findings, limit);
    }

    fn count(&mut self, ended: &IterationSummary) {
        let verdict = &ended.verdict;
        // Cut short by a person: it is the same iteration when it is begun again.
        if *verdict == Verdict::Interrupted {
            return;
        }
        self.iterations += 1;
        self.diagnoses += u32::from(*verdict == Verdict::Diagnosed);
        self.errors_in_a_row = if verdict.is_agent_error() {
            self.errors_in_a_row + 1
        } else {
            0
        };
        self.sick = self.sick_after(ended);
        if verdict.lands() {
            self.forget_fruitless();
        } else if !says_nothing_against_the_loop(ended) {
            self.fruitless += 1;
            self.fruitless_tasks.insert(ended.task.clone());
        }
    }

    /// An agent that landed its work was well enough, whatever it looked like.
    fn sick_after(&self, ended: &IterationSummary) -> Option<FailingStreak> {
        match (ended.health, &ended.verdict) {
            (_, verdict) if verdict.lands() => None,
            // One that crashed is an error of the agent, and counted as that.
            (HealthState::Failing, Verdict::AgentError { .. }) => self.sick,
            (state @ (HealthState::Failing | HealthState::Terminated), _) => Some(FailingStreak {
                in_a_row: self.sick.map_or(0, |sick| sick.in_a_row) + 1,
                state,
            }),
            (HealthState::Healthy | HealthState::Degraded | HealthState::Stuck, _) => None,
        }
    }
}

/// A question is no failure, and neither is a diagnosis: others may be ready that have none. Nor is a
/// handoff, as long as each agent adds to the work.
fn says_nothing_against_the_loop(ended: &IterationSummary) -> bool {
    match ended.verdict {
        Verdict::Escalated | Verdict::Diagnosed => true,
        Verdict::Handoff { .. } => ended.moved == WorkMoved::Yes,
        _ => false,
    }
}

#[cfg(test)]
mod tests;
