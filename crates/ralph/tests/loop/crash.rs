//! Ralph killed at every step: whatever was under way, the next run ends where an undisturbed one
//! would have.

use serde_json::{Value, json};

use ralph_engine::failpoint;

use crate::support::{Project, good_attempt, is_storm, story, story_after};

/// Three tasks: A lands at once, B fails, then claims without a change, then lands, C fails and lands
/// after it.
fn stories() -> Vec<Value> {
    vec![story("A"), story("B"), story_after("C", &["B"])]
}

fn agent(project: Project) -> Project {
    let wrong = json!({"do": [
        {"write": {"path": "wrong.txt", "text": "x\n"}},
        {"say": "Task {id} complete"},
    ]});
    let right = json!({"do": [
        {"run": "rm -f wrong.txt"},
        {"write": {"path": "{id}.txt", "text": "{id}\n"}},
        {"say": "Task {id} complete"},
    ]});
    let nothing = json!({"do": [{"run": "rm -f wrong.txt"}, {"say": "Task {id} complete"}]});
    let script = json!({
        "tasks": {"B": [wrong, nothing, right], "C": [wrong, right]},
        "default": [good_attempt()],
    });
    project
        .script(&script)
        .env("RALPH_LOOP_MAX_VERIFY_RETRIES", "0")
        .env("RALPH_LOOP_MAX_ATTEMPTS", "5")
        .env("RALPH_LOOP_MAX_NO_PROGRESS", "9")
}

pub(super) fn tracked() -> Project {
    agent(Project::with_stories(&stories()))
}

fn untracked() -> Project {
    agent(Project::with_untracked_stories(&stories()))
}

/// What must be so once the loop has come to its end, however often it was killed.
#[track_caller]
pub(super) fn assert_as_if_undisturbed(project: &Project, how: &str) {
    assert_eq!(project.landed(), ["A", "B", "C"], "{how}");
    for id in ["A", "B", "C"] {
        assert!(
            project.passes(id),
            "{how}: {id} is not complete in the file"
        );
        assert_eq!(
            project.repo.git(["show", &format!("HEAD:{id}.txt")]),
            id,
            "{how}"
        );
    }
    let files = project.repo.git(["ls-tree", "-r", "--name-only", "HEAD"]);
    assert!(!files.contains("wrong.txt"), "{how}: {files}");
    assert_eq!(project.leftovers(), [""; 0], "{how}");
    assert_eq!(project.repo.branch(), "refs/heads/ralph/work", "{how}");
    project.assert_nothing_alive();
    assert_no_temporary_files(project.repo.root(), how);
    let fsck = project.repo.try_git(["fsck", "--no-dangling"]);
    assert!(
        fsck.status.success(),
        "{how}: {}",
        String::from_utf8_lossy(&fsck.stderr)
    );
    assert_journal_is_whole(project, how);
}

fn assert_no_temporary_files(folder: &std::path::Path, how: &str) {
    for entry in std::fs::read_dir(folder).unwrap().flatten() {
        let name = entry.file_name().to_string_lossy().into_owned();
        let is_temporary = name.ends_with(".tmp")
            || name.ends_with(".new")
            || name.ends_with(".lock")
            || (name.starts_with('.') && name.contains("prd.json"));
        assert!(!is_temporary, "{how}: {} is left", entry.path().display());
        if entry.path().is_dir() && !entry.path().is_symlink() {
            assert_no_temporary_files(&entry.path(), how);
        }
    }
}

/// Every loop and iteration has an end, every commit has its iteration, and none is counted twice.
fn assert_journal_is_whole(project: &Project, how: &str) {
    let query = |sql: &str| {
        let output = project
            .repo
            .command("sqlite3")
            .arg(project.repo.data_dir().join("ralph.db"))
            .arg(sql)
            .output()
            .expect("sqlite3 is installed");
        assert!(
            output.status.success(),
            "{}",
            String::from_utf8_lossy(&output.stderr)
        );
        String::from_utf8(output.stdout).unwrap().trim().to_owned()
    };
    assert_eq!(query("PRAGMA integrity_check"), "ok", "{how}");
    assert_eq!(
        query("SELECT count(*) FROM loop WHERE ended_at IS NULL"),
        "0",
        "{how}"
    );
    assert_eq!(
        query("SELECT count(*) FROM iteration WHERE ended_at IS NULL OR record IS NULL"),
        "0",
        "{how}"
    );
    assert_eq!(
        query(
            "SELECT group_concat(task_id) FROM (SELECT task_id FROM iteration WHERE verdict = 'verified' ORDER BY n)"
        ),
        "A,B,C",
        "{how}"
    );
    let commits = project
        .repo
        .git(["log", "--reverse", "--format=%H", "--grep=Ralph-Iteration"]);
    let recorded =
        query("SELECT result_commit FROM iteration WHERE result_commit IS NOT NULL ORDER BY n");
    assert_eq!(recorded, commits, "{how}");
    let numbers = query("SELECT count(*) = max(n) AND min(n) = 1 FROM iteration");
    assert_eq!(numbers, "1", "{how}: numbers are used once, without a gap");
}

#[test]
fn an_undisturbed_run_is_what_all_others_are_compared_with() {
    for project in [tracked(), untracked()] {
        let ran = project.run(&[]).expect(0);
        let verdicts = [
            "A verified",
            "B failed",
            "B no_change",
            "B verified",
            "C failed",
            "C verified",
        ];
        assert_eq!(ran.verdicts(), verdicts);
        assert_as_if_undisturbed(&project, "undisturbed");
    }
}

