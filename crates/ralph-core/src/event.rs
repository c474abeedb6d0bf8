//! Describes what happens in a loop, for its watchers: terminal, JSON lines, log.
//!
//! One enum feeds all reporters. The JSON form is a contract (docs/run-events.md): fields are added,
//! never renamed.

use jiff::Timestamp;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use crate::{
    agent::{AgentEvent, Usage},
    board::Counts,
    breaker::BreakerState,
    command::CommandReport,
    dollars::Dollars,
    economics::{Budget, KnownCost},
    gutter::Gutter,
    handoff::HandoffTrigger,
    health::{HealthState, InterventionLevel},
    id::{CommandId, IterationId, LoopId, QuestionId},
    iteration::ChangedFile,
    signal::Escalation,
    termination::Stop,
    verdict::{IterationOutcome, Verdict},
    verify::CleanOutcome,
};

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(
    tag = "event",
    rename_all = "snake_case",
    rename_all_fields = "camelCase"
)]
pub enum Event {
    LoopStarted {
        loop_id: LoopId,
        /// Tells what was typed, as far as it says what is worked at.
        command: String,
        source: String,
        branch: String,
        /// Where the branch was started from, as `main@abc123`, as far as that is known.
        from: Option<String>,
        agent: String,
        /// Tells where agents work: in layers, or in the user's own folder and why.
        workspace: String,
        /// The walls around them, or why there are none.
        sandbox: String,
        tasks: Tally,
        max_iterations: u32,
        /// An interrupted loop of the same source goes on.
        resumed: bool,
    },
    /// Something the user should know, and need not act on.
    Notice {
        message: String,
    },
    Warning {
        message: String,
    },
    /// The configured commands, run once before the first attempt.
    BaselineStarted {
        commands: usize,
    },
    BaselineEnded {
        /// Commands that fail before any work is done.
        red: Vec<String>,
    },
    /// The last commit was verified in a fresh clone, or could not be.
    CleanChecked {
        commit: String,
        outcome: CleanOutcome,
        /// The finding, in one sentence.
        message: String,
        /// The end of the output of the command that fails.
        tail: String,
    },
    IterationStarted {
        iteration: u64,
        iteration_id: IterationId,
        task: String,
        title: String,
        attempt: u32,
        max_attempts: u32,
        /// Which iteration of this run of the command.
        nth: u32,
        max_iterations: u32,
        /// The number of statements of a person that go into its prompt.
        guidance: u32,
        /// It is no attempt: it is to find out why this happens.
        diagnoses: Option<Gutter>,
    },
    RunStarted {
        run: u32,
        /// The one who works: the loop's agent, or its fallback.
        agent: String,
        fix_only: bool,
        /// The end of the output that is to be fixed.
        tail: String,
    },
    Agent(AgentEvent),
    Inspected {
        files: Vec<ChangedFile>,
        flags: Vec<String>,
        refusal: Option<String>,
    },
    VerifyStarted {
        command: String,
    },
    /// A verify command that runs printed something; told at most once a second.
    VerifyOutput {
        command: String,
        /// The last line that it has printed.
        line: String,
    },
    VerifyEnded {
        command: String,
        passed: bool,
        seconds: f64,
        against_baseline: String,
        /// The end of its output; empty if it passed.
        tail: String,
        /// The log that has all of it.
        log: String,
    },
    Landed {
        task: String,
        commit: Option<String>,
        subject: String,
        unverified: bool,
    },
    IterationEnded {
        iteration: u64,
        task: String,
        #[serde(flatten)]
        verdict: Verdict,
        outcome: IterationOutcome,
        seconds: f64,
        usage: Usage,
        /// The cost that counts: as the agent told it, else by the price table.
        cost: KnownCost,
        /// The failure's last lines, where there is one.
        tail: String,
        log: String,
    },
    /// Nothing is done before `until`. Said when a wait begins, and again from time to time.
    Waiting {
        reason: WaitReason,
        until: Timestamp,
        /// The rest of it.
        seconds: f64,
        /// The number of times that this wait has been told of, from 1.
        nth: u32,
        /// More about it; may be empty.
        detail: String,
    },
    TaskBlocked {
        task: String,
        reason: String,
    },
    /// The work on a task goes round in circles.
    Gutter {
        task: String,
        #[serde(flatten)]
        gutter: Gutter,
        sentence: String,
        /// Tells what follows: `diagnose`, `ask`, `pause` or `block`.
        then: AfterGutter,
        /// The actions that a person can take.
        hint: String,
    },
    /// Tells what an agent found out about it.
    Diagnosis {
        iteration: u64,
        task: String,
        text: String,
        /// Tells what it changed all the same: put aside.
        put_aside: Vec<String>,
    },
    /// The agent was asked to wrap up, so that a fresh one goes on.
    HandoffAsked {
        iteration: u64,
        task: String,
        trigger: HandoffTrigger,
        /// Tells what it comes from, with its figures.
        sentence: String,
    },
    /// The health of the agent has changed.
    Health {
        iteration: u64,
        task: String,
        before: HealthState,
        state: HealthState,
        sentence: String,
    },
    /// Something is done about an agent that makes no progress.
    Intervention {
        iteration: u64,
        task: String,
        level: InterventionLevel,
        /// Which of its kind, from 1.
        nth: u32,
        sentence: String,
        /// The actions that a person can take.
        hint: Option<String>,
        /// The time to wait for that.
        until: Option<Timestamp>,
    },
    /// The circuit breaker opened, closed, or lets one iteration through.
    Breaker {
        state: BreakerState,
        sentence: String,
    },
    /// A budget is nearly used up, or is: told once each.
    BudgetAlert {
        budget: Budget,
        /// The task that it is about, where each task has its own.
        task: Option<String>,
        spent_usd: Dollars,
        left_usd: Dollars,
        sentence: String,
    },
    /// A person's command was obeyed, or refused.
    Commanded {
        id: CommandId,
        /// The word that a person typed: `skip`, `answer`.
        command: String,
        #[serde(flatten)]
        report: CommandReport,
    },
    /// A question that a person has to answer.
    Question {
        /// Tells what `ralph answer` takes.
        id: QuestionId,
        task: String,
        question: String,
        escalation: Option<Escalation>,
    },
    LoopEnded {
        stop: Stop,
        sentence: String,
        hint: Option<String>,
        exit_code: u8,
        iterations: u32,
        tasks: Tally,
        seconds: f64,
        usage: Usage,
        /// The cost that counts, as the iterations have it.
        cost: KnownCost,
        /// Tells what blocks what, where work is left that is not ready.
        blocked: Vec<Blocked>,
        /// Lists what a person can do next.
        next: Vec<NextStep>,
    },
}

