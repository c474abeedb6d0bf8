//! The whole loop with real agents: they edit by their own tools, against the scripted model; ralph
//! verifies and commits.

use std::ffi::OsString;

use ralph_testkit::{
    agents,
    model::{Scenario, ScriptedModel},
};
use serde_json::{Value, json};

use crate::support::{Project, assert_all_dead, story_after};

/// Three tasks, each waiting for the one before it. The second is wrong at first; what the check says
/// of it is in the prompt of the run that puts it right.
const THREE: &str = r#"
conversations:
- when: "Id: A"
  turns:
  - tools: [{write: {path: a.txt, content: "right\n"}}]
    usage: {input: 1000, output: 50, cache_read: 2000, cache_write: 100}
  - say: "Wrote a.txt.\n\nTask A complete"
    usage: {input: 10, output: 5, cache_read: 3000, cache_write: 0}
- when: "CHECK-SAYS b.txt is wrong"
  turns:
  - tools: [{bash: "printf 'right\\n' > b.txt"}]
  - say: "Put right.\n\nTask B complete"
- when: "Id: B"
  turns:
  - tools: [{write: {path: b.txt, content: "wrong\n"}}]
  - say: "Wrote b.txt.\n\nTask B complete"
- when: "Id: C"
  turns:
  - tools: [{read: a.txt}, {write: {path: c.txt, content: "wrong\n"}}]
  - tools: [{edit: {path: c.txt, old: wrong, new: right}}]
  - say: "Wrote c.txt.\n\nTask C complete"
"#;

const CHECK: &str = r#"for f in a b c; do
  if [ -e $f.txt ] && [ "$(cat $f.txt)" != right ]; then echo "CHECK-SAYS $f.txt is wrong"; exit 1; fi
done
"#;

/// A story whose file is named in small letters.
fn story_in(name: &str, after: &[&str]) -> Value {
    let mut story = story_after(&name.to_uppercase(), after);
    story["acceptanceCriteria"] = json!([format!("{name}.txt is right")]);
    story["verify"] = json!([format!("test -f {name}.txt")]);
    story
}

fn project(config: &str) -> Project {
    let stories = [
        story_in("a", &[]),
        story_in("b", &["A"]),
        story_in("c", &["B"]),
    ];
    let project = Project::with_stories(&stories);
    project.repo.file("check.sh", CHECK).commit("check");
    project.config(&format!(
        "verification: {{commands: [[sh, check.sh]]}}\n{config}"
    ))
}

fn with_env(mut project: Project, env: Vec<(String, String)>) -> Project {
    for (name, value) in env {
        if name != "PATH" {
            project = project.env(&name, OsString::from(value));
        }
    }
    project
}

/// In a sandbox that shows nothing besides what every agent sees, and reaches nothing but the model.
fn walled(project: Project, model: &ScriptedModel) -> Project {
    let host = model.url().replace("http://", "");
    project
        .env("RALPH_SAFETY_ALLOW_WRITE", "[]")
        .env("RALPH_SAFETY_NETWORK", "model-only")
        .env("RALPH_SAFETY_ALLOW_HOSTS", json!([host]).to_string())
}

fn record(project: &Project, iteration: u32) -> Value {
    let path = format!(".ralph/logs/iteration-{iteration}.json");
    let text = std::fs::read_to_string(project.repo.root().join(path)).unwrap();
    serde_json::from_str(&text).unwrap()
}

/// Runs the three tasks, and looks at what came of them and at what reached the model.
fn lands_three_tasks(project: &Project, model: &ScriptedModel, agent: &str) {
    let context =
        json!({"turns": [3100, 3010], "window": 200_000, "utilisation": [0.0155, 0.0151]});
    lands_three_tasks_within(project, model, agent, &context);
}

