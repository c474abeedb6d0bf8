//! Every tool, in a project in which the scripted agent has worked.

use serde_json::{Value, json};

use super::{
    client::{Client, ERAS},
    support::{Project, good_attempt, story, story_after},
};

/// A is done, B failed, C waits for B.
fn worked() -> Project {
    let script = json!({
        "tasks": {"B": [{"do": [
            {"write": {"path": "other.txt", "text": "x\n"}},
            {"usage": {"input": 1000, "output": 50, "cost": 0.25}},
            {"say": "Task B complete"},
        ]}]},
        "default": [good_attempt()],
    });
    let stories = [story("A"), story("B"), story_after("C", &["B"])];
    let project = Project::with_stories(&stories)
        .script(&script)
        .env("RALPH_LOOP_MAX_ATTEMPTS", "1")
        .env("RALPH_LOOP_MAX_VERIFY_RETRIES", "0");
    project.run(&[]).expect(4);
    project
}

/// The JSON that a command prints.
fn printed(project: &Project, args: &[&str]) -> Value {
    let output = project.ralph(args).output().unwrap();
    serde_json::from_slice(&output.stdout)
        .unwrap_or_else(|e| panic!("{e}: {}", String::from_utf8_lossy(&output.stderr)))
}

#[test]
fn reading_tools_say_what_the_commands_print() {
    let project = worked();
    let pairs: &[(&str, Value, &[&str])] = &[
        ("status", json!({}), &["status", "--json"]),
        (
            "task_show",
            json!({"id": "B"}),
            &["tasks", "show", "B", "--json"],
        ),
        ("report", json!({}), &["report", "--json"]),
        (
            "report",
            json!({"loops": "last"}),
            &["report", "--last", "--json"],
        ),
        ("cost", json!({}), &["cost", "--json"]),
        (
            "cost",
            json!({"by": "model", "since": "7d", "forecast": true}),
            &[
                "cost",
                "--by",
                "model",
                "--since",
                "7d",
                "--forecast",
                "--json",
            ],
        ),
        (
            "checkpoints_list",
            json!({}),
            &["checkpoint", "list", "--json"],
        ),
        (
            "checkpoints_list",
            json!({"all": true, "limit": 1}),
            &["checkpoint", "list", "--all", "--limit", "1", "--json"],
        ),
        (
            "questions_list",
            json!({"all": true}),
            &["escalations", "--all", "--json"],
        ),
        ("logs", json!({"form": "record"}), &["logs", "--json"]),
        (
            "logs",
            json!({"form": "record", "iteration": 1}),
            &["logs", "-i", "1", "--json"],
        ),
        (
            "logs",
            json!({"form": "list"}),
            &["logs", "--list", "--json"],
        ),
    ];
    for era in ERAS {
        let mut client = Client::begin(&project, era, json!({}));
        for (tool, arguments, command) in pairs {
            let said = client.done(tool, arguments.clone());
            assert_eq!(said, printed(&project, command), "{tool} {arguments}");
        }
        client.end().well();
    }
}

#[test]
fn the_last_iteration_and_the_spending_are_those_of_the_run() {
    let project = worked();
    let mut client = Client::plain(&project);
    let status = client.done("status", json!({}));
    assert_eq!(status["tasks"]["completed"], 1, "{status}");
    assert_eq!(status["lastIteration"]["taskId"], "B", "{status}");
    assert_eq!(status["cost"]["spentUsd"], 0.25, "{status}");
    let record = client.done("logs", json!({"form": "record", "iteration": 2}));
    assert_eq!(record["taskId"], "B", "{record}");
    client.end().well();
}

#[test]
fn tasks_are_listed_in_parts() {
    let project = worked();
    let mut client = Client::plain(&project);
    let mut whole = client.done("tasks_list", json!({}));
    assert_eq!(whole["left"], 0);
    whole.as_object_mut().unwrap().remove("left");
    assert_eq!(whole, printed(&project, &["tasks", "list", "--json"]));
    let ids = |listed: &Value| -> Vec<String> {
        let tasks = listed["tasks"].as_array().unwrap();
        tasks
            .iter()
            .map(|task| task["id"].as_str().unwrap().to_owned())
            .collect()
    };
    let part = client.done("tasks_list", json!({"limit": 1, "offset": 1}));
    assert_eq!(
        (ids(&part), &part["left"]),
        (vec!["B".to_owned()], &json!(1))
    );
    let done = client.done("tasks_list", json!({"status": "completed"}));
    assert_eq!(ids(&done), ["A"]);
    let beyond = client.done("tasks_list", json!({"offset": 900}));
    assert_eq!(ids(&beyond), Vec::<String>::new());
    client.end().well();
}

