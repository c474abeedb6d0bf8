//! Every format of tasks, as people write it: worked through, and written back by the byte.

use serde_json::json;

use crate::support::Project;

/// Writes the file of the task that it is given, whatever its id.
const AGENT: &str = r#"echo "$RALPH_TASK_ID" > "done-$RALPH_TASK_ID"; echo "Task complete""#;

struct Case {
    name: &'static str,
    file: &'static str,
    text: &'static str,
    /// Ids in the order in which they must land.
    order: &'static [&'static str],
    /// The task file's lines that each commit removes and adds.
    diffs: &'static [&'static [&'static str]],
}

fn check(case: &Case) {
    let project = Project::new()
        .config("verification:\n  commands:\n    - [\"true\"]\n")
        .command(AGENT);
    project.repo.file(case.file, case.text).commit("tasks");
    let source = case.file.starts_with(".ralph/tasks/");
    let source = if source { ".ralph/tasks" } else { case.file };
    project.run(&[source]).expect(0);
    assert_eq!(project.landed(), case.order, "{}", case.name);
    for (index, expected) in case.diffs.iter().enumerate() {
        let commit = format!("HEAD~{}", case.diffs.len() - 1 - index);
        let diff = project.diff_lines(&commit, case.file);
        assert_eq!(diff, *expected, "{}: {}", case.name, case.order[index]);
    }
    assert_eq!(project.leftovers(), [""; 0], "{}", case.name);
}

#[test]
fn the_common_prd_is_worked_through_by_priority() {
    check(&Case {
        name: "userStories",
        file: "prd.json",
        text: "{\n  \"project\": \"P\",\n  \"branchName\": \"ralph/p\",\n  \"userStories\": [\n    {\n      \"id\": \"US-002\",\n      \"title\": \"second\",\n      \"acceptanceCriteria\": [\"x\"],\n      \"priority\": 2,\n      \"passes\": false,\n      \"notes\": \"\"\n    },\n    {\n      \"id\": \"US-001\",\n      \"title\": \"first\",\n      \"priority\": 1,\n      \"passes\": false,\n      \"notes\": \"\"\n    }\n  ]\n}\n",
        order: &["US-001", "US-002"],
        diffs: &[
            &["-      \"passes\": false,", "+      \"passes\": true,"],
            &["-      \"passes\": false,", "+      \"passes\": true,"],
        ],
    });
}

#[test]
fn numbers_as_ids_names_for_titles_and_tabs_are_kept() {
    check(&Case {
        name: "numbers",
        file: "PRD.json",
        text: "{\n\t\"stories\": [\n\t\t{\"id\": 1, \"name\": \"one\", \"passes\": false, \"edge_cases\": {\"a\": [1, 2]}},\n\t\t{\"id\": 2, \"name\": \"two\", \"passes\": false}\n\t]\n}",
        order: &["1", "2"],
        diffs: &[
            &[
                "-\t\t{\"id\": 1, \"name\": \"one\", \"passes\": false, \"edge_cases\": {\"a\": [1, 2]}},",
                "+\t\t{\"id\": 1, \"name\": \"one\", \"passes\": true, \"edge_cases\": {\"a\": [1, 2]}},",
            ],
            &[
                "-\t\t{\"id\": 2, \"name\": \"two\", \"passes\": false}",
                "+\t\t{\"id\": 2, \"name\": \"two\", \"passes\": true}",
            ],
        ],
    });
}

#[test]
fn a_byte_order_mark_windows_line_ends_and_no_final_newline_stay() {
    let text = "\u{feff}{\r\n    \"features\": [\r\n        {\r\n            \"id\": \"f1\",\r\n            \"title\": \"t\",\r\n            \"passes\": false\r\n        }\r\n    ]\r\n}";
    check(&Case {
        name: "bom",
        file: "prd.json",
        text,
        order: &["f1"],
        diffs: &[&[
            "-            \"passes\": false\r",
            "+            \"passes\": true\r",
        ]],
    });
    let project = Project::new().command(AGENT);
    project.repo.file("prd.json", text).commit("tasks");
    project.run(&[]).expect(0);
    let written = std::fs::read(project.repo.path("prd.json")).unwrap();
    assert_eq!(written, text.replace("false", "true").as_bytes());
}