/// The same, with what the record says of the context of the first run.
fn lands_three_tasks_within(
    project: &Project,
    model: &ScriptedModel,
    agent: &str,
    context: &Value,
) {
    let ran = project.run(&["--agent", agent]).expect(0);
    assert_eq!(ran.verdicts(), ["A verified", "B verified", "C verified"]);
    assert_eq!(project.landed(), ["A", "B", "C"]);
    for name in ["a", "b", "c"] {
        let text = std::fs::read_to_string(project.repo.root().join(format!("{name}.txt")));
        assert_eq!(text.unwrap(), "right\n", "{name}.txt");
    }
    let requests = model.requests();
    assert!(model.unscripted().is_empty(), "{:#?}", model.unscripted());
    // Each run of an agent begins with a fresh context; the second task took two.
    let fresh: Vec<_> = requests.iter().filter(|r| r.is_fresh()).collect();
    assert_eq!(fresh.len(), 4);
    let fix: Vec<_> = fresh
        .iter()
        .filter(|r| r.text().contains("CHECK-SAYS b.txt is wrong"))
        .collect();
    assert_eq!(fix.len(), 1, "the failure is in the next prompt alone");
    assert_all_dead(&project.repo.home());

    let first = record(project, 1);
    let run = &first["runs"][0];
    let (host, port) = model
        .url()
        .replace("http://", "")
        .split_once(':')
        .map(|(h, p)| (h.to_owned(), p.parse::<u16>().unwrap()))
        .unwrap();
    let reached = run["connections"].as_array().unwrap();
    assert!(
        reached
            .iter()
            .any(|c| c["host"] == host.as_str() && c["port"] == port && c["reached"] == true),
        "{run:#}"
    );
    assert_eq!(run["agent"], agent);
    assert_eq!(run["ending"], json!({"how": "finished"}));
    for name in ["turns", "window", "utilisation"] {
        assert_eq!(run["context"][name], context[name], "{name}");
    }
    assert_eq!(run["usage"]["inputTokens"], 1010);
    assert_eq!(run["usage"]["outputTokens"], 55);
    assert_eq!(run["usage"]["cacheReadTokens"], 5000);
    assert_eq!(run["usage"]["cacheWriteTokens"], 100);
    assert!(run["usage"]["costUsd"].as_f64().unwrap() > 0.0);
    assert!(run["model"].is_string(), "{run:#}");
    assert_eq!(record(project, 2)["runs"].as_array().unwrap().len(), 2);
}

/// A tool that never ends, stopped by a person: nothing is left, and what was used till then is in the
/// record, once.
fn is_stopped_by_a_person(project: &Project, agent: &str) {
    let mut live = project.start(&["--agent", agent]);
    loop {
        let event = live.wait_for("agent");
        if event["kind"] == "tool" {
            break;
        }
    }
    live.signal(rustix::process::Signal::INT);
    live.wait().expect(130);
    assert_all_dead(&project.repo.home());
    let run = &record(project, 1)["runs"][0];
    assert_eq!(run["ending"], json!({"how": "stopped"}));
    assert_eq!(run["usage"]["inputTokens"], 700);
    assert_eq!(run["usage"]["cacheReadTokens"], 9000);
    assert_eq!(run["context"]["turns"], json!([9700]));
}

const NEVER_ENDS: &str = r#"
conversations:
- turns:
  - tools: [{bash: "setsid sleep 1000 & sleep 1000"}]
    usage: {input: 700, output: 30, cache_read: 9000, cache_write: 0}
"#;

#[test]
fn claude_code_is_stopped_by_ctrl_c_and_what_it_used_is_recorded() {
    let model = ScriptedModel::start(Scenario::parse(NEVER_ENDS).unwrap());
    let project = project(&format!("claude: {{command: [{:?}]}}\n", agents::claude()));
    let env = agents::claude_env(&project.repo.home(), &model.url());
    is_stopped_by_a_person(&with_env(project, env), "claude");
}

#[test]
fn claude_code_lands_three_tasks_with_one_failed_verification_on_the_way() {
    let model = ScriptedModel::start(Scenario::parse(THREE).unwrap());
    let project = project(&format!("claude: {{command: [{:?}]}}\n", agents::claude()));
    let env = agents::claude_env(&project.repo.home(), &model.url());
    let project = walled(with_env(project, env), &model);
    lands_three_tasks(&project, &model, "claude");
    assert_eq!(record(&project, 1)["runs"][0]["version"], "2.1.197");
}

#[test]
fn a_second_version_of_claude_code_lands_three_tasks_in_the_same_sandbox() {
    let model = ScriptedModel::start(Scenario::parse(THREE).unwrap());
    let (claude, version) = agents::second_claude();
    let project = project(&format!("claude: {{command: [{claude:?}]}}\n"));
    let env = agents::claude_env(&project.repo.home(), &model.url());
    let project = walled(with_env(project, env), &model);
    // Its model has a larger window.
    let context =
        json!({"turns": [3100, 3010], "window": 1_000_000, "utilisation": [0.0031, 0.003]});
    lands_three_tasks_within(&project, &model, "claude", &context);
    assert_ne!(version, "2.1.197");
    assert_eq!(record(&project, 1)["runs"][0]["version"], version);
}

fn pi_config() -> String {
    let (program, model) = (agents::pi(), agents::PI_MODEL);
    format!("pi: {{command: [{program:?}], model: {model}}}\n")
}

