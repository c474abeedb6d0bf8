//! A loop from its command to its end.

use super::support::{ClaudeHome, STATE, both_pins};

/// Works, goes on, promises in passing, and then in earnest.
const TO_PROMISE: &str = r#"
conversations:
  - turns:
      - say: I begin.
        tools: [{bash: "git status --porcelain > ../seen.txt; cp .claude/ralph-loop.local.md ../state.txt"}]
      - say: A part is done.
      - say: "I will write `<promise>ALL DONE</promise>` at the end."
      - say: "Everything is built.\n\n<promise>ALL  DONE</promise>"
"#;

#[test]
fn a_loop_ends_with_its_promise_and_is_in_the_journal() {
    for program in both_pins() {
        let home = ClaudeHome::new(program, TO_PROMISE);
        let said =
            home.say("/ralph-loop Build \"it\" --completion-promise 'ALL DONE' --max-iterations 9");
        let expected = [
            "Ralph iteration 2/9",
            "Ralph iteration 3/9",
            "Ralph: Completion detected: <promise>ALL DONE</promise>",
        ];
        assert_eq!(said.notices(), expected, "{said:?}");
        assert!(home.model.unscripted().is_empty());
        assert_eq!(home.answers(), 4);
        assert_eq!(home.state(), None);
        let outside = |name: &str| std::fs::read_to_string(home.repo.outside().join(name)).unwrap();
        assert_eq!(outside("seen.txt"), "", "git does not see the state file");
        let state = outside("state.txt");
        for line in [
            "active: true\n",
            "iteration: 1\n",
            "max_iterations: 9\n",
            "completion_promise: \"ALL DONE\"\n",
            "\n---\n\nBuild \"it\"\n",
            &format!("session_id: \"{}\"\n", said.session()),
        ] {
            assert!(state.contains(line), "{line:?} in {state}");
        }
        let requests = home.model.requests();
        let told = |at: usize, text: &str| requests[at].text().contains(text);
        assert!(
            told(0, "Build \"it\"\n\n(Ralph iteration 1/9."),
            "{}",
            requests[0].text()
        );
        assert!(
            told(2, "Build \"it\"\n\n(Ralph iteration 2/9."),
            "{}",
            requests[2].text()
        );
        let row = home.recorded();
        assert_eq!(row["iterations"], 3, "{row}");
        assert_eq!(row["reason"], "promise", "{row}");
        assert_eq!(row["prompt"], "Build \"it\"", "{row}");
        assert_eq!(row["tokens"], 480, "four answers of 120 tokens: {row}");
        assert_eq!(row["session"], said.session(), "{row}");
    }
}

#[test]
fn a_loop_ends_at_its_maximum_whatever_is_promised_then() {
    let scenario =
        "conversations: [{turns: [{say: one}, {say: two}, {say: '<promise>DONE</promise>'}]}]\n";
    for program in both_pins() {
        let home = ClaudeHome::new(program, scenario);
        let said = home.say("/ralph-loop --max-iterations=3 --completion-promise=DONE Build it");
        let expected = [
            "Ralph iteration 2/3",
            "Ralph iteration 3/3",
            "Ralph: Max iterations (3) reached",
        ];
        assert_eq!(said.notices(), expected);
        assert_eq!(home.answers(), 3);
        assert_eq!(home.recorded()["reason"], "max_iterations");
        assert_eq!(home.state(), None);
    }
}

#[test]
fn wrong_arguments_are_refused_by_name_and_no_model_is_asked() {
    let table = [
        (
            "/ralph-loop Build it --max-iteration 3",
            "Ralph: --max-iteration is not a flag of /ralph-loop; did you mean --max-iterations?",
        ),
        ("/ralph-loop", "Ralph: there is no prompt"),
        (
            "/ralph-loop Fix 'em --max-iterations 3",
            "Ralph: the quote ' is never closed in 'em",
        ),
        (
            "/ralph-loop Build it --max-iterations many",
            "Ralph: --max-iterations needs a whole number",
        ),
        (
            "/ralph-loop Build it --verify --completion-promise DONE",
            "Ralph: --verify needs commands: set `verification.commands` in ralph.yaml",
        ),
        (
            "/ralph:ralph-loop Build it --same-context",
            "Ralph: --same-context is not a flag of /ralph-loop",
        ),
    ];
    for program in both_pins() {
        let home = ClaudeHome::new(program, "conversations: []\n");
        for (typed, said) in table {
            let result = home.say(typed);
            assert!(result.result().contains(said), "{typed}: {result:?}");
        }
        assert_eq!(home.answers(), 0);
        assert!(!home.repo.exists(STATE));
    }
}

