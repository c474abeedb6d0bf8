//! State files, arguments and decisions of loops in sessions.

use super::*;
use crate::id::LoopId;

const CLAUDE: [LoopFlag; 3] = [
    LoopFlag::MaxIterations,
    LoopFlag::CompletionPromise,
    LoopFlag::Verify,
];

fn state() -> SessionState {
    SessionState {
        active: true,
        iteration: 2,
        max_iterations: 5,
        completion_promise: Some(Promise::parse("ALL DONE").unwrap()),
        started_at: "2026-01-02T17:35:07Z".parse().unwrap(),
        session_id: "0dc39153".into(),
        owner: SessionOwner {
            pid: 71,
            started: 4711,
        },
        loop_id: Some(LoopId::new("019a")),
        verify: true,
        answers_without_tool: 1,
        transcript_read: 10,
        last_answer: "msg_1".into(),
        iteration_started_at: "2026-01-02T17:36:00Z".parse().unwrap(),
        prompt: "Build it\n\n---\n\n\"quoted\" and: colons".into(),
    }
}

#[test]
fn a_state_file_has_the_keys_of_the_format_and_is_read_as_it_was_written() {
    let text = state().render();
    let expected = "---\nactive: true\niteration: 2\nmax_iterations: 5\ncompletion_promise: \"ALL DONE\"\n\
                    started_at: \"2026-01-02T17:35:07Z\"\nsession_id: \"0dc39153\"\nowner_pid: 71\n\
                    owner_started: 4711\nloop: \"019a\"\nverify: true\nanswers_without_tool: 1\n\
                    transcript_read: 10\nlast_answer: \"msg_1\"\niteration_started_at: \"2026-01-02T17:36:00Z\"\n---\n\n\
                    Build it\n\n---\n\n\"quoted\" and: colons\n";
    assert_eq!(text, expected);
    assert_eq!(SessionState::parse(&text).unwrap(), state());
}

#[test]
fn a_plain_state_file_of_the_format_is_read_and_a_broken_one_says_why() {
    let plain = "---\nactive: true\niteration: 1\nmax_iterations: 0\ncompletion_promise: null\n\
                 started_at: \"2026-01-02T17:35:07Z\"\nsession_id: abc\n---\n\nDo it\n";
    let read = SessionState::parse(plain).unwrap();
    assert_eq!(
        (read.iteration, read.max_iterations, read.prompt.as_str()),
        (1, 0, "Do it")
    );
    assert_eq!(
        (read.completion_promise, read.loop_id, read.verify),
        (None, None, false)
    );
    let table = [
        ("", "it does not begin with a line `---`"),
        ("active: true\n", "it does not begin with a line `---`"),
        ("---\nactive: true\n", "its front matter has no end"),
        (
            "---\nactive: maybe\n---\n\nDo it\n",
            "its front matter can't be read: ",
        ),
        (
            "---\nactive: true\niteration: x\n---\n\nDo it\n",
            "its front matter can't be read: ",
        ),
        (&plain.replace("Do it", " "), "it has no prompt"),
        // Of the official plugin, from before it named its session.
        (
            &plain.replace("session_id: abc\n", ""),
            "its front matter can't be read: ",
        ),
    ];
    for (text, why) in table {
        let error = SessionState::parse(text).unwrap_err().to_string();
        assert!(error.starts_with(why), "{text:?}: {error}");
    }
}

#[test]
fn the_maximum_comes_before_the_promise_and_only_its_own_promise_counts() {
    let mut of = state();
    let done = "All is built.\n\n<promise>ALL  DONE</promise>";
    assert_eq!(of.after_turn(done), AfterTurn::Promised);
    for other in [
        "I go on.",
        "<promise>DONE</promise>",
        "I will write `<promise>ALL DONE</promise>` at the end.",
        "<promise>NOT YET</promise>\n<promise>ALL DONE</promise>",
    ] {
        assert_eq!(of.after_turn(other), AfterTurn::Again, "{other}");
    }
    of.iteration = 5;
    assert_eq!(of.after_turn(done), AfterTurn::MaxReached);
    of.max_iterations = 0;
    assert_eq!(of.after_turn("I go on."), AfterTurn::Again);
    of.completion_promise = None;
    assert_eq!(of.after_turn(done), AfterTurn::Again);
}

