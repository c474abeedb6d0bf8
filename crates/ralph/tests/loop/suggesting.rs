//! Tasks that agents write are suggestions: kept, shown, checked, and never part of the graph by themselves.

use serde_json::{Value, json};

use crate::support::{Project, good_attempt, good_script, story, write_program};

const MODES: [&str; 2] = ["overlay", "in_place"];

/// Bad shapes of a task that an agent adds, in JSON.
fn bad_shapes() -> Vec<(&'static str, Value, &'static str)> {
    let child = "it is below B, which would count as done with it";
    vec![
        (
            "below another open task",
            json!({"id": "X", "title": "Extra", "parentId": "B", "passes": false}),
            child,
        ),
        (
            "below another open task, born complete",
            json!({"id": "X", "title": "Extra", "parentId": "B", "passes": true}),
            child,
        ),
        (
            "born complete",
            json!({"id": "X", "title": "Extra", "passes": true}),
            "it was added as completed",
        ),
        (
            "an unknown dependency",
            json!({"id": "X", "title": "Extra", "dependsOn": ["nowhere"], "passes": false}),
            "task X depends on nowhere, which does not exist",
        ),
        (
            "an id that is taken",
            json!({"id": "B", "title": "Extra", "passes": false}),
            "there is a task B already",
        ),
        (
            "a circle",
            json!({"id": "X", "title": "Extra", "dependsOn": ["X"], "passes": false}),
            "task X depends on itself",
        ),
    ]
}

/// Writes the whole `prd.json` with one more task, then does story A; B is done as it should be.
fn adding(project: Project, task: &Value) -> Project {
    let mut prd: Value = serde_json::from_str(&project.repo.read("prd.json")).unwrap();
    prd["userStories"]
        .as_array_mut()
        .unwrap()
        .push(task.clone());
    let text = serde_json::to_string_pretty(&prd).unwrap();
    writing(project, &[("prd.json", &text)])
}

fn writing(project: Project, files: &[(&str, &str)]) -> Project {
    let mut first: Vec<Value> = files
        .iter()
        .map(|(path, text)| json!({"write": {"path": path, "text": text}}))
        .collect();
    first.push(json!({"write": {"path": "A.txt", "text": "x\n"}}));
    first.push(json!({"say": "Task A complete"}));
    project.script(&json!({"tasks": {"A": [{"do": first}]}, "default": [good_attempt()]}))
}

fn listed(project: &Project) -> String {
    let list = project.ralph(&["tasks", "add", "--from-suggestions"]);
    said(list)
}

fn said(mut command: std::process::Command) -> String {
    let output = command.output().unwrap();
    assert!(output.status.success(), "{output:?}");
    String::from_utf8(output.stdout).unwrap()
}

#[test]
fn a_task_that_an_agent_adds_is_kept_shown_and_in_nobodys_way() {
    for mode in MODES {
        for (name, task, _) in bad_shapes() {
            let project =
                Project::with_stories(&[story("A"), story("B")]).env("RALPH_WORKSPACE_MODE", mode);
            let project = adding(project, &task);
            let ran = project.run(&[]).expect(0);
            let about = format!("{mode}, {name}: {}", ran.all());
            assert_eq!(project.landed(), ["A", "B"], "{about}");
            let prd = project.repo.read("prd.json");
            assert!(!prd.contains("Extra"), "{about}\n{prd}");
            assert!(project.passes("A") && project.passes("B"), "{about}");
            assert!(listed(&project).contains("Extra"), "{about}");
            assert!(
                said(project.ralph(&["report"])).contains("1. Extra"),
                "{about}"
            );
            assert!(
                said(project.ralph(&["status"])).contains("1 suggestion of agents"),
                "{about}"
            );
            let next = ran.one("loop_ended")["next"].clone();
            let told = json!({"command": "ralph tasks add --from-suggestions", "what": "1 suggested task"});
            assert!(next.as_array().unwrap().contains(&told), "{about}");
            let logs = project.repo.read(".ralph/logs/iteration-1.json");
            assert!(logs.contains("\"suggested\""), "{about}");
            // A later run is not stopped by it.
            project.run(&[]).expect(0);
        }
    }
}

