//! `ralph revert`: the branch goes back, the tasks are open again, and nobody's work is lost by it.

pub(crate) mod beside;
mod crash;
mod poked;
mod refusals;

use serde_json::{Value, json};

use crate::support::{Live, Project, Ran, good_script, story, story_after};

/// Three tasks that land one after the other, as iterations 1, 2 and 3.
pub(super) fn landed() -> Project {
    let stories = [
        story("A"),
        story_after("B", &["A"]),
        story_after("C", &["B"]),
    ];
    let project = Project::with_stories(&stories).script(&good_script());
    project.run(&[]).expect(0);
    assert_eq!(project.landed(), ["A", "B", "C"]);
    project
}

fn landed_untracked() -> Project {
    let stories = [
        story("A"),
        story_after("B", &["A"]),
        story_after("C", &["B"]),
    ];
    let project = Project::with_untracked_stories(&stories).script(&good_script());
    project.run(&[]).expect(0);
    project
}

pub(super) fn ralph(project: &Project, args: &[&str]) -> Ran {
    Live::start(project.ralph(args)).wait()
}

pub(super) fn said(ran: &Ran) -> Value {
    serde_json::from_slice(&ran.stdout).unwrap_or_else(|e| panic!("{e}: {}", ran.all()))
}

pub(super) fn rev(project: &Project, name: &str) -> String {
    project.repo.git(["rev-parse", name])
}

fn passing(project: &Project) -> Vec<&'static str> {
    let all = ["A", "B", "C"];
    all.into_iter().filter(|id| project.passes(id)).collect()
}

#[test]
fn the_branch_goes_back_and_what_was_completed_since_is_open_again() {
    for (project, tracked) in [(landed(), true), (landed_untracked(), false)] {
        let (tip, target) = (rev(&project, "HEAD"), rev(&project, "HEAD~2"));
        project.repo.file("mine.txt", "untracked\n");
        let ran = ralph(&project, &["revert", "--iteration", "2", "--json"]).expect(0);
        let said = said(&ran);
        assert_eq!(rev(&project, "HEAD"), target, "tracked: {tracked}");
        assert_eq!(project.landed(), ["A"]);
        assert_eq!(passing(&project), ["A"]);
        assert!(project.repo.exists("A.txt"));
        assert!(!project.repo.exists("B.txt") && !project.repo.exists("C.txt"));
        assert_eq!(project.leftovers(), ["?? mine.txt"]);
        let reference = said["reference"].as_str().unwrap();
        assert!(reference.starts_with("refs/ralph/reverted/"), "{reference}");
        assert_eq!(rev(&project, reference), tip, "what went is kept");
        assert_eq!(project.repo.branch(), "refs/heads/ralph/work");
    }
}

#[test]
fn the_json_contract() {
    let project = landed();
    let (a, b, c) = (
        rev(&project, "HEAD~2"),
        rev(&project, "HEAD~1"),
        rev(&project, "HEAD"),
    );
    let plan = json!({
        "done": false, "iteration": 2, "branch": "ralph/work", "from": c, "target": a,
        "tip": null, "taskCommit": null, "reference": null,
        "commits": [
            { "commit": c, "subject": "feat: Write C", "author": "Test Person", "iteration": 3, "taskId": "C" },
            { "commit": b, "subject": "feat: Write B", "author": "Test Person", "iteration": 2, "taskId": "B" }
        ],
        "reopened": [
            { "taskId": "B", "title": "Write B", "source": "prd.json" },
            { "taskId": "C", "title": "Write C", "source": "prd.json" }
        ],
        "gone": [], "left": []
    });
    let dry = ["revert", "--iteration", "2", "--dry-run", "--json"];
    assert_eq!(said(&ralph(&project, &dry).expect(0)), plan);
    assert_eq!(rev(&project, "HEAD"), c, "a dry run changes nothing");
    assert_eq!(passing(&project), ["A", "B", "C"]);
    let mut done = said(&ralph(&project, &["revert", "--iteration", "2", "--json"]).expect(0));
    let reference = done["reference"].take();
    assert_eq!(rev(&project, reference.as_str().unwrap()), c);
    let mut expected = plan;
    expected["done"] = json!(true);
    expected["tip"] = json!(a);
    assert_eq!(done, expected);
}

