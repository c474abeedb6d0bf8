//! What a person does to the task file while ralph works or is down: never lost, and taken up.

use serde_json::json;

use crate::support::{Project, good_attempt, good_script, prd, story};

/// Fails the first time, then does the work.
fn fails_once() -> serde_json::Value {
    json!({"default": [
        {"do": [{"write": {"path": "wrong.txt", "text": "x"}}, {"say": "Task {id} complete"}]},
        good_attempt(),
    ]})
}

/// A tracked task file with an edit that is not committed: a second story, and a field of the user's.
fn edited(script: &serde_json::Value) -> Project {
    let project = Project::with_stories(&[story("A")])
        .config("loop:\n  max_verify_retries: 0\n")
        .script(script);
    let mut second = story("B");
    second["mine"] = json!("an uncommitted note");
    project.repo.prd(&prd(&[story("A"), second]));
    project
}

#[test]
fn an_uncommitted_edit_of_a_tracked_task_file_survives_a_failed_attempt() {
    let project = edited(&fails_once());
    let before = project.repo.read("prd.json");
    project.run(&["--once"]).expect(3);
    assert_eq!(project.repo.read("prd.json"), before);
    project.run(&[]).expect(0);
    assert_eq!(project.landed(), ["A", "B"]);
    assert!(
        project
            .repo
            .read("prd.json")
            .contains("an uncommitted note")
    );
}

#[test]
fn an_uncommitted_edit_of_a_tracked_task_file_survives_a_crash() {
    for point in [
        "agent-running",
        "agent-ended",
        "agent-recorded",
        "inspected",
        "verified",
        "kept",
        "recorded",
    ] {
        let project = edited(&fails_once());
        let before = project.repo.read("prd.json");
        assert_eq!(
            project.run_with("RALPH_FAILPOINT", point).code(),
            -9,
            "{point}"
        );
        assert_eq!(project.repo.read("prd.json"), before, "{point}");
        project.run(&[]).expect(0);
        assert_eq!(project.landed(), ["A", "B"], "{point}");
        assert!(
            project
                .repo
                .read("prd.json")
                .contains("an uncommitted note"),
            "{point}"
        );
    }
}

#[test]
fn an_uncommitted_edit_of_a_tracked_task_file_survives_a_refused_attempt() {
    let script = json!({"default": [
        {"do": [{"run": "ln -s /etc/passwd leak"}, {"say": "Task {id} complete"}]},
        good_attempt(),
    ]});
    let project = edited(&script);
    let before = project.repo.read("prd.json");
    project.run(&["--once"]).expect(4);
    assert_eq!(project.repo.read("prd.json"), before);
}

#[test]
fn an_uncommitted_edit_survives_history_that_an_agent_moved() {
    let script = json!({"default": [
        {"do": [{"run": "git commit -q --amend -m forged"}, {"say": "Task {id} complete"}]},
    ]});
    let project = edited(&script).in_place();
    let before = project.repo.read("prd.json");
    project.run(&["--once"]).expect(4);
    assert_eq!(project.repo.read("prd.json"), before);
}

#[test]
fn an_uncommitted_edit_of_ralph_yaml_survives_a_failed_attempt() {
    let project = Project::with_stories(&[story("A")])
        .config("loop:\n  max_verify_retries: 0\n")
        .script(&fails_once());
    let edited = "loop:\n  max_verify_retries: 0\n  max_attempts: 7\n";
    project.repo.file("ralph.yaml", edited);
    project.run(&["--once"]).expect(3);
    assert_eq!(project.repo.read("ralph.yaml"), edited);
}

#[test]
fn a_story_that_a_person_adds_between_iterations_is_worked_on() {
    let project = Project::with_stories(&[story("A")]).script(&good_script());
    let more = serde_json::to_string_pretty(&prd(&[story("A"), story("B")])).unwrap();
    std::fs::write(project.outside("more.json"), more).unwrap();
    let mut live = project.start(&[]);
    live.wait_for("landed");
    drop(live);
    project.assert_nothing_alive();
    let text = project.repo.read("prd.json");
    let text = text.replace(
        "\"userStories\": [",
        &format!("\"userStories\": [{},", story("B")),
    );
    project.repo.file("prd.json", text);
    project.run(&[]).expect(0);
    assert!(project.passes("A") && project.passes("B"));
    assert_eq!(project.landed(), ["A", "B"]);
}

#[test]
fn a_task_that_a_person_completes_by_hand_is_not_worked_on() {
    let project = Project::with_stories(&[story("A"), story("B")]).script(&good_script());
    let mut done = story("A");
    done["passes"] = json!(true);
    project.repo.prd(&prd(&[done, story("B")]));
    project.run(&[]).expect(0);
    assert_eq!(project.landed(), ["B"]);
}

#[test]
fn a_task_file_that_a_person_breaks_stops_the_loop_by_name_and_is_not_rewritten() {
    let project = Project::with_stories(&[story("A"), story("B")]).script(&good_script());
    project.run(&["--once"]).expect(0);
    let broken = project.repo.read("prd.json").replacen('{', "{,", 1);
    project.repo.file("prd.json", &broken);
    project.run(&[]).expect(2).says("prd.json:1:2");
    assert_eq!(project.repo.read("prd.json"), broken);
}