#[test]
fn dependencies_in_one_string_are_followed_in_a_bare_list() {
    check(&Case {
        name: "bare list",
        file: "plans/prd.json",
        text: "[\n  {\"id\": \"c\", \"title\": \"c\", \"passes\": false, \"depends_on\": \"a, b\"},\n  {\"id\": \"b\", \"title\": \"b\", \"passes\": false, \"depends_on\": \"a\"},\n  {\"id\": \"a\", \"title\": \"a\", \"passes\": false, \"depends_on\": null}\n]\n",
        order: &["a", "b", "c"],
        diffs: &[
            &[
                "-  {\"id\": \"a\", \"title\": \"a\", \"passes\": false, \"depends_on\": null}",
                "+  {\"id\": \"a\", \"title\": \"a\", \"passes\": true, \"depends_on\": null}",
            ],
            &[
                "-  {\"id\": \"b\", \"title\": \"b\", \"passes\": false, \"depends_on\": \"a\"},",
                "+  {\"id\": \"b\", \"title\": \"b\", \"passes\": true, \"depends_on\": \"a\"},",
            ],
            &[
                "-  {\"id\": \"c\", \"title\": \"c\", \"passes\": false, \"depends_on\": \"a, b\"},",
                "+  {\"id\": \"c\", \"title\": \"c\", \"passes\": true, \"depends_on\": \"a, b\"},",
            ],
        ],
    });
}

#[test]
fn a_story_with_passes_and_status_changes_in_two_lines() {
    check(&Case {
        name: "tasks with passes and status",
        file: "prd.json",
        text: "{\n  \"tasks\": [\n    {\n      \"id\": \"t\",\n      \"title\": \"t\",\n      \"status\": \"pending\",\n      \"acceptance_criteria\": \"one string\",\n      \"passes\": false\n    }\n  ]\n}\n",
        order: &["t"],
        diffs: &[&[
            "-      \"status\": \"pending\",",
            "+      \"status\": \"completed\",",
            "-      \"passes\": false",
            "+      \"passes\": true",
        ]],
    });
}

#[test]
fn the_artefacts_format_is_read_and_written_in_its_own_words() {
    check(&Case {
        name: "artefacts",
        file: ".artefacts/demo/tasks.json",
        text: "{\n  \"project_name\": \"demo\",\n  \"tasks\": [\n    {\n      \"id\": \"T2\",\n      \"title\": \"two\",\n      \"status\": \"pending\",\n      \"dependencies\": [\"T1\"],\n      \"blocked\": false\n    },\n    {\n      \"id\": \"T1\",\n      \"title\": \"one\",\n      \"status\": \"pending\",\n      \"dependencies\": [],\n      \"blocked\": false\n    }\n  ]\n}\n",
        order: &["T1", "T2"],
        diffs: &[
            &[
                "-      \"status\": \"pending\",",
                "+      \"status\": \"completed\",",
            ],
            &[
                "-      \"status\": \"pending\",",
                "+      \"status\": \"completed\",",
            ],
        ],
    });
}

#[test]
fn native_tasks_in_yaml_keep_their_comments() {
    check(&Case {
        name: "yaml",
        file: ".ralph/tasks/one.yaml",
        text: "# the first\nid: one\ntitle: One # a comment\nstatus: open  # where it stands\nacceptance:\n  - it is there\n",
        order: &["one"],
        diffs: &[&[
            "-status: open  # where it stands",
            "+status: completed  # where it stands",
        ]],
    });
}

#[test]
fn a_folder_of_yaml_and_json_files_is_one_source_and_each_task_changes_its_own_file() {
    let project = Project::new().command(AGENT);
    project
        .repo
        .file(
            ".ralph/tasks/1.json",
            "[\n  {\"id\": \"j2\", \"title\": \"j2\", \"status\": \"open\", \"dependsOn\": [\"y1\"]},\n  {\"id\": \"j1\", \"title\": \"j1\", \"status\": \"open\"}\n]\n",
        )
        .file(
            ".ralph/tasks/2.yaml",
            "id: y1\ntitle: y1\nstatus: open\ndependsOn: [j1]\n",
        )
        .commit("tasks");
    project.run(&[]).expect(0);
    assert_eq!(project.landed(), ["j1", "y1", "j2"]);
    let files = |commit: &str| project.files_of(commit);
    assert_eq!(files("HEAD~2"), [".ralph/tasks/1.json", "done-j1"]);
    assert_eq!(files("HEAD~1"), [".ralph/tasks/2.yaml", "done-y1"]);
    assert_eq!(files("HEAD"), [".ralph/tasks/1.json", "done-j2"]);
    let expected = "[\n  {\"id\": \"j2\", \"title\": \"j2\", \"status\": \"completed\", \"dependsOn\": [\"y1\"]},\n  {\"id\": \"j1\", \"title\": \"j1\", \"status\": \"completed\"}\n]\n";
    assert_eq!(project.repo.read(".ralph/tasks/1.json"), expected);
}

