//! Waits: for a usage limit to reset, and for an overloaded API. Ends at once when a stop is asked for.
//!
//! Decides nothing, asks no model anything, and holds the tree as it is.

use std::time::{Duration, Instant};

use backon::{BackoffBuilder as _, ExponentialBuilder};
use jiff::Timestamp;
use ralph_core::{
    event::{Event, WaitReason},
    gutter::Circling,
    iteration::StepDone,
    record::IterationRecord,
    task::TaskId,
    termination::{AfterLimit, OfLoop, Past, Worker, recall},
    time::{later, to_the_second},
    verdict::Verdict,
};

use super::{
    Driver, LoopError, hands::Change, health::Doing, inspect::Findings, iterate::Deadline,
    notes::Turn,
};
use crate::agent::StopRequest;

/// Beyond the moment of a reset: the agent's clock may be a little behind.
const MARGIN: Duration = Duration::from_secs(3);
/// A machine that slept must notice that the time has come: the clock is looked at again.
const LOOK_AGAIN: Duration = Duration::from_secs(30);
/// How often a line that counts down moves.
const TICK: Duration = Duration::from_millis(250);
/// How often it is said again that a loop waits.
const SAY_AGAIN: Duration = Duration::from_secs(30 * 60);
/// The longest wait for an overloaded API, and what it is without its random part.
const MOST_OVERLOAD: Duration = Duration::from_secs(300);
const MOST_BEFORE_JITTER: Duration = Duration::from_secs(150);

/// How a wait ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Waited {
    Through,
    /// A stop was asked for.
    Stopped,
    /// A person has a command, which is obeyed before the wait goes on.
    Called,
}

/// What is waited for.
struct Wait {
    reason: WaitReason,
    until: Timestamp,
    detail: String,
}

impl Driver {
    /// Waits for a usage limit to reset. A stop is seen by the next decision.
    pub(super) async fn wait_for_limit(&mut self, until: Timestamp) {
        self.say_that_the_fallback_is_lost(until);
        let wait = Wait {
            reason: WaitReason::UsageLimit,
            until: later(until, MARGIN),
            detail: String::new(),
        };
        let _: Waited = self.wait(wait).await;
    }

    /// Says why nobody works in the agent's place.
    fn say_that_the_fallback_is_lost(&mut self, until: Timestamp) {
        let last = self.machine.tally().last.as_ref().map(|last| &last.verdict);
        let Some(Verdict::AgentUnavailable { message }) = last else {
            return;
        };
        let (name, main) = (self.hands.name(), self.hands.main_name());
        let message = format!(
            "{name} can't go on in place of {main}: {message}; \
             waiting until {main} is tried again at {}",
            to_the_second(until)
        );
        self.tell(&Event::Warning { message });
    }

    /// Chooses who works next, and says so if it is somebody else.
    pub(super) fn choose_worker(&mut self) {
        let now = self.now();
        if self.hands.choose(now) == Change::Other {
            let name = self.hands.name();
            let message = match self.hands.back_at() {
                Some(until) => format!(
                    "{name} works until {} is tried again at {}",
                    self.hands.main_name(),
                    to_the_second(until)
                ),
                None => format!("{name} goes on again: its usage limit is over"),
            };
            self.tell(&Event::Notice { message });
        }
    }

    /// A usage limit that an earlier run met is still one: the journal has when it resets.
    pub(super) fn recall_limits(&mut self, records: &[IterationRecord]) {
        let ours: Vec<(&IterationRecord, Worker)> = records
            .iter()
            .rev()
            .filter_map(|r| Some((r, self.hands.whose(&r.runs.last()?.agent)?)))
            .collect();
        let past: Vec<Past<'_>> = ours
            .iter()
            .map(|(record, by)| Past {
                by: *by,
                ended_at: record.ended_at,
                verdict: &record.verdict,
                of_loop: if record.loop_id == self.loop_id {
                    OfLoop::This
                } else {
                    OfLoop::Earlier
                },
            })
            .collect();
        let Some(recalled) = recall(&past, self.now(), &self.machine.limits().usage) else {
            return;
        };
        if !recalled.is_waited_for(self.now(), &self.machine.limits().usage) {
            return;
        }
        let (record, _) = ours[recalled.nth];
        let Ok(task) = TaskId::parse(&record.task_id) else {
            return;
        };
        self.hands.rest_until(recalled.main_back_at);
        self.machine.tally_mut().add_idle(
            &task,
            &record.verdict,
            Circling::default(),
            Some(recalled.row),
        );
        // Who goes on instead, and that it is too far away, is said by others.
        if let Some(AfterLimit::Wait { until }) = self.machine.decide(&self.view()).limit {
            let (name, at) = (self.hands.main_name(), to_the_second(until));
            let what = match (recalled.row.of, &record.verdict) {
                (Worker::Main, Verdict::LimitHit { resets_at: Some(_) }) => {
                    format!("the usage limit of {name} resets at {at}: waiting")
                }
                _ => format!("the usage limit of {name} is not over: waiting until {at}"),
            };
            let message = format!("{what}; `--agent` or `limits.on_usage_limit` choose otherwise");
            self.tell(&Event::Notice { message });
        }
    }

