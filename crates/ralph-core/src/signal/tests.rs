//! Tests of signals: what is a claim, and what only mentions one.

mod claims;

use super::*;

fn read(message: &str) -> Signals {
    parse_signals(message, &TaskId::parse("US-001").unwrap())
}

#[test]
fn a_plain_claim_for_the_own_task_is_recognised() {
    for message in [
        "Task US-001 complete",
        "Task [US-001] complete.",
        "All tests pass.\n\n**Task US-001 complete**",
        "✅ Task us-001 is now done!",
        "Task US-001 complete: added the form",
        "## Task US-001 completed",
        "- Task `US-001` done — see the tests",
    ] {
        assert_eq!(read(message).claim, Some(Claim::ById), "{message:?}");
    }
    assert_eq!(read("Task complete.").claim, Some(Claim::Plain));
}

#[test]
fn words_that_only_look_like_a_claim_claim_nothing() {
    for message in [
        "Task US-001 complete once the tests pass",
        "Task US-001 is not complete",
        "I will say \"Task US-001 complete\" when it is",
        "```\nTask US-001 complete\n```",
        "> Task US-001 complete",
        "The task US-001 complete pattern is checked by ralph",
        "Tasks complete",
        "Task US-001 completeness was checked",
        "Task US-001 done-ish",
        "Task `US-002` complete",
        "Task \"US-002\" complete",
    ] {
        assert_eq!(read(message).claim, None, "{message:?}");
    }
}

#[test]
fn a_claim_for_another_task_is_ignored_and_flagged() {
    let signals = read("Task US-002 complete");
    assert_eq!(signals.claim, None);
    assert_eq!(signals.foreign_claims, ["US-002"]);
}

#[test]
fn a_promise_that_is_made_counts_and_the_first_one_does() {
    assert_eq!(
        read("<promise>DONE</promise>").promise.as_deref(),
        Some("DONE")
    );
    assert_eq!(
        read("ok: <promise> ALL\n DONE </promise>.")
            .promise
            .as_deref(),
        Some("ALL DONE")
    );
    let two = "<promise>ONE</promise>\n<promise>TWO</promise>";
    assert_eq!(read(two).promise.as_deref(), Some("ONE"));
}

#[test]
fn a_promise_that_is_mentioned_does_not_count() {
    for message in [
        "I will output `<promise>DONE</promise>` when finished",
        "I will output <promise>DONE</promise> when finished",
        "say \"<promise>DONE</promise>\"",
        "```\n<promise>DONE</promise>\n```",
        "> <promise>DONE</promise>",
        "<promise></promise>",
        "<promise>DONE",
    ] {
        assert_eq!(read(message).promise, None, "{message:?}");
    }
}

/// One line of the table that the integrations are held to as well.
#[derive(Deserialize)]
struct PromiseCase {
    message: String,
    promise: Option<String>,
    why: String,
}

#[test]
fn promises_are_as_the_table_of_all_integrations_says() {
    let table = include_str!("../../../../integrations/promises.json");
    let cases: Vec<PromiseCase> = serde_json::from_str(table).unwrap();
    let made = cases.iter().filter(|case| case.promise.is_some()).count();
    assert!(
        made > 10 && cases.len() - made > 10,
        "{made} of {}",
        cases.len()
    );
    for case in cases {
        let found = read(&case.message).promise;
        assert_eq!(found, case.promise, "{}: {:?}", case.why, case.message);
    }
}

#[test]
fn the_closing_block_is_read_and_hides_nothing_else() {
    let message = "Task US-001 complete\n<ralph>\nsummary: Added it\nlearnings:\n  - tests live in t/\nfollow_ups:\n  - title: Docs\n    description: Write them\n  - Just a title\nblocked:\n  - item: X\n    reason: no key\n</ralph>\n";
    let signals = read(message);
    assert_eq!(signals.claim, Some(Claim::ById));
    assert_eq!(signals.block.summary.as_deref(), Some("Added it"));
    assert_eq!(signals.block.learnings, ["tests live in t/"]);
    assert_eq!(
        signals.block.follow_ups,
        [
            FollowUp {
                title: "Docs".into(),
                description: "Write them".into()
            },
            FollowUp {
                title: "Just a title".into(),
                description: String::new()
            },
        ]
    );
    assert_eq!(signals.block.blocked[0].reason, "no key");
    assert_eq!(signals.block.broken, None);
}

#[test]
fn a_claim_inside_the_closing_block_is_none() {
    let signals = read("<ralph>\nsummary: x\nnext: |\n  Task US-001 complete\n</ralph>");
    assert_eq!(signals.claim, None);
}

#[test]
fn a_broken_closing_block_costs_nothing_but_itself() {
    let signals = read("Task US-001 complete\n<ralph>\nsummary: [unclosed\n</ralph>");
    assert_eq!(signals.claim, Some(Claim::ById));
    assert!(signals.block.broken.is_some());
    let loose = read("<ralph>\n```yaml\nsummary: s\nlearnings: just one\n```\n</ralph>");
    assert_eq!(loose.block.learnings, ["just one"]);
}

