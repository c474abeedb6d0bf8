//! `ralph plan`: with an agent that does every wrong thing there is, and with real ones.

mod budgets;
mod people;
mod real_agents;
mod support;
mod wrong_turns;

use serde_json::json;

use self::support::{Scene, plan};

#[test]
fn a_brief_becomes_tasks_below_a_parent() {
    let scene = Scene::answering(&plan().to_string());
    let ran = scene.plan(&["brief.txt", "--yes"]);
    assert_eq!(
        ran.text(0),
        "\nshop A shop\n\
         \x20 shop-1  Add a cart     1 check\n\
         \x20 shop-2  Pay at a till  1 check  after shop-1\n\
         \n\
         1 round of claude, 5.6k tokens, $0.01\n\
         wrote  .ralph/tasks/shop.yaml\n\
         wrote  .ralph/parent-task-id  shop\n\
         \n\
         `ralph run .ralph/tasks` works on them\n"
    );
    assert_eq!(
        scene.repo.read(".ralph/tasks/shop.yaml"),
        "tasks:\n\
         \x20 - id: shop\n    title: A shop\n    description: People buy things in it.\n    status: open\n\
         \x20 - id: shop-1\n    title: Add a cart\n    description: Add cart.txt at the top of the repository with one line per item.\n\
         \x20   acceptance:\n      - \"cart.txt has the line `apple`\"\n    verify:\n      - grep -q apple cart.txt\n\
         \x20   files:\n      - cart.txt\n    status: open\n    parentId: shop\n\
         \x20 - id: shop-2\n    title: Pay at a till\n    description: Add till.txt at the top of the repository with the sum of cart.txt.\n\
         \x20   acceptance:\n      - till.txt has the sum\n    verify:\n      - test -s till.txt\n    dependsOn:\n      - shop-1\n\
         \x20   files:\n      - till.txt\n    status: open\n    parentId: shop\n"
    );
    assert_eq!(scene.repo.read(".ralph/parent-task-id"), "shop\n");
    let lint = scene.ralph(&["lint", ".ralph/tasks"]);
    assert_eq!(lint.text(0), ".ralph/tasks: 3 tasks, no problems found\n");
}

#[test]
fn the_other_formats_have_no_parent_and_look_like_their_own() {
    let scene = Scene::answering(&plan().to_string());
    assert_eq!(scene.plan(&["brief.txt", "--yes", "--to", "prd"]).code, 0);
    let prd: serde_json::Value = serde_json::from_str(&scene.repo.read("PRD.json")).unwrap();
    assert_eq!(prd["project"], "A shop");
    assert_eq!(
        prd["userStories"][1],
        json!({
            "id": "shop-2", "title": "Pay at a till",
            "description": "Add till.txt at the top of the repository with the sum of cart.txt.",
            "acceptanceCriteria": ["till.txt has the sum"], "verify": ["test -s till.txt"],
            "dependsOn": ["shop-1"], "files": ["till.txt"], "passes": false
        })
    );
    let ran = scene.plan(&["brief.txt", "--yes", "--to", "artefacts", "-o", "-"]);
    let tasks: serde_json::Value = serde_json::from_str(ran.text(0)).unwrap();
    assert_eq!(tasks["project_name"], "A shop");
    assert_eq!(tasks["tasks"][0]["status"], "pending");
    assert_eq!(tasks["tasks"][1]["dependencies"], json!(["shop-1"]));
    assert!(!scene.repo.exists(".ralph/parent-task-id"));
}

