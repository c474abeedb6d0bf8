//! Describes what follows from a usage limit: wait for it, go on with another agent, or stop.
//!
//! Pure: when it was hit and what time it is are arguments. Charges no attempt.

use std::time::Duration;

use jiff::Timestamp;

use super::{Limits, LoopSnapshot, Stop};
use crate::{config::OnUsageLimit, time::later, verdict::Verdict};

/// Describes what is allowed at a usage limit.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct LimitPolicy {
    pub on_limit: OnUsageLimit,
    /// From the first limit in a row to the moment at which the agent is tried again.
    pub max_wait: Duration,
    /// Before the next try where no one says when the limit resets.
    pub unknown_wait: Duration,
}

/// Usage limits in a row, with nothing but them in between.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct LimitRow {
    pub count: u32,
    /// When the first of them was hit, and the last.
    pub since: Timestamp,
    pub last_at: Timestamp,
    /// The worker whose limit the last one is.
    pub of: Worker,
}

/// Beyond the longest wait before limits are no longer in a row: one that was waited out and met again
/// at once still is.
const APART: Duration = Duration::from_secs(600);
/// Limits in a row that two agents meet once each.
const BOTH: u32 = 2;

impl LimitRow {
    /// The row with one more limit. One that comes longer after the last than anyone waits begins a
    /// new one: the machine slept, or ralph was not there.
    pub fn next(before: Option<Self>, at: Timestamp, of: Worker, max_wait: Duration) -> Self {
        let apart = max_wait.saturating_add(APART);
        let before = before.filter(|row| at <= later(row.last_at, apart));
        Self {
            count: before.map_or(0, |row| row.count).saturating_add(1),
            since: before.map_or(at, |row| row.since),
            last_at: at,
            of,
        }
    }
}

/// The one who works: the agent of the loop, or the one that goes on at its usage limit.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Worker {
    Main,
    Fallback,
}

/// The way the loop goes on after a usage limit.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum AfterLimit {
    /// No agent is started before `until`.
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

/// Returns what follows from the usage limit that was just hit; nothing once it is over.
pub(super) fn after_limit(
    resets_at: Option<Timestamp>,
    snapshot: &LoopSnapshot<'_>,
    limits: &Limits,
) -> Result<Option<AfterLimit>, Stop> {
    let stop = Stop::UsageLimit { resets_at };
    let policy = &limits.usage;
    let Some(row) = &snapshot.limit else {
        return Err(stop);
    };
    let until = try_again_at(resets_at, row, policy.unknown_wait);
    if until <= snapshot.now {
        return Ok(None);
    }
    let until = match (policy.on_limit, row.of, snapshot.main_back_at) {
        (OnUsageLimit::Stop, _, _) => return Err(stop),
        (OnUsageLimit::Fallback, Worker::Main, _) => {
            return Ok(Some(AfterLimit::Fallback { until }));
        }
        // Both are used up: the first of them to come back goes on.
        (_, Worker::Fallback, Some(main)) => until.min(main),
        (OnUsageLimit::Wait | OnUsageLimit::Fallback, _, _) => until,
    };
    wait_until(until, snapshot, limits).ok_or(stop)
}

/// Returns what follows where the fallback can't work at all: its place is taken until `main_back_at`, so the
/// agent of the loop is waited for. Nothing once that one is back.
pub(super) fn after_lost_fallback(
    main_back_at: Timestamp,
    message: &str,
    snapshot: &LoopSnapshot<'_>,
    limits: &Limits,
) -> Result<Option<AfterLimit>, Stop> {
    wait_until(main_back_at, snapshot, limits).ok_or_else(|| Stop::AgentUnavailable {
        message: message.to_owned(),
    })
}

/// Waits until then, or goes on if that is over; nothing if it is longer than is waited for.
fn wait_until(
    until: Timestamp,
    snapshot: &LoopSnapshot<'_>,
    limits: &Limits,
) -> Option<Option<AfterLimit>> {
    let row = snapshot.limit.as_ref();
    let since = row.map_or(snapshot.now, |row| row.since);
    let too_long = until > later(since, limits.usage.max_wait);
    if until <= snapshot.now {
        // Two agents that fail in turns must come to an end as well.
        let in_turns = row.is_some_and(|row| row.count > BOTH);
        return (!(too_long && in_turns)).then_some(None);
    }
    let run_ends = limits
        .max_time
        .map(|all| later(snapshot.now, all.saturating_sub(snapshot.elapsed)));
    if too_long || run_ends.is_some_and(|end| until > end) {
        return None;
    }
    Some(Some(AfterLimit::Wait { until }))
}

