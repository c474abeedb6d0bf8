//! The real Claude Code and Pi, against the scripted model.

use ralph_testkit::{
    TestRepo, agents,
    model::{Scenario, ScriptedModel},
};
use serde_json::json;

use super::support::{Scene, plan};

fn repo(config: &str) -> TestRepo {
    let repo = TestRepo::new();
    repo.file("ralph.yaml", config)
        .file("PRD.md", "# A shop\n\nWith a cart and a till.\n")
        .commit("brief");
    repo
}

/// Reads first; the first answer depends on a task that there is not.
fn wrong_plan() -> serde_json::Value {
    let mut wrong = plan();
    wrong["tasks"][0]["dependsOn"] = json!(["nobody"]);
    wrong
}

#[test]
fn claude_code_reads_answers_by_the_schema_and_can_write_nothing() {
    let scenario = json!({"conversations": [
        {"when": "would not do", "turns": [
            {"tools": [{"call": {"name": "StructuredOutput", "input": plan()}}]},
        ]},
        {"when": "With a cart", "turns": [
            {"tools": [{"read": "PRD.md"}]},
            {"tools": [{"call": {"name": "Write", "input": {"file_path": "x.txt", "content": "x"}}}]},
            {"tools": [{"call": {"name": "StructuredOutput", "input": wrong_plan()}}]},
        ]},
    ]});
    let model = ScriptedModel::start(Scenario::parse(&scenario.to_string()).unwrap());
    let repo = repo(&format!("claude: {{command: [{:?}]}}\n", agents::claude()));
    let env = agents::claude_env(&repo.home(), &model.url());
    let scene = Scene::with_env(repo, env);
    let ran = scene.plan(&["--yes"]);
    assert_eq!(ran.code, 0, "{ran:?}\n{:#?}", model.unscripted());
    assert!(ran.out.contains("\n2 rounds of claude, "), "{ran:?}");
    assert!(
        scene
            .repo
            .read(".ralph/tasks/shop.yaml")
            .contains("id: shop-2")
    );
    assert!(!scene.repo.exists("x.txt"));
    let requests = model.requests();
    let names: Vec<&str> = requests[0]
        .tools()
        .iter()
        .map(|tool| tool.name.as_str())
        .collect();
    assert!(
        names.contains(&"Read") && names.contains(&"StructuredOutput"),
        "{names:?}"
    );
    assert!(
        !names.contains(&"Write") && !names.contains(&"Bash"),
        "{names:?}"
    );
}

#[test]
fn pi_reads_and_answers_in_a_block() {
    let answer = |plan: serde_json::Value| format!("Here is the plan.\n\n```json\n{plan}\n```\n");
    let scenario = json!({"conversations": [
        {"when": "would not do", "turns": [{"say": answer(plan())}]},
        {"when": "With a cart", "turns": [
            {"tools": [{"read": "PRD.md"}]},
            {"say": answer(wrong_plan())},
        ]},
    ]});
    let model = ScriptedModel::start(Scenario::parse(&scenario.to_string()).unwrap());
    let repo = repo(&format!(
        "agent: pi\npi: {{command: [{:?}], model: {}}}\n",
        agents::pi(),
        agents::PI_MODEL
    ));
    let env = agents::pi_env(&repo.home(), &model.url());
    let scene = Scene::with_env(repo, env);
    let ran = scene.plan(&["--yes"]);
    assert_eq!(ran.code, 0, "{ran:?}\n{:#?}", model.unscripted());
    assert!(ran.out.contains("\n2 rounds of pi, "), "{ran:?}");
    assert!(
        scene
            .repo
            .read(".ralph/tasks/shop.yaml")
            .contains("id: shop-2")
    );
    let requests = model.requests();
    let names: Vec<&str> = requests[0]
        .tools()
        .iter()
        .map(|tool| tool.name.as_str())
        .collect();
    assert!(names.contains(&"read"), "{names:?}");
    assert!(
        !names.contains(&"write") && !names.contains(&"bash"),
        "{names:?}"
    );
}
