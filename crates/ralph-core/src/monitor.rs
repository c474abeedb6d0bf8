//! Describes what is done about a loop from outside its process: decided from what was seen of it, look by look.
//!
//! Only decides, by a clock that it is given. Looking, signalling, telling people and starting a loop
//! again are the engine's and the binary's. An agent is never judged here: that is the loop's own,
//! as long as its process works.

#[cfg(test)]
mod tests;

use std::time::Duration;

use jiff::{SignedDuration, Timestamp};
use serde::Serialize;

use crate::health::HealthReport;

/// Describes what is allowed, and how long each step is waited for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct MonitorPolicy {
    /// Tells what a hanging loop has to answer, before a person is told.
    pub ask_wait: Duration,
    /// Tells what a person has, before it is terminated.
    pub escalate_wait: Duration,
    /// Tells what it has to end by itself, before it is killed.
    pub grace: Duration,
    /// Tells what a loop that was started again has to show itself.
    pub start_wait: Duration,
    /// Looks that are further apart were not made: the machine slept, or this process did. No one
    /// could do anything meanwhile, so that waits begin again.
    pub lost_touch: Duration,
    pub restarting: Restarting,
    /// Restarts an hour.
    pub max_restarts: u32,
    /// A loop that showed no sign of life for longer was left by its person.
    pub restart_within: Duration,
}

/// Tells whether a loop is started again by itself.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Restarting {
    /// A person does that.
    Never,
    Automatic,
}

/// Describes what a look found.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Seen {
    pub sight: Sight,
    pub wish: Wish,
    /// Restarts of the last hour.
    pub restarts: u32,
    /// The time since it showed a sign of life.
    pub silent: Duration,
}

/// Describes what a person wants of a loop.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Wish {
    Work,
    /// A person lets it rest, and would not want it started.
    Rest,
}

/// The point up to which things have come with a loop.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Phase {
    #[default]
    Watched,
    /// It asks a person, who has been told.
    PassedOn,
    /// It hangs, and was asked.
    Asked {
        since: Timestamp,
    },
    /// A person was told that it hangs.
    Escalated {
        since: Timestamp,
    },
    /// It was told to end.
    Ending {
        since: Timestamp,
    },
    /// It was killed.
    Killing {
        since: Timestamp,
    },
    /// Its process is gone, and a person has to go on with it.
    Lost,
    Restarted {
        since: Timestamp,
    },
    Over,
}

/// An action to take.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Act {
    Nothing,
    /// Tell a person what the loop asks.
    PassOn,
    /// Ask the loop whether it listens.
    Ask,
    /// Tell a person that it hangs.
    Escalate,
    Terminate,
    Kill,
    /// Say that it works again.
    Recovered,
    /// Its process is gone.
    Lost {
        how: Loss,
        then: AfterLoss,
    },
    /// Say that it has ended.
    Over,
}

/// The way a loop lost its process.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Loss {
    /// By itself, or by someone else.
    Crashed,
    /// By the monitor.
    Terminated,
}

/// Describes what follows for a loop whose process is gone.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum AfterLoss {
    Restart,
    /// A person can.
    Leave,
    /// A person let it rest.
    Rests,
    /// It was started too often.
    GiveUp,
    /// It is too long ago.
    TooLongAgo,
}

/// One loop as it is watched.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Watch {
    phase: Phase,
    last: Option<Timestamp>,
}

impl Watch {
    /// Takes a look in, and says what to do.
    #[must_use]
    pub fn observe(&mut self, seen: &Seen, policy: &MonitorPolicy, now: Timestamp) -> Act {
        if let Some(last) = self.last
            && (now < last || has_passed(last, now, policy.lost_touch))
        {
            self.phase = self.phase.beginning(now);
        }
        self.last = Some(now);
        let (phase, act) = self.phase.step(seen, policy, now);
        self.phase = phase;
        act
    }
}

impl Phase {
    /// Returns what follows from a look.
    pub fn step(self, seen: &Seen, policy: &MonitorPolicy, now: Timestamp) -> (Self, Act) {
        match seen.sight {
            Sight::Well => self.works(policy, now),
            Sight::Asking => self.asks(policy, now),
            Sight::Hangs => self.hangs(policy, now),
            Sight::Gone => self.is_gone(seen, policy, now),
            Sight::Ended => self.has_ended(seen, policy, now),
        }
    }

    fn works(self, policy: &MonitorPolicy, now: Timestamp) -> (Self, Act) {
        match self {
            Self::Watched | Self::PassedOn => (Self::Watched, Act::Nothing),
            // It was told to end: what it says meanwhile is no recovery.
            Self::Ending { .. } | Self::Killing { .. } => self.hangs(policy, now),
            Self::Asked { .. }
            | Self::Escalated { .. }
            | Self::Lost
            | Self::Restarted { .. }
            | Self::Over => (Self::Watched, Act::Recovered),
        }
    }

    fn asks(self, policy: &MonitorPolicy, now: Timestamp) -> (Self, Act) {
        match self {
            Self::PassedOn => (self, Act::Nothing),
            Self::Ending { .. } | Self::Killing { .. } => self.hangs(policy, now),
            Self::Watched
            | Self::Asked { .. }
            | Self::Escalated { .. }
            | Self::Lost
            | Self::Restarted { .. }
            | Self::Over => (Self::PassedOn, Act::PassOn),
        }
    }