impl Event {
    /// The line of an event that is kept in the log of its iteration; none for others.
    pub fn kept_line(&self) -> Option<String> {
        match self {
            Self::Health {
                state, sentence, ..
            } => Some(format!("[health] {state}: {sentence}")),
            Self::Intervention {
                level, sentence, ..
            } => Some(format!("[intervention] {level}: {sentence}")),
            Self::HandoffAsked { sentence, .. } => Some(format!("[handoff] {sentence}")),
            Self::Breaker { state, sentence } => Some(format!("[breaker] {state}: {sentence}")),
            Self::Gutter { sentence, .. } => Some(format!("[gutter] {sentence}")),
            Self::Question { id, question, .. } => Some(format!("[question] {id}: {question}")),
            Self::BudgetAlert { sentence, .. } => Some(format!("[budget] {sentence}")),
            Self::LoopStarted { .. }
            | Self::Notice { .. }
            | Self::Warning { .. }
            | Self::BaselineStarted { .. }
            | Self::BaselineEnded { .. }
            | Self::CleanChecked { .. }
            | Self::IterationStarted { .. }
            | Self::RunStarted { .. }
            | Self::Agent(_)
            | Self::Inspected { .. }
            | Self::VerifyStarted { .. }
            | Self::VerifyOutput { .. }
            | Self::VerifyEnded { .. }
            | Self::Landed { .. }
            | Self::IterationEnded { .. }
            | Self::Waiting { .. }
            | Self::TaskBlocked { .. }
            | Self::Diagnosis { .. }
            | Self::Commanded { .. }
            | Self::LoopEnded { .. } => None,
        }
    }
}

