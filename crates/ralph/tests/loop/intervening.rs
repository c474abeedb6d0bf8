//! A person steers from another terminal: while a loop runs, and when none does.

mod crashing;
mod cuts;
mod idle;

use std::path::PathBuf;
use std::process::{Child, Output, Stdio};

use rustix::process::Signal;
use serde_json::{Value, json};

use crate::checkpoints::sqlite;
use crate::support::{Live, Project, good_script, story, story_after, wait_until};

const QUICK: &str = "loop:\n  stop_grace_seconds: 1\n";

/// Keeps its prompt, says that it has begun, and does its task once the file `go` is there.
fn waits_for_go(project: Project) -> Project {
    let (go, prompts) = (project.outside("go"), project.outside("prompts"));
    project.command(&format!(
        "cat >> {prompts}; echo half > half-$RALPH_TASK_ID.txt; echo begun\n\
         while [ ! -e {go} ]; do sleep 0.02; done\n\
         echo x > $RALPH_TASK_ID.txt; echo \"Task $RALPH_TASK_ID complete\"",
        go = go.display(),
        prompts = prompts.display(),
    ))
}

impl Project {
    fn go(&self) {
        std::fs::write(self.outside("go"), "").unwrap();
    }

    fn prompts(&self) -> String {
        std::fs::read_to_string(self.outside("prompts")).unwrap()
    }

    /// A command from another terminal, which may take until the loop has time for it.
    pub(crate) fn order(&self, args: &[&str]) -> Child {
        let mut command = self.ralph(args);
        command.env("USER", "ann");
        command.stdout(Stdio::piped()).stderr(Stdio::piped());
        command.spawn().unwrap()
    }

    /// Waits until so many commands were ever given to loops: what the loop does next comes behind them.
    pub(crate) fn wait_for_orders(&self, count: usize) {
        wait_until("the commands are in the journal", || {
            sqlite(self, "SELECT count(*) FROM command") == count.to_string()
        });
    }

    /// What such a command said, of one that went well.
    #[track_caller]
    pub(crate) fn told(&self, args: &[&str]) -> String {
        said(self.order(args).wait_with_output().unwrap())
    }

    /// The error of a command that was refused.
    #[track_caller]
    pub(crate) fn refused(&self, args: &[&str]) -> String {
        let output = self.order(args).wait_with_output().unwrap();
        let error = String::from_utf8(output.stderr).unwrap();
        assert_eq!(output.status.code(), Some(2), "{error}");
        assert!(output.stdout.is_empty());
        error
    }

    pub(crate) fn story_in_file(&self, id: &str) -> Value {
        let prd: Value = serde_json::from_str(&self.repo.read("prd.json")).unwrap();
        let stories = prd["userStories"].as_array().unwrap().clone();
        stories.into_iter().find(|s| s["id"] == id).unwrap()
    }

    pub(crate) fn status(&self) -> Value {
        let output = self.ralph(&["status", "--json"]).output().unwrap();
        serde_json::from_slice(&output.stdout).unwrap()
    }

    fn subjects(&self) -> Vec<String> {
        let log = self.repo.git(["log", "--format=%s"]);
        log.lines().map(str::to_owned).collect()
    }

    fn record(&self, n: u32) -> Value {
        let n = n.to_string();
        let output = self.ralph(&["logs", "-i", &n, "--json"]).output().unwrap();
        serde_json::from_slice(&output.stdout).unwrap()
    }
}

#[track_caller]
pub(crate) fn said(output: Output) -> String {
    let (out, err) = (
        String::from_utf8(output.stdout).unwrap(),
        String::from_utf8(output.stderr).unwrap(),
    );
    assert_eq!(output.status.code(), Some(0), "{out}{err}");
    out
}

/// Waits until the agent has begun.
fn begun(live: &mut Live) {
    while live.wait_for("agent")["text"] != "begun" {}
}

