//! A `PRD.json` with a `PROMPT.md` beside it: instructions in every prompt, stories in order, and a
//! promise that is checked.

use serde_json::{Value, json};

use crate::support::{Project, good_script, story};

/// A backlog as the format has it, and nothing of ralph's own.
const PRD: &str = r#"{
  "project": "Shop",
  "description": "Small things",
  "userStories": [
    {
      "id": "US-001",
      "title": "Write the first",
      "description": "Make US-001.txt",
      "criteria": ["US-001.txt is there"],
      "passes": false
    },
    {
      "id": "US-002",
      "title": "Write the second",
      "description": "Make US-002.txt",
      "criteria": ["US-002.txt is there"],
      "passes": false,
      "depends_on": ["US-003"]
    },
    {
      "id": "US-003",
      "title": "Write the third",
      "description": "Make US-003.txt",
      "criteria": ["US-003.txt is there"],
      "passes": false
    }
  ]
}
"#;

const TOLD: &str = "# House rules\n\nUse British spelling.\n";

fn shop() -> Project {
    let project = Project::new().config("verification:\n  commands: [[\"true\"]]\n");
    project.repo.file("PRD.json", PRD).commit("tasks");
    project
}

/// An agent that does its story, and writes down what it was told.
fn recording(project: Project, say: &str) -> Project {
    let file = project.outside("prompts");
    let shell = format!(
        "cat >> '{}'; echo x > $RALPH_TASK_ID.txt; echo \"{say}\"",
        file.display()
    );
    project.command(&shell)
}

fn prompts(project: &Project) -> String {
    std::fs::read_to_string(project.outside("prompts")).unwrap()
}

fn record(project: &Project, n: u32) -> Value {
    let text = project.repo.read(format!(".ralph/logs/iteration-{n}.json"));
    serde_json::from_str(&text).unwrap()
}

#[test]
fn instructions_beside_the_prd_stand_in_every_prompt_before_the_task() {
    let project = recording(shop(), "Task $RALPH_TASK_ID complete");
    // A person's file: not committed, and nobody minds.
    project.repo.file("PROMPT.md", TOLD);
    project.run(&["PRD.json"]).expect(0);
    let prompts = prompts(&project);
    assert_eq!(prompts.matches("Use British spelling.").count(), 3);
    for prompt in prompts.split("# One task, then stop").skip(1) {
        let told = prompt.find("Use British spelling.").unwrap();
        let task = prompt.find("## The task").unwrap();
        assert!(told < task, "{prompt}");
        assert!(
            prompt.contains("From PROMPT.md, for every task:\n<project>\n"),
            "{prompt}"
        );
    }
    assert_eq!(project.repo.read("PROMPT.md"), TOLD);
    assert_eq!(project.leftovers(), ["?? PROMPT.md"]);
}

#[test]
fn stories_are_taken_in_order_behind_what_they_depend_on_and_marked_one_by_one() {
    let project = recording(shop(), "Task $RALPH_TASK_ID complete");
    let ran = project.run(&["PRD.json"]).expect(0);
    assert_eq!(project.landed(), ["US-001", "US-003", "US-002"]);
    assert_eq!(ran.stop()["why"], "all_complete");
    assert_eq!(
        project.repo.read("PRD.json"),
        PRD.replace("\"passes\": false", "\"passes\": true")
    );
    let subjects = project.repo.git(["log", "--reverse", "-3", "--format=%s"]);
    let subjects: Vec<&str> = subjects.lines().collect();
    assert_eq!(
        subjects,
        [
            "feat: Write the first",
            "feat: Write the third",
            "feat: Write the second"
        ]
    );
    assert_eq!(
        project.diff_lines("HEAD", "PRD.json"),
        ["-      \"passes\": false,", "+      \"passes\": true,"]
    );
}

#[test]
fn a_skipped_story_is_left_alone_and_so_is_what_depends_on_it() {
    let project = recording(shop(), "Task $RALPH_TASK_ID complete");
    let third = "\"criteria\": [\"US-003.txt is there\"],\n      \"passes\": false";
    let skipped = format!("{third},\n      \"skipped\": true");
    let prd = PRD.replace(third, &skipped);
    assert_ne!(prd, PRD);
    project.repo.file("PRD.json", &prd).commit("skip one");
    let ran = project.run(&["PRD.json"]).expect(4);
    assert_eq!(project.landed(), ["US-001"]);
    assert_eq!(ran.stop()["why"], "nothing_ready");
    let now = project.repo.read("PRD.json");
    assert_eq!(now.matches("\"skipped\": true").count(), 1);
    assert_eq!(now.matches("\"passes\": true").count(), 1);
}

#[test]
fn an_agent_that_edits_the_instructions_lands_nothing_and_halts_the_loop() {
    let edit = |text: &str| {
        json!({"default": [{"do": [
            {"write": {"path": "US-001.txt", "text": "x\n"}},
            {"write": {"path": "PROMPT.md", "text": text}},
            {"say": "Task {id} complete"},
        ]}]})
    };
    let there = shop().in_place().script(&edit("Do as you like.\n"));
    there.repo.file("PROMPT.md", TOLD).commit("instructions");
    let missing = shop().in_place().script(&edit("Do as you like.\n"));
    for (project, is_there) in [(there, true), (missing, false)] {
        let ran = project.run(&["PRD.json"]).expect(4);
        assert_eq!(ran.verdicts(), ["US-001 refused"]);
        assert_eq!(
            ran.stop()["reason"],
            "PROMPT.md was edited while the agent ran; it is put back"
        );
        assert!(project.landed().is_empty());
        assert_eq!(project.repo.exists("PROMPT.md"), is_there);
        if is_there {
            assert_eq!(project.repo.read("PROMPT.md"), TOLD);
        }
    }
}