/// Promises too early; weakens what verifies it, in the configuration and in the state; then does the work.
const VERIFIED: &str = r#"
conversations:
  - turns:
      - say: "<promise>DONE</promise>"
      - tools:
          - bash: "printf 'verification: {commands: [\"true\"]}\\n' > ralph.yaml; sed -i 's/^verify: true/verify: false/; s/^loop: .*/loop: null/' .claude/ralph-loop.local.md"
      - say: "<promise>DONE</promise>"
      - tools: [{bash: "echo 'nonsense: [' > ralph.yaml; sed -i 's/^verify: true/verify: false/; s/^loop: .*/loop: \"019a\"/' .claude/ralph-loop.local.md"}]
      - say: "<promise>DONE</promise>"
      - tools: [{bash: "git checkout -q ralph.yaml; echo right > result.txt"}]
      - say: "<promise>DONE</promise>"
"#;

#[test]
fn a_promise_counts_only_if_the_commands_of_the_beginning_pass_on_the_working_tree() {
    for program in both_pins() {
        let home = ClaudeHome::new(program, VERIFIED);
        home.repo
            .file(
                "ralph.yaml",
                "verification: {commands: ['grep -q right result.txt']}\n",
            )
            .commit("configure");
        let said =
            home.say("/ralph-loop Build it --completion-promise DONE --verify --max-iterations 9");
        let fails = "(the promise was verified, and fails)";
        let expected = [
            format!("Ralph iteration 2/9 {fails}"),
            format!("Ralph iteration 3/9 {fails}"),
            format!("Ralph iteration 4/9 {fails}"),
            "Ralph: Completion detected: <promise>DONE</promise>".to_owned(),
        ];
        assert_eq!(said.notices(), expected, "{said:?}");
        let requests = home.model.requests();
        let told = requests[1].text();
        let failed = "grep -q right result.txt: failed with exit code 2";
        assert!(told.contains(failed), "{told}");
        assert!(told.contains("Repair this first"), "{told}");
        let row = home.recorded();
        assert_eq!(
            (&row["verify"], &row["reason"]),
            (&true.into(), &"promise".into())
        );
    }
}

#[test]
fn failed_calls_of_the_model_in_between_are_no_iterations() {
    let scenario = r#"
conversations:
  - turns:
      - say: one
      - say: two
        faults: [{status: 529}, {status: 500}]
      - say: "<promise>DONE</promise>"
"#;
    for program in both_pins() {
        let home = ClaudeHome::new(program, scenario);
        let said = home.say("/ralph-loop Build it --completion-promise DONE");
        assert_eq!(said.notices().len(), 3, "{said:?}");
        assert_eq!(home.recorded()["iterations"], 3);
    }
}

#[test]
fn a_loop_ends_where_claude_code_would_end_the_turn_by_itself() {
    let answers: Vec<String> = (0..12).map(|n| format!("{{say: answer {n}}}")).collect();
    let scenario = format!("conversations: [{{turns: [{}]}}]\n", answers.join(", "));
    for program in both_pins() {
        let home = ClaudeHome::new(program.clone(), &scenario);
        let said = home.say("/ralph-loop Build it --max-iterations 11");
        let notices = said.notices();
        assert_eq!(notices.len(), 9, "{notices:?}");
        assert!(
            notices[8].starts_with("Ralph: loop ended at iteration 9/11: Claude Code ends a turn after 8 answers in a row"),
            "{notices:?}"
        );
        assert_eq!((home.answers(), home.state()), (9, None));
        assert_eq!(home.recorded()["reason"], "block_cap");

        let home = ClaudeHome::new(program, &scenario);
        let lifted = [("CLAUDE_CODE_STOP_HOOK_BLOCK_CAP", "0")];
        let said = home.say_with("/ralph-loop Build it --max-iterations 11", &[], &lifted);
        assert_eq!(said.notices()[10], "Ralph: Max iterations (11) reached");
    }
}

