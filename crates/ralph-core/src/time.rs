//! Arithmetic with times that never overflows.

use std::time::Duration;

use jiff::{SignedDuration, Timestamp};

/// Returns the time `by` after `from`, or the last one there is.
pub fn later(from: Timestamp, by: Duration) -> Timestamp {
    let by = SignedDuration::try_from(by).unwrap_or(SignedDuration::MAX);
    from.checked_add(by).unwrap_or(Timestamp::MAX)
}

/// Returns the time without its fraction of a second, for people.
pub fn to_the_second(time: Timestamp) -> Timestamp {
    Timestamp::from_second(time.as_second()).unwrap_or(time)
}
