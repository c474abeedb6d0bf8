//! The sections `health` and `breaker`: what they come to, and what a short iteration cuts off.

use std::time::Duration;

use super::{mistakes, project};
use crate::health::Watching;

#[test]
fn times_are_minutes_and_may_be_fractions() {
    let text = "health: {stuck_minutes: 0.05, max_nudges: 0, enabled: false}\n\
                breaker: {cooldown_minutes: 0.5, on_open: wait}";
    let config = project(text).unwrap().config;
    let policy = config.health.policy();
    assert_eq!(policy.stuck_after, Duration::from_secs(3));
    assert_eq!((policy.max_nudges, policy.watching), (0, Watching::No));
    let breaker = config.breaker.policy();
    assert_eq!(breaker.cooldown, Duration::from_secs(30));
    assert_eq!((breaker.failures, breaker.window), (5, 10));
}

#[test]
fn an_iteration_that_is_too_short_for_the_ladder_is_said() {
    let note = |minutes: u32, more: &str| {
        let text =
            format!("loop: {{max_minutes_per_iteration: {minutes}, idle_minutes_tool: 1}}\n{more}");
        let notes = project(&text).unwrap().notes;
        notes.first().map(ToString::to_string)
    };
    let said = |minutes: u32, what: &str, at: u32| {
        Some(format!(
            "`loop.max_minutes_per_iteration`: an iteration ends after {minutes} min, before an agent \
             without progress would be {what} (`health`: {at} min)"
        ))
    };
    assert_eq!(note(20, ""), said(20, "reminded", 30));
    assert_eq!(note(45, ""), said(45, "asked about", 60));
    assert_eq!(note(70, ""), said(70, "ended", 75));
    assert_eq!(note(75, ""), None);
    assert_eq!(note(20, "health: {enabled: false}"), None);
}

#[test]
fn a_share_beyond_a_hundred_and_an_unknown_word_are_refused() {
    let text = mistakes("health: {degraded_error_percent: 120}");
    assert!(text.contains("at most 100"), "{text}");
    let text = mistakes("breaker: {on_open: wiat}");
    assert!(text.contains("did you mean `wait`?"), "{text}");
}
