//! Which tasks a run works on: lists that are only offered, a person's choice, and that it is remembered.

use serde_json::{Value, json};

use crate::support::{Project, good_script, story};

const MODES: [&str; 2] = ["overlay", "in_place"];

/// A list that ralph does not take because it is there.
fn features(ids: &[&str]) -> String {
    let stories: Vec<Value> = ids.iter().map(|id| story(id)).collect();
    serde_json::to_string_pretty(&json!({"features": stories})).unwrap()
}

/// A project with these files of stories, committed.
fn with(files: &[(&str, &[&str])]) -> Project {
    let project = Project::new().script(&good_script());
    for (path, ids) in files {
        project.repo.file(path, features(ids));
    }
    project.repo.commit("tasks");
    project
}

/// What `ralph` prints with this exit code: standard output, then standard error.
#[track_caller]
fn told(project: &Project, args: &[&str], code: i32) -> (String, String) {
    let output = project.ralph(args).output().unwrap();
    assert_eq!(output.status.code(), Some(code), "{args:?}: {output:?}");
    let text = |bytes| String::from_utf8(bytes).unwrap();
    (text(output.stdout), text(output.stderr))
}

fn source_of(project: &Project) -> Value {
    let (out, _) = told(project, &["tasks", "source", "--json"], 0);
    serde_json::from_str(&out).unwrap()
}

#[test]
fn a_list_that_is_not_chosen_is_named_and_not_worked_on_without_a_terminal() {
    let project = with(&[("feature_list.json", &["A", "B"])]);
    let head = project.repo.head();
    let ran = project.run(&[]).expect(2);
    assert!(ran.events().is_empty());
    let said = ran.stderr();
    let expected = "error: found tasks only in feature_list.json (2 tasks, 2 open), which is not chosen yet\n\
        hint: choose it, or set `tasks.source` in ralph.yaml; `ralph run` and `ralph tasks source` remember a choice:\n  \
        ralph run feature_list.json\n";
    assert_eq!(said, expected);
    assert_eq!(project.repo.head(), head);
    assert_eq!(project.repo.branch(), "refs/heads/main");
}

#[test]
fn a_named_list_is_remembered_and_later_runs_say_so() {
    let project = with(&[("feature_list.json", &["A", "B"]), ("prd.json", &["C"])]);
    let ran = project.run(&["feature_list.json", "--once"]).expect(0);
    let notice = "`ralph run` works on feature_list.json from now on; `ralph tasks source` shows and changes that";
    assert!(ran.all().contains(notice), "{}", ran.all());
    let ran = project.run(&[]).expect(0);
    assert_eq!(ran.one("loop_started")["source"], "feature_list.json");
    let notice = "tasks of feature_list.json, as chosen before; `ralph run FILE` chooses others";
    assert!(ran.all().contains(notice), "{}", ran.all());
    assert_eq!(project.landed(), ["A", "B"]);
    let (out, _) = told(&project, &["status", "--json"], 0);
    let status: Value = serde_json::from_str(&out).unwrap();
    assert_eq!(status["source"], "feature_list.json");
    // Naming another one is another choice.
    project.run(&["prd.json"]).expect(0);
    let ran = project.run(&[]).expect(0);
    assert_eq!(ran.one("loop_started")["source"], "prd.json");
}

#[test]
fn what_is_taken_goes_before_what_is_offered_and_nothing_is_asked() {
    let project = with(&[
        ("feature_list.json", &["A"]),
        ("docs/prd.json", &["B"]),
        (".ralph/feature_list.json", &["C"]),
    ]);
    let ran = project.run(&[]).expect(0);
    assert_eq!(ran.one("loop_started")["source"], "docs/prd.json");
    assert_eq!(project.landed(), ["B"]);
    assert_eq!(source_of(&project)["by"], "found");
}

#[test]
fn a_look_at_the_next_task_remembers_nothing() {
    let project = with(&[("feature_list.json", &["A"]), ("prd.json", &["B"])]);
    let (out, _) = told(&project, &["run", "--dry-run", "feature_list.json"], 0);
    assert!(out.starts_with("would take A"), "{out}");
    assert_eq!(
        source_of(&project),
        json!({"source": "prd.json", "by": "found"})
    );
}