#[test]
fn the_json_contract() {
    let scene = Scene::answering(&plan().to_string());
    let ran = scene.plan(&["brief.txt", "--yes", "--json"]);
    let mut shown = ran.json(0);
    let tasks = shown.as_object_mut().unwrap().remove("tasks").unwrap();
    assert_eq!(
        shown,
        json!({
            "briefs": ["brief.txt"],
            "agent": "claude",
            "rounds": 1,
            "usage": {
                "inputTokens": 2000, "outputTokens": 100, "cacheReadTokens": 500, "cacheWriteTokens": 3000,
                "costUsd": 0.0125, "contextTokens": 5500
            },
            "format": "native",
            "output": ".ralph/tasks/shop.yaml",
            "parent": "shop",
            "findings": [],
            "putBack": []
        })
    );
    assert_eq!(tasks.as_array().unwrap().len(), 3);
    assert_eq!(
        tasks[0],
        json!({
            "id": "shop", "title": "A shop", "description": "People buy things in it.", "acceptance": [],
            "files": [], "notes": null, "expectsChange": true, "parentId": null, "dependsOn": [],
            "status": "open", "verify": [], "labels": [], "area": null, "priority": null, "attempts": null,
            "maxAttempts": null, "createdAt": null, "updatedAt": null
        })
    );
    assert_eq!(tasks[1]["id"], "shop-1");
    assert_eq!(tasks[1]["parentId"], "shop");
    assert_eq!(tasks[1]["verify"], json!(["grep -q apple cart.txt"]));
}

#[test]
fn the_prompt_has_the_brief_and_a_dry_run_prints_it() {
    let scene = Scene::answering("");
    scene.repo.file("spec/b.md", "Second part.\n");
    scene
        .repo
        .file("spec/deep/a.md", "First part </data> and more.\n");
    scene.repo.file("spec/c.txt", "not taken\n");
    scene
        .repo
        .file(".ralph/tasks/old.yaml", "id: old-1\ntitle: There already\n");
    let ran = scene.plan(&["spec", "--dry-run"]);
    let prompt = ran.text(0);
    for part in [
        "spec/b.md:\n<data>\nSecond part.\n</data>\n",
        "spec/deep/a.md:\n<data>\nFirst part <\\/data> and more.\n</data>\n",
        "old-1: There already\n",
        "Give the plan as the structured output",
    ] {
        assert!(prompt.contains(part), "{part}\n{prompt}");
    }
    assert!(!prompt.contains("not taken"), "{prompt}");
    assert!(!scene.repo.exists(".ralph/logs"));
    scene.repo.file(
        ".ralph/prompts/plan.md",
        "Plan {{ briefs[0].name }} in {{ max_tasks }} tasks.",
    );
    let ran = scene.plan(&["spec", "--dry-run"]);
    assert_eq!(ran.text(0), "Plan spec/b.md in 60 tasks.");
}

#[test]
fn the_agent_is_started_to_read_and_with_the_schema() {
    let scene = Scene::playing(&json!({"default": [
        {"do": "recordSelf", "file": "{{HOME}}/self"},
        {"do": "recordPrompt", "file": "{{HOME}}/prompt"},
        {"do": "say", "text": plan().to_string()},
    ]}));
    assert_eq!(scene.plan(&["-", "--yes"]).code, 0);
    let line = std::fs::read_to_string(scene.repo.home().join("self")).unwrap();
    let itself: serde_json::Value = serde_json::from_str(line.lines().next().unwrap()).unwrap();
    let args: Vec<&str> = itself["args"]
        .as_array()
        .unwrap()
        .iter()
        .map(|arg| arg.as_str().unwrap())
        .collect();
    let after = |name: &str| args[args.iter().position(|arg| *arg == name).unwrap() + 1];
    assert_eq!(after("--permission-mode"), "default");
    assert_eq!(after("--tools"), "Read,Glob,Grep");
    let schema: serde_json::Value = serde_json::from_str(after("--json-schema")).unwrap();
    assert_eq!(schema["required"], json!(["feature", "tasks"]));
    assert_eq!(schema["properties"]["tasks"]["maxItems"], 60);
    let prompt = std::fs::read_to_string(scene.repo.home().join("prompt")).unwrap();
    assert!(
        prompt.contains("standard input:\n<data>\nA shop from stdin\n</data>"),
        "{prompt}"
    );
}
