//! `ralph import`.

use ralph_testkit::TestRepo;
use serde_json::json;

use crate::support::ralph;

fn stories(repo: &TestRepo) {
    repo.prd(&json!({
        "project": "Shop",
        "userStories": [
            {"id": "US-1", "title": "Add a cart", "acceptanceCriteria": ["it holds items"], "passes": true},
            {"id": "US-2", "name": "Pay", "passes": false, "owner": "me"}
        ]
    }));
}

fn parsed(text: &str) -> serde_json::Value {
    serde_json::from_str(text).unwrap_or_else(|error| panic!("{error}: {text}"))
}

#[test]
fn a_prd_becomes_a_native_file_and_is_told_field_by_field() {
    let repo = TestRepo::new();
    stories(&repo);
    let before = repo.read("prd.json");
    let ran = ralph(&repo, &["import", "prd.json", "--to", "native"]);
    assert_eq!(
        ran.text(0),
        "wrote .ralph/tasks/prd.yaml (native) from prd.json (prd): 2 tasks\n\
         \x20 userStories         → tasks\n\
         \x20 acceptanceCriteria  → acceptance  1 task\n\
         \x20 passes              → status      2 tasks\n\
         \x20 name                → title       1 task\n\
         \n\
         prd.json stays as it is; `ralph run .ralph/tasks/prd.yaml` works on the new one\n"
    );
    assert_eq!(repo.read("prd.json"), before);
    assert_eq!(
        repo.read(".ralph/tasks/prd.yaml"),
        "project: Shop\ntasks:\n  - id: US-1\n    title: Add a cart\n    acceptance:\n      - it holds items\n    \
         status: completed\n  - id: US-2\n    title: Pay\n    status: open\n    owner: me\n    x-ralph:\n      names:\n        \
         title: name\nx-ralph:\n  from: prd\n"
    );
    let back = ralph(
        &repo,
        &["import", ".ralph/tasks/prd.yaml", "--to", "prd", "-o", "-"],
    );
    assert_eq!(parsed(&back.out), parsed(&before));
    assert!(
        back.err
            .starts_with("wrote - (prd) from .ralph/tasks/prd.yaml (native): 2 tasks\n"),
        "{back:?}"
    );
}

#[test]
fn each_format_has_its_place_and_the_ending_chooses_the_syntax() {
    let repo = TestRepo::new();
    repo.file(
        "todo.yaml",
        "project: My shop\ntasks:\n  - id: a\n    title: A\n",
    );
    let to = |args: &[&str]| {
        let all = [&["import", "todo.yaml", "--to"], args].concat();
        let ran = ralph(&repo, &all);
        assert_eq!(ran.code, 0, "{ran:?}");
    };
    to(&["prd"]);
    assert!(repo.read("PRD.json").contains("\"userStories\": ["));
    to(&["artefacts"]);
    let tasks = repo.read(".artefacts/My-shop/tasks.json");
    assert!(tasks.contains("\"project_name\": \"My shop\""), "{tasks}");
    to(&["native"]);
    assert!(repo.read(".ralph/tasks/todo.yaml").contains("title: A\n"));
    to(&["native", "--output", "out/mine.json"]);
    assert!(repo.read("out/mine.json").starts_with("{\n  \"project\""));
}

#[test]
fn nothing_is_written_over_unless_forced() {
    let repo = TestRepo::new();
    stories(&repo);
    repo.file("PRD.yaml", "mine\n");
    let args = ["import", "prd.json", "--to", "prd", "-o", "PRD.yaml"];
    assert_eq!(
        ralph(&repo, &args).error(2),
        "error: PRD.yaml is there already\nhint: `--force` writes over it; `--output` names another file\n"
    );
    assert_eq!(repo.read("PRD.yaml"), "mine\n");
    let forced = [&args[..], &["--force"]].concat();
    assert_eq!(ralph(&repo, &forced).code, 0);
    assert!(repo.read("PRD.yaml").starts_with("project: Shop\n"));
}

#[test]
fn a_dry_run_says_what_would_be_written_and_writes_nothing() {
    let repo = TestRepo::new();
    stories(&repo);
    let ran = ralph(
        &repo,
        &["import", "prd.json", "--to", "native", "--dry-run"],
    );
    assert!(
        ran.text(0).starts_with(
            "would write .ralph/tasks/prd.yaml (native) from prd.json (prd): 2 tasks\n"
        ),
        "{ran:?}"
    );
    assert!(!repo.exists(".ralph"));
}

