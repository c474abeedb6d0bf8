//! The criteria by which a loop ends, in the order that its users know.
//!
//! One pure function over a snapshot. It changes nothing, and knows nothing of tasks but how many
//! iterations bore no fruit.

use std::time::Duration;

use jiff::Timestamp;

use super::{Limits, Stop};
use crate::{dollars::Dollars, health::HealthState};

/// Where a loop stands, as far as its end depends on it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Snapshot {
    /// The signal that asked for a stop.
    pub signal: Option<i32>,
    pub all_complete: bool,
    /// The circuit breaker is open, and that ends the loop.
    pub tripped: Option<Tripped>,
    pub sick: Option<FailingStreak>,
    pub errors_in_a_row: u32,
    pub spent: Dollars,
    pub iterations: u32,
    pub elapsed: Duration,
    pub fruitless: Fruitless,
}

/// Why the circuit breaker is open, and until when.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Tripped {
    pub failures: u32,
    pub of: u32,
    pub until: Option<Timestamp>,
}

/// Iterations in a row whose agent was failing or had to be ended, and that landed nothing.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct FailingStreak {
    pub in_a_row: u32,
    /// The health of the last one.
    pub state: HealthState,
}

/// Iterations since the last verified commit.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Fruitless {
    pub iterations: u32,
    /// On how many tasks.
    pub tasks: u32,
    /// A task is ready besides the one just worked on.
    pub other_ready: bool,
}

/// Why the loop ends, if it does. The order: explicit stop, goal achieved, circuit breaker open, health
/// failure, consecutive errors, budget, iterations, duration, no progress.
pub fn evaluate(at: &Snapshot, limits: &Limits) -> Option<Stop> {
    explicit_stop(at)
        .or_else(|| at.all_complete.then_some(Stop::AllComplete))
        .or_else(|| circuit_breaker_open(at))
        .or_else(|| health_failure(at, limits))
        .or_else(|| consecutive_errors(at, limits))
        .or_else(|| budget_exhausted(at, limits))
        .or_else(|| max_iterations(at, limits))
        .or_else(|| max_duration(at, limits))
        .or_else(|| no_progress(at, limits))
}

fn explicit_stop(at: &Snapshot) -> Option<Stop> {
    at.signal.map(|signal| Stop::Interrupted { signal })
}

fn circuit_breaker_open(at: &Snapshot) -> Option<Stop> {
    at.tripped.map(|tripped| Stop::CircuitBreakerOpen {
        failures: tripped.failures,
        of: tripped.of,
        until: tripped.until,
    })
}

/// A fresh agent goes on from the last checkpoint, so often in a row as is allowed.
fn health_failure(at: &Snapshot, limits: &Limits) -> Option<Stop> {
    let sick = at.sick.filter(|s| s.in_a_row > limits.max_recoveries)?;
    match sick.state {
        HealthState::Failing | HealthState::Terminated => {
            Some(Stop::HealthFailure { state: sick.state })
        }
        HealthState::Healthy | HealthState::Degraded | HealthState::Stuck => None,
    }
}

fn consecutive_errors(at: &Snapshot, limits: &Limits) -> Option<Stop> {
    let count = at.errors_in_a_row;
    (count >= limits.max_errors).then_some(Stop::Errors { count })
}

fn budget_exhausted(at: &Snapshot, limits: &Limits) -> Option<Stop> {
    let max_usd = limits.max_cost.filter(|max| at.spent >= *max)?;
    Some(Stop::Budget {
        spent_usd: at.spent,
        max_usd,
        budget: None,
    })
}

fn max_iterations(at: &Snapshot, limits: &Limits) -> Option<Stop> {
    let max = limits.max_iterations;
    (at.iterations >= max).then_some(Stop::Iterations { max })
}

fn max_duration(at: &Snapshot, limits: &Limits) -> Option<Stop> {
    let max = limits.max_time.filter(|max| at.elapsed >= *max)?;
    Some(Stop::Minutes {
        max: max.as_secs().div_ceil(60).max(1),
    })
}

/// On two tasks or more, or on one with no other ready: one hard task is no reason while there are
/// others.
fn no_progress(at: &Snapshot, limits: &Limits) -> Option<Stop> {
    let Fruitless {
        iterations,
        tasks,
        other_ready,
    } = at.fruitless;
    let counts = tasks >= 2 || !other_ready;
    (iterations >= limits.max_no_progress && counts).then_some(Stop::NoProgress { iterations })
}