#[test]
fn an_escalation_is_read_with_its_parts() {
    let message = "I stop here.\n\n<escalate type=\"deviation\">\n<summary>Old API</summary>\n<context>\nv1 is gone.\n</context>\n<options>\n1. Use v2\n2. Use v1\n   anyway\n</options>\n<question>Which?</question>\n</escalate>";
    let escalation = read(message).escalation.unwrap();
    assert_eq!(escalation.kind, EscalationKind::Deviation);
    assert_eq!(escalation.summary, "Old API");
    assert_eq!(escalation.context, "v1 is gone.");
    assert_eq!(escalation.options, ["Use v2", "Use v1 anyway"]);
    assert_eq!(escalation.question, "Which?");
}

#[test]
fn a_malformed_escalation_is_kept_and_a_mention_is_none() {
    let broken = read("<ESCALATE>\nwhat now?").escalation.unwrap();
    assert_eq!(broken.kind, EscalationKind::Other);
    assert!(broken.raw.contains("what now?"));
    assert!(
        read("the `<escalate type=\"stuck\">` block")
            .escalation
            .is_none()
    );
    assert!(read("use <escalate> for that").escalation.is_none());
}

#[test]
fn an_escalation_that_is_quoted_is_not_raised() {
    let block = "<escalate type=\"stuck\">\n<summary>No key</summary>\n</escalate>";
    for message in [
        format!("The format is:\n\n```xml\n{block}\n```\n"),
        format!("```\n{block}\n```"),
        format!("~~~~\n{block}\n~~~~"),
        format!(
            "- An example:\n  ```\n  {}\n  ```",
            block.replace('\n', "\n  ")
        ),
        format!("```\n{block}"),
        block.lines().map(|line| format!("> {line}\n")).collect(),
        "`<escalate type=\"stuck\">` asks a person".to_owned(),
        "``<escalate>`` and `</escalate>`".to_owned(),
        "\"<escalate> is the tag\"".to_owned(),
    ] {
        assert_eq!(read(&message).escalation, None, "{message}");
    }
}

#[test]
fn an_escalation_behind_or_around_a_quotation_is_raised_with_its_own_words() {
    let behind = "Größe „über“ alles:\n```\n<escalate type=\"deviation\">\n```\n\n<escalate type=\"stuck\">\n<summary>Ärger</summary>\n</escalate>";
    let raised = read(behind).escalation.unwrap();
    assert_eq!(
        (raised.kind, raised.summary.as_str()),
        (EscalationKind::Stuck, "Ärger")
    );
    let around = "<escalate type=\"stuck\">\n<summary>It prints \"no key given\"</summary>\n<context>\n```\n$ run\nno key\n```\n</context>\n<question>Which?</question>\n</escalate>\nbye";
    let raised = read(around).escalation.unwrap();
    assert_eq!(raised.summary, "It prints \"no key given\"");
    assert_eq!(raised.context, "```\n$ run\nno key\n```");
    assert_eq!(raised.question, "Which?");
    assert!(!raised.raw.contains("bye"));
}

#[test]
fn an_escalation_is_read_however_carelessly_it_is_written() {
    let careless = [
        "<escalate type=\"stuck\">\n<summary>No key</summary>\n<options>\n1. Ask\n2. Wait\n</options>\n</escalate>",
        "  < not a tag\n  <Escalate  TYPE = 'STUCK' >\n< Summary >No key</ SUMMARY >\n<OPTIONS>\n1) Ask\n2) Wait\n</Escalate>",
        "<escalate type=\"stuck\">\n<summary>No key\n<options>\n**1.** Ask\n**2.** Wait",
        "<escalate type=\"stuck\"><summary>No key</summary><options>\nOption 1: Ask\noption 2: Wait\n</options></escalate>",
        "<escalate type=\"stuck\">\n<summary>\nNo key\n</summary>\n<options>\n- Ask\n- Wait\n</options>\n</escalate>",
    ];
    for message in careless {
        let read = read(message).escalation.unwrap();
        assert_eq!(read.kind, EscalationKind::Stuck, "{message}");
        assert_eq!(read.summary, "No key", "{message}");
        assert_eq!(read.options, ["Ask", "Wait"], "{message}");
    }
}

#[test]
fn a_block_that_nothing_is_understood_of_is_still_shown() {
    for message in [
        "<escalate type=\"stuck\"\nwhich key",
        "<escalate>which key</escalate>",
        "<escalate\nwhich key",
    ] {
        let read = read(message).escalation.unwrap();
        assert!(read.raw.contains("which key"), "{message}");
    }
}

#[test]
fn a_second_question_is_kept_with_the_first() {
    let message = "<escalate type=\"stuck\">\n<summary>No key</summary>\n<options>\n1. Wait\n</options>\n\
        <question>Where is it?</question>\n</escalate>\n\n<escalate type=\"deviation\">\n\
        <summary>Old API</summary>\n<options>\n1. Use v2\n2. Use v1\n</options>\n\
        <question>Which?</question>\n</escalate>";
    let escalation = read(message).escalation.unwrap();
    assert_eq!(escalation.kind, EscalationKind::Stuck);
    assert_eq!(escalation.question, "Where is it?");
    assert_eq!(escalation.options, ["Wait"]);
    assert_eq!(
        escalation.context,
        "Asked as well:\nOld API\n- Use v2\n- Use v1\nWhich?"
    );
    assert!(escalation.raw.contains("No key") && escalation.raw.contains("Old API"));
}
