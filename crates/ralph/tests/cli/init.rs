//! `ralph init`.

use ralph_testkit::TestRepo;

use crate::support::{ralph, shop};

const TREE: &str = r#"[
  {"id": "AUTH", "title": "Log in"},
  {"id": "A1", "title": "Form", "parentId": "AUTH", "description": "The page to log in."},
  {"id": "A2", "title": "Session", "parentId": "AUTH", "dependsOn": ["A1"]},
  {"id": "PAY", "title": "Pay"},
  {"id": "P1", "title": "Card", "parentId": "PAY"}
]"#;

fn tree() -> TestRepo {
    let repo = TestRepo::new();
    repo.file("tasks.json", TREE);
    repo
}

#[test]
fn sets_a_project_up_once_and_changes_nothing_the_second_time() {
    let repo = shop();
    repo.file("Cargo.toml", "[package]\nname = \"x\"\n");
    let text = ralph(&repo, &["init"]).text(0).to_owned();
    assert!(
        text.starts_with("wrote   ralph.yaml\n        guessed  "),
        "{text}"
    );
    assert!(text.contains("these are guesses"), "{text}");
    assert!(text.contains("wrote   .ralph/.gitignore\n"), "{text}");
    assert!(
        text.ends_with(
            "3 tasks in prd.json, 1 ready; `ralph run` begins with US-002: Show the cart\n"
        ),
        "{text}"
    );
    let yaml = repo.read("ralph.yaml");
    assert!(yaml.contains("[\"cargo\", \"test\""), "{yaml}");
    assert!(yaml.contains("# Guessed: "), "{yaml}");
    assert_eq!(ralph(&repo, &["config"]).code, 0);

    repo.file("ralph.yaml", "agent: claude\n");
    let text = ralph(&repo, &["init"]).text(0).to_owned();
    assert!(
        text.starts_with(
            "kept    ralph.yaml  `--force` overwrites it\nkept    .ralph/.gitignore\n"
        ),
        "{text}"
    );
    assert_eq!(repo.read("ralph.yaml"), "agent: claude\n");
    assert_eq!(ralph(&repo, &["init", "--force"]).code, 0);
    assert_eq!(repo.read("ralph.yaml"), yaml);
}

#[test]
fn what_ralph_rebuilds_is_ignored_by_git_and_what_people_write_is_not() {
    let repo = shop();
    assert_eq!(ralph(&repo, &["init"]).code, 0);
    for file in [
        ".ralph/progress.md",
        ".ralph/logs/x.txt",
        ".ralph/archive/x",
        ".ralph/tasks/t.yaml",
        ".ralph/parent-task-id",
    ] {
        repo.file(file, "x\n");
    }
    assert_eq!(
        repo.status(),
        [
            "?? .ralph/parent-task-id",
            "?? .ralph/tasks/t.yaml",
            "?? ralph.yaml"
        ]
    );
}

#[test]
fn a_project_without_verify_commands_is_told_so() {
    let repo = TestRepo::new();
    let text = ralph(&repo, &["init"]).text(0).to_owned();
    assert!(text.contains("no verify commands were found"), "{text}");
    assert!(
        text.ends_with("no tasks yet; `ralph tasks add TITLE` adds the first one\n"),
        "{text}"
    );
}

#[test]
fn a_parent_is_written_and_limits_the_work() {
    let repo = tree();
    let text = ralph(&repo, &["init", "--parent", "AUTH"])
        .text(0)
        .to_owned();
    assert!(
        text.contains("wrote   .ralph/parent-task-id  AUTH Log in\n"),
        "{text}"
    );
    assert!(
        text.ends_with(
            "2 tasks in tasks.json below AUTH, 1 ready; `ralph run` begins with A1: Form\n"
        ),
        "{text}"
    );
    assert_eq!(repo.read(".ralph/parent-task-id"), "AUTH\n");
    let text = ralph(&repo, &["init"]).text(0).to_owned();
    assert!(
        text.contains("kept    .ralph/parent-task-id  AUTH Log in\n"),
        "{text}"
    );
}