    /// Waits because a budget is nearly used up.
    pub(super) async fn wait_for_budget(&mut self, delay: Duration, detail: String) -> Waited {
        let wait = Wait {
            reason: WaitReason::Budget,
            until: later(self.now(), delay),
            detail,
        };
        self.wait(wait).await
    }

    /// Waits until the circuit breaker lets one iteration through, or a person asks for something else.
    pub(super) async fn wait_for_breaker(&mut self, until: Timestamp) {
        let breaker = self.machine.breaker();
        let (failures, of) = (breaker.failures(), breaker.samples());
        let wait = Wait {
            reason: WaitReason::Breaker,
            until,
            detail: format!("{failures} of the last {of} iterations failed"),
        };
        let _: Waited = self.wait(wait).await;
    }

    /// Waits for an overloaded API, longer each time; the tree stays as the agent left it.
    pub(super) async fn wait_for_api(
        &mut self,
        turn: &mut Turn,
        attempt: u32,
        message: &str,
        deadline: Option<Deadline>,
    ) -> Result<StepDone, LoopError> {
        // What the next run finds of ralph's own files must be ralph's.
        let mut found = Findings::default();
        self.put_own_files_back(turn, &mut found)?;
        turn.notes.flags.extend(found.into_flags());
        let limits = &self.config.limits;
        let delay = overload_delay(limits.overload_wait_seconds, attempt);
        let run_ends_in = deadline.and_then(Deadline::left_of_run);
        let wait = Wait {
            reason: WaitReason::Overload,
            until: later(
                self.now(),
                run_ends_in.map_or(delay, |left| left.min(delay)),
            ),
            detail: format!("try {attempt} of {}: {message}", limits.overload_retries),
        };
        let began = Instant::now();
        let waited = self.wait(wait).await;
        let out_of_time = run_ends_in.is_some_and(|left| left <= delay);
        Ok(match waited {
            Waited::Through if !out_of_time => StepDone::Waited {
                seconds: began.elapsed().as_secs_f64(),
            },
            Waited::Through | Waited::Stopped | Waited::Called => StepDone::Interrupted,
        })
    }

    async fn wait(&mut self, wait: Wait) -> Waited {
        self.does(Doing::Wait, Some(wait.until));
        let mut nth = 0;
        let mut say_at = self.now();
        loop {
            let now = self.now();
            if self.stop.borrow().is_some() {
                return Waited::Stopped;
            }
            if now >= wait.until {
                return Waited::Through;
            }
            let left = Duration::try_from(wait.until.duration_since(now)).unwrap_or_default();
            if now >= say_at {
                nth += 1;
                say_at = later(now, SAY_AGAIN);
                self.tell(&Event::Waiting {
                    reason: wait.reason,
                    until: wait.until,
                    seconds: left.as_secs_f64(),
                    nth,
                    detail: wait.detail.clone(),
                });
            }
            let ticks = self.reporter.wants_ticks();
            let nap = left.min(if ticks { TICK } else { LOOK_AGAIN });
            tokio::select! {
                () = stop_asked(&mut self.stop) => {}
                () = self.line.inbox.knock(), if wait.reason != WaitReason::Overload => {
                    if self.is_called().await {
                        return Waited::Called;
                    }
                }
                () = self.clock.sleep(nap) => {}
            }
            if ticks {
                self.reporter.tick(self.clock.now());
            }
        }
    }
}

/// Comes when a stop is asked for; never if nobody is left who could ask.
pub(super) async fn stop_asked(stop: &mut StopRequest) {
    if stop.changed().await.is_err() {
        std::future::pending::<()>().await;
    }
}

/// Twice as long each time, and a random part more, so that not all who wait come back at once.
fn overload_delay(first_seconds: u32, attempt: u32) -> Duration {
    let nth = usize::try_from(attempt).unwrap_or(1).max(1) - 1;
    let first = Duration::from_secs(u64::from(first_seconds)).min(MOST_BEFORE_JITTER);
    let waits = ExponentialBuilder::default()
        .with_min_delay(first)
        .with_max_delay(MOST_BEFORE_JITTER)
        .with_factor(2.0)
        .without_max_times()
        .with_jitter();
    let delay = waits.build().nth(nth).unwrap_or(MOST_OVERLOAD);
    delay.min(MOST_OVERLOAD)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_overloaded_api_is_waited_for_twice_as_long_each_time_up_to_five_minutes() {
        let table = [
            (1, 10, 20),
            (2, 20, 40),
            (3, 40, 80),
            (4, 80, 160),
            (5, 150, 300),
            (60, 150, 300),
        ];
        for (attempt, least, most) in table {
            for _ in 0..50 {
                let delay = overload_delay(10, attempt).as_secs_f64();
                let range = f64::from(least)..=f64::from(most);
                assert!(range.contains(&delay), "wait {attempt}: {delay}");
            }
        }
        assert_eq!(overload_delay(0, 3), Duration::ZERO);
    }

    #[test]
    fn two_waits_are_not_the_same_length() {
        let waits: Vec<Duration> = (0..8).map(|_| overload_delay(10, 1)).collect();
        assert!(waits.iter().any(|wait| *wait != waits[0]), "{waits:?}");
    }
}