#[test]
fn people_are_told_what_went_and_where_it_is_kept() {
    let project = landed();
    let ran = ralph(&project, &["revert", "-i", "3"]).expect(0);
    let text = String::from_utf8(ran.stdout).unwrap();
    let short = rev(&project, "HEAD")[..8].to_owned();
    let first = format!("dropped 1 commit of ralph/work: back to {short}, before iteration 3\n");
    assert!(text.starts_with(&first), "{text}");
    assert!(
        text.contains("open again\n  C  Write C  prd.json\n"),
        "{text}"
    );
    assert!(
        text.contains("the dropped commits are kept as refs/ralph/reverted/"),
        "{text}"
    );
}

#[test]
fn work_that_was_taken_back_is_done_again_and_lands() {
    for project in [landed(), landed_untracked()] {
        ralph(&project, &["revert", "--iteration", "2"]).expect(0);
        let ran = project.run(&[]).expect(0);
        assert_eq!(ran.verdicts(), ["B verified", "C verified"]);
        let started = ran.named("iteration_started");
        assert_eq!(started[0]["iteration"], 4, "numbers are never used again");
        assert_eq!(started[0]["attempt"], 1);
        assert_eq!(project.landed(), ["A", "B", "C"]);
        assert_eq!(passing(&project), ["A", "B", "C"]);
        assert_eq!(project.leftovers(), [""; 0]);
        ralph(&project, &["revert", "--iteration", "4"]).expect(0);
        assert_eq!(project.landed(), ["A"]);
    }
}

#[test]
fn all_of_it_can_be_taken_back() {
    let project = landed();
    let start = rev(&project, "HEAD~3");
    ralph(&project, &["revert", "--iteration", "1"]).expect(0);
    assert_eq!(rev(&project, "HEAD"), start);
    assert_eq!(passing(&project), [""; 0]);
    assert_eq!(project.leftovers(), [""; 0]);
}

#[test]
fn what_a_person_wrote_into_the_task_file_since_stays() {
    for (project, tracked) in [(landed(), true), (landed_untracked(), false)] {
        let target = rev(&project, "HEAD~1");
        let text = project.repo.read("prd.json");
        let mut prd: Value = serde_json::from_str(&text).unwrap();
        let mut added = story("D");
        added["title"] = json!("A later thought");
        prd["userStories"].as_array_mut().unwrap().push(added);
        prd["userStories"][0]["notes"] = json!("seen by a person");
        project.repo.prd(&prd);
        let ran = ralph(&project, &["revert", "--iteration", "3", "--json"]).expect(0);
        let now: Value = serde_json::from_str(&project.repo.read("prd.json")).unwrap();
        let mut expected = prd;
        expected["userStories"][2]["passes"] = json!(false);
        assert_eq!(now, expected, "tracked: {tracked}");
        assert_eq!(project.leftovers(), [""; 0], "tracked: {tracked}");
        if !tracked {
            assert_eq!(rev(&project, "HEAD"), target);
            continue;
        }
        assert_eq!(rev(&project, "HEAD~1"), target);
        assert_eq!(said(&ran)["taskCommit"], rev(&project, "HEAD"));
        assert_eq!(project.files_of("HEAD"), ["prd.json"]);
        let subject = project.repo.git(["log", "-1", "--format=%s"]);
        assert_eq!(subject, "chore: take back iteration 3");
        // That commit is ralph's own: it is in nobody's way.
        ralph(&project, &["revert", "--iteration", "2"]).expect(0);
        assert_eq!(passing(&project), ["A"]);
        project.run(&[]).expect(0);
        assert_eq!(project.landed(), ["A", "B", "C", "D"]);
    }
}

#[test]
fn a_task_that_a_person_gave_another_status_keeps_it() {
    let project = landed();
    let mut prd: Value = serde_json::from_str(&project.repo.read("prd.json")).unwrap();
    prd["userStories"][2]["passes"] = json!(false);
    prd["userStories"][2]["skipped"] = json!(true);
    project.repo.prd(&prd);
    let ran = ralph(&project, &["revert", "--iteration", "2", "--json"]).expect(0);
    let reopened = said(&ran)["reopened"].clone();
    assert_eq!(
        reopened,
        json!([{ "taskId": "B", "title": "Write B", "source": "prd.json" }])
    );
    let now: Value = serde_json::from_str(&project.repo.read("prd.json")).unwrap();
    assert_eq!(now["userStories"][2]["skipped"], json!(true));
}