#[test]
fn commands_that_only_look_read_the_only_list_and_say_so() {
    let project = with(&[("feature_list.json", &["A", "B"])]);
    let remark = "reading feature_list.json (2 tasks, 2 open), which is not chosen yet: \
                  `ralph run feature_list.json` works on it\n";
    for args in [
        &["status"][..],
        &["tasks", "list"],
        &["tasks", "show", "A"],
        &["run", "--dry-run"],
    ] {
        let (out, err) = told(&project, args, 0);
        assert!(out.contains("Write A"), "{args:?}: {out}");
        assert_eq!(err, remark, "{args:?}");
    }
    let (out, err) = told(&project, &["lint", "--json"], 0);
    let lint: Value = serde_json::from_str(&out).unwrap();
    assert_eq!(
        (lint["source"].as_str(), err.as_str()),
        (Some("feature_list.json"), remark)
    );
    // One that changes something needs a choice.
    let (_, err) = told(&project, &["skip", "--task", "A", "--reason", "x"], 2);
    assert!(err.contains("not chosen yet"), "{err}");
    assert!(
        err.contains("\n  ralph tasks source feature_list.json\n"),
        "{err}"
    );
}

#[test]
fn of_several_lists_none_is_read_unasked() {
    let project = with(&[
        ("feature_list.json", &["A", "B"]),
        ("docs/feature_list.json", &["C"]),
    ]);
    for (args, command) in [
        (&["status"][..], "ralph status"),
        (&["tasks", "list"], "ralph tasks list"),
        (&["lint"], "ralph lint"),
        (&["run", "--dry-run"], "ralph run --dry-run"),
        (&["run"], "ralph run"),
        (&["tasks", "source"], "ralph tasks source"),
    ] {
        let (out, err) = told(&project, args, 2);
        assert_eq!(out, "", "{args:?}");
        for name in ["feature_list.json", "docs/feature_list.json"] {
            assert!(err.contains(&format!("\n  {command} {name}\n")), "{err}");
        }
    }
}

#[test]
fn a_choice_ends_a_tie_between_files_that_are_taken() {
    let project = with(&[("prd.json", &["A"]), ("tasks/prd.json", &["B"])]);
    let ran = project.run(&[]).expect(2);
    let said = ran.stderr();
    assert!(
        said.contains("found more than one task source: prd.json, tasks/prd.json"),
        "{said}"
    );
    assert!(
        said.contains("\n  ralph run prd.json\n  ralph run tasks/prd.json\n"),
        "{said}"
    );
    told(&project, &["tasks", "source", "tasks/prd.json"], 0);
    project.run(&[]).expect(0);
    assert_eq!(project.landed(), ["B"]);
}

#[test]
fn the_configuration_goes_before_a_choice() {
    let project = with(&[("prd.json", &["A"]), ("tasks/prd.json", &["B"])]);
    told(&project, &["tasks", "source", "tasks/prd.json"], 0);
    let project = project.config("tasks: {source: prd.json}\n");
    let ran = project.run(&[]).expect(0);
    assert_eq!(ran.one("loop_started")["source"], "prd.json");
    let (out, _) = told(&project, &["tasks", "source"], 0);
    assert_eq!(
        out,
        "prd.json (`tasks.source` of the configuration says so)\n"
    );
}

#[test]
fn a_choice_that_is_gone_is_said_and_others_are_looked_for() {
    let project = with(&[("feature_list.json", &["A"]), ("prd.json", &["B"])]);
    told(&project, &["tasks", "source", "feature_list.json"], 0);
    project.repo.git(["rm", "-q", "feature_list.json"]);
    project.repo.commit("gone");
    let gone =
        "feature_list.json, whose tasks were chosen before, does not exist: looking for others\n";
    let (_, err) = told(&project, &["status"], 0);
    assert_eq!(err, gone);
    let ran = project.run(&[]).expect(0);
    assert_eq!(ran.one("loop_started")["source"], "prd.json");
    assert!(ran.stderr().contains(gone), "{}", ran.stderr());
}

