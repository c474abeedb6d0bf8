//! Whether a loop waits for a usage limit, read off the journal: the process that waits need not live.

use jiff::Timestamp;
use ralph_core::{
    config::{OnUsageLimit, UsageLimitsConfig},
    record::IterationRecord,
    termination::{LimitPolicy, OfLoop, Past, Worker, recall, try_again_at},
    verdict::Verdict,
};
use ralph_engine::store::LoopRow;

/// Until when the newest loop of a worktree waits, if it is not over; `records` are that worktree's,
/// newest first.
pub(super) fn waiting_until(
    last_loop: Option<&LoopRow>,
    records: &[IterationRecord],
    limits: &UsageLimitsConfig,
) -> Option<Timestamp> {
    let row = last_loop.filter(|row| row.ended_at.is_none())?;
    let of_loop = |record: &IterationRecord| {
        if record.loop_id == row.id {
            OfLoop::This
        } else {
            OfLoop::Earlier
        }
    };
    let past: Vec<Past<'_>> = records
        .iter()
        .rev()
        .filter_map(|record| {
            Some(Past {
                by: worker(&record.runs.last()?.agent, row, limits)?,
                ended_at: record.ended_at,
                verdict: &record.verdict,
                of_loop: of_loop(record),
            })
        })
        .collect();
    let newest = past.last()?;
    // What was in force when the loop last looked.
    let looked_at = match newest.of_loop {
        OfLoop::This => newest.ended_at,
        OfLoop::Earlier => row.started_at.parse().ok()?,
    };
    let policy = LimitPolicy {
        on_limit: limits.on_usage_limit,
        max_wait: limits.max_wait_minutes.duration(),
        unknown_wait: limits.unknown_wait_minutes.duration(),
    };
    let recalled = recall(&past, looked_at, &policy)?;
    let main = recalled.main_back_at;
    match (limits.on_usage_limit, recalled.row.of, newest.verdict) {
        (OnUsageLimit::Stop, _, _) => None,
        (OnUsageLimit::Wait, _, _) => Some(main),
        // Both are used up: the first of them to come back is waited for.
        (OnUsageLimit::Fallback, Worker::Fallback, _) => {
            let Verdict::LimitHit { resets_at } = past[recalled.nth].verdict else {
                return None;
            };
            let other = try_again_at(*resets_at, &recalled.row, policy.unknown_wait);
            Some(main.min(other))
        }
        // Nobody can stand in for it.
        (OnUsageLimit::Fallback, Worker::Main, Verdict::AgentUnavailable { .. }) => Some(main),
        // The other one goes on at once.
        (OnUsageLimit::Fallback, Worker::Main, _) => None,
    }
}

/// Whose name it is in a record.
fn worker(agent: &str, row: &LoopRow, limits: &UsageLimitsConfig) -> Option<Worker> {
    if agent == row.agent {
        return Some(Worker::Main);
    }
    let other = limits.fallback_agent.as_ref();
    let other = other.map_or_else(|| row.agent.clone(), ToString::to_string);
    let fallback = match &limits.fallback_model {
        Some(model) => format!("{other} ({model})"),
        None => other,
    };
    (agent == fallback).then_some(Worker::Fallback)
}
