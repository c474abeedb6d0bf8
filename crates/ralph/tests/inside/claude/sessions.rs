//! A loop belongs to one session: others, subagents and what comes after a kill leave it alone.

use std::time::Duration;

use super::support::{ClaudeHome, both_pins};

const LIMIT: Duration = Duration::from_secs(60);

/// A loop whose first answer waits; any other conversation gets one answer.
const HELD: &str = r#"
conversations:
  - when: Build it
    turns:
      - say: I begin.
        hold: {name: begun, at: before_headers}
      - say: "<promise>DONE</promise>"
  - turns: [{say: Hello.}, {say: Hello again.}]
"#;

#[test]
fn another_session_in_the_folder_leaves_the_loop_alone_and_can_not_start_one() {
    for program in both_pins() {
        let home = ClaudeHome::new(program, HELD);
        let talk = home.talk("/ralph-loop Build it --completion-promise DONE");
        home.model.wait_until_held("begun", LIMIT);
        let state = home.state().unwrap();
        let other = home.say("hello");
        assert_eq!(other.result(), "Hello.", "{other:?}");
        assert!(other.notices().is_empty());
        let refused = home.say("/ralph-loop Something else");
        let said = "Ralph: a loop is active in this folder already, at iteration 1 in session";
        assert!(refused.result().contains(said), "{refused:?}");
        assert_eq!(home.state().unwrap(), state);
        home.model.release("begun");
        let said = talk.end();
        assert_eq!(
            said.notices().last().unwrap(),
            "Ralph: Completion detected: <promise>DONE</promise>"
        );
        assert_eq!(home.recorded()["reason"], "promise");
    }
}

#[test]
fn a_killed_session_leaves_nothing_that_starts_by_itself() {
    for program in both_pins() {
        let scenario = "conversations: [{turns: [{say: Hello.}, {say: I begin., hold: begun}]}]\n";
        let home = ClaudeHome::new(program, scenario);
        let mut talk = home.talk("hello");
        talk.result();
        talk.message("/ralph-loop Build it --completion-promise DONE");
        home.model.wait_until_held("begun", LIMIT);
        talk.kill();
        home.model.release("begun");
        let left = home.state().unwrap();
        let session = left
            .lines()
            .find_map(|line| line.strip_prefix("session_id: "));
        let session = session.unwrap().trim_matches('"').to_owned();

        let before = home.answers();
        let fresh = home.say("hello");
        assert_eq!((fresh.result(), home.answers()), ("Hello.", before + 1));
        assert_eq!(home.state().unwrap(), left);

        let resumed = home.say_with("hello", &["--resume", &session], &[]);
        assert!(resumed.notices().is_empty(), "{resumed:?}");
        assert_eq!(home.answers(), before + 2, "one answer, and no loop");
        let told = &resumed.hooks("SessionStart")[0];
        assert_eq!(
            told["systemMessage"],
            "Ralph: the loop of this session was interrupted at iteration 1 and is over; /ralph-loop starts it again"
        );
        assert_eq!(home.state(), None);
        assert_eq!(home.recorded()["reason"], "session_ended");
    }
}

#[test]
fn the_state_of_a_session_that_is_gone_is_replaced_by_a_new_loop() {
    let scenario = "conversations: [{when: Build, turns: [{say: I begin., hold: begun}]}, {turns: [{say: '<promise>DONE</promise>'}]}]\n";
    let home = ClaudeHome::new(both_pins()[0].clone(), scenario);
    let talk = home.talk("/ralph-loop Build it");
    home.model.wait_until_held("begun", LIMIT);
    talk.kill();
    let said = home.say("/ralph-loop Other work --completion-promise DONE");
    let begun = &said.hooks("UserPromptExpansion")[0]["systemMessage"];
    assert_eq!(
        begun,
        "Ralph: loop started, iteration 1. A loop that was left at iteration 1 by a session that is gone is replaced."
    );
    assert_eq!(
        said.notices(),
        ["Ralph: Completion detected: <promise>DONE</promise>"]
    );
    assert_eq!(home.state(), None);
}

#[test]
fn a_session_that_ends_ends_its_loop() {
    for program in both_pins() {
        let home = ClaudeHome::new(program, HELD);
        let mut talk = home.talk("/ralph-loop Build it --completion-promise DONE");
        home.model.wait_until_held("begun", LIMIT);
        talk.interrupt();
        talk.result();
        home.model.release("begun");
        talk.end();
        assert_eq!(home.state(), None);
        assert_eq!(home.recorded()["reason"], "session_ended");
    }
}