#[test]
fn the_json_contract() {
    let repo = TestRepo::new();
    stories(&repo);
    let ran = ralph(&repo, &["import", "prd.json", "--to", "native", "--json"]);
    let expected = json!({
        "source": "prd.json",
        "from": "prd",
        "to": "native",
        "output": ".ralph/tasks/prd.yaml",
        "tasks": 2,
        "moved": [
            {"field": "userStories", "now": "tasks"},
            {"field": "acceptanceCriteria", "now": "acceptance", "tasks": 1},
            {"field": "passes", "now": "status", "tasks": 2},
            {"field": "name", "now": "title", "tasks": 1}
        ]
    });
    assert_eq!(ran.json(0), expected);
    let args = ["import", "prd.json", "--to", "prd", "--json", "-o", "-"];
    let shown = ralph(&repo, &args).json(0);
    let text = shown["text"].as_str().unwrap();
    assert_eq!(parsed(text), parsed(&repo.read("prd.json")));
}

#[test]
fn a_folder_of_task_files_becomes_one_file() {
    let repo = TestRepo::new();
    repo.file(".ralph/tasks/a.yaml", "id: a\ntitle: A\nmine: 1\n");
    repo.file(".ralph/tasks/b.yaml", "id: b\ntitle: B\ndependsOn: [a]\n");
    let ran = ralph(&repo, &["import", ".ralph/tasks", "--to", "prd"]);
    assert_eq!(ran.code, 0, "{ran:?}");
    let prd = parsed(&repo.read("PRD.json"));
    assert_eq!(
        prd["userStories"],
        json!([
            {"id": "a", "title": "A", "mine": 1, "passes": false, "x-ralph": {"absent": ["status"]}},
            {"id": "b", "title": "B", "dependsOn": ["a"], "passes": false, "x-ralph": {"absent": ["status"]}}
        ])
    );
}

#[test]
fn what_is_no_task_file_is_refused_by_name() {
    let repo = TestRepo::new();
    repo.file("idea.md", "# A shop\n");
    repo.file(
        "broken.json",
        "{\"userStories\": [{\"id\": \"a\" \"passes\": true}]}",
    );
    for (file, error) in [
        (
            "idea.md",
            "error: idea.md is a text, not a task file\nhint: `ralph plan idea.md` has an agent make tasks of it\n",
        ),
        (
            "nothing.json",
            "error: can't read nothing.json: No such file or directory (os error 2)\n",
        ),
    ] {
        let ran = ralph(&repo, &["import", file, "--to", "native"]);
        assert_eq!(ran.error(2), error);
    }
    let ran = ralph(&repo, &["import", "broken.json", "--to", "native"]);
    assert!(
        ran.error(2).starts_with("error: broken.json:1:29: "),
        "{ran:?}"
    );
    assert!(!repo.exists(".ralph"));
}

#[test]
fn a_checklist_is_written_out_as_tasks() {
    let repo = TestRepo::new();
    repo.file(
        "TODO.md",
        "# Shop\n\n## Cart\n- [x] T1 Add the table\n- [ ] T2 Fill it (depends on T1)\n",
    );
    let ran = ralph(&repo, &["import", "TODO.md", "--to", "prd"]);
    assert_eq!(ran.code, 0, "{ran:?}");
    let prd = parsed(&repo.read("PRD.json"));
    let stories = prd["userStories"].as_array().unwrap();
    assert_eq!(stories.len(), 3);
    assert_eq!(stories[1]["id"], "T1");
    assert_eq!(stories[1]["passes"], true);
    assert_eq!(stories[2]["title"], "Fill it");
    assert_eq!(stories[2]["dependsOn"], json!(["T1"]));
    assert_eq!(stories[2]["parentId"], "cart");
}

#[test]
fn tasks_become_a_checklist_and_what_it_can_not_say_is_named() {
    let repo = TestRepo::new();
    repo.file(
        "tasks.yaml",
        "project: Shop\ntasks:\n  - {id: cart, title: Cart}\n  - {id: T1, title: Add the table, parentId: cart, status: completed, attempts: 2}\n  - {id: T2, title: Fill it, parentId: cart, dependsOn: [T1], owner: [1]}\n",
    );
    let args = ["import", "tasks.yaml", "--to", "markdown"];
    let ran = ralph(&repo, &args);
    assert_eq!(
        ran.text(0),
        "wrote TODO.md (markdown) from tasks.yaml (native): 3 tasks\n\
         \x20 left out or not the same there: attempts (1 task), owner (1 task)\n\
         \n\
         tasks.yaml stays as it is; `ralph run TODO.md` works on the new one\n"
    );
    assert_eq!(
        repo.read("TODO.md"),
        "---\nproject: \"Shop\"\n---\n\n# Shop\n\n## Cart\n\n- [x] T1: Add the table\n- [ ] T2: Fill it\n  - Depends on: T1\n"
    );
    assert_eq!(
        ralph(&repo, &args).error(2),
        "error: TODO.md is there already\nhint: `--force` writes over it; `--output` names another file\n"
    );
    let elsewhere = [&args[..], &["-o", "TODO.json"]].concat();
    assert_eq!(
        ralph(&repo, &elsewhere).error(2),
        "error: TODO.json would not be read as markdown\nhint: name a file that ends in .md or .markdown\n"
    );
    assert!(!repo.exists("TODO.json"));
}

