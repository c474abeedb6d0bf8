//! The sample that a project with a PRD starts from.

use super::super::*;
use crate::{
    signal::parse_signals,
    task::{TaskId, format::parse},
};

#[test]
fn the_sample_is_a_prd_whose_second_story_waits_for_the_first() {
    let text = sample_prd("a \"shop\"");
    let prd = parse("PRD.json", 0, text.as_bytes()).unwrap();
    assert_eq!(prd.meta.project.as_deref(), Some("a \"shop\""));
    let found: Vec<_> = prd
        .tasks
        .iter()
        .map(|t| (t.id.as_str(), t.text.acceptance.len(), t.verify.len()))
        .collect();
    assert_eq!(found, [("US-001", 2, 1), ("US-002", 2, 2)]);
    let first = TaskId::parse("US-001").unwrap();
    assert_eq!(prd.tasks[1].links.depends_on, [first]);
}

#[test]
fn the_instructions_name_the_protocol_and_claim_nothing_themselves() {
    for part in [
        "STUCK",
        "DEVIATION",
        "<escalate type=\"stuck\">",
        "Task US-001 complete",
        "<promise>DONE</promise>",
    ] {
        assert!(PRD_PROMPT.contains(part), "{part}");
    }
    // An agent that repeats its instructions must not claim anything by it.
    let repeated = parse_signals(PRD_PROMPT, &TaskId::parse("US-001").unwrap());
    assert!(!repeated.claims_done(), "{repeated:?}");
}
