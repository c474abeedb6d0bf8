//! Tests of forecasts: a range around the mean, the same each time, and nothing out of nothing.

use super::{super::*, usd};
use crate::dollars::Dollars;

fn of(finished: &[f64], remaining_tasks: usize, factor: u32) -> Option<Forecast> {
    let finished: Vec<Dollars> = finished.iter().map(|c| usd(*c)).collect();
    forecast(ForecastBasis {
        finished: &finished,
        remaining_tasks,
        factor,
        seed: 7,
    })
}

#[test]
fn two_finished_tasks_say_nothing_of_the_others() {
    assert_eq!(of(&[1.0, 2.0], 5, 1), None);
}

#[test]
fn tasks_that_all_cost_the_same_leave_no_doubt() {
    let forecast = of(&[0.5, 0.5, 0.5], 4, 1).unwrap();
    assert_eq!(
        (forecast.low_usd, forecast.expected_usd, forecast.high_usd),
        (usd(2.0), usd(2.0), usd(2.0))
    );
}

#[test]
fn the_range_holds_the_mean_and_is_the_same_each_time() {
    let costs = [0.1, 0.2, 0.4, 0.8, 1.5];
    let forecast = of(&costs, 10, 1).unwrap();
    assert_eq!(forecast.expected_usd, usd(6.0));
    assert!(forecast.low_usd < usd(6.0) && forecast.low_usd > usd(3.0));
    assert!(forecast.high_usd > usd(6.0) && forecast.high_usd < usd(9.0));
    assert_eq!(of(&costs, 10, 1), Some(forecast));
}

#[test]
fn subagents_that_the_history_does_not_know_cost_fifteen_times_as_much() {
    assert_eq!(MULTI_AGENT_FACTOR, 15);
    let forecast = of(&[1.0, 1.0, 1.0], 2, MULTI_AGENT_FACTOR).unwrap();
    assert_eq!(forecast.expected_usd, usd(30.0));
    assert_eq!(forecast.high_usd, usd(30.0));
}

#[test]
fn nothing_left_costs_nothing_and_very_many_are_extrapolated() {
    assert_eq!(of(&[1.0, 1.0, 1.0], 0, 1).unwrap().high_usd, usd(0.0));
    assert_eq!(
        of(&[1.0, 1.0, 1.0], 5_000, 1).unwrap().low_usd,
        usd(5_000.0)
    );
}
