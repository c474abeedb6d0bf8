//! From when on an agent is to hand over, and what is known of that when its run begins.

use std::time::Duration;

use super::Share;
use crate::dollars::Dollars;

/// From when on an agent is to hand over.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Thresholds {
    /// More of the context than this.
    pub context: Share,
    /// So many steps in a row that failed.
    pub errors: u32,
    /// More of what may be spent than this.
    pub budget: Share,
    /// So long before the end of its time.
    pub wrap_up: Duration,
}

impl Default for Thresholds {
    fn default() -> Self {
        Self {
            context: Share::percent(70),
            errors: 3,
            budget: Share::percent(80),
            wrap_up: Duration::from_secs(5 * 60),
        }
    }
}

/// Describes what a run begins with.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Start {
    /// The time that the agent has; none where it is not the iteration's own that ends first.
    pub time: Option<Duration>,
    /// The limit of cost that is used up first.
    pub room: Option<Room>,
}

/// Describes what may be spent in all, and what is spent already.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Room {
    pub spent: Dollars,
    pub max: Dollars,
}

impl Thresholds {
    /// When the agent is to wrap up. Of a short time it has at least the half.
    pub(super) fn wraps_up_at(&self, start: &Start) -> Option<Duration> {
        let time = start.time?;
        Some(time - self.wrap_up.min(time / 2))
    }

    /// Returns what may be spent, where using it up is a reason to hand over. Where most of it is spent already,
    /// a fresh agent would be asked to wrap up for what the one before has spent.
    pub(super) fn room(&self, start: &Start) -> Option<Room> {
        let is_spent = |Room { spent, max }: &Room| {
            self.budget
                .is_exceeded(spent.millionths(), max.millionths())
        };
        start.room.filter(|room| !is_spent(room))
    }
}
