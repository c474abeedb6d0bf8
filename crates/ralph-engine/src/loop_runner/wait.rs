//! Waits: for a usage limit to reset, and for an overloaded API. Ends at once when a stop is asked for.
//!
//! Decides nothing, asks no model anything, and holds the tree as it is.

use std::time::Duration;

use jiff::Timestamp;
use ralph_core::{
    event::WaitReason,
    gutter::GutterFindings,
    record::IterationRecord,
    task::TaskId,
    termination::{AfterLimit, OfLoop, Past, Worker, recall},
    time::{later, to_the_second},
    verdict::Verdict,
};

use super::{LoopRunner, agent_pool::WorkerChange, control::CommandQueue};
use crate::{
    heartbeat::LoopActivity,
    iteration::{Wait, WaitEnd, WaitPorts, wait_until},
};

/// Beyond the moment of a reset: the agent's clock may be a little behind.
const MARGIN: Duration = Duration::from_secs(3);
impl LoopRunner {
    /// Waits for a usage limit to reset. A stop is seen by the next decision.
    pub(super) async fn wait_for_limit(&mut self, until: Timestamp) {
        self.warn_of_lost_fallback(until);
        let wait = Wait {
            reason: WaitReason::UsageLimit,
            until: later(until, MARGIN),
            detail: String::new(),
        };
        let _: WaitEnd = self.wait(wait).await;
    }

    /// Says why no fallback works in the agent's place.
    fn warn_of_lost_fallback(&mut self, until: Timestamp) {
        let last = self.machine.tally().last.as_ref().map(|last| &last.verdict);
        let Some(Verdict::AgentUnavailable { message }) = last else {
            return;
        };
        let (name, main) = (self.runtime.pool.name(), self.runtime.pool.main_name());
        self.warn(format!(
            "{name} can't go on in place of {main}: {message}; \
             waiting until {main} is tried again at {}",
            to_the_second(until)
        ));
    }

    /// Chooses the next agent, and reports a change.
    pub(super) fn choose_worker(&mut self) {
        let now = self.now();
        if self.runtime.pool.choose(now) == WorkerChange::Other {
            let name = self.runtime.pool.name();
            self.notice(match self.runtime.pool.back_at() {
                Some(until) => format!(
                    "{name} works until {} is tried again at {}",
                    self.runtime.pool.main_name(),
                    to_the_second(until)
                ),
                None => format!("{name} goes on again: its usage limit is over"),
            });
        }
    }

    /// A usage limit that an earlier run met is still one: the journal has when it resets.
    pub(super) fn recall_limits(&mut self, records: &[IterationRecord]) {
        let ours: Vec<(&IterationRecord, Worker)> = records
            .iter()
            .rev()
            .filter_map(|r| Some((r, self.runtime.pool.whose(&r.runs.last()?.agent)?)))
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
        self.runtime.pool.rest_until(recalled.main_back_at);
        self.machine.tally_mut().add_idle(
            &task,
            &record.verdict,
            GutterFindings::default(),
            Some(recalled.row),
        );
        // Who goes on instead, and that it is too far away, is said by others.
        if let Some(AfterLimit::Wait { until }) = self.machine.decide(&self.view()).limit {
            let (name, at) = (self.runtime.pool.main_name(), to_the_second(until));
            let what = match (recalled.row.of, &record.verdict) {
                (Worker::Main, Verdict::LimitHit { resets_at: Some(_) }) => {
                    format!("the usage limit of {name} resets at {at}: waiting")
                }
                _ => format!("the usage limit of {name} is not over: waiting until {at}"),
            };
            self.notice(format!(
                "{what}; `--agent` or `limits.on_usage_limit` choose otherwise"
            ));
        }
    }

    /// Waits because a budget is nearly used up.
    pub(super) async fn wait_for_budget(&mut self, delay: Duration, detail: String) -> WaitEnd {
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
        let _: WaitEnd = self.wait(wait).await;
    }

    async fn wait(&mut self, wait: Wait) -> WaitEnd {
        self.set_activity(LoopActivity::Wait, Some(wait.until));
        let worktree = self.place.root.to_string_lossy().into_owned();
        let (journal, clock) = (&mut *self.journal, &*self.output.clock);
        let queue = CommandQueue {
            repository: &self.place.repository,
            worktree: &worktree,
            inbox: &self.control.inbox,
            who: &self.control.who,
        };
        // A journal that can't be read is seen by the next who reads it.
        let called = async {
            loop {
                queue.inbox.knock().await;
                let rows = queue.waiting(journal, clock.now()).await;
                if rows.map_or(true, |rows| !rows.is_empty()) {
                    return;
                }
            }
        };
        let ports = WaitPorts {
            stop: &mut self.control.stop,
            clock: &*self.output.clock,
            reporter: &mut *self.output.reporter,
        };
        wait_until(&wait, ports, called).await
    }
}