#[test]
fn pi_lands_three_tasks_with_one_failed_verification_on_the_way() {
    let model = ScriptedModel::start(Scenario::parse(THREE).unwrap());
    let project = project(&pi_config());
    let env = agents::pi_env(&project.repo.home(), &model.url());
    let project = walled(with_env(project, env), &model);
    lands_three_tasks(&project, &model, "pi");
}

#[test]
fn pi_is_stopped_by_ctrl_c_and_what_it_used_is_recorded() {
    let model = ScriptedModel::start(Scenario::parse(NEVER_ENDS).unwrap());
    let project = project(&pi_config());
    let env = agents::pi_env(&project.repo.home(), &model.url());
    is_stopped_by_a_person(&with_env(project, env), "pi");
}

/// Its tool waits for a file, so that it is told something between two turns.
fn is_told_something(
    config: &str,
    env: impl Fn(&Project, &str) -> Vec<(String, String)>,
    agent: &str,
) {
    let scenario = r#"
conversations:
- when: "Id: A"
  turns:
  - tools: [{bash: "until [ -e ../go ]; do sleep 0.02; done; printf 'right\\n' > a.txt"}]
  - say: "Task A complete"
  - say: "As you wish.\n\nTask A complete"
"#;
    let model = ScriptedModel::start(Scenario::parse(scenario).unwrap());
    let project = project(config);
    let env = env(&project, &model.url());
    let project = with_env(project, env);
    let mut live = project.start(&["--agent", agent, "--task", "A"]);
    while live.wait_for("agent")["kind"] != "tool" {}
    assert_eq!(
        project.told(&["say", "--now", "Mind the cents."]),
        "told to the agent that works at A (iteration 1)\n"
    );
    std::fs::write(project.repo.root().parent().unwrap().join("go"), "").unwrap();
    let ran = live.wait().expect(0);
    assert_eq!(ran.verdicts(), ["A verified"]);
    let told = |r: &ralph_testkit::model::Request| r.text().contains("Mind the cents.");
    assert!(model.requests().iter().any(told), "it reached the model");
    assert_eq!(
        record(&project, 1)["guidance"][0]["text"],
        "Mind the cents."
    );
}

#[test]
fn claude_code_is_told_something_from_another_terminal() {
    let config = format!("claude: {{command: [{:?}]}}\n", agents::claude());
    let env = |project: &Project, url: &str| agents::claude_env(&project.repo.home(), url);
    is_told_something(&config, env, "claude");
}

#[test]
fn pi_is_told_something_from_another_terminal() {
    let env = |project: &Project, url: &str| agents::pi_env(&project.repo.home(), url);
    is_told_something(&pi_config(), env, "pi");
}

/// One task with an agent that is a map in `ralph.yaml`; its key is in the environment of ralph.
fn lands_one_task(dialect: &str, program: &std::path::Path, model_name: &str) {
    lands_one_task_in(dialect, program, model_name, |project| project);
}

/// The same in a folder that is made ready first. Returns it as it was left.
fn lands_one_task_in(
    dialect: &str,
    program: &std::path::Path,
    model_name: &str,
    prepare: fn(Project) -> Project,
) -> Project {
    let scenario = r#"
conversations:
- turns:
  - tools: [{bash: "printf 'right\\n' > a.txt"}]
  - say: "Wrote a.txt.\n\nTask A complete"
"#;
    let model = ScriptedModel::start(Scenario::parse(scenario).unwrap());
    let project = Project::with_stories(&[story_in("a", &[])]).config(&format!(
        "agent: {{name: mine, command: [{program:?}], dialect: {dialect}, model: {model_name}}}\n"
    ));
    let (home, url) = (project.repo.home(), model.url());
    let env = match dialect {
        "codex" => agents::codex_env(&home, &url),
        "opencode" => agents::opencode_env(&home, &url),
        "claude" => agents::claude_env(&home, &url),
        "pi" => agents::pi_env(&home, &url),
        _ => agents::gemini_env(&home, &url),
    };
    let project = prepare(walled(with_env(project, env), &model));
    let ran = project.run(&[]).expect(0);
    assert_eq!(ran.verdicts(), ["A verified"]);
    assert_eq!(record(&project, 1)["runs"][0]["agent"], "mine");
    assert!(model.requests()[0].is_fresh());
    assert_all_dead(&home);
    project
}

fn walled_in_place(project: Project) -> Project {
    project.in_place().env("RALPH_SAFETY_SANDBOX", "auto")
}

