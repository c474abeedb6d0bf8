//! `safety.allowed_commands`: verify commands and the shells of real agents start only what is listed.

use std::path::Path;

use ralph_testkit::{
    agents,
    model::{Scenario, ScriptedModel},
};
use serde_json::{Value, json};

use crate::support::{Project, good_script, story};

fn story_verified_by(id: &str, command: &str) -> Value {
    let mut story = story(id);
    story["verify"] = json!([command]);
    story
}

const LIST: &str = "safety: {allowed_commands: [cat, sh, npm run]}\n";

#[test]
fn a_verify_command_that_is_not_listed_is_refused_before_any_agent_is_started() {
    let configured =
        |key: &str, command: &str| format!("{LIST}verification: {{{key}: [{command}]}}\n");
    let table = [
        (
            configured("commands", "cat a; grep b c"),
            "test -f A.txt",
            "the verify command `cat a; grep b c` can't be started: `grep` is not in `safety.allowed_commands` \
             (cat, sh, npm run)",
        ),
        (
            configured("commands", "[npm, install]"),
            "test -f A.txt",
            "the verify command `npm install` can't be started: `npm install` is not in",
        ),
        (
            configured("prepare", "grep b c"),
            "test -f A.txt",
            "the verify command `grep b c` can't be started: `grep` is not in",
        ),
        (
            configured("format", "sh -c 'grep b c'"),
            "test -f A.txt",
            "can't be started: `grep` is not in",
        ),
        (
            LIST.to_owned(),
            "cat A.txt | $FILTER",
            "the verify command `cat A.txt | $FILTER` of task A can't be started: it can't be told which programs",
        ),
    ];
    for (config, own, said) in table {
        let project = Project::with_stories(&[story_verified_by("A", own)])
            .config(&config)
            .script(&good_script());
        let ran = project.run(&[]).expect(2);
        let error = ran.all();
        assert!(error.contains(said), "{config}: {error}");
        assert!(error.contains("hint: add what it needs"), "{error}");
        assert!(ran.named("iteration_started").is_empty(), "{error}");
    }
}

#[test]
fn listed_verify_commands_run_and_an_agent_that_never_asks_is_named() {
    let project = Project::with_stories(&[story_verified_by("A", "test -f A.txt && cat A.txt")])
        .config(&format!(
            "{LIST}verification: {{commands: ['cat A.txt || true']}}\n"
        ))
        .script(&good_script());
    let ran = project.run(&[]).expect(0);
    assert_eq!(ran.verdicts(), ["A verified"]);
    let said = "`safety.allowed_commands` is not enforced for what";
    assert!(ran.all().contains(said), "{}", ran.all());
}

#[test]
fn a_commit_is_not_verified_with_a_command_that_is_not_listed() {
    let project = Project::with_stories(&[story("A")])
        .config(&format!(
            "{LIST}verification: {{commands: [grep x A.txt]}}\n"
        ))
        .script(&good_script());
    let output = project.ralph(&["verify"]).output().unwrap();
    let (out, err) = (output.stdout, output.stderr);
    let text = String::from_utf8_lossy(&[out, err].concat()).into_owned();
    assert_ne!(output.status.code(), Some(0), "{text}");
    assert!(
        text.contains("`grep` is not in `safety.allowed_commands`"),
        "{text}"
    );
}

#[test]
fn a_command_that_comes_into_the_task_file_while_the_loop_runs_is_held_to_the_list() {
    let wait = json!({"run": "until [ -e ../go ]; do sleep 0.02; done; echo A > A.txt"});
    let say = |id: &str| json!({"say": format!("Task {id} complete")});
    let script = json!({"tasks": {
        "A": [{"do": [wait, say("A")]}],
        "B": [{"do": [{"run": "echo B > B.txt"}, say("B")]}],
    }});
    let stories = [
        story_verified_by("A", "cat A.txt"),
        story_verified_by("B", "cat B.txt"),
    ];
    let project = Project::with_stories(&stories)
        .config(LIST)
        .script(&script)
        .env("RALPH_LOOP_MAX_ATTEMPTS", "1")
        .env("RALPH_LOOP_MAX_VERIFY_RETRIES", "0");
    let mut live = project.start(&[]);
    while live.wait_for("agent")["kind"] != "tool" {}
    let tasks = project.repo.read("prd.json");
    let edited = tasks.replace("cat B.txt", "touch proof; cat B.txt");
    assert_ne!(edited, tasks);
    project.repo.file("prd.json", edited);
    std::fs::write(project.outside("go"), "").unwrap();
    let ran = live.wait();
    assert_eq!(ran.verdicts(), ["A verified", "B failed"], "{}", ran.all());
    let ended = ran.named("verify_ended");
    let last = ended.last().unwrap();
    assert_eq!(last["command"], "touch proof; cat B.txt", "{}", ran.all());
    assert_eq!(last["passed"], false);
    let reason = "`touch` is not in `safety.allowed_commands` (cat, sh, npm run)";
    assert!(ran.all().contains(reason), "{}", ran.all());
    assert_eq!(project.landed(), ["A"]);
}

