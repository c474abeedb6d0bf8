//! Tests what is said at a handoff: an agent's last words, the request, and how shares are written.

use super::*;

#[test]
fn the_last_words_of_an_agent_can_hand_over() {
    use ExecutionPhase as P;
    use HandoffTrigger as T;
    let block = |phase: Option<&str>, handoff: Option<&str>| ClosingBlock {
        phase: phase.map(str::to_owned),
        handoff: handoff.map(str::to_owned),
        ..ClosingBlock::default()
    };
    let table = [
        (None, None, None, None),
        (
            None,
            Some("too large for me"),
            None,
            Some(T::ExplicitRequest),
        ),
        (
            Some("testing"),
            Some("tired"),
            None,
            Some(T::ExplicitRequest),
        ),
        (
            Some("testing"),
            None,
            Some(P::Implementing),
            Some(T::PhaseComplete),
        ),
        (Some("Implementing"), None, None, Some(T::PhaseComplete)),
        (Some("planning"), None, None, None),
        (Some("testing"), None, Some(P::Testing), None),
        (Some("implementing"), None, Some(P::Testing), None),
        (Some("reviewing"), None, Some(P::Complete), None),
        (Some("complete"), None, Some(P::Testing), None),
        (Some("handoff"), None, Some(P::Testing), None),
        (Some("nearly there"), None, Some(P::Testing), None),
    ];
    for (phase, handoff, before, expected) in table {
        let found = from_block(&block(phase, handoff), before);
        let found = found.map(|why| why.trigger);
        assert_eq!(found, expected, "{phase:?} {handoff:?} {before:?}");
    }
    let why = from_block(&block(Some("testing"), None), Some(P::Implementing));
    assert_eq!(
        why.map(|why| why.sentence).as_deref(),
        Some("the work went from implementing on to testing")
    );
}

#[test]
fn handoffs_in_a_row_are_counted_until_the_task_comes_to_something() {
    let handoff = Verdict::Handoff {
        trigger: HandoffTrigger::Timeout,
    };
    let first = HandoffState::default().after(&handoff, Some(ExecutionPhase::Testing));
    let expected = HandoffState {
        in_a_row: 1,
        phase: Some(ExecutionPhase::Testing),
    };
    assert_eq!(first, expected);
    let interrupted = first.after(&Verdict::Interrupted, None);
    assert_eq!(interrupted, expected);
    let second = interrupted.after(&handoff, None);
    assert_eq!(
        (second.in_a_row, second.phase),
        (2, Some(ExecutionPhase::Testing))
    );
    let failed = second.after(&Verdict::Unclaimed, None);
    assert_eq!(failed.in_a_row, 0);
    assert!(second.after(&Verdict::Verified, None).is_empty());
    let ended = Verdict::Terminated {
        reason: "stuck".into(),
    };
    let terminated = second.after(&ended, None);
    assert_eq!(terminated.in_a_row, 0);
}

#[test]
fn the_request_says_why_and_how_to_answer() {
    let text = wrap_up(&Handover {
        trigger: HandoffTrigger::TokenBudget,
        sentence: "it has cost $9 of $10".into(),
    });
    assert!(
        text.starts_with("A message from ralph"),
        "no command to an agent"
    );
    for part in [
        "The reason: it has cost $9 of $10.",
        "use no more tools",
        "<ralph>\nsummary: ",
        "decisions:\n  - ",
        "\nnext: ",
        "\nhandoff: token_budget\n</ralph>",
    ] {
        assert!(text.contains(part), "{part:?} in {text}");
    }
}

#[test]
fn a_share_is_written_as_a_number_between_nothing_and_all() {
    let read = |text: &str| serde_json::from_str::<Share>(text).map_err(|e| e.to_string());
    assert_eq!(read("0.7"), Ok(Share::percent(70)));
    assert_eq!(serde_json::to_string(&Share::percent(70)).unwrap(), "0.7");
    assert_eq!(Share::percent(70).to_string(), "70 %");
    for wrong in ["0", "-0.1", "1.01", "70"] {
        let error = read(wrong).unwrap_err();
        assert!(error.contains("at most 1, such as 0.7"), "{error}");
    }
}
