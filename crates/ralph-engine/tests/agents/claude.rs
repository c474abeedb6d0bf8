//! The real Claude Code.

mod ends;
mod fresh;

use ralph_core::agent::{AgentEvent, Ending, NudgeState};
use ralph_testkit::agents;

use crate::support::{Env, LIMIT, Scene, agent, limits, read};

fn claude(more: &str) -> Box<dyn ralph_engine::agent::Agent> {
    let program = agents::claude();
    agent(
        "claude",
        &format!("claude:\n  command: [{program:?}]\n{more}"),
    )
}

fn env(scene: &Scene) -> Env {
    agents::claude_env(&scene.home(), &scene.model.url())
}

/// A tool that waits for a file, then the end.
const WAITS: &str = r#"
conversations:
- turns:
  - tools: [{bash: "while [ ! -e go ]; do sleep 0.05; done"}]
  - say: Task T1 complete
"#;

fn sent(event: &AgentEvent) -> bool {
    matches!(
        event,
        AgentEvent::Nudge {
            state: NudgeState::Sent,
            ..
        }
    )
}

#[test]
fn it_edits_by_its_own_tools_and_finishes_with_its_final_message_and_figures() {
    let scene = Scene::new(
        "conversations:\n- turns:\n  - say: I will write it.\n    tools:\n    - write: {path: hello.txt, content: \"hi\\n\"}\n    usage: {input: 100, output: 20, cache_read: 1000, cache_write: 10}\n  - say: Task T1 complete\n    usage: {input: 5, output: 7, cache_read: 1200, cache_write: 0}\n",
    );
    let ran = scene.run(claude(""), env(&scene), "Do the thing.");
    assert_eq!(ran.report.ending, Ending::Finished, "{:#?}", ran.events);
    assert_eq!(ran.report.final_message, "Task T1 complete");
    assert_eq!(read(&scene.repo().join("hello.txt")), "hi\n");
    let usage = ran.report.usage;
    assert_eq!((usage.input_tokens, usage.output_tokens), (105, 27));
    assert_eq!(
        (usage.cache_read_tokens, usage.cache_write_tokens),
        (2200, 10)
    );
    assert_eq!(ran.report.context.turns, [1110, 1205]);
    assert_eq!(ran.report.context.window, Some(200_000));
}

#[test]
fn a_nudge_while_a_tool_runs_is_in_the_models_next_request() {
    let scene = Scene::new(WAITS);
    let mut live = scene.start(claude(""), env(&scene), "Do the thing.", limits());
    live.wait_for("tool", |e| matches!(e, AgentEvent::Tool { .. }));
    live.nudge("Look at the other file first.");
    live.wait_for("nudge that is sent", sent);
    std::fs::write(scene.repo().join("go"), "").unwrap();
    let ran = live.join();
    assert_eq!(ran.report.ending, Ending::Finished, "{:#?}", ran.events);
    let requests = scene.model.wait_for_requests(2, LIMIT);
    assert!(!requests[0].text().contains("Look at the other file first."));
    assert!(requests[1].text().contains("Look at the other file first."));
    assert!(ran.events.iter().any(|e| matches!(
        e,
        AgentEvent::Nudge {
            state: NudgeState::Delivered,
            ..
        }
    )));
}

#[test]
fn a_prompt_reaches_the_model_as_it_is_whatever_it_begins_with_or_names() {
    let prompts = [
        "/help me with this",
        "/nosuch",
        "look at @notes.md now",
        "a\n@notes.md\n",
        "!ls",
    ];
    for prompt in prompts {
        let scene = Scene::new("conversations:\n- turns:\n  - say: Task T1 complete\n");
        std::fs::write(scene.repo().join("notes.md"), "CONTENT-OF-THE-FILE\n").unwrap();
        let ran = scene.run(claude(""), env(&scene), prompt);
        assert_eq!(ran.report.ending, Ending::Finished, "{prompt}");
        let request = &scene.model.requests()[0];
        assert!(request.user_texts().contains(&prompt), "{prompt}");
        assert!(!request.text().contains("CONTENT-OF-THE-FILE"), "{prompt}");
    }
}

#[test]
fn a_nudge_names_no_file_and_no_command_either() {
    let scene = Scene::new(WAITS);
    std::fs::write(scene.repo().join("notes.md"), "CONTENT-OF-THE-FILE\n").unwrap();
    let mut live = scene.start(claude(""), env(&scene), "Do the thing.", limits());
    live.wait_for("tool", |e| matches!(e, AgentEvent::Tool { .. }));
    live.nudge("/exit @notes.md");
    live.wait_for("nudge that is sent", sent);
    std::fs::write(scene.repo().join("go"), "").unwrap();
    let ran = live.join();
    assert_eq!(ran.report.ending, Ending::Finished, "{:#?}", ran.events);
    let text = scene.model.requests()[1].text();
    assert!(text.contains("/exit @notes.md"), "{text}");
    assert!(!text.contains("CONTENT-OF-THE-FILE"));
}

#[test]
fn a_nudge_that_comes_with_the_last_words_makes_another_turn() {
    let scene = Scene::new(
        "conversations:\n- turns:\n  - say: Almost.\n    hold: {name: last, at: mid_stream}\n  - say: Task T1 complete\n",
    );
    let mut live = scene.start(claude(""), env(&scene), "Do the thing.", limits());
    scene.model.wait_until_held("last", LIMIT);
    live.nudge("One thing more.");
    live.wait_for("nudge that is sent", sent);
    scene.model.release("last");
    let ran = live.join();
    assert_eq!(ran.report.ending, Ending::Finished, "{:#?}", ran.events);
    assert_eq!(ran.report.final_message, "Task T1 complete");
    assert!(scene.model.requests()[1].text().contains("One thing more."));
}