#[test]
fn a_log_is_shown_from_its_end_without_its_escapes() {
    let project = Project::with_stories(&[story("A")]).script(&json!({"default": [{"do": [
        {"say": "first words"},
        {"say": "\u{1b}[31mred\u{7} words"},
        {"write": {"path": "A.txt", "text": "x\n"}},
        {"say": "Task A complete"},
    ]}]}));
    project.run(&[]).expect(0);
    let mut client = Client::plain(&project);
    let log = client.done("logs", json!({}));
    assert_eq!(log["iteration"], 1);
    assert_eq!(log["file"], ".ralph/logs/iteration-1.txt");
    assert_eq!(log["cutBefore"], false);
    let text = log["text"].as_str().unwrap();
    assert!(
        text.contains("first words") && text.contains("red"),
        "{text}"
    );
    assert!(
        !text.contains('\u{1b}') && !text.contains('\u{7}'),
        "{text}"
    );
    let end = client.done("logs", json!({"lines": 1}));
    assert_eq!(end["cutBefore"], true);
    assert_eq!(end["text"].as_str().unwrap().lines().count(), 1);
    let error = client.failed("logs", json!({"iteration": 7}));
    assert!(
        error.starts_with("there is no iteration 7; there is only iteration 1"),
        "{error}"
    );
    client.end().well();
}

#[test]
fn a_task_that_is_added_is_worked_on_by_the_next_run() {
    let project =
        Project::with_stories(&[story("A")]).script(&json!({"default": [good_attempt()]}));
    let mut client = Client::plain(&project);
    let added = client.done(
        "task_add",
        json!({
            "id": "NEW-1", "title": "Write NEW-1", "description": "A new file.",
            "acceptance": ["NEW-1.txt is there"], "verify": ["test -f NEW-1.txt"],
            "depends_on": ["A"], "priority": 7,
        }),
    );
    assert_eq!(
        added,
        json!({"id": "NEW-1", "file": "prd.json", "warning": null})
    );
    let shown = client.done("task_show", json!({"id": "NEW-1"}));
    assert_eq!(shown["description"], "A new file.");
    assert_eq!(shown["verify"], json!(["test -f NEW-1.txt"]));
    assert_eq!(shown["standing"], "waiting");
    let error = client.failed("task_add", json!({"id": "NEW-1", "title": "Again"}));
    assert!(
        error.starts_with("there is a task NEW-1 already"),
        "{error}"
    );
    let error = client.failed("task_add", json!({"title": "Lost", "depends_on": ["NO"]}));
    assert!(error.contains("nothing was written"), "{error}");
    // The server sees what another process does.
    project.repo.commit("a new task");
    project.run(&[]).expect(0);
    assert_eq!(project.landed(), ["A", "NEW-1"]);
    assert_eq!(client.done("status", json!({}))["tasks"]["completed"], 2);
    client.end().well();
}

#[test]
fn a_checkpoint_is_created_with_its_note() {
    let project = worked();
    let mut client = Client::plain(&project);
    let made = client.done("checkpoint_create", json!({"note": "before lunch"}));
    assert_eq!(
        made["checkpoint"]["metadata"]["note"], "before lunch",
        "{made}"
    );
    let listed = client.done("checkpoints_list", json!({"limit": 1}));
    assert_eq!(listed["checkpoints"][0]["note"], "before lunch");
    assert_eq!(listed["checkpoints"][0]["hash"], made["hash"]);
    client.end().well();
}

#[test]
fn errors_of_commands_are_results_of_tools_with_their_hint() {
    let project = Project::with_stories(&[story("TASK-1")]);
    let mut client = Client::plain(&project);
    for tool in ["logs", "report", "checkpoints_list", "checkpoint_create"] {
        let error = client.failed(tool, json!({}));
        let expected = "ralph has not run here yet\nhint: `ralph run` starts the loop; `ralph status` shows what it \
                        would do";
        assert_eq!(error, expected, "{tool}");
    }
    assert_eq!(
        client.failed("task_show", json!({"id": "TASK-l"})),
        "there is no task TASK-l in prd.json\nhint: did you mean TASK-1?"
    );
    project
        .repo
        .file("ralph.yaml", "loop: {max_iterations: many}\n");
    let error = client.failed("status", json!({}));
    assert!(error.contains("ralph.yaml"), "{error}");
    project.repo.file("ralph.yaml", "{}\n");
    assert_eq!(client.done("status", json!({}))["tasks"]["total"], 1);
    client.end().well();
}

