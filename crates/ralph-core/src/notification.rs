//! Notifications for a person who is away: a question, the end, a halt, a limit, the budget.
//!
//! Says which events of a loop are an occasion, and makes the message. Sends nothing; what must not
//! leave the machine is taken out by [`Redaction`] before anything is sent.

#[cfg(test)]
mod tests;

use std::{collections::BTreeSet, str::FromStr};

use jiff::Timestamp;
use schemars::JsonSchema;
use serde::Serialize;

use crate::{
    agent::AgentEvent,
    dollars::Dollars,
    event::{Event, WaitReason},
    health::InterventionLevel,
    id::{LoopId, QuestionId},
    loop_state::LoopState,
    sanitize::one_line,
    secret::Redaction,
    termination::Stop,
    verdict::IterationOutcome,
};

/// Longest title and longest text, in columns: a message is read at a glance.
const TITLE_COLUMNS: usize = 120;
const TEXT_COLUMNS: usize = 1000;

/// One message. The JSON form is a contract (docs/notify.md): fields are added, never renamed.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Notification {
    pub event: Occasion,
    pub title: String,
    /// One sentence.
    pub text: String,
    /// A hint for the person.
    pub hint: Option<String>,
    pub task: Option<String>,
    pub loop_id: LoopId,
    /// The task file, or the folder of them.
    pub source: String,
    pub branch: String,
    /// The exit code of `ralph run`, if it has ended.
    pub exit_code: Option<u8>,
    pub at: Timestamp,
}

impl Notification {
    /// The message as it may be sent: without secrets, each text on one line and cut.
    #[must_use]
    pub fn fit_to_send(self, redaction: &Redaction) -> Self {
        // Secrets go first: one that was cut in two would no longer be known.
        let fit = |text: &str, columns| one_line(&redaction.hide(text), columns);
        Self {
            title: fit(&self.title, TITLE_COLUMNS),
            text: fit(&self.text, TEXT_COLUMNS),
            hint: self.hint.map(|hint| fit(&hint, TEXT_COLUMNS)),
            task: self.task.map(|task| fit(&task, TITLE_COLUMNS)),
            source: fit(&self.source, TEXT_COLUMNS),
            branch: fit(&self.branch, TEXT_COLUMNS),
            ..self
        }
    }

    /// The sample that `ralph notify test` sends.
    pub fn sample(event: Occasion, project: &str, at: Timestamp) -> Self {
        Self {
            event,
            title: format!("ralph in {project}: a test"),
            text: format!("this is what a message about {event} looks like"),
            hint: Some("nothing is to be done: `ralph notify test` sent it".into()),
            task: None,
            loop_id: LoopId::default(),
            source: String::new(),
            branch: String::new(),
            exit_code: None,
            at,
        }
    }
}

named! {
    /// An event that a person may want to be notified of.
    #[derive(JsonSchema)]
    pub enum Occasion {
        Escalation = "escalation",
        Complete = "complete",
        Halt = "halt",
        Limit = "limit",
        BudgetAlert = "budget_alert",
    }
}

impl FromStr for Occasion {
    type Err = String;

    fn from_str(word: &str) -> Result<Self, String> {
        Self::from_word(word).ok_or_else(|| {
            let words = Self::WORDS.join(", ");
            format!("unknown occasion {word:?} (one of: {words})")
        })
    }
}

/// Which occasion an event is, if any. What the budget makes of it is not seen here.
pub fn occasion(event: &Event) -> Option<Occasion> {
    match event {
        Event::Question { .. }
        | Event::Intervention {
            level: InterventionLevel::Escalate,
            ..
        } => Some(Occasion::Escalation),
        // A wait is told of again and again; a person needs to hear of it once.
        Event::Waiting {
            reason: WaitReason::UsageLimit,
            nth: 1,
            ..
        } => Some(Occasion::Limit),
        Event::BudgetAlert { .. } => Some(Occasion::BudgetAlert),
        Event::LoopEnded { stop, .. } => of_stop(stop),
        Event::LoopStarted { .. }
        | Event::Notice { .. }
        | Event::Warning { .. }
        | Event::BaselineStarted { .. }
        | Event::BaselineEnded { .. }
        | Event::CleanChecked { .. }
        | Event::IterationStarted { .. }
        | Event::RunStarted { .. }
        | Event::Agent(_)
        | Event::Inspected { .. }
        | Event::VerifyStarted { .. }
        | Event::VerifyOutput { .. }
        | Event::VerifyEnded { .. }
        | Event::Landed { .. }
        | Event::IterationEnded { .. }
        | Event::Waiting { .. }
        | Event::TaskBlocked { .. }
        | Event::Gutter { .. }
        | Event::Diagnosis { .. }
        | Event::HandoffAsked { .. }
        | Event::Health { .. }
        | Event::Intervention { .. }
        | Event::Breaker { .. }
        | Event::Commanded { .. } => None,
    }
}