/// An event that the journal keeps: changes of health, interventions, questions, the breaker, budgets.
///
/// The JSON form is that of the event (docs/run-events.md), with its time.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct KeptEvent {
    pub at: Timestamp,
    #[serde(flatten)]
    pub event: Map<String, Value>,
}

impl KeptEvent {
    /// Nothing for an event that is not kept.
    pub fn of(event: &Event, at: Timestamp) -> Option<Self> {
        event.kept_line()?;
        match serde_json::to_value(event) {
            Ok(Value::Object(event)) => Some(Self { at, event }),
            Ok(_) | Err(_) => None,
        }
    }

    /// The name of the event.
    pub fn kind(&self) -> &str {
        self.text("event")
    }

    /// The iteration during which it happened; none between two.
    pub fn iteration(&self) -> Option<u64> {
        self.event.get("iteration").and_then(Value::as_u64)
    }

    /// The task that it is about; none for one of the whole loop.
    pub fn task(&self) -> Option<&str> {
        self.event.get("task").and_then(Value::as_str)
    }

    /// One line for people: `iteration 7: health stuck: no progress for 30 minutes`.
    pub fn line(&self) -> String {
        let what = ["state", "level"].map(|name| self.text(name));
        let what: Vec<&str> = [self.kind()].into_iter().chain(what).collect();
        let what = what.join(" ");
        let said = ["sentence", "question"].map(|name| self.text(name));
        let during = self.iteration().map(|n| format!("iteration {n}: "));
        let during = during.unwrap_or_default();
        format!("{during}{}: {}", what.trim_end(), said.concat())
    }

    fn text(&self, name: &str) -> &str {
        let value = self.event.get(name).and_then(Value::as_str);
        value.unwrap_or_default()
    }
}

/// A command that a person can type next.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct NextStep {
    pub command: String,
    /// Tells what it shows or does.
    pub what: String,
}

/// Describes what follows where work goes round in circles.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum AfterGutter {
    /// The task's next iteration is to find out why.
    Diagnose,
    /// A person is asked.
    Ask,
    /// A person is asked, and the loop pauses.
    Pause,
    /// The task is blocked.
    Block,
}

/// Describes what a loop waits for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum WaitReason {
    /// The agent's usage limit resets.
    UsageLimit,
    /// The agent's API was overloaded or out of reach: a fresh run follows.
    Overload,
    /// A budget is nearly used up: the next iteration begins later.
    Budget,
    /// The circuit breaker is open until then.
    Breaker,
}

/// Leaf tasks in scope, by where they stand.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct Tally {
    pub total: usize,
    pub completed: usize,
    /// Of the completed ones, those that no command verified.
    #[serde(skip_serializing_if = "crate::board::is_zero")]
    pub unverified: usize,
    pub ready: usize,
    /// They would be ready but for a question that is open.
    pub asking: usize,
    pub waiting: usize,
    pub blocked: usize,
    pub failed: usize,
    pub skipped: usize,
}

impl From<Counts> for Tally {
    fn from(counts: Counts) -> Self {
        Self {
            total: counts.total,
            completed: counts.completed,
            unverified: counts.unverified,
            ready: counts.ready,
            asking: counts.asking,
            waiting: counts.waiting,
            blocked: counts.blocked,
            failed: counts.failed,
            skipped: counts.skipped,
        }
    }
}

/// A task that can't be taken, and why.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Blocked {
    pub task: String,
    pub by: Vec<String>,
}
