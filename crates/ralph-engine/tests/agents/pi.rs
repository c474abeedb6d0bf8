//! The real Pi: its work in both modes. Each mode is a program start, so the modes share a test.

mod failures;
mod guards;
mod live;

use ralph_core::agent::{AgentEvent, Ending};
use ralph_engine::agent::Agent;
use ralph_testkit::agents;

use crate::support::{Env, Scene, agent, read};

const MODES: [&str; 2] = ["rpc", "json"];

fn pi(mode: &str, more: &str) -> Box<dyn Agent> {
    let (program, model) = (agents::pi(), agents::PI_MODEL);
    agent(
        "pi",
        &format!("pi:\n  command: [{program:?}]\n  model: {model}\n  mode: {mode}\n{more}"),
    )
}

/// What Pi is started with; it asks again at once where it would wait for seconds.
fn env(scene: &Scene) -> Env {
    let env = agents::pi_env(&scene.home(), &scene.model.url());
    put(scene, "settings.json", r#"{"retry": {"baseDelayMs": 20}}"#);
    env
}

/// A file in Pi's own folder.
fn put(scene: &Scene, name: &str, text: &str) {
    let path = scene.home().join("pi-agent").join(name);
    std::fs::create_dir_all(path.parent().unwrap()).unwrap();
    std::fs::write(path, text).unwrap();
}

#[test]
fn it_edits_by_its_own_tools_and_finishes_with_its_final_message_and_figures() {
    for (mode, window) in [("rpc", Some(200_000)), ("json", None)] {
        let scene = Scene::new(
            "conversations:\n- turns:\n  - say: I will write it.\n    tools:\n    - write: {path: hello.txt, content: \"hi\\n\"}\n    usage: {input: 100, output: 20, cache_read: 1000, cache_write: 10}\n  - say: Task T1 complete\n    usage: {input: 5, output: 7, cache_read: 1200, cache_write: 0}\n",
        );
        let ran = scene.run(pi(mode, ""), env(&scene), "Do the thing.");
        let report = ran.report;
        assert_eq!(report.ending, Ending::Finished, "{mode} {:#?}", ran.events);
        assert_eq!(report.final_message, "Task T1 complete");
        assert_eq!(report.model.as_deref(), Some("loop-anthropic/scripted-1"));
        assert_eq!(report.turns, Some(2));
        assert_eq!(read(&scene.repo().join("hello.txt")), "hi\n");
        let usage = report.usage;
        assert_eq!((usage.input_tokens, usage.output_tokens), (105, 27));
        assert_eq!(
            (usage.cache_read_tokens, usage.cache_write_tokens),
            (2200, 10)
        );
        // 105 and 27 tokens at $3 and $15 a million, 2200 and 10 of the cache at $0.30 and $3.75.
        let cost = usage.cost_usd.unwrap();
        assert!((cost - 0.001_417_5).abs() < 1e-9, "{cost}");
        assert_eq!(report.context.turns, [1110, 1205]);
        assert_eq!(report.context.window, window, "{mode}");
        let tools: Vec<String> = ran.events.iter().filter_map(tool).collect();
        assert_eq!(tools, ["write hello.txt", "done true"], "{mode}");
        let started = ran.events.iter().filter(|e| {
            matches!(
                e,
                AgentEvent::Started {
                    session: Some(_),
                    ..
                }
            )
        });
        assert_eq!(started.count(), 1, "{mode} {:#?}", ran.events);
        assert_eq!(scene.model.requests()[0].user_texts(), ["Do the thing."]);
    }
}

fn tool(event: &AgentEvent) -> Option<String> {
    match event {
        AgentEvent::Tool { name, target, .. } => Some(format!("{name} {target}")),
        AgentEvent::ToolDone { ok, .. } => Some(format!("done {ok}")),
        _ => None,
    }
}

#[test]
fn a_compaction_is_told_and_what_it_used_is_counted() {
    let scene = Scene::new(
        "conversations: [{turns: [{say: first, tools: [{bash: echo one}], usage: {input: 190000, output: 10}}, {say: Task T1 complete, usage: {input: 500, output: 10}}]}]",
    );
    let env = env(&scene);
    // Of a conversation of a few words Pi would keep all.
    let settings = r#"{"compaction": {"keepRecentTokens": 1}}"#;
    put(&scene, "settings.json", settings);
    let ran = scene.run(pi("rpc", ""), env, "Do the thing.");
    assert_eq!(ran.report.ending, Ending::Finished, "{:#?}", ran.events);
    let compacted = |e: &AgentEvent| matches!(e, AgentEvent::Compacted { before: 190_000..191_000, after } if *after > 0);
    assert!(ran.events.iter().any(compacted), "{:#?}", ran.events);
    // The summary is an answer of 100 and 20 tokens.
    let usage = ran.report.usage;
    assert_eq!((usage.input_tokens, usage.output_tokens), (190_600, 40));
    assert_eq!(ran.report.context.turns, [190_000, 500]);
}

#[test]
fn the_events_end_at_the_settled_agent_and_not_at_an_attempt_that_failed() {
    for mode in MODES {
        let scene = Scene::new(
            "conversations: [{turns: [{say: Task T1 complete, faults: [{status: 500, message: broken}, {cut: mid_stream}]}]}]",
        );
        let ran = scene.run(pi(mode, ""), env(&scene), "Do the thing.");
        assert_eq!(
            ran.report.ending,
            Ending::Finished,
            "{mode} {:#?}",
            ran.events
        );
        assert_eq!(ran.report.final_message, "Task T1 complete");
        let attempts: Vec<u32> = ran
            .events
            .iter()
            .filter_map(|event| match event {
                AgentEvent::Retry { attempt, .. } => Some(*attempt),
                _ => None,
            })
            .collect();
        assert_eq!(attempts, [1, 2], "{mode}");
        // The attempt that was cut off had used its input, and is paid for.
        assert_eq!(ran.report.usage.input_tokens, 200, "{mode}");
        assert_eq!(scene.model.requests().len(), 3);
    }
}