#[test]
fn a_task_that_a_person_removes_after_a_crash_is_forgotten_and_its_work_is_kept() {
    for mode in ["in_place", "overlay"] {
        let project = Project::with_untracked_stories(&[story("A"), story("B")])
            .script(&good_script())
            .env("RALPH_WORKSPACE_MODE", mode);
        project.repo.file("mine.txt", "base\n").commit("mine");
        let ran = project.run_with("RALPH_FAILPOINT", "land-intended");
        assert_eq!(ran.code(), -9);
        project.repo.prd(&prd(&[story("B")]));
        if mode == "overlay" {
            project.repo.file("mine.txt", "edited\n");
        }
        project.run(&[]).expect(0);
        assert_eq!(project.landed(), ["B"]);
        assert_eq!(
            project.files_of("HEAD"),
            ["B.txt"],
            "what A's agent wrote is not taken for B's"
        );
        assert_eq!(project.attempts().len(), 1, "{mode}");
        if mode == "overlay" {
            assert_eq!(project.repo.read("mine.txt"), "edited\n");
        }
    }
}

/// Nobody can tell a person's edit from an agent's when ralph was killed while one ran.
#[test]
fn an_edit_made_after_a_crash_while_an_agent_ran_is_put_aside_and_said() {
    let project = Project::with_untracked_stories(&[story("A")]).script(&good_script());
    let ran = project.run_with("RALPH_FAILPOINT", "agent-ended");
    assert_eq!(ran.code(), -9);
    let mut reworded = story("A");
    reworded["verify"] = json!(["true"]);
    project.repo.prd(&prd(&[reworded]));
    let edited = project.repo.read("prd.json");
    let ran = project.run(&[]).expect(0);
    let said = ran.named("warning");
    assert!(
        said.iter()
            .any(|w| w["message"].as_str().unwrap().contains("prd.json")),
        "{said:?}"
    );
    let mut kept = Vec::new();
    for worktree in std::fs::read_dir(project.repo.data_dir().join("worktrees")).unwrap() {
        kept.push(
            std::fs::read_to_string(worktree.unwrap().path().join("taken-away-prd.json")).unwrap(),
        );
    }
    assert_eq!(kept, [edited]);
}

/// Three stories, killed when the second one's agent has just ended.
fn killed_in_the_second() -> Project {
    killed_at("agent-ended:2")
}

fn killed_at(point: &str) -> Project {
    let stories = [story("A"), story("B"), story("C")];
    let project = Project::with_stories(&stories)
        .in_place()
        .script(&good_script());
    let ran = project.run_with("RALPH_FAILPOINT", point);
    assert_eq!(ran.code(), -9);
    project
}

#[test]
fn another_branch_that_a_person_switched_to_after_a_crash_is_refused_and_takes_nothing_back() {
    for (point, away) in [
        ("agent-ended:2", "main"),
        ("agent-ended:2", "--detach"),
        ("files-written:2", "main"),
    ] {
        let project = killed_at(point);
        project.repo.git(["switch", "-q", away]);
        let ran = project
            .run(&[])
            .expect(2)
            .says("ralph/work")
            .says("git switch ralph/work");
        assert!(ran.events().is_empty());
        project.repo.git(["switch", "-q", "ralph/work"]);
        project.run(&[]).expect(0);
        assert_eq!(project.landed(), ["A", "B", "C"]);
        for id in ["A", "B", "C"] {
            assert_eq!(project.repo.git(["show", &format!("HEAD:{id}.txt")]), id);
            assert!(project.passes(id));
        }
        assert_eq!(project.leftovers(), [""; 0]);
    }
}

#[test]
fn a_person_gives_an_interrupted_loop_up_by_removing_its_branch() {
    let project = killed_in_the_second();
    project.repo.remove("B.txt");
    project.repo.git(["switch", "-q", "main"]);
    project.repo.git(["branch", "-q", "-D", "ralph/work"]);
    let ran = project.run(&[]).expect(0);
    assert_eq!(ran.one("loop_started")["resumed"], false);
    assert_eq!(project.landed(), ["A", "B", "C"]);
    assert_eq!(project.leftovers(), [""; 0]);
}

#[test]
fn git_settings_that_a_person_made_after_a_crash_stay_or_are_said_to_be_taken_back() {
    let project = killed_in_the_second();
    project
        .repo
        .git(["remote", "add", "origin", "https://example.invalid/x.git"]);
    let ran = project.run(&[]).expect(0);
    let stays = project.repo.git(["remote"]) == "origin";
    let said = ran
        .named("warning")
        .iter()
        .any(|w| w["message"].as_str().unwrap().contains("config"));
    assert!(stays || said, "{}", ran.all());
}

/// Nobody can tell it from one of the agent's: it is not lost, but becomes a part of the task's.
#[test]
fn a_commit_that_a_person_made_after_a_crash_is_not_lost() {
    let project = killed_in_the_second();
    project.repo.remove("B.txt");
    project
        .repo
        .file("mine.txt", "mine\n")
        .commit("by a person");
    project.run(&[]).expect(0);
    assert_eq!(project.landed(), ["A", "B", "C"]);
    assert_eq!(project.repo.git(["show", "HEAD:mine.txt"]), "mine");
}
