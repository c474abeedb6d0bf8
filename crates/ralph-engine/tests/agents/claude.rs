//! The real Claude Code.

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
    let scene = Scene::new(
        "conversations:\n- turns:\n  - tools: [{bash: \"while [ ! -e go ]; do sleep 0.05; done\"}]\n  - say: Task T1 complete\n",
    );
    let mut live = scene.start(claude(""), env(&scene), "Do the thing.", limits());
    live.wait_for("tool", |e| matches!(e, AgentEvent::Tool { .. }));
    live.nudge("Look at the other file first.");
    live.wait_for("nudge that is sent", |e| {
        matches!(
            e,
            AgentEvent::Nudge {
                state: NudgeState::Sent,
                ..
            }
        )
    });
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