#[test]
fn with_accept_new_a_good_task_is_done_and_a_bad_one_stays_with_its_reason() {
    for mode in MODES {
        for (name, task, reason) in bad_shapes() {
            let project = Project::with_stories(&[story("A"), story("B")])
                .env("RALPH_WORKSPACE_MODE", mode)
                .env("RALPH_TASKS_ACCEPT_NEW", "true");
            let project = adding(project, &task);
            let ran = project.run(&[]).expect(0);
            assert_eq!(
                project.landed(),
                ["A", "B"],
                "{mode}, {name}: {}",
                ran.all()
            );
            let list = listed(&project);
            assert!(
                list.contains(&format!("not taken: {reason}")),
                "{mode}, {name}: {list}"
            );
            assert!(
                !project.repo.read("prd.json").contains("Extra"),
                "{mode}, {name}"
            );
        }
        let project = Project::with_stories(&[story("A"), story("B")])
            .env("RALPH_WORKSPACE_MODE", mode)
            .env("RALPH_TASKS_ACCEPT_NEW", "true");
        let mut good = story("C");
        good["dependsOn"] = json!(["B"]);
        let project = adding(project, &good);
        let ran = project.run(&[]).expect(0);
        assert_eq!(project.landed(), ["A", "B", "C"], "{mode}: {}", ran.all());
        assert!(project.passes("C"), "{mode}");
        assert_eq!(listed(&project), "no suggestions\n", "{mode}");
        assert_eq!(
            project.repo.git(["status", "--porcelain", "prd.json"]),
            "",
            "{mode}"
        );
    }
}

#[test]
fn a_person_takes_a_suggestion_as_the_agent_wrote_it() {
    let project = Project::with_stories(&[story("A"), story("B")]);
    let mut more = story("C");
    more["dependsOn"] = json!(["B"]);
    let project = adding(project, &more);
    project.run(&["--once"]).expect(0);
    assert!(!project.repo.read("prd.json").contains("Write C"));
    let added = said(project.ralph(&["tasks", "add", "--from-suggestions", "1"]));
    assert_eq!(added, "added C to prd.json\n");
    let shown = said(project.ralph(&["tasks", "show", "C"]));
    assert!(
        shown.contains("test -f C.txt") && shown.contains('B'),
        "{shown}"
    );
    assert_eq!(listed(&project), "no suggestions\n");
}

#[test]
fn the_same_holds_for_yaml_and_for_a_folder_of_tasks() {
    for mode in MODES {
        for folder in [false, true] {
            let project = Project::new().env("RALPH_WORKSPACE_MODE", mode);
            let tasks = "- {id: A, title: Write A, verify: [test -f A.txt]}\n- {id: B, title: Write B, verify: [test -f B.txt]}\n";
            let path = if folder {
                ".ralph/tasks/work.yaml"
            } else {
                "work.yaml"
            };
            project.repo.file(path, tasks).commit("tasks");
            let evil = "- {id: X, title: Extra, parentId: B, status: completed}\n";
            let more = format!("{tasks}{evil}");
            let (file, junk) = (".ralph/tasks/more.yaml", ".ralph/tasks/junk.json");
            let written: Vec<(&str, &str)> = if folder {
                vec![
                    (file, "- {id: Y, title: Second, dependsOn: [nowhere]}\n"),
                    (junk, "{broken"),
                    (path, &more),
                ]
            } else {
                vec![(path, &more)]
            };
            let project = writing(project, &written);
            let mut run = vec![];
            if !folder {
                run.push("work.yaml");
            }
            let ran = project.run(&run).expect(0);
            let about = format!("{mode}, {path}: {}", ran.all());
            assert_eq!(project.landed(), ["A", "B"], "{about}");
            assert!(!project.repo.read(path).contains("Extra"), "{about}");
            let list = listed(&project);
            assert!(list.contains("Extra"), "{about}\n{list}");
            assert_eq!(list.contains("Second"), folder, "{about}\n{list}");
            assert!(
                !project.repo.exists(file) && !project.repo.exists(junk),
                "{about}"
            );
            if folder {
                assert_eq!(
                    project.repo.read(".ralph/logs/iteration-1.junk.json"),
                    "{broken",
                    "{about}"
                );
            }
            project.run(&run).expect(0);
        }
    }
}