/// Kills ralph at the n-th pass of a place, then lets it go on.
fn killed_at(point: &str, pass: u32, project: &Project) {
    let how = format!("{point}:{pass}");
    let ran = project.run_with("RALPH_FAILPOINT", &how);
    assert_eq!(ran.code(), -9, "{how} is not passed: {}", ran.all());
    project.assert_nothing_alive();
    let ran = project.run(&[]);
    assert_eq!(ran.code(), 0, "{how}: {}", ran.all());
    assert_as_if_undisturbed(project, &how);
}

/// Kills ralph at each of these places, at one pass of it; in a storm at both that the scenario goes
/// through.
fn killed_everywhere(points: &[&str], pass: u32, make: fn() -> Project) {
    for point in points {
        let passes = match (*point, is_storm()) {
            ("loop-begun", _) => 1..=1,
            (_, false) => pass..=pass,
            (_, true) => 1..=2,
        };
        for pass in passes {
            killed_at(point, pass, &make());
        }
    }
}

/// Half of the places a test, so that they share the processors.
const HALF: usize = failpoint::ALL.len() / 2;

#[test]
fn killed_at_every_early_step_with_a_tracked_task_file() {
    killed_everywhere(&failpoint::ALL[..HALF], 2, tracked);
}

#[test]
fn killed_at_every_late_step_with_a_tracked_task_file() {
    killed_everywhere(&failpoint::ALL[HALF..], 2, tracked);
}

#[test]
fn killed_where_its_file_is_written_with_an_untracked_task_file() {
    let around = [
        "agent-ended",
        "land-intended",
        "source-written",
        "committed",
        "landed",
        "recorded",
    ];
    let points = if is_storm() {
        &failpoint::ALL[..]
    } else {
        &around
    };
    killed_everywhere(points, 1, untracked);
}

#[test]
fn killed_again_and_again_at_the_same_step_it_still_gets_there() {
    let project = tracked();
    let mut kills = 0;
    while project.run_with("RALPH_FAILPOINT", "recorded").code() == -9 {
        kills += 1;
        assert!(
            kills <= 6,
            "one kill an iteration, and no more iterations than in an undisturbed run"
        );
    }
    assert_eq!(kills, 6);
    assert_as_if_undisturbed(&project, "recorded, every time");
}

#[test]
fn killed_while_it_cleans_up_after_a_kill_it_cleans_up_all_the_same() {
    for second in ["kept", "recorded", "files-written"] {
        let project = tracked();
        assert_eq!(
            project.run_with("RALPH_FAILPOINT", "agent-ended").code(),
            -9
        );
        assert_eq!(
            project.run_with("RALPH_FAILPOINT", second).code(),
            -9,
            "{second}"
        );
        project.run(&[]).expect(0);
        assert_as_if_undisturbed(&project, second);
    }
}

#[test]
fn a_kill_is_not_charged_to_the_task() {
    let project = tracked();
    assert_eq!(
        project.run_with("RALPH_FAILPOINT", "agent-ended").code(),
        -9
    );
    let ran = project.run(&[]).expect(0);
    let started = ran.named("iteration_started");
    assert_eq!(
        (&started[0]["task"], &started[0]["attempt"]),
        (&json!("A"), &json!(1))
    );
}

#[test]
fn another_source_after_a_kill_does_not_take_the_work_for_its_own() {
    let project = tracked();
    assert_eq!(
        project.run_with("RALPH_FAILPOINT", "agent-ended").code(),
        -9
    );
    let other = json!({"branchName": "ralph/other", "userStories": [story("Z")]}).to_string();
    std::fs::write(project.repo.path("other.json"), other).unwrap();
    let ran = project.run(&["other.json"]).expect(0);
    assert_eq!(project.landed(), ["Z"], "{}", ran.all());
    assert_eq!(project.files_of("HEAD"), ["Z.txt"]);
    assert_eq!(project.attempts().len(), 1, "what A's agent wrote is kept");
    project.run(&["prd.json"]).expect(0);
    assert_eq!(project.repo.branch(), "refs/heads/ralph/work");
    assert_eq!(project.landed(), ["A", "B", "C"]);
}

#[test]
fn a_commit_of_an_agent_that_carries_the_iterations_own_trailer_is_not_taken_for_landed() {
    let forge = "echo A > A.txt; git add A.txt; \
                 git commit -q -m x -m \"Ralph-Iteration: ${RALPH_RUN_ID%-*}\"; echo B > B.txt";
    let script = json!({"default": [{"do": [{"run": forge}, {"say": "Task A complete"}]}]});
    let project = Project::with_stories(&[story("A")])
        .in_place()
        .script(&script);
    let ran = project.run_with("RALPH_FAILPOINT", "land-intended");
    assert_eq!(ran.code(), -9, "{}", ran.all());
    let forged = project.repo.git([
        "log",
        "-1",
        "--format=%(trailers:key=Ralph-Iteration,valueonly)",
    ]);
    assert!(
        !forged.trim().is_empty(),
        "the scenario must forge a trailer"
    );
    project.run(&[]).expect(0);
    assert_eq!(project.landed(), ["A"]);
    assert_eq!(project.files_of("HEAD"), ["A.txt", "B.txt", "prd.json"]);
    assert_eq!(project.leftovers(), [""; 0]);
}