#[test]
fn the_end_of_a_subagent_is_no_iteration() {
    let scenario = r#"
conversations:
  - when: Look at the files
    turns:
      - tools: [{bash: "ls"}]
      - say: "Seen. <promise>DONE</promise>"
  - turns:
      - tools:
          - call: {name: Agent, input: {description: look, prompt: Look at the files, subagent_type: general-purpose}}
      - say: It has looked.
      - say: "<promise>DONE</promise>"
"#;
    for program in both_pins() {
        let home = ClaudeHome::new(program, scenario);
        let said = home.say("/ralph-loop Build it --completion-promise DONE");
        let expected = [
            "Ralph iteration 2",
            "Ralph: Completion detected: <promise>DONE</promise>",
        ];
        assert_eq!(said.notices(), expected, "{said:?}");
        assert_eq!(home.recorded()["iterations"], 2);
    }
}

#[test]
fn a_conversation_that_is_made_shorter_keeps_its_loop() {
    // With less there is nothing to make shorter.
    let scenario = r#"
conversations:
  - when: Your task is to create a detailed summary
    turns: [{say: "<summary>We build it.</summary>"}]
  - turns:
      - say: I begin.
      - say: I look around.
      - say: I build a part.
      - say: I build another part.
        hold: {name: begun, at: before_headers}
      - say: I test it.
"#;
    for program in both_pins() {
        let home = ClaudeHome::new(program, scenario);
        let mut talk = home.talk("/ralph-loop Build it --max-iterations 5");
        home.model.wait_until_held("begun", LIMIT);
        talk.interrupt();
        talk.result();
        home.model.release("begun");
        talk.message("/compact");
        talk.result();
        let requests = home.model.requests();
        let asked = requests.last().unwrap().text();
        assert!(asked.contains("create a detailed summary"), "{asked}");
        talk.message("go on");
        talk.result();
        let said = talk.end();
        let expected = [
            "Ralph iteration 2/5",
            "Ralph iteration 3/5",
            "Ralph iteration 4/5",
            "Ralph iteration 5/5",
            "Ralph: Max iterations (5) reached",
        ];
        assert_eq!(said.notices(), expected, "{said:?}");
        let row = home.recorded();
        assert_eq!(
            (&row["iterations"], &row["reason"]),
            (&5.into(), &"max_iterations".into()),
            "{row}"
        );
    }
}

#[test]
fn a_person_cancels_a_loop_from_any_session_and_hears_when_there_is_none() {
    for program in both_pins() {
        let home = ClaudeHome::new(program, HELD);
        let none = home.say("/cancel-ralph");
        assert!(
            none.result().contains("Ralph: no loop is active here"),
            "{none:?}"
        );
        let talk = home.talk("/ralph-loop Build it --completion-promise NEVER");
        home.model.wait_until_held("begun", LIMIT);
        let cancelled = home.say("/cancel-ralph");
        assert!(
            cancelled
                .result()
                .contains("Ralph: loop cancelled at iteration 1"),
            "{cancelled:?}"
        );
        assert_eq!(home.state(), None);
        home.model.release("begun");
        let said = talk.end();
        assert!(
            said.notices().is_empty(),
            "it stops after its answer: {said:?}"
        );
        assert_eq!(home.answers(), 1);
        assert_eq!(home.recorded()["reason"], "cancelled");
    }
}

/// The judge of `/goal` is asked without tools; it is content once everything has been said.
const WITH_GOAL: &str = r#"
conversations:
  - when: "condition: \"all is well\""
    without_tools: true
    turns:
      - say: '{"ok": false, "reason": "not yet"}'
      - say: '{"ok": false, "reason": "not yet"}'
      - say: '{"ok": false, "reason": "not yet"}'
      - say: '{"ok": true, "reason": "it is"}'
      - say: '{"ok": true, "reason": "it is"}'
      - say: '{"ok": true, "reason": "it is"}'
      - say: '{"ok": true, "reason": "it is"}'
  - turns:
      - say: I begin.
        hold: {name: begun, at: before_headers}
      - say: one
      - say: two
      - say: three
      - say: four
      - say: five
"#;

#[test]
fn a_goal_that_is_built_in_and_a_loop_are_both_obeyed() {
    for program in both_pins() {
        let home = ClaudeHome::new(program, WITH_GOAL);
        let mut talk = home.talk("/goal all is well");
        home.model.wait_until_held("begun", LIMIT);
        talk.interrupt();
        talk.result();
        home.model.release("begun");
        talk.message("/ralph-loop Build it --max-iterations 2");
        talk.result();
        let said = talk.end();
        let notices = said.notices();
        let expected = ["Ralph iteration 2/2", "Ralph: Max iterations (2) reached"];
        assert_eq!(notices, expected, "{said:?}");
        let judged = |request: &&ralph_testkit::model::Request| {
            request
                .text()
                .contains("Answer based on transcript evidence only")
        };
        let requests = home.model.requests();
        assert!(
            requests.iter().filter(judged).count() >= 2,
            "the goal is judged, too"
        );
        assert_eq!(home.state(), None);
    }
}