#[test]
fn a_container_is_complete_when_its_leaves_are() {
    let project = Project::new().command(AGENT);
    project
        .repo
        .file(
            ".ralph/tasks/all.yaml",
            "- {id: top, title: Top, status: open}\n- {id: l1, title: L1, status: open, parentId: top}\n- {id: l2, title: L2, status: open, parentId: top, dependsOn: [l1]}\n",
        )
        .commit("tasks");
    project.run(&[]).expect(0);
    assert_eq!(project.landed(), ["l1", "l2"]);
}

#[test]
fn a_file_that_is_broken_is_refused_with_its_place_and_never_rewritten() {
    let text = "{\n  \"userStories\": [\n    {\"id\": \"a\" \"title\": \"a\", \"passes\": false}\n  ]\n}\n";
    let project = Project::new().command(AGENT);
    project.repo.file("prd.json", text).commit("tasks");
    let before = project.repo.head();
    project.run(&[]).expect(2).says("prd.json:3:16");
    assert_eq!(project.repo.read("prd.json"), text);
    assert_eq!(project.repo.head(), before);
    assert_eq!(project.repo.branch(), "refs/heads/main");
    assert_eq!(project.leftovers(), [""; 0]);
}

#[test]
fn a_wrong_graph_is_refused_with_the_whole_path() {
    let cases = [
        (
            json!([{"id": "a", "dependsOn": ["b"]}, {"id": "b", "dependsOn": ["c"]}, {"id": "c", "dependsOn": ["a"]}]),
            "a → b → c → a",
        ),
        (json!([{"id": "a", "dependsOn": ["a"]}]), "a"),
        (json!([{"id": "a", "dependsOn": ["nope"]}]), "nope"),
        (json!([{"id": "a"}, {"id": "a"}]), "a"),
        (
            json!([{"id": "a", "parentId": "b"}, {"id": "b", "parentId": "a"}]),
            "parent",
        ),
    ];
    for (tasks, expected) in cases {
        let mut tasks = tasks;
        for task in tasks.as_array_mut().unwrap() {
            task["title"] = json!("t");
            task["status"] = json!("open");
        }
        let project = Project::new().command(AGENT);
        project
            .repo
            .file("tasks.json", tasks.to_string())
            .commit("tasks");
        let before = project.repo.head();
        let ran = project.run(&[]).expect(2).says("tasks.json").says(expected);
        assert!(ran.events().is_empty());
        assert_eq!(project.repo.head(), before);
        assert_eq!(project.repo.branch(), "refs/heads/main");
    }
}

#[test]
fn inner_items_without_ids_are_worked_through_and_the_outer_list_is_never_enough() {
    check(&Case {
        name: "phases",
        file: "prd.json",
        text: "{\n  \"phases\": [\n    {\"name\": \"Prepare\", \"done\": true, \"tasks\": [\n      {\"title\": \"Write one\", \"completed\": true},\n      {\"title\": \"Write two\", \"completed\": false}\n    ]},\n    {\"name\": \"Build\", \"done\": true, \"tasks\": [\n      {\"title\": \"Write two\", \"completed\": false}\n    ]}\n  ]\n}\n",
        order: &["write-two", "write-two-2"],
        diffs: &[
            &[
                "-      {\"title\": \"Write two\", \"completed\": false}",
                "+      {\"title\": \"Write two\", \"completed\": true}",
            ],
            &[
                "-      {\"title\": \"Write two\", \"completed\": false}",
                "+      {\"title\": \"Write two\", \"completed\": true}",
            ],
        ],
    });
}

#[test]
fn the_start_of_a_run_says_how_a_list_of_another_shape_was_read() {
    let project = Project::new()
        .config("verification:\n  commands:\n    - [\"true\"]\n")
        .command(AGENT);
    let text = "[\n  {\"title\": \"Write one\", \"done\": false, \"priority\": 1.5}\n]\n";
    project.repo.file("prd.json", text).commit("tasks");
    let ran = project.run(&["prd.json"]).expect(0);
    let has = |name: &str, message: &str| {
        let mut events = ran.named(name).into_iter();
        let found = events.any(|event| event["message"] == message);
        assert!(found, "{name} {message}\n{}", ran.all());
    };
    has(
        "notice",
        "prd.json: tasks: the list, 1 task; done: `done`; ids: from the titles",
    );
    has(
        "warning",
        "prd.json:2:53: task write-one: expected an integer as priority, found 1.5; it counts as 2",
    );
}

