//! Tests of the wordings of a claim, and of their neighbours that claim nothing.

use proptest::prelude::*;

use super::*;

/// Reads what a message says of completion: the claim, and the ids of other tasks.
fn said(message: &str, task: &str) -> (Option<Claim>, Vec<String>) {
    let signals = parse_signals(message, &TaskId::parse(task).unwrap());
    (signals.claim, signals.foreign_claims)
}

/// Asserts what each message says; names all that say something else.
#[track_caller]
fn all_say(messages: &[&str], claim: Option<Claim>) {
    let others: Vec<_> = messages
        .iter()
        .map(|message| (message, said(message, "US-001")))
        .filter(|(_, said)| *said != (claim, Vec::new()))
        .collect();
    assert!(others.is_empty(), "{others:#?}");
}

#[test]
fn a_claim_may_be_worded_in_many_ways() {
    let messages = [
        "Task US-001 completed successfully",
        "Task US-001 completed successfully.",
        "Task US-001 completed successfully! 🎉",
        "Task US-001 was completed successfully.",
        "Task US-001 has been successfully completed.",
        "Task US-001 has now been fully completed",
        "Task US-001 is done already.",
        "Task US-001 is 100% complete.",
        "Task US-001 is marked as complete.",
        "The task US-001 is complete.",
        "This task (US-001) is complete.",
        "- [x] Task US-001 complete",
        "* [X] Task US-001 complete",
        "- [x] **Task US-001** complete",
        "1. [x] Task US-001 complete",
        "- [✓] Task US-001 complete",
        "☑ Task US-001 complete",
        "Story US-001 complete",
        "User story US-001 complete.",
        "User Story [US-001] is complete",
        "1. Task US-001 complete",
        "1) Task US-001 complete",
        "(2) Task US-001 complete.",
        "[1] Task US-001 complete",
        "[US-001] complete",
        "12. **Task US-001 complete**",
        "\"Task US-001 complete\"",
        "\"Task US-001 complete.\"",
        "\"Task US-001 complete\".",
        "“Task US-001 complete”",
        "«Task US-001 complete»",
        "'Task US-001 complete'",
        "‘Task US-001 complete’",
        "- \"Task US-001 complete\"",
        "**\"Task US-001 complete\"**",
        "`Task US-001 complete`",
        "All tests pass. \"Task US-001 complete\"",
        "**Task US-001 complete.**",
        "***Task US-001 complete***",
        "__Task US-001 complete__",
        "### ✅ Task US-001 complete",
        "✔️ Task US-001 complete",
        "Task US-001 complete ✅",
        "Task US-001 ✅ complete",
        "Task US-001: ✅ Complete",
        "🎉 Task US-001 complete! 🎉",
        "Task US-001: complete",
        "Task US-001 - complete",
        "Task US-001 — done.",
        "Task US-001 → done",
        "Task: US-001 complete",
        "Task #US-001 complete",
        "Task (US-001) complete",
        "Task 'US-001' complete",
        "Task US-001 (Login form) complete.",
        "Task US-001 \"Login form\" complete.",
        "Task US-001: Login form — complete",
        "| Task US-001 | complete |",
        "| Task US-001 | ✅ Done | 12 tests |",
        "US-001 complete",
        "**US-001**: done ✅",
        "TASK US-001 COMPLETE",
        "task us-001 complete",
        "  Task US-001 complete  ",
        "Task US-001 complete\r\nMore",
    ];
    all_say(&messages, Some(Claim::ById));
}

