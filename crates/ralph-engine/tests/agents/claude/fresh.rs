//! Fresh means fresh: nothing of an earlier run, of the repository's settings or of the command line
//! reaches the model unasked; and what `ralph.yaml` asks for does.

use ralph_core::agent::Ending;
use ralph_engine::agent::RunContext;

use super::{claude, env};
use crate::support::Scene;

const ENDS: &str = "conversations:\n- turns:\n  - say: Task T1 complete\n";

fn write(scene: &Scene, path: &str, text: &str) {
    let path = scene.repo().join(path);
    std::fs::create_dir_all(path.parent().unwrap()).unwrap();
    std::fs::write(path, text).unwrap();
}

#[test]
fn memory_of_an_earlier_run_is_not_read() {
    let scene = Scene::new(ENDS);
    // Where Claude Code keeps what it wants to remember of this folder.
    let slug = scene
        .repo()
        .canonicalize()
        .unwrap()
        .display()
        .to_string()
        .replace(|c: char| !c.is_ascii_alphanumeric(), "-");
    let memory = scene.home().join(format!(".claude/projects/{slug}/memory"));
    std::fs::create_dir_all(&memory).unwrap();
    std::fs::write(memory.join("MEMORY.md"), "REMEMBERED-FROM-BEFORE\n").unwrap();
    for (more, remembers) in [
        ("", false),
        // Proves that the file stands where it would be read.
        ("  env: {CLAUDE_CODE_DISABLE_AUTO_MEMORY: \"0\"}\n", true),
    ] {
        let ran = scene.run(claude(more), env(&scene), "Do the thing.");
        assert_eq!(ran.report.ending, Ending::Finished);
        let requests = scene.model.requests();
        let last = requests.last().unwrap();
        let whole = format!("{} {}", last.text(), last.system());
        assert_eq!(
            whole.contains("REMEMBERED-FROM-BEFORE"),
            remembers,
            "{more}"
        );
        assert!(last.is_fresh());
    }
}

#[test]
fn hooks_and_servers_of_the_repository_are_not_run_unless_asked_for() {
    let scene = Scene::new(ENDS);
    let hook = r#"{"hooks": {"UserPromptSubmit": [{"hooks": [{"type": "command", "command": "touch hook-ran"}]}]}}"#;
    write(&scene, ".claude/settings.json", hook);
    let server = r#"{"mcpServers": {"planted": {"command": "touch", "args": ["server-ran"]}}}"#;
    write(&scene, ".mcp.json", server);
    let hook_ran = scene.repo().join("hook-ran");
    scene.run(claude(""), env(&scene), "Do the thing.");
    assert!(!hook_ran.exists());
    assert!(!scene.repo().join("server-ran").exists());
    scene.run(
        claude("  setting_sources: [user, project]\n"),
        env(&scene),
        "Do the thing.",
    );
    assert!(hook_ran.exists(), "asked for");
}

#[test]
fn the_options_of_ralph_yaml_reach_claude_code() {
    let scene = Scene::new(ENDS);
    write(
        &scene,
        "mcp.json",
        r#"{"mcpServers": {"asked": {"command": "touch", "args": ["asked-ran"]}}}"#,
    );
    let yaml = r#"  model: claude-haiku-4-5-20251001
  append_system_prompt: ALWAYS-SPEAK-PLAINLY
  disallowed_tools: [WebFetch, WebSearch]
  settings: '{"hooks": {"UserPromptSubmit": [{"hooks": [{"type": "command", "command": "touch asked-hook"}]}]}}'
  mcp_config: [mcp.json]
"#;
    let ran = scene.run(claude(yaml), env(&scene), "Do the thing.");
    assert_eq!(ran.report.ending, Ending::Finished);
    let request = &scene.model.requests()[0];
    assert_eq!(request.model(), "claude-haiku-4-5-20251001");
    assert!(request.system().contains("ALWAYS-SPEAK-PLAINLY"));
    let tools = request.tools();
    assert!(tools.iter().any(|t| t.name == "Bash"), "{tools:?}");
    assert!(!tools.iter().any(|t| t.name == "WebFetch"), "{tools:?}");
    assert!(scene.repo().join("asked-hook").exists());
    assert!(scene.repo().join("asked-ran").exists());
    assert_eq!(ran.report.version.as_deref(), Some("2.1.197"));
}

#[test]
fn a_model_is_always_named_and_a_label_can_choose_it() {
    let agent = claude("  models: {hard: opus, docs: haiku}\n");
    let model = |labels: &[&str]| {
        let spec = agent.command(&RunContext {
            cwd: "/".into(),
            env: Vec::new(),
            prompt: "the prompt".into(),
            labels: labels.iter().map(|l| (*l).to_owned()).collect(),
            budget: None,
        });
        let args: Vec<String> = spec
            .args
            .iter()
            .map(|a| a.to_string_lossy().into_owned())
            .collect();
        assert!(!args.iter().any(|a| a.contains("the prompt")), "{args:?}");
        let at = args.iter().position(|a| a == "--model").unwrap();
        args[at + 1].clone()
    };
    assert_eq!(model(&[]), "sonnet");
    assert_eq!(model(&["x", "docs", "hard"]), "haiku");
    assert_eq!(model(&["hard"]), "opus");
}