#[test]
fn a_choice_is_shown_changed_and_forgotten() {
    let project = with(&[("prd.json", &["A"]), ("deep/list.json", &["B"])]);
    let (out, _) = told(&project, &["tasks", "source"], 0);
    assert_eq!(out, "prd.json (the only tasks that were found)\n");
    let project = project.start_in("deep");
    let chosen = "deep/list.json (chosen; `ralph tasks source --forget` forgets it)\n";
    let (out, _) = told(&project, &["tasks", "source", "list.json"], 0);
    assert_eq!(out, chosen);
    let (out, _) = told(&project, &["tasks", "source"], 0);
    assert_eq!(out, chosen);
    assert_eq!(
        source_of(&project),
        json!({"source": "deep/list.json", "by": "chosen"})
    );
    let (_, err) = told(&project, &["tasks", "source", "none.json"], 2);
    assert!(err.contains("there is no task source"), "{err}");
    let (out, _) = told(&project, &["tasks", "source", "--forget"], 0);
    assert_eq!(out, "prd.json (the only tasks that were found)\n");
}

#[test]
fn an_agent_that_makes_a_list_changes_nothing_about_the_next_run() {
    for mode in MODES {
        let made = features(&["X"]);
        let script = json!({"default": [{"do": [
            {"write": {"path": "{id}.txt", "text": "{id}\n"}},
            {"write": {"path": "feature_list.json", "text": made}},
            {"say": "Task {id} complete"},
        ]}]});
        let project = Project::new().env("RALPH_WORKSPACE_MODE", mode);
        project.repo.file("work.json", features(&["A", "B"]));
        project.repo.commit("tasks");
        let project = project.script(&script);
        project.run(&["work.json", "--once"]).expect(0);
        assert_eq!(project.repo.read("feature_list.json"), made, "{mode}");
        let ran = project.run(&[]).expect(0);
        assert_eq!(ran.one("loop_started")["source"], "work.json", "{mode}");
        // Without a choice a person is asked for one.
        told(&project, &["tasks", "source", "--forget"], 0);
        project.run(&[]).expect(2).says("which is not chosen yet");
        assert_eq!(project.landed(), ["A", "B"], "{mode}");
    }
}

#[test]
fn a_link_of_an_agent_does_not_make_a_persons_list_a_source() {
    for mode in MODES {
        let script = json!({"default": [{"do": [
            {"write": {"path": "{id}.txt", "text": "{id}\n"}},
            {"run": "mkdir -p docs && ln -sf ../feature_list.json docs/prd.json"},
            {"say": "Task {id} complete"},
        ]}]});
        let project = Project::new().env("RALPH_WORKSPACE_MODE", mode);
        project.repo.file("feature_list.json", features(&["X"]));
        project.repo.file("work.json", features(&["A"]));
        project.repo.commit("tasks");
        let project = project.script(&script);
        project.run(&["work.json"]).expect(0);
        assert!(
            project.repo.path("docs/prd.json").is_symlink(),
            "{mode}: it landed"
        );
        told(&project, &["tasks", "source", "--forget"], 0);
        let ran = project.run(&[]).expect(2);
        let says =
            "found tasks only in feature_list.json (1 task, 1 open), which is not chosen yet";
        assert!(ran.stderr().contains(says), "{mode}: {}", ran.stderr());
    }
}

#[test]
fn prose_is_named_as_such_and_a_plan_is_offered() {
    let project = Project::new().script(&good_script());
    let prose = "# Plan\n\nFirst the cart, then the till.\n";
    project
        .repo
        .file("IMPLEMENTATION_PLAN.md", prose)
        .commit("plan");
    let hint = "hint: `ralph plan IMPLEMENTATION_PLAN.md` makes tasks of it\n";
    let ran = project.run(&[]).expect(2);
    assert!(
        ran.stderr()
            .contains("only prose: IMPLEMENTATION_PLAN.md\n"),
        "{}",
        ran.stderr()
    );
    assert!(ran.stderr().contains(hint), "{}", ran.stderr());
    let prose = "error: IMPLEMENTATION_PLAN.md has no list of tasks: it is prose\n";
    let ran = project.run(&["IMPLEMENTATION_PLAN.md"]).expect(2);
    assert_eq!(ran.stderr(), format!("{prose}{hint}"));
    for args in [
        &["tasks", "list", "IMPLEMENTATION_PLAN.md"][..],
        &["tasks", "source", "IMPLEMENTATION_PLAN.md"],
    ] {
        let (_, err) = told(&project, args, 2);
        assert_eq!(err, format!("{prose}{hint}"), "{args:?}");
    }
}

