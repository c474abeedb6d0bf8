//! The sections `health` and `breaker`: what they come to, and what a short iteration cuts off.

use std::time::Duration;

use super::{mistakes, project};
use crate::config::OnOpen;

#[test]
fn times_are_minutes_and_may_be_fractions() {
    let text = "health: {stuck_minutes: 0.05, max_nudges: 0, enabled: false}\n\
                breaker: {cooldown_minutes: 0.5, on_open: wait}";
    let config = project(text).unwrap().config;
    let health = &config.health;
    assert_eq!(health.stuck_minutes.duration(), Duration::from_secs(3));
    assert_eq!((health.max_nudges, health.enabled), (0, false));
    let cooldown = config.breaker.cooldown_minutes;
    assert_eq!(cooldown.duration(), Duration::from_secs(30));
    assert_eq!(config.breaker.on_open, OnOpen::Wait);
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
