//! What follows from a usage limit: wait for it, go on with somebody else, or stop.
//!
//! Pure: when it was hit and what time it is are arguments. Charges nobody.

use std::time::Duration;

use jiff::{SignedDuration, Timestamp};

use super::{Limits, Standing, Stop};
use crate::config::OnUsageLimit;

/// What is allowed at a usage limit.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct LimitPolicy {
    pub on_limit: OnUsageLimit,
    /// From the first limit in a row to the moment at which the agent is tried again.
    pub max_wait: Duration,
    /// Before the next try where nobody says when the limit resets.
    pub unknown_wait: Duration,
}

/// Usage limits in a row, with nothing but them in between.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct LimitRow {
    pub count: u32,
    /// When the first of them was hit, and the last.
    pub since: Timestamp,
    pub last_at: Timestamp,
    /// Whose limit the last one is.
    pub of: Worker,
}

/// Who works: the agent of the loop, or the one that goes on at its usage limit.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Worker {
    Main,
    Fallback,
}

/// How the loop goes on after a usage limit.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum AfterLimit {
    /// Nobody is started before `until`.
    Wait { until: Timestamp },
    /// The fallback works until then.
    Fallback { until: Timestamp },
}

/// When to try again. A reset that was over when the limit was hit is believed once: two clocks
/// differ, but an agent that goes on refusing is not asked without a break.
pub fn try_again_at(
    resets_at: Option<Timestamp>,
    row: &LimitRow,
    unknown_wait: Duration,
) -> Timestamp {
    match resets_at {
        Some(at) if at > row.last_at => at,
        Some(_) if row.count <= 1 => row.last_at,
        Some(_) | None => later(row.last_at, unknown_wait),
    }
}

/// What follows from the usage limit that was just hit; nothing once it is over.
pub(super) fn after_limit(
    resets_at: Option<Timestamp>,
    standing: &Standing<'_>,
    limits: &Limits,
) -> Result<Option<AfterLimit>, Stop> {
    let stop = Stop::UsageLimit { resets_at };
    let policy = &limits.usage;
    let Some(row) = &standing.limit else {
        return Err(stop);
    };
    let until = try_again_at(resets_at, row, policy.unknown_wait);
    let until = match (policy.on_limit, row.of, standing.main_back_at) {
        (OnUsageLimit::Stop, _, _) => return Err(stop),
        (OnUsageLimit::Fallback, Worker::Main, _) if until > standing.now => {
            return Ok(Some(AfterLimit::Fallback { until }));
        }
        // Both are used up: the first of them to come back goes on.
        (_, Worker::Fallback, Some(main)) => until.min(main),
        (OnUsageLimit::Wait | OnUsageLimit::Fallback, _, _) => until,
    };
    if until <= standing.now {
        return Ok(None);
    }
    let run_ends = limits
        .max_time
        .map(|all| later(standing.now, all.saturating_sub(standing.elapsed)));
    if until > later(row.since, policy.max_wait) || run_ends.is_some_and(|end| until > end) {
        return Err(stop);
    }
    Ok(Some(AfterLimit::Wait { until }))
}

fn later(from: Timestamp, by: Duration) -> Timestamp {
    let by = SignedDuration::try_from(by).unwrap_or(SignedDuration::MAX);
    from.checked_add(by).unwrap_or(Timestamp::MAX)
}
