//! Checkpoints of real loops: what they say, that their chain is whole whatever happened, and the way
//! back to one.

mod beside;
mod crashing;
mod forms;
mod restoring;

use serde_json::{Value, json};

use crate::{
    reverting::ralph,
    support::{Project, Ran, good_attempt, story, story_after},
};

/// A lands, B fails and then lands; the agents say what they decided.
fn script() -> Value {
    let wrong = json!({"do": [
        {"write": {"path": "wrong.txt", "text": "x\n"}},
        {"usage": {"input": 100, "output": 20, "cost": 0.1}},
        {"say": "Task {id} complete\n<ralph>\ndecisions: [keep it small]\nassumptions: [UTF-8]\nnext: write {id}.txt\nblocked:\n  - {item: deploy, reason: no key}\n</ralph>"},
    ]});
    let right = json!({"do": [
        {"run": "rm -f wrong.txt"},
        {"write": {"path": "{id}.txt", "text": "{id}\n"}},
        {"usage": {"input": 100, "output": 20, "cost": 0.2}},
        {"say": "Task {id} complete"},
    ]});
    json!({"tasks": {"B": [wrong, right]}, "default": [good_attempt()]})
}

fn project() -> Project {
    Project::with_stories(&[story("A"), story_after("B", &["A"])])
        .script(&script())
        .env("RALPH_LOOP_MAX_VERIFY_RETRIES", "0")
}

pub(super) fn said(ran: &Ran) -> Value {
    serde_json::from_slice(&ran.stdout).unwrap_or_else(|e| panic!("{e}: {}", ran.all()))
}

/// What a command prints as JSON.
#[track_caller]
fn asked(project: &Project, args: &[&str]) -> Value {
    let mut args = args.to_vec();
    args.push("--json");
    said(&ralph(project, &args).expect(0))
}

/// The checkpoints, oldest first: why they were made, of which iteration, in which phase.
fn chain(project: &Project, more: &[&str]) -> Vec<String> {
    let listed = asked(project, &[&["checkpoint", "list"], more].concat());
    let one = |one: &Value| {
        let text = |field: &str| one[field].as_str().unwrap_or("-").to_owned();
        let iteration = &one["iteration"];
        format!("{} {iteration} {}", text("trigger"), text("phase"))
    };
    let listed = listed["checkpoints"].as_array().unwrap();
    listed.iter().rev().map(one).collect()
}

#[track_caller]
fn assert_whole(project: &Project, loops: usize, checkpoints: u64) {
    let found = asked(project, &["checkpoint", "verify", "--all"]);
    assert_eq!(found["whole"], true, "{found}");
    let all = found["loops"].as_array().unwrap();
    let sum: u64 = all.iter().map(|l| l["checkpoints"].as_u64().unwrap()).sum();
    assert_eq!((all.len(), sum), (loops, checkpoints), "{found}");
}

pub(crate) fn sqlite(project: &Project, sql: &str) -> String {
    let output = project
        .repo
        .command("sqlite3")
        .arg(project.repo.data_dir().join("ralph.db"))
        .arg(sql)
        .output()
        .expect("sqlite3 is installed");
    let error = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(output.status.success(), "{error}");
    String::from_utf8(output.stdout).unwrap().trim().to_owned()
}

#[test]
fn each_iteration_and_the_stop_are_kept_in_one_chain() {
    let project = project();
    let ran = project.run(&[]).expect(0);
    assert_eq!(ran.verdicts(), ["A verified", "B failed", "B verified"]);
    assert_eq!(
        chain(&project, &[]),
        [
            "iteration 1 complete",
            "iteration 2 testing",
            "iteration 3 complete",
            "stop 3 complete",
        ]
    );
    assert_whole(&project, 1, 4);
    let last = asked(&project, &["checkpoint", "show"]);
    let last = &last["checkpoint"];
    assert_eq!(
        last["recovery"]["commit"],
        project.repo.git(["rev-parse", "HEAD"])
    );
    let metrics = &last["metrics"];
    assert_eq!(metrics["iterations"], 3);
    assert_eq!(
        (&metrics["inputTokens"], &metrics["outputTokens"]),
        (&json!(200), &json!(40))
    );
    assert_eq!(metrics["costMicroUsd"], 300_000);
    assert_eq!(last["context"]["decisions"], json!(["keep it small"]));
    let completed = json!([
        {"taskId": "A", "title": "Write A"},
        {"taskId": "B", "title": "Write B"},
    ]);
    assert_eq!(last["execution"]["completed"], completed);
    assert_eq!(last["execution"]["pending"], json!([]));
}