#[test]
fn a_folder_of_tasks_keeps_its_new_and_its_removed_files() {
    let project = Project::new();
    for id in ["A", "B", "C"] {
        let text =
            format!("id: {id}\ntitle: Write {id}\nstatus: open\nverify: [test -f {id}.txt]\n");
        project.repo.file(format!(".ralph/tasks/{id}.yaml"), text);
    }
    project
        .repo
        .file(".ralph/tasks/Z.yaml", "id: Z\ntitle: Z\nstatus: skipped\n");
    project.repo.commit("tasks");
    let project = project.script(&good_script());
    project.run(&[]).expect(0);
    let target = rev(&project, "HEAD~1");
    // A person's commit of task files alone, which `--force` may drop: what it says stays.
    project.repo.remove(".ralph/tasks/Z.yaml");
    let new = "id: N\ntitle: New\nstatus: skipped\n";
    project.repo.file(".ralph/tasks/N.yaml", new);
    project.repo.git(["add", "-A", ".ralph/tasks"]);
    project.repo.git(["commit", "-q", "-m", "other tasks"]);
    let revert = ["revert", "--iteration", "3", "--force"];
    ralph(&project, &revert).expect(0);
    assert_eq!(rev(&project, "HEAD~1"), target);
    let files = project
        .repo
        .git(["ls-tree", "-r", "--name-only", "HEAD", ".ralph/tasks"]);
    let expected = [
        ".ralph/tasks/A.yaml",
        ".ralph/tasks/B.yaml",
        ".ralph/tasks/C.yaml",
        ".ralph/tasks/N.yaml",
    ];
    assert_eq!(files.lines().collect::<Vec<_>>(), expected);
    assert_eq!(project.repo.read(".ralph/tasks/N.yaml"), new);
    assert!(
        project
            .repo
            .read(".ralph/tasks/C.yaml")
            .contains("status: open")
    );
    assert!(
        project
            .repo
            .read(".ralph/tasks/B.yaml")
            .contains("status: completed")
    );
    assert_eq!(project.leftovers(), [""; 0]);
    let ran = project.run(&[]).expect(0);
    assert_eq!(ran.verdicts(), ["C verified"]);
}

#[test]
fn a_persons_commits_go_only_by_force_and_stay_reachable() {
    let project = landed();
    project.repo.file("person.txt", "work\n").commit("my work");
    let tip = rev(&project, "HEAD");
    ralph(&project, &["revert", "--iteration", "3"])
        .expect(2)
        .says("commits that are not ralph's would go")
        .says("my work (Test Person)")
        .says("--force");
    assert_eq!(rev(&project, "HEAD"), tip);
    let ran = ralph(
        &project,
        &["revert", "--iteration", "3", "--force", "--json"],
    )
    .expect(0);
    let said = said(&ran);
    assert_eq!(project.landed(), ["A", "B"]);
    assert!(!project.repo.exists("person.txt"));
    assert_eq!(said["commits"][0]["iteration"], json!(null));
    let reference = said["reference"].as_str().unwrap();
    assert_eq!(
        project
            .repo
            .git(["show", &format!("{reference}:person.txt")]),
        "work"
    );
}

#[test]
fn files_that_an_iteration_deleted_changed_and_ignored_come_back_as_they_were() {
    let project = Project::new();
    project
        .repo
        .file("old/deep.txt", "deep\n")
        .file("changed.txt", "before\n")
        .file(".gitignore", "*.log\n");
    project
        .repo
        .prd(&crate::support::prd(&[story("A")]))
        .commit("tasks");
    let run = "rm -r old; echo after > changed.txt; echo secret.env >> .gitignore; \
               mkdir new; echo x > new/x.txt; ln -s changed.txt link";
    let script = json!({"default": [{"do": [
        {"run": run}, {"write": {"path": "A.txt", "text": "A\n"}}, {"say": "Task A complete"},
    ]}]});
    let project = project.script(&script);
    project.run(&[]).expect(0);
    project
        .repo
        .file("secret.env", "key\n")
        .file("build.log", "log\n");
    ralph(&project, &["revert", "--iteration", "1"]).expect(0);
    assert_eq!(project.repo.read("old/deep.txt"), "deep\n");
    assert_eq!(project.repo.read("changed.txt"), "before\n");
    assert!(!project.repo.exists("new") && !project.repo.exists("link"));
    assert_eq!(
        project.repo.read("secret.env"),
        "key\n",
        "it was ignored, and is nobody's to remove"
    );
    assert_eq!(project.repo.read("build.log"), "log\n");
    assert_eq!(project.leftovers(), ["?? secret.env"]);
}

