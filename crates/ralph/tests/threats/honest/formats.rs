//! Formats of task files, and the many ways to say that a task is done.

use serde_json::{Map, Value, json};

use super::{assert_all_landed, ids};
use crate::scene::{MODES, assert_whole, deed, modes_of, patient, refusals, story_by};
use crate::support::{Project, prd};

/// Honest runs of this file; in a storm twice as many.
pub(super) const RUNS: usize = CLAIMS.len() + FILES.len() * 2 + 2 * MODES.len();

/// Final messages that claim a task; `ID` stands for its id.
const CLAIMS: [&str; 18] = [
    "Task ID complete",
    "Task ID complete.",
    "Task ID completed successfully.",
    "**Task ID complete**",
    "- [x] Task ID complete",
    "1. Task ID complete",
    "\"Task ID complete\"",
    "Story ID complete",
    "User story ID is complete.",
    "All tests pass. Task ID complete.",
    "I wrote the file and ran the tests.\n\nTask ID complete",
    "✅ Task ID is now done!",
    "Task ID complete: added the file",
    "## Task ID completed",
    "Task `ID` complete",
    "Task ID is done",
    "Task [ID] complete",
    "<ralph>\nsummary: wrote it\n</ralph>\n\nTask ID complete",
];

#[test]
fn every_way_to_claim_lands() {
    for mode in modes_of(0) {
        let ids = ids(CLAIMS.len());
        let stories: Vec<Value> = ids
            .iter()
            .map(|id| story_by(id, &[&format!("test -f {id}.txt")]))
            .collect();
        let tasks: Map<String, Value> = ids
            .iter()
            .zip(CLAIMS)
            .map(|(id, words)| {
                let actions = json!([
                    {"write": {"path": format!("{id}.txt"), "text": "x\n"}},
                    {"say": words.replace("ID", id)},
                ]);
                (id.clone(), json!([{"do": actions}]))
            })
            .collect();
        let project =
            patient(Project::with_stories(&stories), mode).script(&json!({"tasks": tasks}));
        let ran = project.run(&[]);
        assert_all_landed(&project, &ran, ids.len(), mode);
    }
}

/// Task files with two tasks each.
const FILES: [(&str, &str); 7] = [
    (
        "prd.json",
        "{\"branchName\": \"ralph/work\", \"userStories\": [{\"id\": \"H01\", \"title\": \"a\", \"passes\": false}, {\"id\": \"H02\", \"title\": \"b\", \"passes\": false}]}\n",
    ),
    (
        "PRD.json",
        "[\r\n\t{\"id\": \"H01\", \"title\": \"a\", \"passes\": false},\r\n\t{\"id\": \"H02\", \"title\": \"b\", \"passes\": false, \"depends_on\": \"H01\"}\r\n]",
    ),
    (
        "tasks.json",
        "{\"project_name\": \"p\", \"tasks\": [{\"id\": \"H01\", \"title\": \"a\", \"status\": \"pending\", \"dependencies\": []}, {\"id\": \"H02\", \"title\": \"b\", \"status\": \"pending\", \"dependencies\": [\"H01\"]}]}\n",
    ),
    (
        ".ralph/tasks/all.yaml",
        "# Tasks of a person\ntasks:\n  - id: H01\n    title: a  # the first\n    status: open\n  - id: H02\n    title: b\n    status: open\n    dependsOn: [H01]\n",
    ),
    (
        ".ralph/tasks/tree.yml",
        "tasks:\n- {id: top, title: top, status: open}\n- {id: H01, title: a, status: open, parentId: top}\n- {id: H02, title: b, status: open, parentId: top}\n",
    ),
    (
        "plans/prd.json",
        "{\n    \"features\": [\n        {\"id\": \"H01\", \"name\": \"a\", \"passes\": false, \"notes\": \"\"},\n        {\"id\": \"H02\", \"name\": \"b\", \"passes\": false, \"notes\": \"\"}\n    ]\n}\n",
    ),
    (
        ".ralph/prd.json",
        "\u{feff}{\"stories\": [{\"id\": \"H01\", \"title\": \"ä\", \"status\": \"todo\"}, {\"id\": \"H02\", \"title\": \"b\", \"status\": \"todo\"}]}\n",
    ),
];

#[test]
fn every_format_of_tasks_is_worked_through() {
    for (index, (file, text)) in FILES.into_iter().enumerate() {
        for mode in modes_of(index) {
            let how = format!("{mode}, {file}");
            let project = patient(Project::new(), mode)
                .config("verification:\n  commands:\n    - test -f README.md\n")
                .script(&json!({"default": [deed("work")]}));
            project.repo.file(file, text).commit("tasks");
            let ran = project.run(&[]);
            assert_all_landed(&project, &ran, 2, &how);
            assert_eq!(project.leftovers(), [""; 0], "{how}");
        }
    }
}

#[test]
fn a_task_that_needs_no_change_and_notes_of_the_own_task_land() {
    for mode in MODES {
        let mut audit = story_by("H01", &["true"]);
        audit["expectsChange"] = json!(false);
        let mut noted = story_by("H02", &["test -f H02.txt"]);
        noted["notes"] = json!("");
        let project = patient(Project::new(), mode).script(&json!({"tasks": {
            "H01": [{"do": [{"say": "I looked, and all is well.\n\nTask H01 complete"}]}],
            "H02": [deed("work; sed -i 's/\"notes\": \"\"/\"notes\": \"used a map\"/' prd.json")],
        }}));
        project.repo.prd(&prd(&[audit, noted])).commit("tasks");
        let ran = project.run(&[]);
        assert_eq!(ran.verdicts(), ["H01 verified", "H02 verified"], "{mode}");
        assert_eq!(refusals(&ran).iter().filter(|r| !r.is_empty()).count(), 0);
        assert_eq!(ran.code(), 0, "{mode}: {}", ran.all());
        let committed = project.repo.git(["show", "HEAD:prd.json"]);
        assert!(committed.contains("used a map"), "{mode}: {committed}");
        assert_whole(&project, mode);
    }
}