#[test]
fn a_choice_is_kept_over_a_kill_and_the_loop_goes_on() {
    for point in ["loop-begun", "agent-running", "committed"] {
        let project = with(&[("feature_list.json", &["A", "B"])]);
        let mut command = project.run_command(&["feature_list.json"]);
        command.env("RALPH_FAILPOINT", point);
        assert!(!command.status().unwrap().success(), "{point}");
        let ran = project.run(&[]).expect(0);
        let started = ran.one("loop_started");
        assert_eq!(started["source"], "feature_list.json", "{point}");
        assert_eq!(started["resumed"], true, "{point}");
        assert_eq!(project.landed(), ["A", "B"], "{point}");
    }
}

#[test]
fn a_loop_that_is_resumed_is_no_choice() {
    let project = with(&[("prd.json", &["A", "B"])]);
    project.run(&["--once"]).expect(0);
    told(&project, &["resume", "--agent", &project.agent_word()], 0);
    assert_eq!(project.landed(), ["A", "B"]);
    assert_eq!(
        source_of(&project),
        json!({"source": "prd.json", "by": "found"})
    );
}

/// Writes a file for each task, and ends it.
const AGENT: &str = r#"echo x > "done-$RALPH_TASK_ID"; echo "Task complete""#;

fn working(files: &[(&str, &str)]) -> Project {
    let project = Project::new()
        .config("verification:\n  commands:\n    - [\"true\"]\n")
        .command(AGENT);
    for (path, text) in files {
        project.repo.file(path, text);
    }
    project.repo.commit("tasks");
    project
}

#[test]
fn a_todo_list_is_offered_and_its_boxes_are_ticked_once_it_is_named() {
    let todo = "# Todo\n\n- [x] Old\n- [ ] Add the cart\n- [ ] Show the cart\n";
    let project = working(&[("TODO.md", todo)]);
    let ran = project.run(&[]).expect(2);
    let says = "found tasks only in TODO.md (3 tasks, 2 open), which is not chosen yet\n";
    assert!(ran.stderr().contains(says), "{}", ran.stderr());
    assert_eq!(project.repo.read("TODO.md"), todo);
    project.run(&["TODO.md", "--once"]).expect(0);
    assert_eq!(
        project.diff_lines("HEAD", "TODO.md"),
        ["-- [ ] Add the cart", "+- [x] Add the cart"]
    );
    let ran = project.run(&[]).expect(0);
    assert_eq!(ran.one("loop_started")["source"], "TODO.md");
    assert_eq!(project.repo.read("TODO.md"), todo.replace("[ ]", "[x]"));
}

#[test]
fn the_issues_of_beads_are_offered_and_closed_once_they_are_named() {
    let place = ".beads/issues.jsonl";
    let issues = "{\"id\":\"b-1\",\"title\":\"One\",\"status\":\"open\",\"priority\":1}\n";
    let project = working(&[(place, issues)]);
    let ran = project.run(&[]).expect(2);
    let says = format!("found tasks only in {place} (1 task, 1 open), which is not chosen yet\n");
    assert!(ran.stderr().contains(&says), "{}", ran.stderr());
    project.run(&[place]).expect(0);
    assert_eq!(project.landed(), ["b-1"]);
    let read = project.repo.read(place);
    assert!(read.contains("\"status\":\"closed\""), "{read}");
}