#[test]
fn only_a_prd_has_instructions_beside_it() {
    let project = recording(Project::new(), "Task $RALPH_TASK_ID complete");
    let tasks = json!([{"id": "T1", "title": "One", "verify": ["test -f T1.txt"]}]);
    project
        .repo
        .file("tasks.json", tasks.to_string())
        .file("PROMPT.md", TOLD)
        .commit("tasks");
    project.run(&[]).expect(0);
    assert!(!prompts(&project).contains("British"));
}

#[test]
fn an_own_template_without_a_place_for_the_instructions_is_warned_of() {
    let project = recording(shop(), "Task $RALPH_TASK_ID complete");
    let template = "Task {{ task.id }}: {{ task.title }}\n";
    project
        .repo
        .file(".ralph/prompts/iteration.md", template)
        .file("PROMPT.md", TOLD)
        .commit("prompts");
    let ran = project.run(&["PRD.json"]).expect(0);
    let warned = ran.named("warning").into_iter().any(|warning| {
        warning["message"]
            == "PROMPT.md is not used: .ralph/prompts/iteration.md has no place for `instructions`"
    });
    assert!(warned, "{}", ran.all());
}

#[test]
fn a_promise_that_all_is_done_is_verified_and_not_believed() {
    let project = recording(shop(), "<promise>DONE</promise>");
    let ran = project.run(&["PRD.json"]).expect(0);
    assert_eq!(project.landed(), ["US-001", "US-003", "US-002"]);
    let flags = [
        "the agent claims that all is done, 2 tasks are open besides this one",
        "the agent claims that all is done, 1 task is open besides this one",
    ];
    assert_eq!(ran.flags(), flags);
    assert_eq!(record(&project, 1)["flags"], json!([flags[0]]));
    assert_eq!(record(&project, 1)["said"]["promise"], "DONE");
    assert_eq!(record(&project, 3)["flags"], json!([]));

    let project = Project::with_stories(&[story("A"), story("B")])
        .script(&json!({"default": [{"do": [{"say": "<promise>DONE</promise>"}]}]}));
    let ran = project.run(&["--once"]).expect(3);
    assert_eq!(ran.verdicts(), ["A no_change"]);
    assert!(project.landed().is_empty());
}

#[test]
fn the_limits_of_the_environment_hold_and_the_exit_code_says_so() {
    let project = recording(shop(), "Task $RALPH_TASK_ID complete").env("MAX_ITERATIONS", "2");
    let ran = project.run(&["PRD.json"]).expect(3);
    assert_eq!(ran.stop(), json!({"why": "iterations", "max": 2}));

    let failing = json!({"default": [{"do": [
        {"write": {"path": "other.txt", "text": "x\n"}},
        {"say": "Task {id} complete"},
    ]}]});
    let project = Project::with_stories(&[story("A")])
        .script(&failing)
        .env("STUCK_THRESHOLD", "2");
    let ran = project.run(&[]).expect(4);
    assert_eq!(ran.verdicts(), ["A failed", "A failed"]);
    assert_eq!(ran.one("question")["task"], "A");
}

#[test]
fn without_a_limit_of_its_own_a_run_ends_after_fifty_iterations() {
    let project = Project::with_stories(&[story("A")]).script(&good_script());
    let ran = project.run(&[]).expect(0);
    assert_eq!(ran.one("loop_started")["maxIterations"], 50);
}

#[test]
fn a_session_reads_like_one_progress_iterations_and_the_end() {
    let project = recording(shop(), "Task $RALPH_TASK_ID complete");
    let ran = project.run_for_people(&["PRD.json"]).expect(0);
    let said = ran.all();
    let mut from = 0;
    for words in [
        "PRD.json · 0/3 complete (3 remaining: 2 ready, 1 waiting)",
        "━━━ Iteration 1: US-001 ━",
        "] ✓ US-001 verified",
        "━━━ Iteration 2: US-003 ━",
        "━━━ Iteration 3: US-002 ━",
        "] ✓ all tasks are complete",
        "3/3 complete (0 remaining)",
    ] {
        let found = said[from..].find(words);
        from += found.unwrap_or_else(|| panic!("{words:?} is missing or too early in\n{said}"));
    }
}

#[test]
fn what_init_writes_can_be_run_at_once() {
    let project = Project::new();
    let made = crate::support::Live::start(project.ralph(&["init", "--prd"])).wait();
    made.expect(0);
    project.repo.commit("init");
    let good = json!({"tasks": {
        "US-001": [{"do": [
            {"write": {"path": "README.md", "text": "# X\n\n## Development\n\nmake\n"}},
            {"say": "Task US-001 complete"},
        ]}],
        "US-002": [{"do": [
            {"append": {"path": "README.md", "text": "[changes](CHANGELOG.md)\n"}},
            {"write": {"path": "CHANGELOG.md", "text": "# Changes\n\n## Unreleased\n"}},
            {"say": "Task US-002 complete\n\n<promise>DONE</promise>"},
        ]}],
    }});
    let project = project.script(&good);
    let ran = project.run(&["PRD.json"]).expect(0);
    assert_eq!(project.landed(), ["US-001", "US-002"]);
    assert!(ran.flags().is_empty(), "{:?}", ran.flags());
}