#[test]
fn a_claim_may_follow_a_sentence_or_have_more_behind_it() {
    let messages = [
        "All 12 tests pass. Task US-001 complete.",
        "All tests pass! Task US-001 complete",
        "It works (see `tests/a.rs`). Task US-001 complete.",
        "**It works.** Task US-001 complete.",
        "All tests pass; Task US-001 is complete.",
        "All tests pass, Task US-001 complete.",
        "All tests pass, so Task US-001 is complete.",
        "All tests pass — Task US-001 complete",
        "Everything is committed ✅ Task US-001 complete",
        "Version 1.2.3 is in place. Task US-001 complete.",
        "Status: Task US-001 complete",
        "**Final status:** Task US-001 complete",
        "Result: Story US-001 done.",
        "Is it tested? Yes. Task US-001 complete.",
        "Task US-001 complete and verified.",
        "Task US-001 complete with all tests passing.",
        "Task US-001 done as requested",
        "Task US-001 completed without errors.",
        "Task US-001 complete: no regressions, 12 tests pass",
        "Task US-001 complete: no changes were needed",
        "Task US-001 complete: when the form is empty, an error is shown",
        "Task US-001 complete: blocked users are refused",
        "Task US-001 complete: failing tests are fixed",
        "Task US-001 complete: yes",
        "Task US-001 complete: true.",
        "Task US-001 complete? Yes.",
        "Task US-001 complete (3/3 criteria)",
        "Task US-001 complete (100%)",
        "Task US-001 complete, all criteria are met.",
        "Task US-001 complete, but note that lint was red before.",
        "Task US-001 complete; nothing else was touched",
        "Task US-001 complete. Next is US-002.",
        "I'll be brief.\n\nTask US-001 complete",
        "Here is the result:\nTask US-001 complete",
    ];
    all_say(&messages, Some(Claim::ById));
}

#[test]
fn a_denial_a_question_or_a_condition_is_no_claim() {
    let messages = [
        "Task US-001 complete: no",
        "Task US-001 complete: No.",
        "Task US-001 complete: **no**",
        "Task US-001 complete: no, the tests fail",
        "Task US-001 complete: no (tests fail)",
        "Task US-001 complete - no",
        "Task US-001 complete = false",
        "Task US-001 complete: false",
        "Task US-001 complete: not yet",
        "Task US-001 complete: ❌",
        "Task US-001 complete ❌",
        "Task US-001 complete: pending",
        "Task US-001 complete: partially.",
        "Task US-001 complete: N/A",
        "Task US-001 complete: 80%",
        "Task US-001 complete: 2/3",
        "Task US-001 complete (2 of 3 criteria)",
        "Task US-001 complete (not yet verified)",
        "Task US-001 complete (?)",
        "Task US-001 complete?",
        "Task US-001 complete? not yet",
        "Task US-001 complete? No.",
        "| Task US-001 | complete | no |\nx",
        "Is Task US-001 complete?",
        "Task US-001 is not complete",
        "Task US-001 isn't complete",
        "Task US-001 not complete",
        "Task US-001 not yet complete",
        "Task US-001 is nearly complete.",
        "Task US-001 almost done",
        "Task US-001 partially complete",
        "Task US-001 is 80% complete",
        "Task US-001 incomplete",
        "Task US-001 will be complete",
        "Task US-001 can't be completed.",
        "Task US-001 needs to be completed.",
        "once Task US-001 complete",
        "Once Task US-001 complete, I go on",
        "When the tests pass, Task US-001 is complete.",
        "If they pass — Task US-001 complete",
        "I will write it at the end, Task US-001 complete",
        "Task US-001 complete, once the tests pass",
        "Task US-001 complete, when the tests pass",
        "Task US-001 complete (if the tests pass)",
        "Task US-001 complete — unless CI says otherwise",
        "Task US-001 complete as soon as the tests pass",
        "Task US-001 completed successfully once the key is there",
        "Task US-001 complete except for the docs",
        "Task US-001 done as far as possible",
        "Task US-001 complete pattern",
        "Task US-001 completes the form",
        "Task US-001 done.md was written",
        "Task US-001 - complete the docs",
        "The task US-001 complete pattern",
        "- [ ] Task US-001 complete",
        "- [] Task US-001 complete",
        "1. [ ] Task US-001 complete",
        "- [-] Task US-001 complete",
        "1.  - - Task - complete [ ] ?",
        "☐ Task US-001 complete",
        "❌ Task US-001 complete",
        "⏳ Task US-001 complete",
        "~~Task US-001 complete~~",
        "e.g. Task US-001 complete",
        "Before US-001 complete",
    ];
    all_say(&messages, None);
}