/// Tries what is not listed in four ways, not three in a row, which would end the run; then does the work with
/// what is.
const TRIES: &str = r#"
conversations:
- when: "Id: A"
  turns:
  - tools: [{bash: "touch direct.txt"}]
  - tools: [{bash: "cat prd.json | tee piped.txt"}]
  - tools: [{bash: "cat prd.json"}]
  - tools: [{bash: "sh -c 'touch shell.txt'"}]
  - tools: [{bash: "echo $(touch nested.txt)"}]
  - tools: [{bash: "printf 'right\\n' > A.txt; cat A.txt"}]
  - say: "Wrote A.txt.\n\nTask A complete"
"#;

fn lands_with_listed_commands(
    agent: &str,
    config: &str,
    env: impl Fn(&Project, &str) -> Vec<(String, String)>,
) {
    let model = ScriptedModel::start(Scenario::parse(TRIES).unwrap());
    let mut project = Project::with_stories(&[story_verified_by("A", "cat A.txt")])
        .config(&format!("{LIST}{config}"));
    for (name, value) in env(&project, &model.url()) {
        if name != "PATH" {
            project = project.env(&name, value);
        }
    }
    let ran = project.run(&["--agent", agent]).expect(0);
    assert_eq!(ran.verdicts(), ["A verified"]);
    assert!(model.unscripted().is_empty(), "{:#?}", model.unscripted());
    assert_eq!(project.files_of("HEAD"), ["A.txt", "prd.json"]);

    let requests = model.requests();
    let all: Vec<String> = requests.iter().map(|request| request.text()).collect();
    let rule =
        "start only these commands; a line with any other is not run: `cat`, `sh`, `npm run`.";
    assert!(all[0].contains(rule), "it knows beforehand: {}", all[0]);
    let told = |program: &str| {
        let reason = format!("`{program}` is not in `safety.allowed_commands` (cat, sh, npm run)");
        all.iter().any(|text| text.contains(&reason))
    };
    assert!(
        told("touch") && told("tee"),
        "the reasons reached the model: {all:#?}"
    );

    let path = project.repo.root().join(".ralph/logs/iteration-1.json");
    let record: Value = serde_json::from_str(&std::fs::read_to_string(path).unwrap()).unwrap();
    let denied = record["runs"][0]["denied"].as_array().unwrap();
    assert_eq!(denied.len(), 4, "{denied:#?}");
    assert!(
        denied[1].as_str().unwrap().contains("`tee` is not in"),
        "{denied:#?}"
    );
    assert!(!ran.all().contains("is not enforced"), "{}", ran.all());
}

fn claude_code_is_held_to_the_list(program: &Path) {
    let settings =
        r#"{"hooks": {"PreToolUse": []}, "env": {"OWN": "kept"}, "disableAllHooks": true}"#;
    let config = format!("claude:\n  command: [{program:?}]\n  settings: '{settings}'\n");
    let env = |project: &Project, url: &str| agents::claude_env(&project.repo.home(), url);
    lands_with_listed_commands("claude", &config, env);
}

#[test]
fn claude_code_runs_only_listed_commands_and_the_task_lands() {
    claude_code_is_held_to_the_list(&agents::claude());
}

#[test]
fn a_second_version_of_claude_code_runs_only_listed_commands_and_the_task_lands() {
    claude_code_is_held_to_the_list(&agents::second_claude().0);
}

#[test]
fn pi_runs_only_listed_commands_and_the_task_lands() {
    let (program, model) = (agents::pi(), agents::PI_MODEL);
    let config = format!("pi: {{command: [{program:?}], model: {model}}}\n");
    let env = |project: &Project, url: &str| agents::pi_env(&project.repo.home(), url);
    lands_with_listed_commands("pi", &config, env);
}