#[test]
fn arguments_that_do_not_fit_are_named() {
    let project = Project::with_stories(&[story("A")]);
    let table = [
        ("task_show", json!({}), "argument `id` is missing"),
        (
            "task_show",
            json!({"id": 7}),
            "argument `id` must be a text",
        ),
        (
            "status",
            json!({"watch": true}),
            "there is no argument `watch`; this tool takes none",
        ),
        (
            "tasks_list",
            json!({"limit": 100_000}),
            "argument `limit` must be a whole number from 1 to 200",
        ),
        (
            "cost",
            json!({"by": "week"}),
            "argument `by` must be one of task, model, day, loop",
        ),
        ("say", json!({"text": "  \n"}), "argument `text` is empty"),
        (
            "say",
            json!({"text": "x".repeat(8_001)}),
            "argument `text` has more than 8000 characters",
        ),
        (
            "pause",
            json!({"now": "yes"}),
            "argument `now` must be true or false",
        ),
        (
            "report",
            json!({"loops": "last", "loop_id": "0"}),
            "`loop_id` and `loops` can't be used together",
        ),
        (
            "question_answer",
            json!({"option": 1, "action": "skip"}),
            "more than one of `option`, `guidance` and `action` can't be used together",
        ),
    ];
    for era in ERAS {
        let mut client = Client::begin(&project, era, json!({}));
        for (tool, arguments, says) in &table {
            assert_eq!(client.refused_arguments(tool, arguments.clone()), *says);
        }
        client.end().well();
    }
}

#[test]
fn a_folder_without_a_repository_or_tasks_is_an_answer_and_not_the_end() {
    let nowhere = Project::of(ralph_testkit::TestRepo::bare_folder());
    let mut client = Client::plain(&nowhere);
    for tool in ["logs", "report"] {
        let error = client.failed(tool, json!({}));
        assert!(
            error.contains("is not in a git repository\nhint: "),
            "{tool}: {error}"
        );
    }
    for (tool, arguments) in [
        ("say", json!({"text": "hello"})),
        ("pause", json!({})),
        ("resume", json!({})),
        ("task_add", json!({"title": "One"})),
    ] {
        let error = client.failed(tool, arguments);
        assert!(
            error.contains("is not in a git repository"),
            "{tool}: {error}"
        );
    }
    client.end().well();
    let empty = Project::new();
    let mut client = Client::plain(&empty);
    for tool in ["status", "tasks_list"] {
        let error = client.failed(tool, json!({}));
        assert!(error.contains("hint: "), "{tool}: {error}");
    }
    let added = client.done("task_add", json!({"title": "The first one"}));
    assert!(
        added["file"].as_str().unwrap().starts_with(".ralph/tasks/"),
        "{added}"
    );
    assert_eq!(client.done("status", json!({}))["tasks"]["total"], 1);
    client.end().well();
}

#[test]
fn another_folder_can_be_named() {
    let project = Project::with_stories(&[story("A")]);
    let elsewhere = Project::new();
    let folder = project.repo.root().to_str().unwrap();
    let mut client = Client::silent(elsewhere.ralph(&["mcp", "-C", folder]));
    client.greet(ERAS[0], json!({}));
    assert_eq!(client.done("status", json!({}))["source"], "prd.json");
    client.end().well();
}

#[test]
fn no_secret_leaves_by_a_tool() {
    const SECRET: &str = "hush-hush-value-17";
    const KEY: &str = "AKIAQ3EGUZ5QWERTY7XN";
    let mut secret_story = story("A");
    secret_story["description"] = json!(format!("Use {SECRET} and {KEY}."));
    let project = Project::with_stories(&[secret_story])
        .env("SHOP_API_KEY", SECRET)
        .script(&json!({"default": [{"do": [
            {"say": format!("I found {SECRET}")},
            {"write": {"path": "A.txt", "text": "x\n"}},
            {"say": "Task A complete"},
        ]}]}));
    project.run(&[]).expect(0);
    let mut client = Client::plain(&project);
    for (tool, arguments) in [
        ("task_show", json!({"id": "A"})),
        ("tasks_list", json!({})),
        ("status", json!({})),
        ("logs", json!({})),
        ("logs", json!({"form": "record"})),
        ("report", json!({})),
        ("task_show", json!({"id": SECRET})),
        ("say", json!({"text": format!("use {SECRET}")})),
    ] {
        let reply = client.call(tool, arguments).to_string();
        assert!(
            !reply.contains(SECRET) && !reply.contains(KEY),
            "{tool}: {reply}"
        );
    }
    client.end().well();
}

#[test]
fn a_result_that_is_too_large_is_cut_and_says_so() {
    let mut long = story("A");
    long["description"] = json!("many words ".repeat(30_000));
    let project = Project::with_stories(&[long]);
    let mut client = Client::plain(&project);
    let reply = client.call("task_show", json!({"id": "A"}));
    let shown = super::client::structure(&reply);
    assert_eq!(
        shown["cut"],
        "texts are cut after 16000 characters, lists after 500 entries"
    );
    assert!(reply.to_string().len() < 200_000);
    client.end().well();
}