#[test]
fn pause_lets_the_iteration_end_and_resume_lets_the_loop_go_on() {
    let project = waits_for_go(Project::with_stories(&[story("A"), story("B")]));
    let mut live = project.start(&[]);
    begun(&mut live);
    let paused: Value = serde_json::from_str(&project.told(&["pause", "--json"])).unwrap();
    assert_eq!(
        paused,
        json!({
            "id": 1, "command": "pause", "state": "done",
            "sentence": "the loop pauses when iteration 1 at A has ended", "hint": null,
        })
    );
    project.go();
    wait_until("the loop pauses", || {
        !project.status()["loop"]["pausedAt"].is_null()
    });
    assert_eq!(project.landed(), ["A"]);
    assert_eq!(project.status()["running"], true);
    assert_eq!(project.told(&["resume"]), "the loop goes on\n");
    let ran = live.wait().expect(0);
    assert_eq!(ran.verdicts(), ["A verified", "B verified"]);
    assert_eq!(project.status()["loop"]["pausedAt"], Value::Null);
    let words: Vec<_> = ran
        .named("commanded")
        .iter()
        .map(|e| e["command"].clone())
        .collect();
    assert_eq!(words, ["pause", "resume"]);
}

#[test]
fn pause_now_stops_the_agent_keeps_its_work_and_charges_nobody() {
    let project = waits_for_go(Project::with_stories(&[story("A")]).config(QUICK));
    let mut live = project.start(&[]);
    begun(&mut live);
    assert_eq!(
        project.told(&["pause", "--now"]),
        "the loop is paused: the agent that worked at A was stopped, what it had done is kept\n"
    );
    assert_eq!(project.attempts().len(), 1);
    assert_eq!(project.leftovers(), [""; 0]);
    project.go();
    project.told(&["resume"]);
    let ran = live.wait().expect(0);
    assert_eq!(ran.verdicts(), ["A interrupted", "A verified"]);
    for started in ran.named("iteration_started") {
        assert_eq!(started["attempt"], 1);
    }
    assert_eq!(
        project.files_of("HEAD"),
        ["A.txt", "half-A.txt", "prd.json"]
    );
}

#[test]
fn a_paused_loop_can_be_stopped() {
    let project = waits_for_go(Project::with_stories(&[story("A")]).config(QUICK));
    let mut live = project.start(&[]);
    begun(&mut live);
    project.told(&["pause", "--now"]);
    live.signal(Signal::INT);
    live.wait().expect(130);
    project.go();
    project.run(&[]).expect(0);
}

/// Pauses at once, and asks for an end while the agent has been asked to stop and has not obeyed yet.
fn stops_while_the_agent_takes_its_time(stop: impl FnOnce(&Project, &Live), code: i32) {
    let project = Project::with_stories(&[story("A")]).config("loop:\n  stop_grace_seconds: 100\n");
    let (go, asked) = (project.outside("go"), project.outside("asked"));
    let project = project.command(&format!(
        "trap 'echo x > {asked}' TERM INT; echo half > half.txt; echo begun\n\
         while [ ! -e {go} ]; do sleep 0.02; done",
        go = go.display(),
        asked = asked.display(),
    ));
    let mut live = project.start(&[]);
    begun(&mut live);
    let pause_now = project.order(&["pause", "--now"]);
    wait_until("the agent is asked to stop", || asked.exists());
    stop(&project, &live);
    // The loop still listens, and the answer comes behind the stop.
    let pause = project.order(&["pause"]);
    assert_eq!(live.wait_for("commanded")["command"], "pause");
    project.go();
    let ran = live.wait().expect(code);
    assert_eq!(ran.verdicts(), ["A interrupted"]);
    assert_eq!(project.attempts().len(), 1);
    for order in [pause_now, pause] {
        said(order.wait_with_output().unwrap());
    }
}

#[test]
fn a_loop_that_pauses_now_can_be_stopped_while_its_agent_takes_its_time() {
    stops_while_the_agent_takes_its_time(|_, live| live.signal(Signal::TERM), 143);
    stops_while_the_agent_takes_its_time(|_, live| live.signal(Signal::INT), 130);
    stops_while_the_agent_takes_its_time(
        |project, _| drop(project.told(&["stop", "--no-wait"])),
        143,
    );
}

#[test]
fn words_for_the_next_prompt_are_in_it_and_in_its_record() {
    let project = waits_for_go(Project::with_stories(&[story("A"), story("B")]));
    let mut live = project.start(&[]);
    begun(&mut live);
    assert_eq!(
        project.told(&["say", "Use tabs, please."]),
        "it will be in the next prompt\n"
    );
    project.go();
    live.wait().expect(0);
    assert_eq!(project.prompts().matches("Use tabs, please.").count(), 1);
    assert_eq!(project.record(1)["guidance"], json!([]));
    let told = &project.record(2)["guidance"][0];
    assert_eq!(
        (&told["text"], &told["by"]),
        (&json!("Use tabs, please."), &json!("ann"))
    );
}