#[test]
fn a_checklist_is_worked_through_and_each_commit_flips_one_mark() {
    check(&Case {
        name: "TODO.md",
        file: "TODO.md",
        text: "# TODO\n\n## Low Priority\n- [ ] Write two\n  - with care\n\n## High Priority\n- [x] Write zero\n- [ ] T001: Write one\n",
        order: &["T001", "write-two"],
        diffs: &[
            &["-- [ ] T001: Write one", "+- [x] T001: Write one"],
            &["-- [ ] Write two", "+- [x] Write two"],
        ],
    });
}

#[test]
fn issues_of_beads_are_worked_through_and_each_commit_closes_one() {
    check(&Case {
        name: "beads",
        file: ".beads/issues.jsonl",
        text: "{\"id\":\"bd-1\",\"title\":\"All\",\"status\":\"open\",\"priority\":1,\"issue_type\":\"epic\"}\n{\"id\":\"bd-2\",\"title\":\"Two\",\"status\":\"open\",\"priority\":0,\"dependencies\":[{\"issue_id\":\"bd-2\",\"depends_on_id\":\"bd-3\",\"type\":\"blocks\"},{\"issue_id\":\"bd-2\",\"depends_on_id\":\"bd-1\",\"type\":\"parent-child\"}]}\n{\"id\":\"bd-3\",\"title\":\"Three\",\"status\":\"open\",\"priority\":2}\n",
        order: &["bd-3", "bd-2"],
        diffs: &[
            &[
                "-{\"id\":\"bd-3\",\"title\":\"Three\",\"status\":\"open\",\"priority\":2}",
                "+{\"id\":\"bd-3\",\"title\":\"Three\",\"status\":\"closed\",\"priority\":2}",
            ],
            &[
                "-{\"id\":\"bd-2\",\"title\":\"Two\",\"status\":\"open\",\"priority\":0,\"dependencies\":[{\"issue_id\":\"bd-2\",\"depends_on_id\":\"bd-3\",\"type\":\"blocks\"},{\"issue_id\":\"bd-2\",\"depends_on_id\":\"bd-1\",\"type\":\"parent-child\"}]}",
                "+{\"id\":\"bd-2\",\"title\":\"Two\",\"status\":\"closed\",\"priority\":0,\"dependencies\":[{\"issue_id\":\"bd-2\",\"depends_on_id\":\"bd-3\",\"type\":\"blocks\"},{\"issue_id\":\"bd-2\",\"depends_on_id\":\"bd-1\",\"type\":\"parent-child\"}]}",
            ],
        ],
    });
}

#[test]
fn an_agent_that_ticks_its_own_box_is_flagged_and_ralph_ticks_it_when_the_work_lands() {
    let project = Project::new()
        .config("verification:\n  commands:\n    - [\"true\"]\n")
        .command(
            r#"sed -i 's/\[ \]/[x]/' TODO.md; echo done > "done-$RALPH_TASK_ID"; echo "Task complete""#,
        );
    let text = "- [ ] One\n- [ ] Two\n";
    project.repo.file("TODO.md", text).commit("tasks");
    let ran = project.run(&["TODO.md"]).expect(0);
    assert_eq!(project.landed(), ["one", "two"]);
    for commit in ["HEAD~1", "HEAD"] {
        assert_eq!(project.diff_lines(commit, "TODO.md").len(), 2, "{commit}");
    }
    assert!(
        ran.all()
            .contains("task two was set from open to completed"),
        "{}",
        ran.all()
    );
}

#[test]
fn a_task_of_a_checklist_that_fails_is_marked_as_blocked_and_not_taken_again() {
    let project = Project::new()
        .config("loop:\n  max_attempts: 1\nverification:\n  commands:\n    - [\"false\"]\n")
        .command(AGENT);
    project.repo.file("TODO.md", "- [ ] One\n").commit("tasks");
    project.run(&["TODO.md"]);
    assert_eq!(project.repo.read("TODO.md"), "- [!] One\n");
    let again = project.run(&["TODO.md"]);
    assert!(
        again.named("iteration_started").is_empty(),
        "{}",
        again.all()
    );
}

#[test]
fn a_text_without_checkboxes_is_refused_and_a_plan_is_offered() {
    let project = Project::new().command(AGENT);
    let text = "# Plan\n\nFirst the table, then the page.\n";
    project.repo.file("PLAN.md", text).commit("tasks");
    project
        .run(&["PLAN.md"])
        .expect(2)
        .says("`ralph plan PLAN.md`");
    assert_eq!(project.repo.read("PLAN.md"), text);
}
