//! The real Claude Code as the client, against the scripted model.

use std::{
    path::Path,
    process::{Command, Stdio},
};

use ralph_testkit::{
    agents,
    model::{Scenario, ScriptedModel},
};
use serde_json::{Value, json};

use super::support::{Project, good_script, story};

/// Lets Claude Code call these tools of the server, one in a turn; returns what the model was told of each.
fn results(program: &Path, project: &Project, calls: &[(&str, Value)]) -> Vec<String> {
    let turns = calls.iter().map(|(tool, input)| {
        json!({"say": "I ask.", "tools": [{"call": {"name": format!("mcp__ralph__{tool}"), "input": input}}]})
    });
    let turns: Vec<Value> = turns.chain([json!({"say": "That is all."})]).collect();
    let scenario = json!({"conversations": [{"when": "How does ralph stand?", "turns": turns}]});
    let model = ScriptedModel::start(Scenario::parse(&scenario.to_string()).unwrap());
    let home = project.repo.home();
    let server = json!({"mcpServers": {"ralph": {
        "command": env!("CARGO_BIN_EXE_ralph"), "args": ["mcp"],
        "env": {"RALPH_DATA_DIR": project.repo.data_dir()},
    }}});
    // The limit is another program's, so that a hung agent can't hang the test.
    let mut command = Command::new("timeout");
    command
        .args(["--signal=KILL", "120"])
        .arg(program)
        .args(["-p", "--output-format", "stream-json", "--verbose"])
        .args([
            "--dangerously-skip-permissions",
            "--model",
            "claude-sonnet-4-5",
        ])
        .args(["--strict-mcp-config", "--mcp-config", &server.to_string()])
        .arg("--")
        .arg("How does ralph stand?")
        .current_dir(project.repo.root())
        .env_clear()
        .envs(agents::claude_env(&home, &model.url()))
        .stdin(Stdio::null());
    let output = command.output().unwrap();
    let said = format!(
        "{}\n{}",
        String::from_utf8_lossy(&output.stdout),
        String::from_utf8_lossy(&output.stderr)
    );
    assert!(output.status.success(), "{said}");
    assert!(model.unscripted().is_empty(), "{said}");
    let requests = model.requests();
    let last = requests
        .iter()
        .max_by_key(|request| request.tool_results().len());
    let results = last.unwrap().tool_results();
    results.into_iter().map(str::to_owned).collect()
}

/// The document that a result begins with: the client may add a remark of its own.
fn document(text: &str) -> Value {
    let mut documents = serde_json::Deserializer::from_str(text).into_iter();
    documents
        .next()
        .unwrap()
        .unwrap_or_else(|e| panic!("{e}: {text}"))
}

fn the_model_gets_what_ralph_says(program: &Path) {
    let project = Project::with_stories(&[story("A"), story("B")]).script(&good_script());
    project.run(&["--once"]).expect(0);
    let calls = [
        ("status", json!({})),
        ("task_show", json!({"id": "NONE"})),
        ("task_add", json!({"title": "Added by a client"})),
        ("tasks_list", json!({"status": "open"})),
    ];
    let results = results(program, &project, &calls);
    assert_eq!(results.len(), 4, "{results:?}");
    let status = document(&results[0]);
    assert_eq!(status["tasks"]["completed"], 1, "{status}");
    assert_eq!(status["lastIteration"]["taskId"], "A", "{status}");
    assert!(
        results[1].contains("there is no task NONE in prd.json"),
        "{results:?}"
    );
    assert!(results[2].contains("prd.json"), "{results:?}");
    let listed = document(&results[3]);
    let titles: Vec<&str> = listed["tasks"]
        .as_array()
        .unwrap()
        .iter()
        .map(|task| task["title"].as_str().unwrap())
        .collect();
    assert_eq!(titles, ["Write B", "Added by a client"]);
    project.assert_nothing_alive();
}

#[test]
fn claude_code_calls_the_tools_and_its_model_gets_the_results() {
    the_model_gets_what_ralph_says(&agents::claude());
}

#[test]
fn a_second_version_of_claude_code_does_too() {
    the_model_gets_what_ralph_says(&agents::second_claude().0);
}
