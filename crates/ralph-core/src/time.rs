//! Arithmetic with moments that can't fail: a clock that was set back counts as no time at all.

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

/// Returns the time from one moment to a later one.
pub fn between(from: Timestamp, to: Timestamp) -> Duration {
    Duration::try_from(to.duration_since(from)).unwrap_or_default()
}

/// Returns [`between`] in seconds.
pub fn seconds(from: Timestamp, to: Timestamp) -> f64 {
    between(from, to).as_secs_f64()
}