#[test]
fn a_checklist_that_an_agent_makes_in_a_place_of_ralphs_is_set_aside() {
    for mode in MODES {
        let script = json!({"default": [{"do": [
            {"write": {"path": "{id}.txt", "text": "{id}\n"}},
            {"write": {"path": ".ralph/fix_plan.md", "text": "- [ ] New one\n"}},
            {"write": {"path": "TODO.md", "text": "- [ ] Another one\n"}},
            {"say": "Task {id} complete"},
        ]}]});
        let project = Project::with_stories(&[story("A")]).env("RALPH_WORKSPACE_MODE", mode);
        let project = project.script(&script);
        project.run(&[]).expect(0);
        assert!(!project.repo.exists(".ralph/fix_plan.md"), "{mode}");
        assert_eq!(
            project.repo.read("TODO.md"),
            "- [ ] Another one\n",
            "{mode}"
        );
        let (out, _) = told(&project, &["tasks", "add", "--from-suggestions"], 0);
        assert!(out.contains("New one"), "{mode}: {out}");
        assert!(!out.contains("Another one"), "{mode}: {out}");
    }
}

/// Two tags, tasks with subtasks, and dependencies on a sibling, on another task and on the subtask of another.
const TASKMASTER: &str = r#"{
  "master": {
    "tasks": [
      {
        "id": 1,
        "title": "Cart",
        "description": "The cart of a guest",
        "status": "pending",
        "priority": "high",
        "dependencies": [],
        "details": "Use a list of lines.",
        "testStrategy": "Add two items and look at the sum.",
        "subtasks": [
          { "id": 1, "title": "Show", "status": "pending", "dependencies": [2] },
          { "id": 2, "title": "Store", "status": "pending", "dependencies": [] }
        ]
      },
      {
        "id": 2,
        "title": "Till",
        "status": "pending",
        "priority": "medium",
        "dependencies": ["1.1"],
        "testStrategy": "Pay for one item.",
        "subtasks": []
      },
      {
        "id": 3,
        "title": "Done before",
        "status": "done",
        "dependencies": [],
        "subtasks": []
      }
    ]
  },
  "later": {
    "tasks": [
      { "id": 1, "title": "Not now", "status": "pending", "dependencies": [], "subtasks": [] }
    ]
  }
}
"#;

#[test]
fn the_tasks_of_taskmaster_are_found_at_their_place_and_worked_through() {
    let place = ".taskmaster/tasks/tasks.json";
    let agent =
        r#"cat > "../prompt-$RALPH_TASK_ID"; echo x > "done-$RALPH_TASK_ID"; echo "Task complete""#;
    let project = Project::new()
        .config("verification:\n  commands:\n    - [\"true\"]\n")
        .in_place()
        .command(agent);
    project.repo.file(place, TASKMASTER).commit("tasks");
    let ran = project.run(&[]).expect(0);
    assert_eq!(ran.one("loop_started")["source"], place);
    assert_eq!(project.landed(), ["1.2", "1.1", "2"]);
    let prompt = |id: &str| std::fs::read_to_string(project.outside(&format!("prompt-{id}")));
    let prompt = prompt("2").unwrap();
    assert!(prompt.contains("Pay for one item."), "{prompt}");
    // A pending task became a done one, and nothing else is different.
    let expected: Vec<[&str; 2]> = vec![
        [
            "          { \"id\": 2, \"title\": \"Store\", \"status\": \"pending\", \"dependencies\": [] }",
            "          { \"id\": 2, \"title\": \"Store\", \"status\": \"done\", \"dependencies\": [] }",
        ],
        [
            "          { \"id\": 1, \"title\": \"Show\", \"status\": \"pending\", \"dependencies\": [2] },",
            "          { \"id\": 1, \"title\": \"Show\", \"status\": \"done\", \"dependencies\": [2] },",
        ],
        [
            "        \"status\": \"pending\",",
            "        \"status\": \"done\",",
        ],
    ];
    for (back, [before, after]) in expected.iter().rev().enumerate() {
        let diff = project.diff_lines(&format!("HEAD~{back}"), place);
        assert!(diff.contains(&format!("-{before}")), "{back}: {diff:?}");
        assert!(diff.contains(&format!("+{after}")), "{back}: {diff:?}");
    }
}