#[test]
fn status_report_and_logs_say_what_was_reverted_and_the_records_stay() {
    let project = landed();
    let commits = [rev(&project, "HEAD~1"), rev(&project, "HEAD")];
    ralph(&project, &["revert", "--iteration", "2"]).expect(0);
    let status = said(&ralph(&project, &["status", "--json"]).expect(0));
    assert_eq!(status["revertedCommits"], 2);
    assert_eq!(status["lastIteration"]["reverted"], true);
    assert_eq!(status["tasks"]["completed"], 1);
    assert_eq!(status["next"]["id"], "B");
    let report = said(&ralph(&project, &["report", "--json"]).expect(0));
    assert_eq!(report["iterations"], 3);
    assert_eq!(report["commits"].as_array().unwrap().len(), 1);
    assert_eq!(report["completed"].as_array().unwrap().len(), 1);
    assert_eq!(
        report["reverted"],
        json!([
            { "commit": commits[0], "taskId": "B", "title": "Write B", "iteration": 2, "squashedInto": null },
            { "commit": commits[1], "taskId": "C", "title": "Write C", "iteration": 3, "squashedInto": null },
        ])
    );
    let text = String::from_utf8(ralph(&project, &["report"]).expect(0).stdout).unwrap();
    assert!(
        text.contains("1 task completed, 1 commit, 2 reverted, 3 iterations"),
        "{text}"
    );
    let list = said(&ralph(&project, &["logs", "--list", "--json"]).expect(0));
    let reverted: Vec<&Value> = list["iterations"]
        .as_array()
        .unwrap()
        .iter()
        .map(|i| &i["reverted"])
        .collect();
    assert_eq!(reverted, [&json!(true), &json!(true), &json!(false)]);
    let record = said(&ralph(&project, &["logs", "-i", "3", "--json"]).expect(0));
    assert_eq!(record["resultCommit"], json!(commits[1]));
}

#[test]
fn a_loop_that_was_killed_between_iterations_goes_on_after_a_revert() {
    let stories = [
        story("A"),
        story_after("B", &["A"]),
        story_after("C", &["B"]),
    ];
    let project = Project::with_stories(&stories).script(&good_script());
    let ran = project.run_with("RALPH_FAILPOINT", "files-written:2");
    assert_eq!(ran.code(), -9, "{}", ran.all());
    ralph(&project, &["revert", "--iteration", "2"]).expect(0);
    assert_eq!(project.landed(), ["A"]);
    assert_eq!(project.leftovers(), [""; 0]);
    let ran = project.run(&[]).expect(0);
    assert_eq!(ran.one("loop_started")["resumed"], true);
    assert_eq!(ran.verdicts(), ["B verified", "C verified"]);
    assert_eq!(project.landed(), ["A", "B", "C"]);
}

#[test]
fn a_count_of_attempts_in_the_file_starts_afresh() {
    let project = Project::new();
    let text = "id: A\ntitle: Write A\nstatus: open\nattempts: 0\nverify: [test -f A.txt]\n";
    project
        .repo
        .file(".ralph/tasks/A.yaml", text)
        .commit("tasks");
    let project = project.script(&good_script());
    project.run(&[]).expect(0);
    assert!(
        project
            .repo
            .read(".ralph/tasks/A.yaml")
            .contains("attempts: 1")
    );
    ralph(&project, &["revert", "--iteration", "1"]).expect(0);
    assert_eq!(project.repo.read(".ralph/tasks/A.yaml"), text);
    assert_eq!(project.leftovers(), [""; 0]);
}

#[test]
fn a_task_that_was_completed_without_a_commit_since_is_open_again_too() {
    let mut check = story("B");
    check["expectsChange"] = json!(false);
    check["verify"] = json!(["test -f A.txt"]);
    check["dependsOn"] = json!(["A"]);
    let look = json!({"do": [{"say": "Task B complete"}]});
    let project = Project::with_untracked_stories(&[story("A"), check]);
    let script = json!({"tasks": {"B": [look]}, "default": [crate::support::good_attempt()]});
    let project = project.script(&script);
    project.run(&[]).expect(0);
    assert_eq!(project.landed(), ["A"], "B landed nothing");
    assert!(project.passes("B"));
    ralph(&project, &["revert", "--iteration", "1"]).expect(0);
    assert!(!project.passes("A") && !project.passes("B"));
}
