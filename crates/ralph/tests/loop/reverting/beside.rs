//! `ralph revert` while a loop runs: the loop does it between two iterations, once.

use ralph_engine::{failpoint::OF_REWRITES, identity, store::RepositoryId};
use serde_json::{Value, json};

use super::{passing, rev, said};
use crate::support::{Live, Project, story, story_after, wait_until};

/// Writes its file, then waits for another file that is named after its task.
pub(crate) fn waits(project: Project) -> Project {
    let gate = project.outside("go");
    project.command(&format!(
        "echo begun\nwhile [ ! -e {gate}-$RALPH_TASK_ID ]; do sleep 0.02; done\n\
         echo x > $RALPH_TASK_ID.txt; echo \"Task $RALPH_TASK_ID complete\"",
        gate = gate.display(),
    ))
}

pub(crate) fn open_gate(project: &Project, id: &str) {
    let gate = format!("{}-{id}", project.outside("go").display());
    std::fs::write(gate, "").unwrap();
}

pub(crate) fn begun(live: &mut Live, id: &str) {
    while live.wait_for("iteration_started")["task"] != id {}
    while live.wait_for("agent")["text"] != "begun" {}
}

/// How many commands are in the queue.
pub(crate) fn waiting(project: &Project) -> usize {
    let mut runtime = tokio::runtime::Builder::new_current_thread();
    let runtime = runtime.enable_all().build().unwrap();
    runtime.block_on(async {
        let mut journal = ralph_engine::store::open(&project.repo.data_dir())
            .await
            .unwrap();
        let root = project.repo.root().canonicalize().unwrap();
        let id = identity::read_id(&root.join(".git")).unwrap();
        let (repository, worktree) = (RepositoryId(id), root.to_string_lossy());
        let waiting = journal.waiting_commands(&repository, &worktree).await;
        waiting.unwrap().len()
    })
}

pub(crate) fn three() -> Project {
    let stories = [
        story("A"),
        story_after("B", &["A"]),
        story_after("C", &["B"]),
    ];
    waits(Project::with_stories(&stories))
}

#[test]
fn a_paused_loop_takes_an_iteration_back_and_does_it_again() {
    let stories = [
        story("A"),
        story_after("B", &["A"]),
        story_after("C", &["B"]),
        story_after("D", &["C"]),
    ];
    let project = waits(Project::with_stories(&stories));
    open_gate(&project, "D");
    open_gate(&project, "A");
    open_gate(&project, "B");
    let mut live = project.start(&[]);
    begun(&mut live, "C");
    project.told(&["pause"]);
    open_gate(&project, "C");
    wait_until("the loop pauses", || {
        !project.status()["loop"]["pausedAt"].is_null()
    });
    let (c, a) = (rev(&project, "HEAD"), rev(&project, "HEAD~2"));
    let plan: Value =
        serde_json::from_str(&project.told(&["revert", "-i", "2", "--dry-run", "--json"])).unwrap();
    assert_eq!((&plan["done"], &plan["target"]), (&json!(false), &json!(a)));
    assert_eq!(rev(&project, "HEAD"), c, "a dry run changes nothing");
    let done: Value =
        serde_json::from_str(&project.told(&["revert", "-i", "2", "--json"])).unwrap();
    assert_eq!(done["tip"], json!(a));
    assert_eq!(rev(&project, done["reference"].as_str().unwrap()), c);
    assert_eq!(rev(&project, "HEAD"), a);
    assert_eq!(passing(&project), ["A"]);
    let progress = project.repo.read(".ralph/progress.md");
    assert!(
        progress.contains("## Taken back: iterations 2, 3"),
        "{progress}"
    );
    project.told(&["resume"]);
    let ran = live.wait().expect(0);
    let told: Vec<String> = ran.verdicts().iter().map(ToString::to_string).collect();
    assert_eq!(told.join(", ").replace(" verified", ""), "A, B, C, B, C, D");
    assert_eq!(passing(&project), ["A", "B", "C"]);
    assert_eq!(project.leftovers(), [""; 0]);
    let report: Value = serde_json::from_str(&project.told(&["report", "--json"])).unwrap();
    assert_eq!(report["metrics"]["verifiedCommits"], 4);
    assert_eq!(report["metrics"]["verifiedShare"], json!(4.0 / 6.0));
    let reverted: Vec<&Value> = report["timeline"]
        .as_array()
        .unwrap()
        .iter()
        .map(|p| &p["reverted"])
        .collect();
    assert_eq!(reverted, [false, true, true, false, false, false]);
}