    fn hangs(self, policy: &MonitorPolicy, now: Timestamp) -> (Self, Act) {
        let over = |since, wait| has_passed(since, now, wait);
        let since = now;
        match self {
            Self::Watched | Self::PassedOn | Self::Lost | Self::Restarted { .. } | Self::Over => {
                (Self::Asked { since }, Act::Ask)
            }
            Self::Asked { since: then } if over(then, policy.ask_wait) => {
                (Self::Escalated { since }, Act::Escalate)
            }
            Self::Escalated { since: then } if over(then, policy.escalate_wait) => {
                (Self::Ending { since }, Act::Terminate)
            }
            // Killed again, where the first time did not do: a process that waits for a disk.
            Self::Ending { since: then } | Self::Killing { since: then }
                if over(then, policy.grace) =>
            {
                (Self::Killing { since }, Act::Kill)
            }
            Self::Asked { .. }
            | Self::Escalated { .. }
            | Self::Ending { .. }
            | Self::Killing { .. } => (self, Act::Nothing),
        }
    }

    fn is_gone(self, seen: &Seen, policy: &MonitorPolicy, now: Timestamp) -> (Self, Act) {
        let how = match self {
            Self::Lost | Self::Over => return (Self::Lost, Act::Nothing),
            Self::Restarted { since } if !has_passed(since, now, policy.start_wait) => {
                return (self, Act::Nothing);
            }
            Self::Ending { .. } | Self::Killing { .. } => Loss::Terminated,
            Self::Watched
            | Self::PassedOn
            | Self::Asked { .. }
            | Self::Escalated { .. }
            | Self::Restarted { .. } => Loss::Crashed,
        };
        lost(how, seen, policy, now)
    }

    fn has_ended(self, seen: &Seen, policy: &MonitorPolicy, now: Timestamp) -> (Self, Act) {
        match self {
            Self::Over => (self, Act::Nothing),
            // It ended as it was told, and would not have otherwise.
            Self::Ending { .. } | Self::Killing { .. } => lost(Loss::Terminated, seen, policy, now),
            Self::Restarted { since } if !has_passed(since, now, policy.start_wait) => {
                (self, Act::Nothing)
            }
            Self::Watched
            | Self::PassedOn
            | Self::Asked { .. }
            | Self::Escalated { .. }
            | Self::Lost
            | Self::Restarted { .. } => (Self::Over, Act::Over),
        }
    }

    /// The same with its wait beginning now.
    fn beginning(self, since: Timestamp) -> Self {
        match self {
            Self::Asked { .. } => Self::Asked { since },
            Self::Escalated { .. } => Self::Escalated { since },
            Self::Ending { .. } => Self::Ending { since },
            Self::Killing { .. } => Self::Killing { since },
            Self::Restarted { .. } => Self::Restarted { since },
            Self::Watched | Self::PassedOn | Self::Lost | Self::Over => self,
        }
    }
}

fn lost(how: Loss, seen: &Seen, policy: &MonitorPolicy, now: Timestamp) -> (Phase, Act) {
    let then = match (policy.restarting, seen.wish) {
        (_, Wish::Rest) => AfterLoss::Rests,
        (Restarting::Never, Wish::Work) => AfterLoss::Leave,
        (Restarting::Automatic, Wish::Work) if seen.silent > policy.restart_within => {
            AfterLoss::TooLongAgo
        }
        (Restarting::Automatic, Wish::Work) if seen.restarts >= policy.max_restarts => {
            AfterLoss::GiveUp
        }
        (Restarting::Automatic, Wish::Work) => AfterLoss::Restart,
    };
    let phase = match then {
        AfterLoss::Restart => Phase::Restarted { since: now },
        AfterLoss::Leave | AfterLoss::Rests | AfterLoss::GiveUp | AfterLoss::TooLongAgo => {
            Phase::Lost
        }
    };
    (phase, Act::Lost { how, then })
}

fn has_passed(since: Timestamp, now: Timestamp, wait: Duration) -> bool {
    let wait = SignedDuration::try_from(wait).unwrap_or(SignedDuration::MAX);
    now.duration_since(since) >= wait
}

/// Describes what was seen of a loop.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Sight {
    /// It works, and looks after its agent by itself.
    Well,
    /// The same, and it asks a person what to do about its agent.
    Asking,
    /// Its process lives and shows no sign of life.
    Hangs,
    /// Its process is gone, and the journal has no end of it.
    Gone,
    /// The journal says that it is over.
    Ended,
}

named! {
    /// The state of the process of a loop.
    pub enum ProcessState {
        Alive = "alive",
        /// It is there, and shows no sign of life.
        Hangs = "hangs",
        Gone = "gone",
    }
}

/// Returns how a process that is there does, by when it wrote last. One that has not written yet has only
/// begun.
pub fn process_state(
    report: Option<&HealthReport>,
    hang_after: Duration,
    now: Timestamp,
) -> ProcessState {
    let Some(report) = report else {
        return ProcessState::Alive;
    };
    let patience = SignedDuration::try_from(hang_after).unwrap_or(SignedDuration::MAX);
    let is_silent = now.duration_since(report.written_at) > patience;
    let may_be = report.quiet_until.is_some_and(|until| now <= until);
    if is_silent && !may_be {
        ProcessState::Hangs
    } else {
        ProcessState::Alive
    }
}

/// Returns what a loop that is not over looks like.
pub fn sight(process: ProcessState, report: Option<&HealthReport>) -> Sight {
    let asks = report.is_some_and(|report| report.answer_until.is_some());
    match (process, asks) {
        (ProcessState::Gone, _) => Sight::Gone,
        (ProcessState::Hangs, _) => Sight::Hangs,
        (ProcessState::Alive, true) => Sight::Asking,
        (ProcessState::Alive, false) => Sight::Well,
    }
}