#[test]
fn a_checklist_becomes_issues_of_beads_unless_a_status_would_be_lost() {
    let repo = TestRepo::new();
    repo.file(
        "plan.md",
        "## Cart\n- [x] T1 Add the table\n- [ ] T2 Fill it (depends on T1)\n  - Verify: `make test`\n",
    );
    let ran = ralph(&repo, &["import", "plan.md", "--to", "beads", "--json"]);
    assert_eq!(
        ran.json(0),
        json!({
            "source": "plan.md", "from": "markdown", "to": "beads", "output": ".beads/issues.jsonl",
            "tasks": 3, "moved": [], "lost": [{"field": "verify", "tasks": 1}]
        })
    );
    let listed = ralph(&repo, &["tasks", "list", ".beads/issues.jsonl", "--json"]).json(0);
    let ids: Vec<_> = listed["tasks"]
        .as_array()
        .unwrap()
        .iter()
        .map(|task| (task["id"].clone(), task["status"].clone()))
        .collect();
    assert_eq!(
        json!(ids),
        json!([["cart", "open"], ["T1", "completed"], ["T2", "open"]])
    );
    repo.file("failed.yaml", "- {id: a, title: A, status: failed}\n");
    let args = ["import", "failed.yaml", "--to", "beads", "-o", "a.jsonl"];
    assert_eq!(
        ralph(&repo, &args).error(2),
        "error: failed.yaml: task a: beads has no word for failed\nhint: nothing was written; `ralph lint FILE` checks a task file\n"
    );
    assert!(!repo.exists("a.jsonl"));
}

#[test]
fn comments_of_yaml_stay_in_yaml_and_are_counted_where_they_can_not() {
    let repo = TestRepo::new();
    repo.file(
        "stories.yaml",
        "# ours\nuserStories:\n  # the door\n  - id: a\n    title: Log in # soon\n    passes: false\n",
    );
    let ran = ralph(&repo, &["import", "stories.yaml", "--to", "native"]);
    assert_eq!(ran.code, 0, "{ran:?}");
    assert_eq!(
        repo.read(".ralph/tasks/stories.yaml"),
        "# ours\ntasks:\n  # the door\n  - id: a\n    title: Log in # soon\n    status: open\nx-ralph:\n  from: prd\n"
    );
    let ran = ralph(&repo, &["import", "stories.yaml", "--to", "prd"]);
    assert!(
        ran.text(0)
            .contains("left out: 3 comments, which have no place there\n"),
        "{ran:?}"
    );
}

#[test]
fn a_list_of_taskmaster_becomes_a_native_file() {
    let repo = TestRepo::new();
    let tasks = json!({"master": {"tasks": [
        {"id": 1, "title": "Set up", "status": "done", "dependencies": [], "subtasks": []},
        {"id": 2, "title": "Build", "status": "pending", "dependencies": [1], "details": "By hand", "subtasks": [
            {"id": 1, "title": "One", "status": "pending", "dependencies": []}
        ]}
    ]}});
    repo.file("tasks.json", tasks.to_string());
    let ran = ralph(
        &repo,
        &["import", "tasks.json", "--to", "native", "-o", "-"],
    );
    assert_eq!(ran.code, 0, "{ran:?}");
    repo.file(".ralph/tasks/all.yaml", &ran.out);
    let listed = ralph(&repo, &["tasks", "list", ".ralph/tasks/all.yaml", "--json"]).json(0);
    let ids: Vec<_> = listed["tasks"]
        .as_array()
        .unwrap()
        .iter()
        .map(|task| (task["id"].clone(), task["status"].clone()))
        .collect();
    assert_eq!(
        json!(ids),
        json!([["1", "completed"], ["2", "open"], ["2.1", "open"]])
    );
}
