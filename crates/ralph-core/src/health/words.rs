//! Describes what is said to an agent that makes no progress, and to the person who is asked about it.

use std::time::Duration;

/// Defines what an agent is told. The duration goes in the place of `{duration}`.
pub const REMINDER: &str = "REMINDER: You have been working for {duration} without checkpoint update. \
     Please either update progress, request handoff, or report blockers.";

/// Defines what a person can do about an agent that does not get on.
pub(super) const OPTIONS: &str = "`ralph intervene more-time` lets it go on, `ralph intervene handoff` has a \
     fresh agent go on, `ralph intervene terminate` ends it now";

pub(super) fn reminder(without_progress: Duration) -> String {
    REMINDER.replace("{duration}", &for_people(without_progress))
}

/// A length of time in the one or two units that matter.
pub fn for_people(time: Duration) -> String {
    let count = |n: u64, unit: &str| match n {
        1 => format!("1 {unit}"),
        n => format!("{n} {unit}s"),
    };
    let seconds = time.as_secs();
    match (seconds / 3600, seconds / 60 % 60) {
        (0, 0) => count(seconds, "second"),
        (0, minutes) => count(minutes, "minute"),
        (hours, 0) => count(hours, "hour"),
        (hours, minutes) => format!("{} {}", count(hours, "hour"), count(minutes, "minute")),
    }
}