#[test]
fn words_for_the_running_agent_reach_one_that_listens() {
    let scenario = json!({"default": [
        {"do": "say", "text": "begun"},
        {"do": "awaitMessage"},
        {"do": "write", "path": "A.txt", "text": "x"},
        {"do": "say", "text": "Task A complete"},
    ]});
    let project = Project::with_stories(&[story("A")]).claude(&scenario);
    let mut live = project.start(&[]);
    begun(&mut live);
    assert_eq!(
        project.told(&["say", "--now", "Hurry up."]),
        "told to the agent that works at A (iteration 1)\n"
    );
    let ran = live.wait().expect(0);
    let nudged = ran.named("agent");
    assert!(
        nudged
            .iter()
            .any(|e| e["kind"] == "nudge" && e["text"] == "Hurry up.")
    );
    assert_eq!(project.record(1)["guidance"][0]["text"], "Hurry up.");
}

#[test]
fn words_for_a_running_agent_that_does_not_listen_are_in_the_next_prompt() {
    let project = waits_for_go(Project::with_stories(&[story("A"), story("B")]));
    let mut live = project.start(&[]);
    begun(&mut live);
    assert_eq!(
        project.told(&["say", "--now", "Hurry up."]),
        "this agent can't be told while it runs: it will be in the next prompt\n"
    );
    project.go();
    live.wait().expect(0);
    assert_eq!(project.prompts().matches("Hurry up.").count(), 1);
}

#[test]
fn a_task_is_skipped_while_another_is_worked_on() {
    let project = waits_for_go(Project::with_stories(&[
        story("A"),
        story("B"),
        story_after("C", &["B"]),
    ]));
    let mut live = project.start(&[]);
    begun(&mut live);
    let skip = project.order(&["skip", "--task", "B", "--reason", "not this year"]);
    project.wait_for_orders(1);
    project.go();
    let skipped = said(skip.wait_with_output().unwrap());
    assert_eq!(
        skipped,
        "B is skipped: not this year; prd.json is committed; C depends on it and can't be taken\n  \
         skip what depends on it too, or take the dependency out of its task\n"
    );
    let ran = live.wait().expect(4);
    assert_eq!(ran.verdicts(), ["A verified"]);
    assert_eq!(ran.one("loop_ended")["tasks"]["skipped"], 1);
    let story = project.story_in_file("B");
    assert_eq!(story["skipped"], true);
    let notes = story["notes"].as_str().unwrap();
    assert!(notes.starts_with("Skipped by ann on 20"), "{notes}");
    assert!(notes.ends_with(": not this year"), "{notes}");
    assert_eq!(project.subjects()[0], "chore: skip B");
    assert_eq!(project.files_of("HEAD"), ["prd.json"]);
    assert_eq!(project.leftovers(), [""; 0]);
}

#[test]
fn what_depends_on_a_skipped_task_is_told_that_and_why() {
    // The container is complete without what was skipped in it, so that what waits for it is ready.
    let tasks = "- {id: box, title: Box}\n- {id: A, title: A, parentId: box}\n\
                 - {id: B, title: B, parentId: box}\n- {id: C, title: C, dependsOn: [box]}\n";
    let project = waits_for_go(Project::new());
    project
        .repo
        .file(".ralph/tasks/all.yaml", tasks)
        .commit("tasks");
    project.told(&["skip", "--task", "B", "--reason", "too dear"]);
    project.go();
    let ran = project.run(&[]).expect(0);
    assert_eq!(ran.verdicts(), ["A unverified", "C unverified"]);
    let line = "Task B, which this one depends on, was skipped and not done: too dear";
    assert_eq!(project.prompts().matches(line).count(), 1);
}

#[test]
fn the_task_that_is_worked_on_can_be_skipped_if_it_is_not_done_by_then() {
    let script = json!({"default": [{"do": [{"run": "echo begun; while [ ! -e ../go ]; do sleep 0.02; done"}]}]});
    let project = Project::with_stories(&[story("A")]).script(&script);
    let mut live = project.start(&[]);
    live.wait_for("run_started");
    let skip = project.order(&["skip", "--task", "A", "--reason", "enough"]);
    project.wait_for_orders(1);
    project.go();
    let skipped = said(skip.wait_with_output().unwrap());
    assert!(skipped.starts_with("A is skipped: enough"), "{skipped}");
    let ran = live.wait().expect(0);
    assert_eq!(ran.stop()["why"], "all_complete");
}