/// In the person's own folder, first without any settings of agents and then with folders of theirs that have none:
/// each starts although its settings can't be made, and leaves no trace.
fn lands_a_task_in_place(dialect: &str, program: &std::path::Path, model_name: &str) {
    let without = lands_one_task_in(dialect, program, model_name, walled_in_place);
    let with = lands_one_task_in(dialect, program, model_name, |project| {
        for folder in [".claude", ".pi", ".codex", ".gemini", ".opencode"] {
            project
                .repo
                .file(format!("{folder}/README"), "of the team\n");
        }
        project.repo.commit("folders of agents");
        walled_in_place(project)
    });
    for project in [without, with] {
        for path in SETTINGS {
            assert!(!project.repo.exists(path), "{dialect}: {path}");
        }
        assert_eq!(project.leftovers(), Vec::<String>::new(), "{dialect}");
    }
}

/// Settings of agents in a repository.
const SETTINGS: [&str; 9] = [
    ".mcp.json",
    ".claude/settings.json",
    ".claude/settings.local.json",
    ".pi/settings.json",
    ".codex/config.toml",
    ".gemini/settings.json",
    "opencode.json",
    "opencode.jsonc",
    ".opencode/opencode.json",
];

#[test]
fn claude_code_lands_a_task_in_place_without_settings() {
    let claude = agents::claude();
    lands_a_task_in_place("claude", &claude, "claude-sonnet-4-5");
}

#[test]
fn a_second_version_of_claude_code_lands_a_task_in_place_without_settings() {
    let (claude, _) = agents::second_claude();
    lands_a_task_in_place("claude", &claude, "claude-sonnet-4-5");
}

#[test]
fn pi_lands_a_task_in_place_without_settings() {
    lands_a_task_in_place("pi", &agents::pi(), agents::PI_MODEL);
}

#[test]
fn codex_lands_a_task_in_place_without_settings() {
    lands_a_task_in_place("codex", &agents::codex(), "scripted-1");
}

#[test]
fn opencode_lands_a_task_in_place_without_settings() {
    let opencode = agents::opencode();
    lands_a_task_in_place("opencode", &opencode, agents::OPENCODE_MODEL);
}

#[test]
fn gemini_cli_lands_a_task_in_place_without_settings() {
    lands_a_task_in_place("gemini", &agents::gemini(), agents::GEMINI_MODEL);
}

#[test]
fn codex_lands_a_task() {
    lands_one_task("codex", &agents::codex(), "scripted-1");
}

#[test]
fn opencode_lands_a_task() {
    lands_one_task("opencode", &agents::opencode(), agents::OPENCODE_MODEL);
}

#[test]
fn gemini_cli_lands_a_task_with_its_key_from_the_environment() {
    lands_one_task("gemini", &agents::gemini(), agents::GEMINI_MODEL);
}

#[test]
fn an_agent_that_refuses_its_options_is_not_available_and_no_attempt_is_charged() {
    let project = Project::with_stories(&[story_in("a", &[])]);
    let old = project.outside("old-claude");
    let refuses =
        "#!/bin/sh\necho \"error: unknown option '--replay-user-messages'\" >&2\nexit 1\n";
    std::fs::write(&old, refuses).unwrap();
    std::fs::set_permissions(&old, std::os::unix::fs::PermissionsExt::from_mode(0o755)).unwrap();
    let project = project.config(&format!("claude: {{command: [{old:?}]}}\n"));
    let ran = project.run(&["--agent", "claude"]).expect(6);
    assert_eq!(ran.verdicts(), ["A agent_unavailable"]);
    let said = "it did not start (exit code 1: error: unknown option '--replay-user-messages')";
    assert_eq!(ran.stop()["message"], said);
}

#[test]
fn what_is_recorded_of_the_command_is_what_ran_without_what_is_written_inline() {
    let mut labelled = story_in("a", &[]);
    labelled["labels"] = json!(["hard"]);
    let settings = r#"{"env": {"SOME_TOKEN": "hush-hush"}}"#;
    let project = Project::with_stories(&[labelled])
        .claude(&json!({"default": [
            {"do": "write", "path": "a.txt", "text": "right"}, {"do": "say", "text": "Task A complete"},
        ]}))
        .config(&format!(
            "claude:\n  models: {{hard: opus}}\n  settings: '{settings}'\n"
        ));
    project.run(&[]).expect(0);
    let record = record(&project, 1).to_string();
    assert!(record.contains(r#""--model","opus""#), "{record}");
    assert!(record.contains("(inline JSON)") && !record.contains("hush-hush"));
}