#[test]
fn arguments_are_flags_and_a_prompt_as_it_was_typed() {
    let table: [(&str, &str, u64, Option<&str>, bool); 12] = [
        ("Build it", "Build it", 0, None, false),
        ("\"Build it\"", "Build it", 0, None, false),
        ("'Build \"it\"'", "Build \"it\"", 0, None, false),
        (
            "Don't break it --max-iterations 5",
            "Don't break it",
            5,
            None,
            false,
        ),
        ("--max-iterations=5 Build it", "Build it", 5, None, false),
        (
            "Build --verify it --completion-promise D",
            "Build it",
            0,
            Some("D"),
            true,
        ),
        (
            "Build it --completion-promise DONE",
            "Build it",
            0,
            Some("DONE"),
            false,
        ),
        (
            "Build it --completion-promise \"ALL  DONE\"",
            "Build it",
            0,
            Some("ALL DONE"),
            false,
        ),
        (
            "Build it --completion-promise='ALL DONE' --max-iterations 0",
            "Build it",
            0,
            Some("ALL DONE"),
            false,
        ),
        (
            "Add a flag \"--force\" to it",
            "Add a flag \"--force\" to it",
            0,
            None,
            false,
        ),
        (
            "--max-iterations 2 -- Add --force",
            "Add --force",
            2,
            None,
            false,
        ),
        (
            "Line one\nline two --verify --completion-promise D",
            "Line one\nline two",
            0,
            Some("D"),
            true,
        ),
    ];
    for (text, prompt, max, promise, verify) in table {
        let read = LoopArguments::parse(text, &CLAUDE).unwrap_or_else(|e| panic!("{text}: {e}"));
        let made = read.completion_promise.as_ref().map(Promise::as_str);
        assert_eq!(
            (read.prompt.as_str(), read.max_iterations),
            (prompt, max),
            "{text}"
        );
        assert_eq!((made, read.verify), (promise, verify), "{text}");
    }
}

#[test]
fn a_wrong_flag_is_an_error_and_never_a_part_of_the_prompt() {
    let table = [
        ("", "there is no prompt: /ralph-loop"),
        ("--verify", "there is no prompt"),
        ("\"  \"", "there is no prompt"),
        (
            "Build it --max-iteration 5",
            "--max-iteration is not a flag of /ralph-loop; did you mean --max-iterations?",
        ),
        (
            "Build it --same-context",
            "--same-context is not a flag of /ralph-loop",
        ),
        (
            "Build it --max-iterations",
            "--max-iterations needs a value",
        ),
        (
            "Build it --max-iterations --verify",
            "--max-iterations needs a value",
        ),
        (
            "Build it --max-iterations five",
            "--max-iterations needs a whole number, 0 for no limit, and has \"five\"",
        ),
        (
            "Build it --max-iterations=-1",
            "--max-iterations needs a whole number, 0 for no limit, and has \"-1\"",
        ),
        (
            "Build it --verify=yes",
            "--verify takes no value, and has \"yes\"",
        ),
        ("Build it --verify --verify", "--verify is given twice"),
        (
            "Build it --verify",
            "--verify needs --completion-promise: it is the promise that is verified",
        ),
        (
            "Build it —verify",
            "—verify is not a flag of /ralph-loop; did you mean --verify?",
        ),
        (
            "Build it -max-iterations 3",
            "-max-iterations is not a flag of /ralph-loop; did you mean --max-iterations?",
        ),
        (
            "Build it --completion-promise \"\"",
            "--completion-promise: a promise needs at least one word",
        ),
        (
            "Build it --completion-promise <b>",
            "--completion-promise: a promise can't have '<' in it",
        ),
    ];
    for (text, said) in table {
        let error = LoopArguments::parse(text, &CLAUDE).unwrap_err().to_string();
        assert!(error.starts_with(said), "{text}: {error}");
    }
}

#[test]
fn the_next_prompt_has_the_task_its_rules_and_the_end_of_what_failed() {
    let first = state().next_prompt(None);
    assert!(first.starts_with("Build it\n\n---"), "{first}");
    assert!(first.contains("Ralph iteration 2/5."), "{first}");
    assert!(first.contains("<promise>ALL DONE</promise>"), "{first}");
    // What it is told is no promise of its own.
    assert_eq!(promise_in(&first), None);
    let long = format!("{}the last line", "é".repeat(MOST_FAILURE_BYTES));
    let again = state().next_prompt(Some(&long));
    assert!(again.ends_with("the last line"));
    assert!(again.len() < first.len() + MOST_FAILURE_BYTES + 200);
}
