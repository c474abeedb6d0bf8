//! Whether a loop waits for a usage limit, read off the journal: the process that waits need not live.

use jiff::Timestamp;
use ralph_core::{
    config::{OnUsageLimit, UsageLimitsConfig},
    record::IterationRecord,
    termination::{LimitRow, Worker, try_again_at},
    verdict::Verdict,
};
use ralph_engine::store::LoopRow;

/// Until when the loop waits that is not over and whose last iteration met a usage limit.
pub(super) fn waiting_until(
    last_loop: Option<&LoopRow>,
    last: Option<&IterationRecord>,
    limits: &UsageLimitsConfig,
) -> Option<Timestamp> {
    let (row, last) = (last_loop?, last?);
    let Verdict::LimitHit { resets_at } = last.verdict else {
        return None;
    };
    if row.ended_at.is_some() || row.id != last.loop_id {
        return None;
    }
    // The other one goes on at once: only its own limit is waited for.
    let of_main = last.runs.last().is_some_and(|run| run.agent == row.agent);
    if of_main && limits.on_usage_limit == OnUsageLimit::Fallback {
        return None;
    }
    let hit = LimitRow {
        count: 1,
        since: last.ended_at,
        last_at: last.ended_at,
        of: Worker::Main,
    };
    let unknown = limits.unknown_wait_minutes.duration();
    Some(try_again_at(resets_at, &hit, unknown))
}
