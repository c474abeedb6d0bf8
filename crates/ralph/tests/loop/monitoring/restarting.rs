//! Loops whose process is gone: said once, and started again where that is wanted.

use rustix::process::Signal;

use super::scene::{
    begun, data_of, hangs_once, health_file, messages, monitor, monitor_with, notes, stale,
    started, with_messages,
};
use crate::support::{Project, story, wait_until};

/// A loop whose ralph was killed while its agent was half way.
fn killed(project: &Project) -> String {
    let mut live = project.start(&[]);
    let id = begun(&mut live);
    live.signal(Signal::KILL);
    live.wait();
    project.assert_nothing_alive();
    id
}

#[test]
fn a_loop_whose_process_is_gone_is_told_of_once() {
    let project = with_messages(hangs_once(Project::with_stories(&[story("A")])));
    let id = killed(&project);
    for _ in 0..2 {
        let mut watcher = monitor(&project, &[]);
        let gone = watcher.wait_for("gone");
        assert_eq!(gone["loopId"], id.as_str());
        let hint = gone["hint"].as_str().unwrap();
        assert!(hint.contains(&format!("resume {id}")), "{hint}");
        watcher.signal(Signal::INT);
        watcher.wait().expect(0);
    }
    assert_eq!(messages(&project), ["halt"]);
    assert_eq!(data_of(&project, "SELECT count(*) FROM loop_note"), "1");
}

#[test]
fn a_loop_whose_process_is_gone_is_started_again_and_outlives_the_monitor() {
    let project = hangs_once(Project::with_stories(&[story("A"), story("B")]));
    let id = killed(&project);
    let mut watcher = monitor_with(&project, &["--restart"], &[]);
    watcher.wait_for("gone");
    let started = watcher.wait_for("restarted");
    assert!(started["pid"].as_u64().is_some(), "{started}");
    // Ctrl-C at the monitor is not for the loop.
    watcher.signal(Signal::INT);
    watcher.wait().expect(0);
    let ended = format!("SELECT ended_at IS NOT NULL FROM loop WHERE id = '{id}'");
    wait_until("the loop ends", || data_of(&project, &ended) == "1");
    project.assert_nothing_alive();
    assert_eq!(project.landed(), ["A", "B"]);
    let log = health_file(&project, &id).with_file_name("restart.log");
    let text = std::fs::read_to_string(log).unwrap();
    assert!(text.contains("starting `ralph run prd.json`"), "{text}");
    let kinds = notes(&project);
    assert_eq!(kinds, "gone,restarted");
}

#[test]
fn a_loop_that_hung_is_terminated_and_started_again() {
    let project = hangs_once(Project::with_stories(&[story("A")]));
    let mut live = project.start(&[]);
    let id = begun(&mut live);
    live.signal(Signal::STOP);
    stale(&project, &id, started(&live));
    let mut watcher = monitor_with(&project, &["--restart"], &[]);
    watcher.wait_for("terminated");
    watcher.wait_for("restarted");
    live.wait().expect(143);
    wait_until("the work is done", || project.landed() == ["A"]);
    watcher.signal(Signal::INT);
    watcher.wait().expect(0);
    project.assert_nothing_alive();
}

#[test]
fn a_loop_that_does_not_come_up_is_started_so_often_and_then_given_up() {
    let project = hangs_once(Project::with_stories(&[story("A")]));
    let id = killed(&project);
    project.repo.remove("prd.json");
    let env = [
        ("RALPH_MONITOR_MAX_RESTARTS", "2"),
        ("RALPH_MONITOR_HANG_SECONDS", "1"),
    ];
    let mut watcher = monitor_with(&project, &["--restart"], &env);
    for _ in 0..2 {
        watcher.wait_for("gone");
        watcher.wait_for("restarted");
    }
    let given_up = watcher.wait_for("gone");
    let hint = given_up["hint"].as_str().unwrap();
    assert!(hint.contains("started too often"), "{hint}");
    watcher.signal(Signal::INT);
    let ran = watcher.wait().expect(0);
    assert_eq!(ran.named("restarted").len(), 2);
    let log = health_file(&project, &id).with_file_name("restart.log");
    let text = std::fs::read_to_string(log).unwrap();
    assert!(
        text.contains("the task file of this loop does not exist"),
        "{text}"
    );
}

#[test]
fn a_loop_that_a_person_let_rest_is_not_started() {
    let project = hangs_once(Project::with_stories(&[story("A")]));
    let mut live = project.start(&[]);
    begun(&mut live);
    let paused = project.ralph(&["pause", "--now"]).output().unwrap();
    assert!(paused.status.success());
    wait_until("it pauses", || {
        data_of(&project, "SELECT paused_at IS NOT NULL FROM loop") == "1"
    });
    live.signal(Signal::KILL);
    live.wait();
    let mut watcher = monitor_with(&project, &["--restart"], &[]);
    let gone = watcher.wait_for("gone");
    let hint = gone["hint"].as_str().unwrap();
    assert!(hint.contains("a person let it rest"), "{hint}");
    watcher.signal(Signal::INT);
    let ran = watcher.wait().expect(0);
    assert!(ran.named("restarted").is_empty());
}