#[test]
fn a_loop_at_work_does_it_when_its_iteration_has_ended() {
    let project = three();
    open_gate(&project, "A");
    let mut live = project.start(&[]);
    begun(&mut live, "B");
    let revert = project.order(&["revert", "--iteration", "1"]);
    wait_until("the command is in the queue", || waiting(&project) == 1);
    for id in ["B", "C"] {
        open_gate(&project, id);
    }
    let text = crate::intervening::said(revert.wait_with_output().unwrap());
    assert!(
        text.starts_with("dropped 2 commits of ralph/work: back to "),
        "{text}"
    );
    let ran = live.wait().expect(0);
    assert_eq!(
        ran.verdicts(),
        [
            "A verified",
            "B verified",
            "A verified",
            "B verified",
            "C verified"
        ]
    );
}

#[test]
fn what_can_not_be_taken_back_is_refused_and_the_loop_goes_on() {
    let project = three();
    let mut live = project.start(&[]);
    begun(&mut live, "A");
    let revert = project.order(&["revert", "--iteration", "7"]);
    wait_until("the command is in the queue", || waiting(&project) == 1);
    for id in ["A", "B", "C"] {
        open_gate(&project, id);
    }
    let output = revert.wait_with_output().unwrap();
    let error = String::from_utf8(output.stderr).unwrap();
    assert_eq!(output.status.code(), Some(2), "{error}");
    assert!(error.contains("there is no iteration 7"), "{error}");
    assert_eq!(
        live.wait().expect(0).verdicts(),
        ["A verified", "B verified", "C verified"]
    );
}

#[test]
fn a_loop_that_dies_in_it_leaves_it_to_who_asked_and_it_is_done_once() {
    for point in OF_REWRITES {
        let project = three();
        open_gate(&project, "A");
        let mut command = project.run_command(&[]);
        command.env("RALPH_FAILPOINT", point);
        let mut live = Live::start(command);
        begun(&mut live, "B");
        let revert = project.order(&["revert", "--iteration", "1"]);
        wait_until("the command is in the queue", || waiting(&project) == 1);
        open_gate(&project, "B");
        let text = crate::intervening::said(revert.wait_with_output().unwrap());
        assert_eq!(live.wait().code(), -9, "{point}: {text}");
        assert_eq!(passing(&project), [""; 0], "{point}: {text}");
        let kept = project.repo.git(["for-each-ref", "refs/ralph/reverted"]);
        assert_eq!(kept.lines().count(), 1, "{point}: {kept}");
        open_gate(&project, "C");
        project.run(&[]).expect(0);
        assert_eq!(passing(&project), ["A", "B", "C"], "{point}");
    }
}

#[test]
fn a_skip_in_between_is_no_commit_of_somebody_else_and_stays() {
    let mut stories = vec![story("A"), story_after("B", &["A"])];
    stories.extend([story_after("C", &["B"]), story_after("D", &["C"])]);
    let project = waits(Project::with_stories(&stories));
    open_gate(&project, "A");
    let mut live = project.start(&[]);
    begun(&mut live, "B");
    let skip = project.order(&["skip", "--task", "D", "--reason", "not now"]);
    wait_until("the command is in the queue", || waiting(&project) == 1);
    for id in ["B", "C"] {
        open_gate(&project, id);
    }
    let told = crate::intervening::said(skip.wait_with_output().unwrap());
    assert_eq!(told, "D is skipped: not now; prd.json is committed\n");
    live.wait().expect(0);
    let log = project.repo.git(["log", "--format=%s", "-3"]);
    assert_eq!(log, "feat: Write C\nchore: skip D\nfeat: Write B");
    let told = said(&super::ralph(&project, &["revert", "-i", "2", "--json"]).expect(0));
    assert_eq!(told["commits"].as_array().unwrap().len(), 3);
    assert_eq!(passing(&project), ["A"]);
    assert_eq!(project.story_in_file("D")["skipped"], true);
}
