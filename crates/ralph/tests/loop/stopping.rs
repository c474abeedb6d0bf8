//! Ctrl-C and SIGTERM: a clean stop, nothing alive, the work kept, and the next run goes on from it.

use rustix::process::Signal;
use serde_json::{Value, json};

use crate::support::{Live, Project, good_attempt, story};

const QUICK: &str = "loop:\n  stop_grace_seconds: 1\n";

/// Writes half of the work, then hangs with a child; at the second run it does the rest.
fn hangs_once(project: Project) -> Project {
    let half = project.outside("half");
    project.command(&format!(
        "if [ -e {half} ]; then echo x > A.txt; echo 'Task A complete'; exit; fi\n\
         echo x > half.txt; setsid sleep 1000 & touch {half}; echo begun; sleep 1000",
        half = half.display()
    ))
}

/// Waits until the agent has written its half.
fn half_way(live: &mut Live) {
    loop {
        let event = live.wait_for("agent");
        if event["text"] == "begun" {
            return;
        }
    }
}

fn stopped_by(signal: Signal, code: i32) {
    let project = hangs_once(Project::with_stories(&[story("A")]).config(QUICK));
    let mut live = project.start(&[]);
    half_way(&mut live);
    live.signal(signal);
    let ran = live.wait().expect(code);
    assert_eq!(ran.verdicts(), ["A interrupted"]);
    assert_eq!(ran.stop()["why"], "interrupted");
    project.assert_nothing_alive();
    assert_eq!(project.leftovers(), [""; 0]);
    assert_eq!(project.attempts().len(), 1);
    assert!(project.landed().is_empty());
    let ran = project.run(&[]).expect(0);
    assert_eq!(
        ran.one("iteration_started")["attempt"],
        1,
        "a stop is not charged"
    );
    assert_eq!(project.files_of("HEAD"), ["A.txt", "half.txt", "prd.json"]);
}

#[test]
fn ctrl_c_while_an_agent_runs_keeps_its_work_and_the_next_run_goes_on_from_it() {
    stopped_by(Signal::INT, 130);
}

#[test]
fn sigterm_while_an_agent_runs_keeps_its_work_and_the_next_run_goes_on_from_it() {
    stopped_by(Signal::TERM, 143);
}

#[test]
fn a_lost_terminal_while_an_agent_runs_is_a_clean_stop_too() {
    stopped_by(Signal::HUP, 129);
}

#[test]
fn ralph_stop_from_another_terminal_ends_the_loop_as_ctrl_c_does() {
    let project = hangs_once(Project::with_stories(&[story("A")]).config(QUICK));
    let mut live = project.start(&[]);
    half_way(&mut live);
    let stop = || String::from_utf8(project.ralph(&["stop"]).output().unwrap().stdout).unwrap();
    assert_eq!(
        stop(),
        format!("stopped: process {}\n", live.pid().as_raw_nonzero())
    );
    let ran = live.wait().expect(143);
    assert_eq!(ran.verdicts(), ["A interrupted"]);
    project.assert_nothing_alive();
    assert_eq!(project.attempts().len(), 1);
    assert_eq!(stop(), "no loop is running here\n");
}

#[test]
fn ctrl_c_ends_an_agent_that_ignores_it() {
    let project = Project::with_stories(&[story("A")]).config(QUICK).claude(&json!({
        "ignoreSignals": ["TERM", "INT", "HUP"],
        "default": [{"do": "write", "path": "half.txt", "text": "x"}, {"do": "say", "text": "begun"}, {"do": "hang"}],
    }));
    let mut live = project.start(&[]);
    half_way(&mut live);
    live.signal(Signal::INT);
    live.wait().expect(130);
    project.assert_nothing_alive();
    assert_eq!(project.leftovers(), [""; 0]);
    assert_eq!(project.attempts().len(), 1);
}

#[test]
fn a_second_ctrl_c_ends_ralph_at_once_and_the_next_run_cleans_up() {
    let project = hangs_once(Project::with_stories(&[story("A")])).agent_ignores();
    let mut live = project.start(&[]);
    half_way(&mut live);
    live.signal(Signal::INT);
    live.signal(Signal::TERM);
    let ran = live.wait();
    assert!([130, 143].contains(&ran.code()), "{}", ran.code());
    project.assert_nothing_alive();
    let ran = project.run(&[]).expect(0);
    assert_eq!(ran.one("loop_started")["resumed"], true);
    assert_eq!(project.files_of("HEAD"), ["A.txt", "half.txt", "prd.json"]);
}

#[test]
fn ctrl_c_while_verification_runs_lands_nothing_and_keeps_the_work() {
    for (signal, code) in [(Signal::INT, 130), (Signal::TERM, 143)] {
        let mut task = story("A");
        task["verify"] = json!(["test -e \"$HOME/go\" || { setsid sleep 1000 & sleep 1000; }"]);
        let script = json!({"default": [good_attempt()]});
        let project = Project::with_stories(&[task]).config(QUICK).script(&script);
        let mut live = project.start(&[]);
        live.wait_for("verify_started");
        live.signal(signal);
        let ran = live.wait().expect(code);
        assert_eq!(ran.verdicts(), ["A interrupted"]);
        project.assert_nothing_alive();
        assert!(project.landed().is_empty());
        assert_eq!(project.leftovers(), [""; 0]);
        assert_eq!(project.attempts().len(), 1);
        std::fs::write(project.repo.home().join("go"), "").unwrap();
        project.run(&[]).expect(0);
        assert_eq!(project.landed(), ["A"]);
    }
}