#[test]
fn a_parent_that_is_not_there_writes_nothing() {
    let repo = tree();
    assert_eq!(
        ralph(&repo, &["init", "--parent", "auht"]).error(2),
        "error: there is no task auht in tasks.json\nhint: did you mean AUTH?\n"
    );
    assert!(!repo.exists(".ralph") && !repo.exists("ralph.yaml"));
}

#[test]
fn a_search_finds_the_one_task_that_has_the_text() {
    let repo = tree();
    assert_eq!(ralph(&repo, &["init", "--search", "pAy"]).code, 0);
    assert_eq!(repo.read(".ralph/parent-task-id"), "PAY\n");
}

#[test]
fn a_search_with_several_matches_lists_them() {
    let repo = tree();
    assert_eq!(
        ralph(&repo, &["init", "--search", "log in"]).error(2),
        "error: 2 tasks have \"log in\" in them:\n  AUTH Log in (2 tasks below it)\n  A1 Form\n\
         hint: choose one: `ralph init --parent ID`\n"
    );
    let ran = ralph(&repo, &["init", "--search", "zebra"]);
    assert!(
        ran.error(2)
            .starts_with("error: no task in tasks.json has \"zebra\" in it\n"),
        "{ran:?}"
    );
    assert!(!repo.exists(".ralph"));
}

#[test]
fn all_that_is_wrong_with_the_graph_is_told_and_nothing_is_written() {
    let repo = TestRepo::new();
    repo.file(
        "tasks.json",
        "[{\"id\":\"A\",\"title\":\"a\",\"dependsOn\":[\"B\"]},\n{\"id\":\"B\",\"title\":\"b\",\"dependsOn\":[\"A\"]},\n\
         {\"id\":\"C\",\"title\":\"c\",\"dependsOn\":[\"Z\"]}]",
    );
    let ran = ralph(&repo, &["init"]);
    let said = ran.error(2);
    assert!(
        said.contains("tasks.json:1:2: tasks wait for each other: A → B → A"),
        "{said}"
    );
    assert!(
        said.contains("tasks.json:3:1: task C depends on Z, which does not exist"),
        "{said}"
    );
    assert!(!repo.exists(".ralph") && !repo.exists("ralph.yaml"));
}

#[test]
fn work_of_which_nothing_is_ready_needs_a_person() {
    let repo = TestRepo::new();
    repo.file(
        "tasks.json",
        r#"[{"id":"A","title":"a","status":"blocked"},{"id":"B","title":"b","dependsOn":["A"]}]"#,
    );
    let text = ralph(&repo, &["init"]).text(4).to_owned();
    assert!(
        text.ends_with(
            "2 tasks in tasks.json, none of them ready:\n  A  it is blocked\n  B  A is blocked\n"
        ),
        "{text}"
    );
    assert!(repo.exists("ralph.yaml"));
}

#[test]
fn one_of_several_sources_can_be_named() {
    let repo = shop();
    repo.file("tasks.json", TREE);
    let ran = ralph(&repo, &["init"]);
    assert!(
        ran.error(2)
            .contains("found more than one task source: prd.json, tasks.json"),
        "{ran:?}"
    );
    assert_eq!(ralph(&repo, &["init", "--tasks", "tasks.json"]).code, 0);
    assert_eq!(
        ralph(&repo, &["status", "--json"]).json(0)["source"],
        "tasks.json"
    );
}

#[test]
fn a_folder_without_git_is_refused() {
    let folder = TestRepo::bare_folder();
    let ran = ralph(&folder, &["init"]);
    assert!(
        ran.error(2)
            .ends_with("is not in a git repository\nhint: run `git init` to create one\n"),
        "{ran:?}"
    );
}