#[test]
fn a_quotation_of_the_instructions_is_no_claim() {
    let messages = [
        "```\nTask US-001 complete\n```",
        "~~~text\nAll good. Task US-001 complete.\n~~~",
        "> Task US-001 complete",
        "> 1. Task US-001 complete",
        "I will say \"Task US-001 complete\" when it is",
        "The last line must be \"Task US-001 complete\".",
        "The last line must be:\n\n\"Task US-001 complete\"",
        "The prompt asks for:\n`Task US-001 complete`",
        "It says \"Say it. Task US-001 complete.\" and no more",
        "\"All is well. Task US-001 complete.\" is what I would say",
        "the sentence: Task US-001 complete",
        "To finish, say: Task US-001 complete",
        "When the task is done, your final message says, on a line of its own:\n\nTask US-001 complete\n\nand ends with this block",
        "I will then write:\nTask US-001 complete",
    ];
    all_say(&messages, None);
}

#[test]
fn an_id_is_taken_as_it_is_written() {
    for (task, message) in [
        ("1", "Task 1 complete"),
        ("1", "1. Task 1 complete"),
        ("1.2", "Task 1.2 complete."),
        ("1.2.10", "Works. Task 1.2.10 done"),
        ("auth.login", "Task auth.login complete"),
        ("auth_login", "Task auth_login complete"),
        ("auth_login", "**Task auth_login** complete"),
        ("auth-login-form", "Task auth-login-form is complete"),
        ("a:b#2", "Task a:b#2 complete"),
        ("Story 1", "Story 1 complete"),
        ("Story 1", "Task Story 1 complete"),
        ("Task 7", "Task 7 complete"),
        ("task-7", "task-7 complete"),
        ("Login form", "Task Login form complete"),
        ("Login form", "Task \"Login form\": complete"),
        ("Login (v2)", "Task Login (v2) complete"),
        ("área-1", "Task área-1 completed successfully."),
        ("T1", "Task   T1   complete"),
        ("T1", "Task\tT1\tcomplete"),
        ("done", "Task done complete"),
    ] {
        assert_eq!(
            said(message, task),
            (Some(Claim::ById), vec![]),
            "{message:?}"
        );
    }
}

#[test]
fn another_id_is_another_task() {
    for (message, other) in [
        ("Task US-002 complete", "US-002"),
        ("Task US-001-b complete", "US-001-b"),
        ("Task US-001.1 complete", "US-001.1"),
        ("Task US-0012 complete", "US-0012"),
        ("Task US-00 complete", "US-00"),
        ("- [x] Task US-002 complete", "US-002"),
        ("All pass. Task US-002 completed successfully.", "US-002"),
        ("Story US-002 complete", "US-002"),
        ("Task US-002 - complete", "US-002"),
        ("Task [US-002] is done.", "US-002"),
        ("Task Login form complete", "Login form"),
    ] {
        assert_eq!(
            said(message, "US-001"),
            (None, vec![other.into()]),
            "{message:?}"
        );
    }
    let both = said("Task US-002 complete. Task US-001 complete.", "US-001");
    assert_eq!(both, (Some(Claim::ById), vec!["US-002".into()]));
    let none = said("Task US-002 is not complete", "US-001");
    assert_eq!(none, (None, vec![]));
}

#[test]
fn a_claim_without_an_id_is_plain() {
    let messages = [
        "Task complete",
        "Task completed successfully.",
        "**Task complete!**",
        "- [x] Task complete",
        "The task is complete.",
        "All tests pass. The task is now complete.",
        "Story complete.",
        "\"Task complete\"",
    ];
    all_say(&messages, Some(Claim::Plain));
    let messages = [
        "Task complete: no",
        "Task complete?",
        "Tasks complete",
        "The task complete marker",
        "The task is not complete.",
        "Story points are complete.",
        "Task is as complete as possible",
        "- [ ] Task complete",
    ];
    all_say(&messages, None);
}

proptest! {
    #[test]
    fn no_message_makes_it_panic(
        text in r#"(Task|Story|US-001|complete|no|"|`|```|\n|\. |: |~~|> |\[x\] |\[ \] |<escalate type="stuck">|</escalate>|<summary>|“|”|ü|✅|- |1\. |\?|, |80%|2/3| |\PC){0,40}"#
    ) {
        read(&text);
        parse_signals(&text, &TaskId::parse("ü 1").unwrap());
    }
}
