//! The real Codex, opencode and Gemini CLI: each does a task by its own tools, and is refused once.

use std::time::{Duration, Instant};

use ralph_core::{
    agent::{AgentEvent, Ending},
    config::CustomAgent,
};
use ralph_engine::agent::{Agent, Making, find};
use ralph_testkit::agents;

use crate::support::{Env, LIMIT, Scene, limits, marked, read};

/// One of the programs, and what it is started with.
struct Other {
    dialect: &'static str,
    program: fn() -> std::path::PathBuf,
    model: Option<&'static str>,
    env: fn(&std::path::Path, &str) -> Env,
}

const CODEX: Other = Other {
    dialect: "codex",
    program: agents::codex,
    model: None,
    env: agents::codex_env,
};
const OPENCODE: Other = Other {
    dialect: "opencode",
    program: agents::opencode,
    model: Some(agents::OPENCODE_MODEL),
    env: agents::opencode_env,
};
const GEMINI: Other = Other {
    dialect: "gemini",
    program: agents::gemini,
    model: Some(agents::GEMINI_MODEL),
    env: agents::gemini_env,
};

impl Other {
    fn agent(&self) -> Box<dyn Agent> {
        let command = serde_json::json!([(self.program)()]);
        let custom: CustomAgent = serde_json::from_value(serde_json::json!({
            "name": "mine", "command": command, "dialect": self.dialect, "model": self.model,
        }))
        .unwrap();
        let making = Making {
            config: &ralph_core::config::Config::default(),
            custom: Some(&custom),
            is_root: rustix::process::geteuid().is_root(),
        };
        (find(self.dialect).unwrap().make)(&making)
    }

    fn env(&self, scene: &Scene) -> Env {
        (self.env)(&scene.home(), &scene.model.url())
    }
}

fn work(tool: &str) -> Scene {
    Scene::new(&format!(
        "conversations:\n- when: Do the thing.\n  turns:\n  - say: I will write it.\n    tools:\n    - {tool}\n    usage: {{input: 100, output: 20, cache_read: 1000}}\n  - say: Task T1 complete\n    usage: {{input: 5, output: 7, cache_read: 1200}}\n"
    ))
}

/// It did the work, and its account of it is the script's.
fn does_the_work(other: &Other, scene: &Scene) -> Vec<AgentEvent> {
    let ran = scene.run(other.agent(), other.env(scene), "Do the thing.");
    assert_eq!(ran.report.ending, Ending::Finished, "{:#?}", ran.events);
    assert_eq!(ran.report.final_message, "Task T1 complete");
    assert_eq!(read(&scene.repo().join("hello.txt")), "hi\n");
    let usage = ran.report.usage;
    assert_eq!((usage.input_tokens, usage.output_tokens), (105, 27));
    assert_eq!(usage.cache_read_tokens, 2200);
    assert_eq!(usage.cache_write_tokens, 0);
    let requests = scene.model.requests();
    assert_eq!(requests.len(), 2, "and none on the side: {requests:#?}");
    assert!(requests[0].is_fresh());
    assert!(requests[0].user_texts().contains(&"Do the thing."));
    ran.events
}

#[test]
fn codex_works_by_its_shell_and_its_figures_are_the_scripts() {
    let scene = work("bash: echo hi > hello.txt");
    let events = does_the_work(&CODEX, &scene);
    assert!(
        events
            .iter()
            .any(|e| matches!(e, AgentEvent::Tool { name, .. } if name == "command_execution"))
    );
}

#[test]
fn opencode_works_by_its_tools_and_its_figures_and_cost_are_the_scripts() {
    let scene = work("write: {path: hello.txt, content: \"hi\\n\"}");
    let events = does_the_work(&OPENCODE, &scene);
    assert!(
        events
            .iter()
            .any(|e| matches!(e, AgentEvent::Tool { name, .. } if name == "write"))
    );
}

#[test]
fn gemini_works_by_its_tools_and_its_figures_are_the_scripts() {
    let scene = work("write: {path: hello.txt, content: \"hi\\n\"}");
    let events = does_the_work(&GEMINI, &scene);
    assert!(
        events
            .iter()
            .any(|e| matches!(e, AgentEvent::Tool { name, .. } if name == "write_file"))
    );
}

fn refused(status: u16) -> Scene {
    Scene::new(&format!(
        "conversations: [{{turns: [{{say: never, faults: [{{status: {status}, repeat: forever}}]}}]}}]"
    ))
}

#[test]
fn codex_with_a_refused_key_ends_as_auth_before_its_retries_do() {
    let scene = refused(401);
    let began = Instant::now();
    let ran = scene.run(CODEX.agent(), CODEX.env(&scene), "go");
    assert_eq!(ran.report.ending.outcome(), "auth", "{:#?}", ran.events);
    println!(
        "codex 401 {:?} {:#?} requests {}",
        began.elapsed(),
        ran.report.ending,
        scene.model.requests().len()
    );
}

#[test]
fn gemini_with_a_refused_key_ends_as_auth() {
    let scene = refused(401);
    let began = Instant::now();
    let ran = scene.run(GEMINI.agent(), GEMINI.env(&scene), "go");
    assert_eq!(ran.report.ending.outcome(), "auth", "{:#?}", ran.events);
    println!(
        "gemini 401 {:?} {:#?} requests {}",
        began.elapsed(),
        ran.report.ending,
        scene.model.requests().len()
    );
}

#[test]
fn opencode_with_a_refused_key() {
    let scene = refused(401);
    let began = Instant::now();
    let ran = scene.run(OPENCODE.agent(), OPENCODE.env(&scene), "go");
    println!(
        "opencode 401 {:?} {:#?} requests {} {:#?}",
        began.elapsed(),
        ran.report.ending,
        scene.model.requests().len(),
        ran.events
    );
}