/// A is not done at first, and B is worked on until `go` is there; then A is done as well.
fn a_comes_again(first: &str, command: &[&str], answer: &str) {
    let stories = [story("A"), story("B")];
    let project = Project::with_stories(&stories).config("loop:\n  max_attempts: 1\n");
    let (go, prompts) = (project.outside("go"), project.outside("prompts"));
    let project = project.command(&format!(
        "cat >> {prompts}\n\
         if [ $RALPH_TASK_ID = A ] && [ ! -e {go} ]; then {first}; exit; fi\n\
         echo begun; while [ ! -e {go} ]; do sleep 0.02; done\n\
         echo x > $RALPH_TASK_ID.txt; echo \"Task $RALPH_TASK_ID complete\"",
        go = go.display(),
        prompts = prompts.display(),
    ));
    let mut live = project.start(&[]);
    begun(&mut live);
    let order = project.order(command);
    project.wait_for_orders(1);
    project.go();
    assert_eq!(said(order.wait_with_output().unwrap()), answer);
    let ran = live.wait().expect(0);
    assert_eq!(ran.verdicts()[1..], ["B verified", "A verified"]);
    if let Some(words) = command.iter().find(|word| word.starts_with("Mind")) {
        assert!(project.prompts().contains(words));
    }
}

#[test]
fn a_task_is_opened_again_or_answered_while_another_is_worked_on() {
    let question = "printf '<escalate type=stuck><question>How?</question></escalate>\\n'";
    a_comes_again(
        "echo no",
        &["unblock", "--task", "A"],
        "A is open, with all its attempts; prd.json is committed\n",
    );
    a_comes_again(
        "echo no",
        &["retry", "--task", "A", "--feedback", "Mind the gap."],
        "A is open, with all its attempts; prd.json is committed; the next prompt has what you say\n",
    );
    a_comes_again(
        question,
        &["answer", "A", "--guidance", "Mind the gap."],
        "question 1 about A is answered; the next prompt says: Mind the gap.\n",
    );
}

#[test]
fn what_the_same_loop_has_completed_is_neither_skipped_nor_opened() {
    let project = Project::with_stories(&[story("A"), story("B")]);
    let go = project.outside("go");
    let project = project.command(&format!(
        "if [ $RALPH_TASK_ID = B ]; then echo begun; while [ ! -e {} ]; do sleep 0.02; done; fi\n\
         echo x > $RALPH_TASK_ID.txt; echo \"Task $RALPH_TASK_ID complete\"",
        go.display(),
    ));
    let mut live = project.start(&[]);
    begun(&mut live);
    let skip = project.order(&["skip", "--task", "A", "--reason", "x"]);
    let retry = project.order(&["retry", "--task", "A"]);
    project.wait_for_orders(2);
    project.go();
    for order in [skip, retry] {
        let output = order.wait_with_output().unwrap();
        let error = String::from_utf8(output.stderr).unwrap();
        assert_eq!(output.status.code(), Some(2), "{error}");
        assert!(error.contains("A is complete"), "{error}");
    }
    live.wait().expect(0);
    assert!(project.passes("A"));
}

#[test]
fn two_commands_at_once_are_both_obeyed() {
    let project = waits_for_go(Project::with_stories(&[story("A"), story("B"), story("C")]));
    let mut live = project.start(&[]);
    begun(&mut live);
    let skips: Vec<Child> = ["B", "C"]
        .map(|id| project.order(&["skip", "--task", id, "--reason", "x"]))
        .into();
    project.wait_for_orders(2);
    project.go();
    for skip in skips {
        said(skip.wait_with_output().unwrap());
    }
    let ran = live.wait().expect(0);
    assert_eq!(ran.one("loop_ended")["tasks"]["skipped"], 2);
}

#[test]
fn a_loop_that_is_waiting_for_a_usage_limit_obeys() {
    let notice = "You've hit your session limit · resets in 2h";
    let words = json!({"default": [{"do": "usageLimitText", "text": notice}]});
    let project = Project::with_stories(&[story("A")]).claude(&words);
    let mut live = project.start(&[]);
    live.wait_for("waiting");
    let skipped = project.told(&["skip", "--task", "A", "--reason", "x"]);
    assert!(skipped.starts_with("A is skipped"), "{skipped}");
    assert_eq!(live.wait().expect(0).stop()["why"], "all_complete");
}

fn scratch() -> (Project, PathBuf) {
    let project = Project::with_stories(&[story("A"), story("B")]).script(&good_script());
    let file = project.repo.path("prd.json");
    (project, file)
}