fn of_stop(stop: &Stop) -> Option<Occasion> {
    match (stop, LoopState::after(stop)) {
        // `--once`: what was asked for is done, a limit was met, or a person has to look.
        (Stop::OnceDone { verdict }, _) => Some(match verdict.outcome() {
            IterationOutcome::Success => Occasion::Complete,
            IterationOutcome::BudgetExceeded => Occasion::Limit,
            IterationOutcome::Failed | IterationOutcome::Blocked => Occasion::Halt,
        }),
        // The person who ended it knows.
        (Stop::Aborted | Stop::Interrupted { .. }, _) => None,
        (_, LoopState::Completed) => Some(Occasion::Complete),
        // A budget that is spent is a limit that was set, as those of iterations and minutes are.
        (_, LoopState::Terminated) => Some(Occasion::Limit),
        (
            _,
            LoopState::Failed
            | LoopState::Initializing
            | LoopState::Running
            | LoopState::Paused
            | LoopState::Handoff
            | LoopState::Completing,
        ) => Some(Occasion::Halt),
    }
}

/// When the budget is worth a message.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct BudgetAlert {
    pub max: Dollars,
    /// Of `max`, from 1 to 100.
    pub percent: u8,
}

impl BudgetAlert {
    fn threshold(self) -> Dollars {
        Dollars::told(self.max.usd() * f64::from(self.percent) / 100.0)
    }
}

/// The state of a run so far.
///
/// Follows the events of a run and says when there is something to tell. Looks at no clock, and
/// sends nothing.
#[derive(Debug)]
pub struct NotificationWatch {
    /// The name of the folder, so that a person with several knows which.
    project: String,
    /// Taken once it was told.
    alert: Option<BudgetAlert>,
    started: Option<Started>,
    spent: BudgetSums,
    asked: BTreeSet<QuestionId>,
}

#[derive(Debug, Default, Clone)]
struct Started {
    loop_id: LoopId,
    source: String,
    branch: String,
}

/// The cost reported by agents in this run of the command.
#[derive(Debug, Default)]
struct BudgetSums {
    iterations: Dollars,
    /// Runs of this iteration that have ended.
    runs: Dollars,
    run: Dollars,
}

impl BudgetSums {
    fn observe(&mut self, event: &Event) {
        let told = |cost: Option<f64>| cost.map_or(Dollars::NOTHING, Dollars::told);
        match event {
            Event::RunStarted { .. } => {
                self.runs = self.runs.plus(self.run);
                self.run = Dollars::NOTHING;
            }
            Event::Agent(AgentEvent::Usage(usage)) => self.run = told(usage.cost_usd),
            // The iteration's own sum is the better one.
            Event::IterationEnded { cost, .. } => {
                *self = Self {
                    iterations: self.iterations.plus(cost.spent_usd),
                    ..Self::default()
                };
            }
            _ => {}
        }
    }

    fn all(&self) -> Dollars {
        self.iterations.plus(self.runs).plus(self.run)
    }
}

impl NotificationWatch {
    pub fn new(project: impl Into<String>, alert: Option<BudgetAlert>) -> Self {
        Self {
            project: project.into(),
            alert,
            started: None,
            spent: BudgetSums::default(),
            asked: BTreeSet::new(),
        }
    }

    /// The notification about an event, if it needs one.
    pub fn observe(&mut self, event: &Event, at: Timestamp) -> Option<Notification> {
        if let Event::LoopStarted {
            loop_id,
            source,
            branch,
            ..
        } = event
        {
            self.started = Some(Started {
                loop_id: loop_id.clone(),
                source: source.clone(),
                branch: branch.clone(),
            });
        }
        self.spent.observe(event);
        self.budget_alert(at)
            .or_else(|| self.notification(event, at))
    }

