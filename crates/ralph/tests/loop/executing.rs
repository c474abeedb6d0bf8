//! `ralph execute` from outside: the files of an artefacts project, written by agents and by ralph.

mod crash;
mod ends;
mod real_claude;
mod shop;
mod wrong_turns;

use serde_json::json;

use shop::{Shop, Tracked, task, tasks};

/// A project as the workflow's own tool leaves it in the midst of its work.
const TASKS: &str = r#"{
  "project_name": "shop",
  "version": 1,
  "tasks": [
    {
      "id": "T1",
      "title": "Create CLI skeleton",
      "description": "Implement base CLI using argparse",
      "status": "completed",
      "dependencies": [],
      "attempts": 1,
      "max_attempts": 3,
      "blocked": false
    },
    {
      "id": "T2",
      "title": "Add login",
      "description": "Implement the auth module",
      "status": "in_progress",
      "dependencies": ["T1"],
      "attempts": 1,
      "max_attempts": 3,
      "blocked": false
    }
  ]
}
"#;

const STATE: &str = r#"[
  {
    "iteration": 1,
    "task_id": "T1",
    "status": "completed",
    "summary": "Implemented CLI skeleton in cli.py",
    "files_modified": ["ralph/cli.py"],
    "obstacles": []
  },
  {
    "iteration": 2,
    "task_id": "T2",
    "status": "attempted",
    "summary": "Attempted auth module, hit missing dependency",
    "files_modified": [],
    "obstacles": ["O1"]
  }
]
"#;

const OBSTACLES: &str = r#"{
  "obstacles": [
    {
      "id": "O1",
      "task_id": "T2",
      "message": "Missing dependency: 'httpx' not installed",
      "resolved": false,
      "iteration": 2
    }
  ]
}
"#;

#[test]
fn a_project_of_the_workflows_own_tool_is_taken_over_and_can_be_given_back() {
    let resolve = "whole()\n\
        found = load('obstacles.json')\n\
        found['obstacles'][0]['resolved'] = True\n\
        save('obstacles.json', found)";
    let shop = Shop::with(&[], Tracked::No, resolve);
    shop.write("tasks.json", TASKS)
        .write("state.json", STATE)
        .write("obstacles.json", OBSTACLES)
        .write("spec.md", "## Verify commands\n\n- test -f T2.txt\n");
    shop.project.repo.commit("taken over");
    let ran = shop.execute(&[]).expect(0);
    assert_eq!(ran.verdicts(), ["T2 verified"]);
    assert_eq!(ran.one("loop_started")["maxIterations"], 3);
    shop.assert_readable_by_the_workflows_tool();
    let expected = TASKS
        .replace("\"status\": \"in_progress\"", "\"status\": \"completed\"")
        .replace(
            "[\"T1\"],\n      \"attempts\": 1",
            "[\"T1\"],\n      \"attempts\": 2",
        );
    let now: serde_json::Value = shop.json("tasks.json");
    let expected: serde_json::Value = serde_json::from_str(&expected).unwrap();
    assert_eq!(now, expected);
    // Its own log goes on: the first iteration here is its third.
    let mut log: serde_json::Value = serde_json::from_str(STATE).unwrap();
    log.as_array_mut().unwrap().push(json!({
        "iteration": 3, "task_id": "T2", "status": "completed", "summary": "did T2",
        "files_modified": ["T2.txt"], "obstacles": [],
    }));
    assert_eq!(shop.json("state.json"), log);
    assert_eq!(
        shop.json("obstacles.json")["obstacles"][0]["resolved"],
        true
    );
    let prompt = shop.prompt(1, 1);
    assert!(
        prompt.contains("- O1 (task T2): Missing dependency: 'httpx' not installed"),
        "{prompt}"
    );
    assert!(prompt.contains("iteration 3 of at most 5"), "{prompt}");
    assert!(prompt.contains("- `test -f T2.txt`"), "{prompt}");
    let results = shop.read("results.md");
    assert!(
        results.starts_with("# Results of shop\n\nEvery task is complete.\n"),
        "{results}"
    );
    assert!(
        results.contains("- **T1** Create CLI skeleton\n- **T2** Add login\n"),
        "{results}"
    );
    assert!(
        results.contains("verified by `test -f T2.txt`"),
        "{results}"
    );
}

