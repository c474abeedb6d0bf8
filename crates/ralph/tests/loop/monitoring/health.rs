//! `ralph health` beside a real loop.

use rustix::process::Signal;
use serde_json::{Value, json};

use super::scene::{
    begun, fresh, hangs_once, messages, monitor, quick, stale, started, with_messages,
};
use crate::support::{Live, Project, story, wait_until};

fn health(project: &Project, args: &[&str]) -> String {
    let mut all = vec!["health"];
    all.extend(args);
    let ran = Live::start(quick(project.ralph(&all))).wait().expect(0);
    String::from_utf8(ran.stdout).unwrap()
}

fn process(project: &Project) -> Value {
    let text = health(project, &["--json"]);
    let shown: Value = serde_json::from_str(&text).unwrap();
    shown["loops"][0]["process"].clone()
}

#[test]
fn a_loop_is_alive_hangs_or_is_gone() {
    let project = hangs_once(Project::with_stories(&[story("A")]));
    assert_eq!(health(&project, &[]), "no loop is running here\n");
    let mut live = project.start(&[]);
    let id = begun(&mut live);
    let process_of = started(&live);
    fresh(&project, &id, process_of);
    assert_eq!(process(&project), json!("alive"));
    live.signal(Signal::STOP);
    stale(&project, &id, process_of);
    assert_eq!(process(&project), json!("hangs"));
    let text = health(&project, &[]);
    let stopped = format!("hangs ({}), stopped by a signal", process_of.0);
    assert!(text.contains(&stopped), "{text}");
    live.signal(Signal::KILL);
    live.wait();
    assert_eq!(process(&project), json!("gone"));
    let text = health(&project, &["--all"]);
    assert!(text.contains(&format!("resume {id}")), "{text}");
}

/// The loop itself sees that its agent is stuck; the monitor only passes its question on.
#[test]
fn a_question_about_an_agent_is_passed_on_once_and_shown() {
    let quick_ladder = [
        ("RALPH_HEALTH_STUCK_MINUTES", "0.02"),
        ("RALPH_HEALTH_NUDGE_WAIT_MINUTES", "0.005"),
        ("RALPH_HEALTH_ESCALATION_WAIT_MINUTES", "10"),
    ];
    let mut project = with_messages(hangs_once(Project::with_stories(&[story("A")])));
    for (name, value) in quick_ladder {
        project = project.env(name, value);
    }
    let mut live = project.start(&[]);
    let id = begun(&mut live);
    let mut watcher = monitor(&project, &[]);
    let asks = watcher.wait_for("needs_person");
    assert_eq!(asks["loopId"], id.as_str());
    let sentence = asks["sentence"].as_str().unwrap();
    assert!(
        sentence.starts_with("its agent at A is stuck"),
        "{sentence}"
    );
    let hint = asks["hint"].as_str().unwrap();
    let command = "intervene more-time|handoff|terminate`";
    assert!(hint.ends_with(command), "{hint}");
    let text = health(&project, &[]);
    assert!(text.contains("asks       a person, for another "), "{text}");
    // One by the loop itself, one by the monitor.
    wait_until("both have told", || {
        messages(&project) == ["escalation", "escalation"]
    });
    live.signal(Signal::INT);
    live.wait().expect(130);
    watcher.wait_for("ended");
    watcher.signal(Signal::INT);
    let ran = watcher.wait().expect(0);
    assert_eq!(ran.named("needs_person").len(), 1);
    project.assert_nothing_alive();
}

#[test]
fn a_watcher_without_a_terminal_says_what_changes_and_nothing_else() {
    let project = hangs_once(Project::with_stories(&[story("A")]));
    let mut live = project.start(&[]);
    let id = begun(&mut live);
    let process_of = started(&live);
    fresh(&project, &id, process_of);
    let command = quick(project.ralph(&["health", "--watch", "--json"]));
    let mut watcher = Live::start(command);
    let first = watcher.wait_for("changed");
    assert_eq!(first["id"], id.as_str());
    assert_eq!(first["process"], "alive");
    live.signal(Signal::STOP);
    stale(&project, &id, process_of);
    let mut seen = watcher.wait_for("changed");
    // The signal may be seen before the file.
    if seen["process"] == "alive" {
        seen = watcher.wait_for("changed");
    }
    assert_eq!(
        (&seen["process"], &seen["stopped"]),
        (&json!("hangs"), &json!(true))
    );
    live.signal(Signal::KILL);
    live.wait();
    assert_eq!(watcher.wait_for("changed")["process"], "gone");
    project.run(&[]).expect(0);
    watcher.wait_for("over");
    watcher.signal(Signal::INT);
    watcher.wait().expect(0);
}
