//! Follows the events of a run and says when there is something to tell, and what.
//!
//! Keeps what a message needs: which loop this is, what has been spent, which questions were told.
//! Looks at no clock, and sends nothing.

use std::collections::BTreeSet;

use jiff::Timestamp;

use super::{Notification, Occasion, occasion};
use crate::{
    agent::AgentEvent,
    dollars::Dollars,
    event::Event,
    id::{LoopId, QuestionId},
    termination::Stop,
};

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
            Event::IterationEnded { usage, .. } => {
                *self = Self {
                    iterations: self.iterations.plus(told(usage.cost_usd)),
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
                Some(Notification {
                    text: format!("{sentence} ({done} of {total} tasks complete)"),
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