#[test]
fn agents_that_do_as_they_are_told_land_every_task_with_the_projects_files() {
    let shop = Shop::new("whole()");
    let ran = shop.execute(&[]).expect(0);
    assert_eq!(ran.verdicts(), ["T1 verified", "T2 verified"]);
    assert_eq!(ran.one("loop_started")["maxIterations"], 6);
    assert_eq!(shop.project.landed(), ["T1", "T2"]);
    assert_eq!(shop.standing(), ["T1 completed 1", "T2 completed 1"]);
    assert_eq!(shop.log(), ["1 T1 completed", "2 T2 completed"]);
    let files = [
        ".artefacts/shop/obstacles.json",
        ".artefacts/shop/state.json",
        ".artefacts/shop/tasks.json",
        "T1.txt",
    ];
    assert_eq!(shop.project.files_of("HEAD~1"), files);
    assert_eq!(shop.project.repo.branch(), "refs/heads/ralph/shop");
    assert_eq!(shop.project.leftovers(), ["?? .artefacts/shop/results.md"]);
    shop.assert_readable_by_the_workflows_tool();
    shop.project.assert_nothing_alive();
    let ended = ran.one("loop_ended");
    assert_eq!(ended["exitCode"], 0);
}

#[test]
fn files_that_git_does_not_track_stay_out_of_its_sight() {
    for tracked in [Tracked::No, Tracked::Ignored] {
        let list = [task("T1", &[]), task("T2", &["T1"])];
        let shop = Shop::with(&list, tracked, "whole()");
        shop.execute(&[]).expect(0);
        assert_eq!(shop.project.landed(), ["T1", "T2"], "{tracked:?}");
        assert_eq!(shop.project.files_of("HEAD"), ["T2.txt"], "{tracked:?}");
        assert_eq!(shop.standing(), ["T1 completed 1", "T2 completed 1"]);
        assert_eq!(shop.log(), ["1 T1 completed", "2 T2 completed"]);
    }
}

#[test]
fn where_an_agent_writes_nothing_down_ralph_does() {
    let shop = Shop::new("work()\nprint('Wrote it.\\n\\nTask ' + TASK + ' complete')");
    shop.execute(&[]).expect(0);
    let entry = |n: u32, id: &str| {
        json!({"iteration": n, "task_id": id, "status": "completed", "summary": "Wrote it.",
               "files_modified": [format!("{id}.txt")], "obstacles": []})
    };
    assert_eq!(
        shop.json("state.json"),
        json!([entry(1, "T1"), entry(2, "T2")])
    );
    assert_eq!(shop.json("obstacles.json"), json!({"obstacles": []}));
    shop.assert_readable_by_the_workflows_tool();
}

#[test]
fn an_open_obstacle_is_in_every_prompt_until_a_later_agent_resolves_it() {
    let python = "
if TASK == 'T1': meet(message='port 80 is taken')
if TASK == 'T2':
    found = load('obstacles.json')
    found['obstacles'][0]['resolved'] = True
    save('obstacles.json', found)
whole()";
    let list = [task("T1", &[]), task("T2", &["T1"]), task("T3", &["T2"])];
    let shop = Shop::with(&list, Tracked::Yes, python);
    shop.execute(&[]).expect(0);
    let line = "- O1 (task T1): port 80 is taken";
    assert!(!shop.prompt(1, 1).contains(line));
    assert!(shop.prompt(2, 1).contains(line));
    assert!(!shop.prompt(3, 1).contains(line));
    assert_eq!(shop.json("state.json")[0]["obstacles"], json!(["O1"]));
    let one = json!({"message": "port 80 is taken", "id": "O1", "task_id": "T1", "resolved": true, "iteration": 1});
    assert_eq!(shop.json("obstacles.json")["obstacles"], json!([one]));
}

#[test]
fn what_would_be_told_can_be_looked_at_before() {
    let shop = Shop::new("whole()");
    let ran = shop
        .project
        .ralph(&["execute", "shop", "--dry-run"])
        .output()
        .unwrap();
    let text = String::from_utf8(ran.stdout).unwrap();
    assert!(
        text.starts_with("would take T1: Write T1\non branch ralph/shop from main@"),
        "{text}"
    );
    assert!(
        text.contains("# One task of the project shop: iteration 1 of at most 6"),
        "{text}"
    );
    assert!(!shop.is_there("state.json"));
}

#[test]
fn a_projects_own_template_is_used_and_guarded() {
    let shop =
        Shop::new("pathlib.Path('.ralph/prompts/execute.md').write_text('x')\nwhole()").in_place();
    let own = "Do it: {{ task }} ({{ iteration }}/{{ iterations }} of {{ project }})\n";
    shop.project
        .repo
        .file(".ralph/prompts/execute.md", own)
        .commit("own");
    let ran = shop.execute(&[]).expect(4);
    assert!(
        shop.prompt(1, 1)
            .starts_with("Do it: ## The task\n\nId: T1 (attempt 1 of 3)\n<task>\n")
    );
    assert!(shop.prompt(1, 1).contains("(1/6 of shop)"));
    assert_eq!(ran.verdicts(), ["T1 refused"]);
    assert_eq!(shop.project.repo.read(".ralph/prompts/execute.md"), own);
}