#[test]
fn calls_of_tools_keep_a_loop_going_beyond_that() {
    let turns: Vec<String> = (0..22)
        .map(|n| match n % 2 {
            0 => format!("{{tools: [{{bash: 'echo {n} > n.txt'}}]}}"),
            _ => format!("{{say: answer {n}}}"),
        })
        .collect();
    let scenario = format!("conversations: [{{turns: [{}]}}]\n", turns.join(", "));
    let home = ClaudeHome::new(both_pins()[0].clone(), &scenario);
    let said = home.say("/ralph-loop Build it --max-iterations 11");
    assert_eq!(
        said.notices().last().unwrap(),
        "Ralph: Max iterations (11) reached"
    );
    assert_eq!(home.answers(), 22);
}

#[test]
fn a_state_file_that_is_deleted_broken_or_not_active_ends_the_loop_and_is_said() {
    let table = [
        (format!("rm {STATE}"), "was deleted", "cancelled"),
        (
            format!("sed -i 's/^iteration: .*/iteration: one/' {STATE}"),
            "is broken (its front matter can't be read: line 2 column 12: invalid u64) and is left as it is",
            "failed",
        ),
        (
            format!("sed -i 's/^active: true/active: false/' {STATE}"),
            "says that the loop is not active",
            "cancelled",
        ),
        (
            format!("sed -i 's/^session_id: .*/session_id: \\\"other\\\"/' {STATE}"),
            "belongs to another session now",
            "cancelled",
        ),
    ];
    for program in both_pins() {
        for (change, why, reason) in &table {
            let scenario = format!(
                "conversations: [{{turns: [{{tools: [{{bash: \"{change}\"}}]}}, {{say: one}}, {{say: two}}]}}]\n"
            );
            let home = ClaudeHome::new(program.clone(), &scenario);
            let said = home.say("/ralph-loop Build it");
            let expected = format!("Ralph: {STATE} {why}: the loop has stopped after iteration 1");
            assert_eq!(said.notices(), [expected], "{change}: {said:?}");
            assert_eq!(home.answers(), 2, "{change}");
            assert_eq!(home.recorded()["reason"], *reason, "{change}");
            // With no loop there is nothing more to say.
            assert!(home.say("hello").notices().is_empty(), "{change}");
        }
    }
}

#[test]
fn of_several_promises_the_first_that_is_made_counts() {
    let scenario = r#"
conversations:
  - turns:
      - say: "<promise>OTHER</promise>\n<promise>DONE</promise>"
      - say: "Not \"<promise>OTHER</promise>\".\n<promise>DONE</promise>\n<promise>OTHER</promise>"
"#;
    for program in both_pins() {
        let home = ClaudeHome::new(program, scenario);
        let said = home.say("/ralph-loop Build it --completion-promise DONE --max-iterations 5");
        let expected = [
            "Ralph iteration 2/5",
            "Ralph: Completion detected: <promise>DONE</promise>",
        ];
        assert_eq!(said.notices(), expected, "{said:?}");
    }
}

#[test]
fn a_loop_without_promise_and_limit_goes_on_whatever_is_promised() {
    let answers = ["{say: '<promise>DONE</promise>'}"; 5].join(", ");
    let scenario = format!(
        "conversations: [{{turns: [{answers}, {{tools: [{{bash: 'rm {STATE}'}}]}}, {{say: over}}]}}]\n"
    );
    for program in both_pins() {
        let home = ClaudeHome::new(program, &scenario);
        let said = home.say("/ralph-loop Build it --max-iterations 0");
        let begun = &said.hooks("UserPromptExpansion")[0]["systemMessage"];
        assert_eq!(
            begun,
            "Ralph: loop started, iteration 1. It has no limit and no promise: it runs until /cancel-ralph."
        );
        let notices = said.notices();
        let expected = ["2", "3", "4", "5", "6"].map(|n| format!("Ralph iteration {n}"));
        assert_eq!(notices[..5], expected, "{said:?}");
        assert!(notices[5].ends_with("the loop has stopped after iteration 6"));
        assert_eq!(home.answers(), 7);
    }
}
