//! The words for every verdict and every end.

use ralph_core::{
    agent::{AgentEvent, AgentResult},
    dollars::Dollars,
    event::Event,
    termination::Stop,
    verdict::{Halt, Verdict},
};

use super::{
    super::{Colours, PlainReporter, Reporter as _, Verbosity},
    Shared, look,
    story::{self, at},
};

fn shown(events: &[Event]) -> String {
    let out = Shared::default();
    let mut plain = PlainReporter::new(out.clone(), look(Verbosity::Normal, Colours::Off));
    for event in events {
        plain.report(event, at(0));
    }
    out.text()
}

#[test]
fn every_verdict_is_one_line_with_its_figures() {
    let cases = [
        (Verdict::Verified, "✓ T verified"),
        (
            Verdict::Unclaimed,
            "! T: the change passes, but the agent did not say that the task is done",
        ),
        (
            Verdict::Failed {
                command: "make".into(),
                signature: "s".into(),
            },
            "✗ T: verification failed: make",
        ),
        (
            Verdict::NoChange { claimed: true },
            "✗ T: the agent claims to be done, but changed nothing",
        ),
        (
            Verdict::Refused {
                reason: "a secret".into(),
                halt: Halt::Loop,
            },
            "✗ T: refused: a secret",
        ),
        (Verdict::Escalated, "! T: the agent asks a person"),
        (
            Verdict::LimitHit { resets_at: None },
            "! T: usage limit reached",
        ),
        (Verdict::Interrupted, "! T: interrupted"),
        (
            Verdict::Budget {
                spent_usd: Dollars::told(0.6),
                max_usd: Dollars::told(0.5),
                budget: None,
            },
            "! T: stopped by its cost: $0.60 of $0.50 are spent",
        ),
        (
            Verdict::TimedOut {
                reason: "90 min".into(),
            },
            "✗ T: timed out: 90 min",
        ),
        (
            Verdict::AgentError {
                message: "no\nidea".into(),
            },
            "✗ T: the agent failed: no idea",
        ),
        (
            Verdict::AgentUnavailable {
                message: "not installed".into(),
            },
            "✗ T: the agent is not available: not installed",
        ),
    ];
    for (verdict, expected) in cases {
        let text = shown(&[story::iteration_ended(1, "T", verdict, "")]);
        let expected = format!("[10:00:00] {expected} · 1m 38s · 12.3k tokens · $0.42");
        assert_eq!(text.lines().next(), Some(expected.as_str()));
    }
}

#[test]
fn every_end_says_what_its_exit_code_means() {
    let cases = [
        (
            Stop::Minutes { max: 5 },
            "exit code 3: stopped by a limit with work left",
        ),
        (
            Stop::Halted { reason: "r".into() },
            "exit code 4: a person is needed",
        ),
        (
            Stop::Budget {
                spent_usd: Dollars::told(0.6),
                max_usd: Dollars::told(0.5),
                budget: None,
                reserve_usd: None,
            },
            "exit code 5: budget exhausted",
        ),
        (
            Stop::AgentUnavailable {
                message: "m".into(),
            },
            "exit code 6: agent unavailable",
        ),
        (Stop::Errors { count: 3 }, "exit code 7: no progress"),
        (
            Stop::Interrupted { signal: 2 },
            "exit code 130: interrupted, after a clean stop",
        ),
    ];
    for (stop, expected) in cases {
        let text = shown(&[story::loop_ended(stop, story::tally(1, 1, 0, 0), vec![])]);
        assert_eq!(text.lines().last().map(str::trim), Some(expected));
    }
    let done = story::loop_ended(Stop::AllComplete, story::tally(1, 0, 0, 0), vec![]);
    assert!(!shown(&[done]).contains("exit code"));
}

#[test]
fn a_refusal_is_said_once() {
    let reason = "a secret in x";
    let text = shown(&[
        story::inspected(&[("x", "modified")], &[], Some(reason)),
        story::iteration_ended(
            1,
            "T",
            Verdict::Refused {
                reason: reason.into(),
                halt: Halt::Attempt,
            },
            "",
        ),
    ]);
    assert_eq!(text.matches(reason).count(), 1, "{text}");
}

#[test]
fn a_task_that_needs_no_commit_is_said_to_need_none() {
    let text = shown(&[story::landed("T", None, false)]);
    assert_eq!(text, "[10:00:00] ✓ T needs no commit\n");
}

#[test]
fn an_empty_baseline_is_not_called_green() {
    let text = shown(&[
        Event::BaselineStarted { commands: 0 },
        Event::BaselineEnded { red: vec![] },
    ]);
    assert_eq!(text, "");
}

#[test]
fn what_the_agent_was_not_allowed_is_said() {
    let result = AgentResult {
        ok: true,
        denied: vec!["Bash rm -rf".into()],
        ..AgentResult::default()
    };
    let text = shown(&[Event::Agent(AgentEvent::Result(result))]);
    assert_eq!(
        text,
        "[10:00:00]   ! the agent was not allowed: Bash rm -rf\n"
    );
}

#[test]
fn an_iteration_that_a_person_guides_says_so() {
    let mut event = story::iteration_started(1, "US-002", "Show the users", 1);
    let banner = |event: &Event| {
        shown(std::slice::from_ref(event))
            .lines()
            .nth(1)
            .map(str::to_owned)
    };
    assert!(
        banner(&event)
            .unwrap()
            .starts_with("━━━ Iteration 17: US-002 ━")
    );
    if let Event::IterationStarted { guidance, .. } = &mut event {
        *guidance = 2;
    }
    let said = banner(&event).unwrap();
    assert!(
        said.starts_with("━━━ Iteration 17: US-002 (with guidance) ━"),
        "{said}"
    );
}