#[test]
fn a_second_source_that_an_agent_makes_is_no_source() {
    for mode in MODES {
        for path in [
            ".ralph/tasks/new.yaml",
            ".ralph/prd.json",
            "scripts/ralph/prd.json",
            ".artefacts/x/tasks.json",
            ".ralph/feature_list.json",
        ] {
            let project =
                Project::with_stories(&[story("A"), story("B")]).env("RALPH_WORKSPACE_MODE", mode);
            let text = if path.ends_with("yaml") {
                "id: N\ntitle: New one\n"
            } else {
                "{\"userStories\": [{\"id\": \"N\", \"title\": \"New one\", \"passes\": false}]}"
            };
            let project = writing(project, &[(path, text)]);
            project.run(&["--once"]).expect(0);
            assert!(!project.repo.exists(path), "{mode}, {path}");
            assert!(listed(&project).contains("New one"), "{mode}, {path}");
            // Which tasks to work on is as clear as before.
            project.run(&[]).expect(0);
            assert_eq!(project.landed(), ["A", "B"], "{mode}, {path}");
        }
    }
}

#[test]
fn a_file_that_can_be_content_lands_and_is_no_source() {
    let new = "{\"userStories\": [{\"id\": \"N\", \"title\": \"New one\", \"passes\": true}]}";
    let tasks = "- {id: A, title: Write A, verify: [test -f A.txt]}\n- {id: B, title: Write B, verify: [test -f B.txt]}\n";
    for mode in MODES {
        let places = [
            "prd.json",
            "PRD.json",
            "tasks.json",
            "plans/prd.json",
            "docs/prd.json",
            ".taskmaster/tasks/tasks.json",
        ];
        for (at, path) in places.into_iter().enumerate() {
            let how = format!("{mode}, {path}");
            let project = Project::new().env("RALPH_WORKSPACE_MODE", mode);
            // Beside the folder that is found, or beside a file that has to be named.
            let is_named = at % 2 == 1;
            let own = if is_named {
                "work.yaml"
            } else {
                ".ralph/tasks/a.yaml"
            };
            project.repo.file(own, tasks).commit("tasks");
            let project = writing(project, &[(path, new)]);
            let first = if is_named {
                vec![own, "--once"]
            } else {
                vec!["--once"]
            };
            let ran = project.run(&first).expect(0);
            assert_eq!(project.landed(), ["A"], "{how}");
            assert_eq!(
                project.repo.git(["show", &format!("HEAD:{path}")]),
                new,
                "{how}"
            );
            assert!(listed(&project).contains("New one"), "{how}");
            let flag = format!("{path} holds tasks, which are suggestions");
            assert!(ran.all().contains(&flag), "{how}: {}", ran.all());
            assert!(said(project.ralph(&["report"])).contains(&flag), "{how}");
            if is_named {
                // It does not become the source because it is the only one that is found.
                said(project.ralph(&["tasks", "source", "--forget"]));
                let ran = project.run(&[]).expect(2);
                let says = format!("found tasks only in {path}, which an agent made");
                assert!(ran.stderr().contains(&says), "{how}: {}", ran.stderr());
                project.run(&[own]).expect(0);
            } else {
                assert!(
                    said(project.ralph(&["status"])).contains("Write B"),
                    "{how}"
                );
                project.run(&[]).expect(0);
            }
            assert_eq!(project.landed(), ["A", "B"], "{how}");
            // Who names it means it, and from then on it is a source like another.
            project.run(&[path]).expect(0);
            let ran = project.run(&[]).expect(0);
            assert_eq!(ran.one("loop_started")["source"], path, "{how}");
            said(project.ralph(&["tasks", "source", "--forget"]));
            let ran = project.run(&[]);
            if is_named {
                assert_eq!(ran.code(), 0, "{how}: {}", ran.all());
            } else {
                assert_eq!(ran.code(), 2, "{how}: {}", ran.all());
                assert!(ran.stderr().contains("more than one"), "{how}");
            }
        }
    }
}