#[test]
fn ctrl_c_while_the_baseline_runs_starts_no_agent() {
    let project = Project::with_stories(&[story("A")])
        .config("loop:\n  stop_grace_seconds: 1\nverification:\n  commands:\n    - \"test -e \\\"$HOME/go\\\" || sleep 1000\"\n")
        .script(&json!({"default": [good_attempt()]}));
    let mut live = project.start(&[]);
    live.wait_for("verify_started");
    live.signal(Signal::INT);
    let ran = live.wait().expect(130);
    assert!(ran.named("iteration_started").is_empty());
    project.assert_nothing_alive();
    std::fs::write(project.repo.home().join("go"), "").unwrap();
    let ran = project.run(&[]).expect(0);
    assert_eq!(ran.named("baseline_ended").len(), 1);
}

#[test]
fn ctrl_c_to_the_whole_group_as_a_terminal_sends_it_is_a_clean_stop() {
    use std::os::unix::process::CommandExt as _;
    let project = hangs_once(Project::with_stories(&[story("A")]).config(QUICK));
    let mut command = project.run_command(&[]);
    command.process_group(0);
    let mut live = Live::start(command);
    half_way(&mut live);
    rustix::process::kill_process_group(live.pid(), Signal::INT).unwrap();
    let ran = live.wait().expect(130);
    assert_eq!(ran.verdicts(), ["A interrupted"]);
    project.assert_nothing_alive();
    assert_eq!(project.attempts().len(), 1);
}

#[test]
fn a_killed_ralph_leaves_nothing_alive() {
    let project = hangs_once(Project::with_stories(&[story("A")]));
    let mut live = project.start(&[]);
    half_way(&mut live);
    live.signal(Signal::KILL);
    assert_eq!(live.wait().code(), -9);
    project.assert_nothing_alive();
    let ran = project.run(&[]).expect(0);
    assert_eq!(ran.verdicts(), ["A interrupted", "A verified"]);
    assert_eq!(project.files_of("HEAD"), ["A.txt", "half.txt", "prd.json"]);
}

#[test]
fn what_failed_before_a_stop_is_told_to_the_attempt_after_it() {
    let project = Project::with_stories(&[story("A")])
        .config("loop:\n  stop_grace_seconds: 1\n  max_verify_retries: 0\n");
    let count = project.outside("count").display().to_string();
    let project = project.command(&format!(
        "echo x >> {count}; n=$(wc -l < {count}); cat > {count}-$n\n\
         case $n in 1) echo x > wrong.txt;; 2) echo begun; sleep 1000;; 3) echo x > A.txt;; esac\n\
         echo 'Task A complete'"
    ));
    project.run(&["--once"]).expect(3);
    let mut live = project.start(&[]);
    half_way(&mut live);
    live.signal(Signal::INT);
    live.wait().expect(130);
    project.run(&[]).expect(0);
    for run in [2, 3] {
        let prompt = std::fs::read_to_string(project.outside(&format!("count-{run}"))).unwrap();
        assert!(
            prompt.contains("verification failed: test -f A.txt"),
            "run {run}: {prompt}"
        );
    }
    assert_eq!(project.files_of("HEAD"), ["A.txt", "prd.json", "wrong.txt"]);
}

#[test]
fn a_second_ralph_in_the_same_worktree_is_refused_and_disturbs_nothing() {
    let project = hangs_once(Project::with_stories(&[story("A")]).config(QUICK));
    let mut live = project.start(&[]);
    half_way(&mut live);
    let pid = live.pid().as_raw_nonzero().to_string();
    let second = project.run(&[]).expect(2).says("another ralph").says(&pid);
    assert!(second.events().is_empty());
    live.signal(Signal::TERM);
    let ran = live.wait().expect(143);
    assert_eq!(ran.verdicts(), ["A interrupted"]);
}

#[test]
fn a_reader_of_the_output_that_goes_away_does_not_stop_the_loop() {
    let project = Project::with_stories(&[story("A"), story("B")])
        .script(&json!({"default": [good_attempt()]}));
    let mut command = project.run_command(&[]);
    let (reader, writer) = std::io::pipe().unwrap();
    command.stdout(writer);
    let mut child = command.spawn().unwrap();
    drop(command);
    drop(reader);
    assert_eq!(child.wait().unwrap().code(), Some(0));
    assert_eq!(project.landed(), ["A", "B"]);
}

impl Project {
    /// Gives an agent long to end by itself, so that a second signal comes before that.
    fn agent_ignores(self) -> Self {
        self.env("RALPH_LOOP_STOP_GRACE_SECONDS", "60")
    }
}

/// What an agent left at the moment of a stop is inspected as strictly as any other work.
#[test]
fn a_forged_task_file_at_the_moment_of_a_stop_is_put_back() {
    let project = Project::with_stories(&[story("A")])
        .config(QUICK)
        .command("sed -i 's/\"passes\": false/\"passes\": true/' prd.json; echo begun; sleep 1000");
    let before: Value = serde_json::from_str(&project.repo.read("prd.json")).unwrap();
    let mut live = project.start(&[]);
    half_way(&mut live);
    live.signal(Signal::INT);
    live.wait().expect(130);
    let after: Value = serde_json::from_str(&project.repo.read("prd.json")).unwrap();
    assert_eq!(after, before);
}