    /// The notification if ralph itself failed after a loop had begun.
    pub fn failed(&self, message: &str, at: Timestamp) -> Option<Notification> {
        self.started.as_ref()?;
        Some(Notification {
            text: format!("ralph itself could not go on: {message}"),
            hint: Some("`ralph run` goes on where it stopped, once the cause is gone".into()),
            exit_code: Some(1),
            ..self.blank(Occasion::Halt, "halted", at)
        })
    }

    fn budget_alert(&mut self, at: Timestamp) -> Option<Notification> {
        let spent = self.spent.all();
        let alert = self.alert.take_if(|alert| spent >= alert.threshold())?;
        let BudgetAlert { max, percent } = alert;
        let what = format!("{percent} % of the budget is spent");
        Some(Notification {
            text: format!("{spent} of {max} are spent"),
            hint: Some("the loop stops at its limit; `loop.max_cost_usd` sets it".into()),
            ..self.blank(Occasion::BudgetAlert, &what, at)
        })
    }

    fn notification(&mut self, event: &Event, at: Timestamp) -> Option<Notification> {
        let about = occasion(event)?;
        match event {
            Event::Question {
                id, task, question, ..
            } => {
                // One that was open when the run began may be told again.
                if !self.asked.insert(*id) {
                    return None;
                }
                let what = format!("a question about task {task}");
                Some(Notification {
                    text: question.clone(),
                    hint: Some(format!(
                        "`ralph answer {id}` answers it, `ralph escalations` shows it whole"
                    )),
                    task: Some(task.clone()),
                    ..self.blank(about, &what, at)
                })
            }
            Event::Intervention {
                task,
                sentence,
                hint,
                ..
            } => {
                let what = format!("the agent at task {task} does not get on");
                Some(Notification {
                    text: sentence.clone(),
                    hint: hint.clone(),
                    task: Some(task.clone()),
                    ..self.blank(about, &what, at)
                })
            }
            Event::BudgetAlert {
                budget,
                task,
                spent_usd,
                sentence,
                ..
            } => {
                let what = if *spent_usd >= budget.usd {
                    "a budget is used up"
                } else {
                    "a budget is nearly used up"
                };
                Some(Notification {
                    text: sentence.clone(),
                    hint: Some(
                        "`ralph cost budgets` shows what is left; `budgets` in ralph.yaml allows more"
                            .into(),
                    ),
                    task: task.clone(),
                    ..self.blank(about, what, at)
                })
            }
            Event::Waiting { until, .. } => Some(Notification {
                text: format!("the agent's usage limit is reached: ralph waits until {until}"),
                hint: Some("ralph goes on by itself; no attempt was charged".into()),
                ..self.blank(about, "waits for a usage limit", at)
            }),
            Event::LoopEnded {
                stop,
                sentence,
                hint,
                exit_code,
                tasks,
                ..
            } => {
                let what = match about {
                    Occasion::Complete => "complete",
                    Occasion::Limit => "stopped at a limit",
                    Occasion::Halt | Occasion::Escalation | Occasion::BudgetAlert => "halted",
                };
                let (done, total) = (tasks.completed, tasks.total);
                let unverified = match tasks.unverified {
                    0 => String::new(),
                    n => format!(", {n} unverified"),
                };
                Some(Notification {
                    text: format!("{sentence} ({done} of {total} tasks complete{unverified})"),
                    hint: hint.clone(),
                    task: match stop {
                        Stop::Attempts { task, .. } => Some(task.clone()),
                        _ => None,
                    },
                    exit_code: Some(*exit_code),
                    ..self.blank(about, what, at)
                })
            }
            _ => None,
        }
    }

    fn blank(&self, event: Occasion, what: &str, at: Timestamp) -> Notification {
        let Started {
            loop_id,
            source,
            branch,
        } = self.started.clone().unwrap_or_default();
        Notification {
            event,
            title: format!("ralph in {}: {what}", self.project),
            text: String::new(),
            hint: None,
            task: None,
            loop_id,
            source,
            branch,
            exit_code: None,
            at,
        }
    }
}