#[test]
fn a_file_of_a_person_beside_it_is_a_source_as_before_and_other_content_is_no_suggestion() {
    for mode in MODES {
        let project =
            Project::with_stories(&[story("A"), story("B")]).env("RALPH_WORKSPACE_MODE", mode);
        let files = [
            ("TODO.md", "- [ ] New one\n"),
            ("tasks.json", "{\"rows\": [1, 2]}\n"),
            (
                "feature_list.json",
                "{\"features\": [{\"id\": \"N\", \"title\": \"New one\"}]}\n",
            ),
        ];
        let project = writing(project, &files);
        project.run(&[]).expect(0);
        assert_eq!(project.landed(), ["A", "B"], "{mode}");
        assert_eq!(listed(&project), "no suggestions\n", "{mode}");
        for (path, text) in files {
            assert_eq!(project.repo.read(path), text, "{mode}, {path}");
        }
        // What a person adds is a choice that a person has to make.
        project
            .repo
            .file("plans/prd.json", project.repo.read("prd.json"))
            .commit("more");
        let ran = project.run(&[]).expect(2);
        let says = "found more than one task source: prd.json, plans/prd.json";
        assert!(ran.stderr().contains(says), "{mode}: {}", ran.stderr());
    }
}

#[test]
fn an_executed_project_is_no_exception() {
    for mode in MODES {
        let project = Project::new().env("RALPH_WORKSPACE_MODE", mode);
        let task = |id: &str| json!({"id": id, "title": format!("Write {id}"), "description": format!("Write {id}.txt"), "status": "pending", "dependencies": [], "attempts": 0, "max_attempts": 3});
        let tasks = |all: Vec<Value>| {
            serde_json::to_string_pretty(&json!({"project_name": "shop", "tasks": all})).unwrap()
        };
        project.repo.file(
            ".artefacts/shop/spec.md",
            "# Shop\n\n## Verify commands\n\n- `true`\n",
        );
        project
            .repo
            .file(
                ".artefacts/shop/tasks.json",
                tasks(vec![task("A"), task("B")]),
            )
            .commit("project");
        let mut more = task("C");
        more["title"] = json!("Extra");
        let more = tasks(vec![task("A"), task("B"), more]);
        let project = writing(project, &[(".artefacts/shop/tasks.json", &more)]);
        let ran = crate::support::Live::start(project.execute_command("shop", &[]))
            .wait()
            .expect(0);
        assert_eq!(project.landed(), ["A", "B"], "{mode}: {}", ran.all());
        assert!(
            !project
                .repo
                .read(".artefacts/shop/tasks.json")
                .contains("Extra"),
            "{mode}"
        );
        assert!(listed(&project).contains("Extra"), "{mode}");
    }
}

#[test]
fn a_new_task_of_a_killed_run_is_taken_out_too() {
    let project = Project::with_stories(&[story("A"), story("B")]).in_place();
    let mut prd: Value = serde_json::from_str(&project.repo.read("prd.json")).unwrap();
    let extra = json!({"id": "X", "title": "Extra", "parentId": "B", "passes": true});
    prd["userStories"].as_array_mut().unwrap().push(extra);
    write_program(
        &project.outside("add.sh"),
        &format!("cat > prd.json <<'E'\n{prd}\nE"),
    );
    let run = format!(
        "sh {}; kill -9 $PPID; sleep 60",
        project.outside("add.sh").display()
    );
    let crash = json!({"do": [{"run": run}]});
    let project = project
        .script(&json!({"tasks": {"A": [crash, good_attempt()]}, "default": [good_attempt()]}));
    project.run(&[]);
    let project = project.script(&good_script());
    project.run(&[]).expect(0);
    assert!(!project.repo.read("prd.json").contains("Extra"));
    assert_eq!(project.landed(), ["A", "B"]);
}
