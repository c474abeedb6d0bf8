//! The ladder of interventions: reminders, a question to a person, the end.
//!
//! Only knows which rung is next and when. One rung at a time, however late it is asked: after a
//! machine slept, no agent is ended without having been reminded.

use jiff::Timestamp;

use super::HealthPolicy;
use crate::time::later;

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) enum Ladder {
    /// Nothing was done yet.
    #[default]
    Ground,
    /// Reminded so often, the last time at `at`.
    Nudged { times: u32, at: Timestamp },
    /// A person is asked, until then.
    Asked { until: Timestamp },
}

/// The next thing to be done.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Rung {
    Nudge { nth: u32 },
    Escalate { until: Timestamp },
    Terminate,
}

impl Ladder {
    /// Returns what is due for a sick agent, if anything is; and the ladder after it.
    pub(super) fn climb(self, policy: &HealthPolicy, now: Timestamp) -> Option<(Self, Rung)> {
        if self.due_at(policy).is_some_and(|at| at > now) {
            return None;
        }
        Some(match self {
            Self::Ground if policy.max_nudges > 0 => self.nudge(1, now),
            Self::Nudged { times, .. } if times < policy.max_nudges => self.nudge(times + 1, now),
            Self::Ground | Self::Nudged { .. } => {
                let until = later(now, policy.escalation_wait);
                (Self::Asked { until }, Rung::Escalate { until })
            }
            Self::Asked { .. } => (self, Rung::Terminate),
        })
    }

    fn nudge(self, times: u32, at: Timestamp) -> (Self, Rung) {
        (Self::Nudged { times, at }, Rung::Nudge { nth: times })
    }

    /// When the next rung is due for an agent that is sick; nothing is at once.
    pub(super) fn due_at(self, policy: &HealthPolicy) -> Option<Timestamp> {
        match self {
            Self::Ground => None,
            Self::Nudged { at, .. } => Some(later(at, policy.nudge_wait)),
            Self::Asked { until } => Some(until),
        }
    }

    pub(super) fn nudges(self, policy: &HealthPolicy) -> u32 {
        match self {
            Self::Ground => 0,
            Self::Nudged { times, .. } => times,
            Self::Asked { .. } => policy.max_nudges,
        }
    }

    pub(super) fn answer_until(self) -> Option<Timestamp> {
        match self {
            Self::Asked { until } => Some(until),
            Self::Ground | Self::Nudged { .. } => None,
        }
    }
}