#[test]
fn what_is_not_there_or_not_readable_is_said_before_anything_is_done() {
    let shop = Shop::new("whole()");
    let said = |name: &str, what: &str| {
        let command = shop.project.execute_command(name, &[]);
        crate::support::Live::start(command)
            .wait()
            .expect(2)
            .says(what);
    };
    said("other", "there is no .artefacts/other");
    said("a/b", "a/b");
    shop.project.repo.file(".artefacts/empty/spec.md", "x");
    said("empty", "`ralph interview empty` creates it");
    shop.write("state.json", "[{");
    said("shop", ".artefacts/shop/state.json is not as it must be");
    assert_eq!(shop.read("state.json"), "[{");
    assert_eq!(shop.project.repo.branch(), "refs/heads/main");
    assert_eq!(
        shop.read("tasks.json"),
        tasks(&[task("T1", &[]), task("T2", &["T1"])])
    );
}

#[test]
fn the_log_is_added_to_as_a_text_and_earlier_entries_stay_byte_for_byte() {
    // The agent writes the whole file in a layout of its own.
    let shop = Shop::with(&[], Tracked::Yes, "whole()");
    shop.write("tasks.json", TASKS).write("state.json", STATE);
    shop.project.repo.commit("taken over");
    shop.execute(&[]).expect(0);
    let text = shop.read("state.json");
    let before = STATE.strip_suffix("\n]\n").unwrap();
    let added = text
        .strip_prefix(before)
        .unwrap_or_else(|| panic!("{text}"));
    assert!(
        added.starts_with(",\n  {\n    \"iteration\": 3,\n    \"task_id\": \"T2\",\n    \"status\": \"completed\",\n"),
        "{added}"
    );
    assert!(added.ends_with("\n  }\n]\n"), "{added}");
    assert_eq!(
        shop.project
            .repo
            .git(["show", "HEAD:.artefacts/shop/state.json"]),
        text.trim_end()
    );
    let removed = shop
        .project
        .diff_lines("HEAD", ".artefacts/shop/state.json");
    let removed: Vec<_> = removed.iter().filter(|l| l.starts_with('-')).collect();
    assert_eq!(removed, [""; 0], "lines are added and none is changed");
}

#[test]
fn an_obstacle_from_before_is_not_taken_for_one_of_an_iteration_that_has_its_number() {
    let shop = Shop::with(
        &[],
        Tracked::Yes,
        "meet(message='port 80 is taken')\nwhole()",
    );
    // Another tool counted its iterations otherwise: this one comes from a third, and the log has two.
    let old = OBSTACLES.replace("\"iteration\": 2", "\"iteration\": 3");
    shop.write("tasks.json", TASKS)
        .write("state.json", STATE)
        .write("obstacles.json", &old);
    shop.project.repo.commit("taken over");
    shop.execute(&[]).expect(0);
    let entry = &shop.json("state.json")[2];
    assert_eq!(
        (&entry["iteration"], &entry["obstacles"]),
        (&json!(3), &json!(["O2"]))
    );
}

#[test]
fn the_examples_in_a_prompt_have_the_id_of_its_own_task() {
    let shop = Shop::new("whole()");
    shop.execute(&[]).expect(0);
    for (iteration, own, other) in [(1, "T1", "T2"), (2, "T2", "T1")] {
        let prompt = shop.prompt(iteration, 1);
        let id = |id: &str| format!("\"task_id\": \"{id}\"");
        assert_eq!(prompt.matches(&id(own)).count(), 2, "{prompt}");
        assert_eq!(prompt.matches(&id(other)).count(), 0, "{prompt}");
    }
}

#[test]
fn tasks_and_results_count_attempts_as_the_log_does_and_a_handoff_is_not_charged() {
    let python = "
if N == 1:
    pathlib.Path('half.txt').write_text('x')
    log('attempted')
    print('<ralph>\\nhandoff: the context is full\\n</ralph>')
elif N == 2:
    pathlib.Path('half.txt').write_text('more')
    log(); done()
else:
    whole()";
    let mut only = task("T1", &[]);
    only["max_attempts"] = json!(2);
    let shop = Shop::with(&[only], Tracked::Yes, python).env("RALPH_LOOP_MAX_VERIFY_RETRIES", "0");
    let ran = shop.execute(&["--iterations", "2"]).expect(3);
    assert_eq!(ran.verdicts(), ["T1 handoff", "T1 failed"]);
    assert_eq!(shop.log(), ["1 T1 attempted", "2 T1 attempted"]);
    assert_eq!(shop.standing(), ["T1 pending 2"]);
    let results = shop.read("results.md");
    assert!(
        results.contains("- **T1** Write T1 (open, 2 of 2 attempts)\n"),
        "{results}"
    );
    // One of two attempts is charged: there is another.
    let ran = shop.execute(&[]).expect(0);
    assert_eq!(ran.verdicts(), ["T1 verified"]);
    assert_eq!(shop.log().len(), 3);
    assert_eq!(shop.standing(), ["T1 completed 3"]);
    let results = shop.read("results.md");
    assert!(results.contains(", iteration 3, 3 attempts\n"), "{results}");
}
