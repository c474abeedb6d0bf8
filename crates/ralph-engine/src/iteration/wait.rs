//! Waits: for a usage limit to reset, a budget, the circuit breaker, an overloaded API. A wait ends at
//! once when a stop is asked for.
//!
//! Decides nothing, asks no model anything, and holds the tree as it is.

use std::time::{Duration, Instant};

use backon::{BackoffBuilder as _, ExponentialBuilder};
use jiff::Timestamp;
use ralph_core::{
    event::{Event, WaitReason},
    iteration::StepDone,
    time::later,
};

use super::{IterationContext, Services};
use crate::{
    agent::StopRequest, clock::Clock, error::LoopError, heartbeat::LoopActivity, report::Reporter,
    workspace::Workspace,
};

/// A machine that slept must notice that the time has come: the clock is looked at again.
const LOOK_AGAIN: Duration = Duration::from_secs(30);
/// The interval at which a countdown is redrawn.
const TICK: Duration = Duration::from_millis(250);
/// The interval at which a wait is reported again.
const SAY_AGAIN: Duration = Duration::from_secs(30 * 60);
/// The longest wait for an overloaded API, and what it is without its random part.
const MOST_OVERLOAD: Duration = Duration::from_secs(300);
const MOST_BEFORE_JITTER: Duration = Duration::from_secs(150);

/// A wait: its reason and its end.
pub(crate) struct Wait {
    pub(crate) reason: WaitReason,
    pub(crate) until: Timestamp,
    pub(crate) detail: String,
}

/// The end of a wait.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum WaitEnd {
    Through,
    /// A stop was asked for.
    Stopped,
    /// A person has a command, which is carried out before the wait goes on.
    Called,
}

/// The ports that a wait watches.
pub(crate) struct WaitPorts<'a> {
    pub(crate) stop: &'a mut StopRequest,
    pub(crate) clock: &'a dyn Clock,
    pub(crate) reporter: &'a mut dyn Reporter,
}

/// Waits until its time has come, a stop is asked for, or `called` comes.
pub(crate) async fn wait_until(
    wait: &Wait,
    ports: WaitPorts<'_>,
    called: impl Future<Output = ()>,
) -> WaitEnd {
    let WaitPorts {
        stop,
        clock,
        reporter,
    } = ports;
    let mut nth = 0;
    let mut say_at = clock.now();
    tokio::pin!(called);
    loop {
        let now = clock.now();
        if stop.asked().is_some() {
            return WaitEnd::Stopped;
        }
        if now >= wait.until {
            return WaitEnd::Through;
        }
        let left = Duration::try_from(wait.until.duration_since(now)).unwrap_or_default();
        if now >= say_at {
            nth += 1;
            say_at = later(now, SAY_AGAIN);
            let event = Event::Waiting {
                reason: wait.reason,
                until: wait.until,
                seconds: left.as_secs_f64(),
                nth,
                detail: wait.detail.clone(),
            };
            reporter.report(&event, now);
        }
        let ticks = reporter.wants_ticks();
        let nap = left.min(if ticks { TICK } else { LOOK_AGAIN });
        tokio::select! {
            () = stop.changed() => {}
            () = &mut called => return WaitEnd::Called,
            () = clock.sleep(nap) => {}
        }
        if ticks {
            reporter.tick(clock.now());
        }
    }
}

/// Waits for an overloaded API, longer each time; the tree stays as the agent left it.
pub(super) async fn wait_for_api(
    context: &mut IterationContext<'_>,
    workspace: &mut dyn Workspace,
    services: &mut Services<'_>,
    attempt: u32,
    message: &str,
) -> Result<StepDone, LoopError> {
    // What the next run finds of ralph's own files must be ralph's.
    let restored = workspace.restore_own_files(context.job, &context.progress)?;
    context.log.progress_edited = restored.progress_edited;
    restored.findings.add_to(&mut context.log);
    let limits = &context.job.config.limits;
    let delay = overload_delay(limits.overload_wait_seconds, attempt);
    let command_ends_in = context.deadline.left_of_command();
    let wait = Wait {
        reason: WaitReason::Overload,
        until: later(
            services.clock.now(),
            command_ends_in.map_or(delay, |left| left.min(delay)),
        ),
        detail: format!("try {attempt} of {}: {message}", limits.overload_retries),
    };
    services.does(LoopActivity::Wait, Some(wait.until));
    let began = Instant::now();
    let ports = WaitPorts {
        stop: &mut services.stop,
        clock: services.clock,
        reporter: services.reporter,
    };
    let ended = wait_until(&wait, ports, std::future::pending()).await;
    let out_of_time = command_ends_in.is_some_and(|left| left <= delay);
    Ok(match ended {
        WaitEnd::Through if !out_of_time => StepDone::Waited {
            seconds: began.elapsed().as_secs_f64(),
        },
        WaitEnd::Through | WaitEnd::Stopped | WaitEnd::Called => StepDone::Interrupted,
    })
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
