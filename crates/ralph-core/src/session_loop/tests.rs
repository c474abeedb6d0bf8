//! State files, arguments and decisions of loops in sessions.

use serde::Deserialize;

use super::{arguments::MOST_PROMPT_BYTES, *};
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

/// One line of the table that the package for Pi is held to as well.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct ArgumentCase {
    typed: String,
    why: String,
    /// The one agent that has it; both where none is named.
    agent: Option<String>,
    error: Option<String>,
    prompt: Option<String>,
    #[serde(default)]
    max_iterations: u64,
    completion_promise: Option<String>,
    #[serde(default)]
    verify: bool,
}

#[test]
fn arguments_are_read_as_the_table_of_all_integrations_says() {
    let table = include_str!("../../../../integrations/arguments.json");
    let cases: Vec<ArgumentCase> = serde_json::from_str(table).unwrap();
    let wrong = cases.iter().filter(|case| case.error.is_some()).count();
    assert!(
        wrong > 20 && cases.len() - wrong > 20,
        "{wrong} of {}",
        cases.len()
    );
    for case in cases {
        if case.agent.is_some_and(|agent| agent != "claude") {
            continue;
        }
        let found = LoopArguments::parse(&case.typed, &CLAUDE);
        let expected = match (case.error, case.prompt) {
            (Some(error), None) => Err(error),
            (None, Some(prompt)) => Ok(LoopArguments {
                prompt,
                max_iterations: case.max_iterations,
                completion_promise: case
                    .completion_promise
                    .map(|text| Promise::parse(&text).unwrap()),
                verify: case.verify,
            }),
            _ => panic!("{}: either a prompt or an error", case.typed),
        };
        let found = found.map_err(|error| error.to_string());
        assert_eq!(found, expected, "{}: {:?}", case.why, case.typed);
    }
}

#[test]
fn a_prompt_that_is_too_long_is_refused() {
    let most = "é".repeat(MOST_PROMPT_BYTES / 2);
    assert_eq!(LoopArguments::parse(&most, &CLAUDE).unwrap().prompt, most);
    let error = LoopArguments::parse(&format!("{most}x"), &CLAUDE).unwrap_err();
    assert_eq!(
        error.to_string(),
        "the prompt has 262145 bytes, and 262144 are the limit: put it in a file and name that"
    );
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