#[test]
fn a_new_prd_project_gets_instructions_and_a_sample() {
    let repo = TestRepo::new();
    let text = ralph(&repo, &["init", "--prd"]).text(0).to_owned();
    assert!(
        text.contains(
            "wrote   PRD.json  a sample: replace its stories with yours\n\
             wrote   PROMPT.md  goes into every prompt\n"
        ),
        "{text}"
    );
    assert!(
        text.ends_with(
            "2 tasks in PRD.json, 1 ready; `ralph run` begins with US-001: Say how the project is built and tested\n"
        ),
        "{text}"
    );
    let prompt = repo.read("PROMPT.md");
    for part in [
        "## Execution",
        "STUCK",
        "DEVIATION",
        "<escalate type=",
        "complete",
    ] {
        assert!(prompt.contains(part), "{part}");
    }
    let prd: serde_json::Value = serde_json::from_str(&repo.read("PRD.json")).unwrap();
    for story in prd["userStories"].as_array().unwrap() {
        for field in ["id", "title", "description", "criteria"] {
            assert!(!story[field].is_null(), "{field}: {story}");
        }
        assert_eq!(story["passes"], false);
    }
    assert_eq!(ralph(&repo, &["lint"]).code, 0);
}

#[test]
fn what_a_person_wrote_is_never_written_over() {
    let repo = shop();
    repo.file("PROMPT.md", "mine\n");
    let prd = repo.read("prd.json");
    for args in [&["init", "--prd"][..], &["init", "--prd", "--force"][..]] {
        let text = ralph(&repo, args).text(0).to_owned();
        assert!(text.contains("kept    PROMPT.md\n"), "{text}");
        assert_eq!(repo.read("PROMPT.md"), "mine\n");
        assert_eq!(repo.read("prd.json"), prd);
        assert!(!repo.exists("PRD.json"));
    }
}

#[test]
fn instructions_go_beside_the_prd_that_is_there() {
    let repo = TestRepo::new();
    repo.file(
        "plans/prd.json",
        r#"{"userStories": [{"id": "A", "title": "a", "passes": false}]}"#,
    );
    let text = ralph(&repo, &["init", "--prd"]).text(0).to_owned();
    assert!(text.contains("wrote   plans/PROMPT.md"), "{text}");
    assert!(!repo.exists("PROMPT.md") && !repo.exists("PRD.json"));
}

#[test]
fn tasks_that_are_no_prd_get_no_instructions_and_nothing_is_written() {
    let repo = tree();
    assert_eq!(
        ralph(&repo, &["init", "--prd"]).error(2),
        "error: tasks.json is not a PRD\n\
         hint: nothing was written; name a PRD with `--tasks`, or write .ralph/prompts/iteration.md instead\n"
    );
    assert!(!repo.exists("PROMPT.md") && !repo.exists("ralph.yaml"));
}

#[test]
fn lists_that_are_not_chosen_are_named_and_written_nowhere() {
    let repo = TestRepo::new();
    repo.file("feature_list.json", PRD_LIST);
    let text = ralph(&repo, &["init"]).text(0).to_owned();
    assert!(
        text.ends_with(
            "\nfound tasks only in feature_list.json (1 task, 1 open), which is not chosen yet\n\
             choose it, or set `tasks.source` in ralph.yaml; `ralph run` and `ralph tasks source` remember a choice:\n  \
             ralph run feature_list.json\n"
        ),
        "{text}"
    );
    assert!(!repo.read("ralph.yaml").contains("feature_list"));
    // A first task of ralph's own is no entry of that list.
    let text = ralph(&repo, &["tasks", "add", "More"]).text(0).to_owned();
    assert_eq!(text, "added more to .ralph/tasks/more.yaml\n");
    assert_eq!(repo.read("feature_list.json"), PRD_LIST);
}

const PRD_LIST: &str = r#"[{"id": "A", "title": "One", "passes": false}]"#;
