//! The real Codex, opencode and Gemini CLI: each does a task by its own tools, and its account of it is
//! the script's.

mod ends;
mod prompts;

use std::path::{Path, PathBuf};

use ralph_core::{
    agent::{AgentEvent, Ending, Usage},
    config::{Config, CustomAgent},
};
use ralph_engine::agent::{Agent, AgentSetup, find_kind};
use ralph_testkit::agents;

use crate::support::{Env, Scene, agent, read};

/// One of the programs, and what it is started with.
struct Other {
    dialect: &'static str,
    program: fn() -> PathBuf,
    model: Option<&'static str>,
    env: fn(&Path, &str) -> Env,
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
        let setup = AgentSetup {
            config: &Config::default(),
            custom: Some(&custom),
            is_root: rustix::process::geteuid().is_root(),
            guard: None,
        };
        (find_kind(self.dialect).unwrap().make)(&setup)
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

/// What the script says of both turns together.
fn scripted(cost_usd: Option<f64>, context_tokens: u64) -> Usage {
    Usage {
        input_tokens: 105,
        output_tokens: 27,
        cache_read_tokens: 2200,
        cache_write_tokens: 0,
        cost_usd,
        context_tokens,
    }
}

/// It did the work by a tool of that name, in a conversation of its own; what it says that it used.
fn does_the_work(agent: Box<dyn Agent>, env: Env, scene: &Scene, tool: &str) -> Usage {
    let ran = scene.run(agent, env, "Do the thing.");
    assert_eq!(ran.report.ending, Ending::Finished, "{:#?}", ran.events);
    assert_eq!(ran.report.final_message, "Task T1 complete");
    assert_eq!(read(&scene.repo().join("hello.txt")), "hi\n");
    let is_tool = |e: &AgentEvent| matches!(e, AgentEvent::Tool { name, .. } if name == tool);
    assert!(ran.events.iter().any(is_tool), "{:#?}", ran.events);
    let requests = scene.model.requests();
    assert_eq!(requests.len(), 2, "and none on the side: {requests:#?}");
    assert!(requests[0].is_fresh() && !requests[1].is_fresh());
    assert!(requests[0].user_texts().contains(&"Do the thing."));
    ran.report.usage
}

#[test]
fn codex_works_by_its_shell() {
    let scene = work("bash: echo hi > hello.txt");
    let usage = does_the_work(
        CODEX.agent(),
        CODEX.env(&scene),
        &scene,
        "command_execution",
    );
    assert_eq!(usage, scripted(None, 0));
}

#[test]
fn codex_works_by_its_patches_and_is_found_by_its_name() {
    let scene = work(
        r#"bash: "apply_patch <<'E'\n*** Begin Patch\n*** Add File: hello.txt\n+hi\n*** End Patch\nE\n""#,
    );
    let mut env = CODEX.env(&scene);
    let folder = agents::codex().parent().unwrap().display().to_string();
    for (name, value) in &mut env {
        if name == "PATH" {
            *value = format!("{folder}:{value}");
        }
    }
    let usage = does_the_work(agent("codex", ""), env, &scene, "file_change");
    assert_eq!(usage, scripted(None, 0));
}

#[test]
fn opencode_works_by_its_tools_and_says_what_it_cost() {
    let scene = work(r#"write: {path: hello.txt, content: "hi\n"}"#);
    let mut usage = does_the_work(OPENCODE.agent(), OPENCODE.env(&scene), &scene, "write");
    let cost = usage.cost_usd.take().unwrap();
    // By the prices of the scripted model: 105 × 1, 27 × 2 and 2200 × 0.1 a million.
    assert!((cost - 0.000_379).abs() < 1e-9, "{cost}");
    assert_eq!(usage, scripted(None, 1205));
}

#[test]
fn gemini_works_by_its_tools() {
    let scene = work(r#"write: {path: hello.txt, content: "hi\n"}"#);
    let usage = does_the_work(GEMINI.agent(), GEMINI.env(&scene), &scene, "write_file");
    assert_eq!(usage, scripted(None, 0));
}