/// An iteration of the past.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Past<'a> {
    pub by: Worker,
    pub ended_at: Timestamp,
    pub verdict: &'a Verdict,
    pub of_loop: OfLoop,
}

/// Which loop an iteration belongs to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum OfLoop {
    /// The one that goes on after it was killed.
    This,
    /// One that has ended.
    Earlier,
}

impl Recalled {
    /// Returns true if a loop would wait for it rather than stop. One that is too far away is not held against
    /// a loop that a person starts: they may know that it is not so any more.
    pub fn is_waited_for(&self, now: Timestamp, policy: &LimitPolicy) -> bool {
        let wait = self.main_back_at.duration_since(now);
        let wait = std::time::Duration::try_from(wait).unwrap_or_default();
        policy.on_limit != OnUsageLimit::Wait || wait <= policy.max_wait
    }
}

/// A limit that is still in force.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Recalled {
    /// Which of the iterations met it.
    pub nth: usize,
    pub row: LimitRow,
    /// When the agent of the loop is tried again.
    pub main_back_at: Timestamp,
}

/// Describes what an iteration says of its agent's limit.
enum LimitSign {
    Reached(Option<Timestamp>),
    /// The agent worked: whatever limit there was is over.
    Through,
    Nothing,
}

/// The limit that keeps the agent of the loop from working at `now`; `past` is oldest first.
///
/// The newest iteration of each worker that says anything counts. Nothing is recalled where a limit
/// stops the loop: anyone who starts it again wants the agent to be asked.
pub fn recall(past: &[Past<'_>], now: Timestamp, policy: &LimitPolicy) -> Option<Recalled> {
    match policy.on_limit {
        OnUsageLimit::Stop => return None,
        OnUsageLimit::Wait | OnUsageLimit::Fallback => {}
    }
    let mut row = None;
    let (mut main, mut fallback) = (None, None);
    for (nth, one) in past.iter().enumerate() {
        let held = match (said(one.verdict), one.of_loop) {
            (LimitSign::Nothing, _) => continue,
            (LimitSign::Through, _) => {
                row = None;
                None
            }
            // It is not known when it ends, and someone started ralph again: the agent is asked again.
            (LimitSign::Reached(None), OfLoop::Earlier) => None,
            (LimitSign::Reached(resets_at), of_loop) => {
                let next = match of_loop {
                    OfLoop::This => LimitRow::next(row, one.ended_at, one.by, policy.max_wait),
                    // A person started ralph again, so what is waited for is counted again.
                    OfLoop::Earlier => LimitRow {
                        since: now,
                        ..LimitRow::next(None, one.ended_at, one.by, policy.max_wait)
                    },
                };
                row = (of_loop == OfLoop::This).then_some(next);
                let until = try_again_at(resets_at, &next, policy.unknown_wait);
                Some((nth, next, until))
            }
        };
        match one.by {
            Worker::Main => main = held,
            Worker::Fallback => fallback = held,
        }
    }
    let in_force = |held: &(usize, LimitRow, Timestamp)| held.2 > now;
    let (nth, row, main_back_at) = main.filter(in_force)?;
    // Where the other one is used up too, its limit is what decides.
    let (nth, row) = fallback
        .filter(in_force)
        .map_or((nth, row), |(nth, row, _)| (nth, row));
    Some(Recalled {
        nth,
        row,
        main_back_at,
    })
}

fn said(verdict: &Verdict) -> LimitSign {
    let no_one_worked = matches!(
        verdict,
        Verdict::Interrupted | Verdict::Overloaded { .. } | Verdict::AgentUnavailable { .. }
    );
    if let Verdict::LimitHit { resets_at } = verdict {
        LimitSign::Reached(*resets_at)
    } else if no_one_worked {
        LimitSign::Nothing
    } else {
        LimitSign::Through
    }
}