#[test]
fn a_fresh_agent_would_be_told_what_failed_and_what_is_next() {
    let project = project();
    project.run(&["--max-iterations", "2"]).expect(3);
    let of_failed = sqlite(
        &project,
        "SELECT id FROM checkpoint WHERE iteration = 2 AND n = 2",
    );
    let shown = asked(&project, &["checkpoint", "show", &of_failed]);
    let kept = &project.attempts()[0];
    let agent = sqlite(&project, "SELECT agent FROM loop");
    assert_eq!(
        shown["continuation"].as_str().unwrap(),
        format!(
            "## Handoff from Iteration 2\n\
             \n\
             **Phase:** testing\n\
             **Last Agent:** {agent}\n\
             **Checkpoint:** {of_failed}\n\
             \n\
             ### Completed\n\
             - A Write A\n\
             \n\
             ### Pending\n\
             - B Write B\n\
             \n\
             ### Blocked\n\
             - deploy: no key\n\
             \n\
             ### Key Decisions\n\
             - keep it small\n\
             \n\
             ### Assumptions\n\
             - UTF-8\n\
             \n\
             ### Next Steps\n\
             Go on with task B. Last time: verification failed: test -f B.txt.\n\
             The work so far is kept as {kept}.\n\
             It said what is next: write B.txt\n"
        )
    );
}

#[test]
fn a_phase_that_ends_within_an_iteration_is_kept_too() {
    let script = json!({"default": [{
        "do": [{"write": {"path": "wrong.txt", "text": "x\n"}}, {"say": "Task {id} complete"}],
        "fix": [{"write": {"path": "{id}.txt", "text": "{id}\n"}}, {"say": "Task {id} complete"}],
    }]});
    let project = Project::with_stories(&[story("A")]).script(&script);
    project.run(&[]).expect(0);
    let expected = ["phase 1 testing", "iteration 1 complete", "stop 1 complete"];
    assert_eq!(chain(&project, &[]), expected);
    assert_whole(&project, 1, 3);
}

#[test]
fn an_agent_that_hands_over_says_so_and_its_phase_is_believed_unless_it_is_complete() {
    for (block, kept) in [
        ("phase: planning", "iteration 1 planning"),
        ("handoff: the context is full", "handoff 1 handoff"),
        ("phase: complete", "iteration 1 reviewing"),
    ] {
        let script = json!({"default": [{"do": [
            {"write": {"path": "half.txt", "text": "x\n"}},
            {"say": format!("On my way.\n<ralph>\n{block}\n</ralph>")},
        ]}]});
        let project = Project::with_stories(&[story("A")])
            .script(&script)
            .env("RALPH_LOOP_MAX_VERIFY_RETRIES", "0");
        project.run(&["--once"]);
        assert_eq!(chain(&project, &[])[0], kept, "{block}");
    }
}

#[test]
fn an_iteration_has_its_record_and_its_checkpoint_or_neither() {
    let project = project();
    project.run(&["--once"]).expect(0);
    sqlite(
        &project,
        "CREATE TRIGGER refuse BEFORE INSERT ON checkpoint BEGIN SELECT RAISE(ABORT, 'refused'); END",
    );
    project
        .run(&[])
        .expect(1)
        .says("the journal can't make a checkpoint");
    let records = "SELECT count(*) FROM iteration WHERE record IS NOT NULL";
    assert_eq!(sqlite(&project, records), "1");
    assert_eq!(sqlite(&project, "SELECT count(*) FROM checkpoint"), "2");
    sqlite(&project, "DROP TRIGGER refuse");
    project.run(&[]).expect(0);
    assert_eq!(project.landed(), ["A", "B"]);
    assert_eq!(sqlite(&project, records), "3");
    let found = asked(&project, &["checkpoint", "verify", "--all"]);
    assert_eq!(found["whole"], true, "{found}");
}

#[test]
fn what_an_agent_cost_and_the_tools_it_used_are_summed() {
    let attempt = json!([
        {"do": "write", "path": "{{RALPH_TASK_ID}}.txt", "text": "x"},
        {"do": "say", "text": "Task {{RALPH_TASK_ID}} complete"},
        {"do": "result", "cost": 0.1},
    ]);
    let stories = [story("A"), story("B"), story("C")];
    let project = Project::with_stories(&stories).claude(&json!({"default": attempt}));
    project.run(&[]).expect(0);
    let shown = asked(&project, &["checkpoint", "show"]);
    let (metadata, metrics) = (
        &shown["checkpoint"]["metadata"],
        &shown["checkpoint"]["metrics"],
    );
    assert_eq!(metadata["agent"], "claude");
    assert_eq!(
        metrics["costMicroUsd"], 300_000,
        "exact, where floats are not"
    );
    assert_eq!(
        (&metrics["iterations"], &metrics["toolCalls"]),
        (&json!(3), &json!(3))
    );
    assert_ne!(metrics["cacheReadTokens"], 0);
}
