//! Usage limits that earlier iterations met and that are not over: a loop that begins waits for them
//! as the one before would have.
//!
//! Pure: reads what is kept of iterations, and starts or forgets nothing itself.

use jiff::Timestamp;

use super::{LimitPolicy, LimitRow, Worker, try_again_at};
use crate::{config::OnUsageLimit, verdict::Verdict};

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
    match verdict {
        Verdict::LimitHit { resets_at } => LimitSign::Reached(*resets_at),
        Verdict::Verified
        | Verdict::Progress
        | Verdict::Unclaimed
        | Verdict::Failed { .. }
        | Verdict::NoChange { .. }
        | Verdict::Refused { .. }
        | Verdict::Escalated
        | Verdict::Diagnosed
        | Verdict::Handoff { .. }
        | Verdict::TimedOut { .. }
        | Verdict::Terminated { .. }
        | Verdict::AgentError { .. }
        | Verdict::Budget { .. } => LimitSign::Through,
        Verdict::Interrupted | Verdict::Overloaded { .. } | Verdict::AgentUnavailable { .. } => {
            LimitSign::Nothing
        }
    }
}
