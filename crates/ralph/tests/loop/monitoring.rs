//! `ralph monitor`: loops that hang or are gone, with real processes and seconds instead of minutes.

mod health;
mod restarting;
mod scene;

use rustix::process::Signal;
use serde_json::json;

use crate::support::{Live, Project, story};
use scene::{
    Sleeper, begun, data_of, hangs_once, health_file, loop_id, messages, monitor, stale, started,
    with_messages,
};

#[test]
fn a_loop_that_hangs_is_asked_told_of_terminated_and_can_be_gone_on_with() {
    let project = with_messages(hangs_once(Project::with_stories(&[story("A"), story("B")])));
    let mut live = project.start(&[]);
    let id = begun(&mut live);
    live.signal(Signal::STOP);
    stale(&project, &id, started(&live));
    let mut watcher = monitor(&project, &[]);
    let asked = watcher.wait_for("hangs");
    assert_eq!(asked["loopId"], id.as_str());
    assert_eq!(asked["pid"], live.pid().as_raw_nonzero().get());
    let sentence = asked["sentence"].as_str().unwrap();
    assert!(sentence.contains("is stopped by a signal"), "{sentence}");
    let escalated = watcher.wait_for("escalated");
    let hint = escalated["hint"].as_str().unwrap();
    let way_out = format!("kill -CONT {}", live.pid().as_raw_nonzero());
    assert!(hint.contains(&way_out), "{hint}");
    watcher.wait_for("terminating");
    let ended = watcher.wait_for("terminated");
    let sentence = ended["sentence"].as_str().unwrap();
    assert!(
        sentence.contains("nothing that it had started is left"),
        "{sentence}"
    );
    let resume = format!("resume {id}");
    assert!(ended["hint"].as_str().unwrap().contains(&resume), "{ended}");
    // It was let go on to end in order, and did.
    live.wait().expect(143);
    watcher.signal(Signal::INT);
    watcher.wait().expect(0);
    project.assert_nothing_alive();
    assert_eq!(messages(&project), ["escalation", "halt"]);
    assert_eq!(project.attempts().len(), 1, "its work is kept");

    let listed = project.ralph(&["loops"]).output().unwrap();
    let text = String::from_utf8(listed.stdout).unwrap();
    let both = "asked to stop (SIGTERM); it hung and was terminated (process ";
    assert!(text.contains(both), "{text}");

    let again = project.ralph(&["resume", &id, "--json", "--agent", &project.agent_word()]);
    let ran = Live::start(again).wait().expect(0);
    assert_eq!(ran.verdicts(), ["A verified", "B verified"]);
    assert_eq!(project.landed(), ["A", "B"]);
    assert_eq!(data_of(&project, "PRAGMA integrity_check"), "ok");
    let kinds = scene::notes(&project);
    assert_eq!(kinds, "asked,escalated,terminating,terminated");
}

/// With what the loop itself writes and nothing else.
#[test]
fn a_loop_that_falls_silent_is_found_by_its_own_heartbeat_and_its_agent_dies_with_it() {
    let project = hangs_once(Project::with_stories(&[story("A")]));
    let mut live = project.start(&[]);
    let id = begun(&mut live);
    let mut watcher = monitor(&project, &[]);
    let seen = watcher.wait_for("watching");
    assert_eq!(seen["pid"], live.pid().as_raw_nonzero().get());
    let sentence = seen["sentence"].as_str().unwrap();
    assert!(sentence.contains("agent healthy"), "{sentence}");
    live.signal(Signal::STOP);
    let asked = watcher.wait_for("hangs");
    assert_eq!(asked["loopId"], id.as_str());
    assert!(scene::has_agent(&project), "it works on without its loop");
    watcher.wait_for("terminated");
    live.wait().expect(143);
    watcher.signal(Signal::INT);
    watcher.wait().expect(0);
    project.assert_nothing_alive();
    assert!(!health_file(&project, &id).exists(), "it has an end");
    project.run(&[]).expect(0);
    assert_eq!(project.landed(), ["A"]);
}

#[test]
fn a_loop_that_does_not_end_when_it_is_told_is_killed_with_its_agent() {
    let project = Project::with_stories(&[story("A")])
        .config("loop:\n  stop_grace_seconds: 60\n")
        .claude(&json!({
            "ignoreSignals": ["TERM", "INT", "HUP"],
            "default": [{"do": "write", "path": "half.txt", "text": "x"}, {"do": "say", "text": "begun"}, {"do": "hang"}],
        }));
    let mut live = project.start(&[]);
    let id = begun(&mut live);
    live.signal(Signal::STOP);
    stale(&project, &id, started(&live));
    let mut watcher = monitor(&project, &[]);
    watcher.wait_for("terminating");
    watcher.wait_for("killed");
    let ended = watcher.wait_for("terminated");
    let sentence = ended["sentence"].as_str().unwrap();
    assert!(
        sentence.contains("nothing that it had started is left"),
        "{sentence}"
    );
    assert_eq!(live.wait().code(), -9);
    watcher.signal(Signal::TERM);
    watcher.wait().expect(0);
    project.assert_nothing_alive();
    assert_eq!(data_of(&project, "PRAGMA integrity_check"), "ok");
    // The list of loops says what happened.
    let listed = project.ralph(&["loops"]).output().unwrap();
    let text = String::from_utf8(listed.stdout).unwrap();
    assert!(text.contains("it hung and was terminated"), "{text}");
    let project = project.script(&crate::support::good_script());
    let ran = project.run(&[]).expect(0);
    assert_eq!(ran.one("loop_started")["resumed"], true);
    assert_eq!(project.landed(), ["A"]);
}

#[test]
fn a_loop_that_goes_on_before_its_time_is_over_is_left_alone() {
    let project = hangs_once(Project::with_stories(&[story("A")]));
    let mut live = project.start(&[]);
    let id = begun(&mut live);
    live.signal(Signal::STOP);
    stale(&project, &id, started(&live));
    let slow = [("RALPH_MONITOR_ESCALATE_WAIT_MINUTES", "10")];
    let mut watcher = monitor(&project, &slow);
    watcher.wait_for("escalated");
    live.signal(Signal::CONT);
    scene::fresh(&project, &id, started(&live));
    watcher.wait_for("recovered");
    // What it was asked has been answered.
    crate::support::wait_until("the queue is empty", || {
        data_of(&project, "SELECT result FROM command").contains("the loop listens")
    });
    live.signal(Signal::INT);
    live.wait().expect(130);
    watcher.wait_for("ended");
    watcher.signal(Signal::INT);
    let ran = watcher.wait().expect(0);
    assert!(ran.named("terminating").is_empty());
}

#[test]
fn of_two_loops_only_the_one_that_hangs_is_touched() {
    let one = hangs_once(Project::with_stories(&[story("A")]));
    let other =
        hangs_once(Project::with_stories(&[story("A")])).env("RALPH_DATA_DIR", one.repo.data_dir());
    let mut hanging = one.start(&[]);
    let mut working = other.start(&[]);
    let (id, works) = (begun(&mut hanging), begun(&mut working));
    hanging.signal(Signal::STOP);
    stale(&one, &id, started(&hanging));
    let mut watcher = monitor(&one, &[]);
    let ended = watcher.wait_for("terminated");
    assert_eq!(ended["loopId"], id.as_str());
    hanging.wait().expect(143);
    // The monitor itself has the same home folder; its own processes have ended.
    crate::support::wait_until("its agent is dead", || !scene::has_agent(&one));
    watcher.signal(Signal::INT);
    let ran = watcher.wait().expect(0);
    let about_it = |event: &&serde_json::Value| event["loopId"] == works.as_str();
    let events = ran.events();
    let said: Vec<_> = events.iter().filter(about_it).collect();
    assert_eq!(said.len(), 1, "{said:?}");
    assert_eq!(said[0]["event"], "watching");
    working.signal(Signal::INT);
    working.wait().expect(130);
    other.assert_nothing_alive();
}

#[test]
fn a_number_that_is_somebody_elses_by_now_is_never_signalled() {
    let project = hangs_once(Project::with_stories(&[story("A")]));
    let mut live = project.start(&[]);
    let id = begun(&mut live);
    live.signal(Signal::KILL);
    live.wait();
    let sleeper = Sleeper::start();
    let (pid, begun) = sleeper.identity();
    // The number of the loop with another start: the loop is gone.
    stale(&project, &id, (pid, begun - 1));
    let mut watcher = monitor(&project, &[]);
    assert_eq!(watcher.wait_for("gone")["pid"], json!(null));
    // Even with the right start it is not who holds the working tree, and is not judged.
    stale(&project, &id, (pid, begun));
    watcher.wait_for("recovered");
    watcher.signal(Signal::INT);
    let ran = watcher.wait().expect(0);
    assert!(ran.named("hangs").is_empty());
    assert!(sleeper.sleeps_on());
}

#[test]
fn a_second_monitor_is_refused_by_name_and_ctrl_c_ends_the_first() {
    let project = hangs_once(Project::with_stories(&[story("A")]));
    let mut live = project.start(&[]);
    let id = begun(&mut live);
    let mut watcher = monitor(&project, &[]);
    assert_eq!(watcher.wait_for("watching")["loopId"], id.as_str());
    let second = project.ralph(&["monitor"]).output().unwrap();
    let error = String::from_utf8(second.stderr).unwrap();
    assert_eq!(second.status.code(), Some(2), "{error}");
    let owner = format!("(process {})", watcher.pid().as_raw_nonzero());
    assert!(error.contains("another `ralph monitor` watches"), "{error}");
    assert!(error.contains(&owner), "{error}");
    watcher.signal(Signal::INT);
    watcher.wait().expect(0);
    // The loop goes on.
    assert!(std::fs::exists(format!("/proc/{}", live.pid().as_raw_nonzero())).unwrap());
    live.signal(Signal::INT);
    live.wait().expect(130);
}

#[test]
fn one_look_tells_by_its_exit_code_whether_all_is_well() {
    let project = hangs_once(Project::with_stories(&[story("A")]));
    let once = |code: i32| {
        let command = scene::quick(project.ralph(&["monitor", "--once", "--json"]));
        Live::start(command).wait().expect(code).events()
    };
    assert!(once(0).is_empty(), "nothing ever ran");
    let mut live = project.start(&[]);
    let id = begun(&mut live);
    assert_eq!(once(0)[0]["event"], "watching");
    live.signal(Signal::STOP);
    stale(&project, &id, started(&live));
    assert_eq!(once(7)[0]["event"], "hangs");
    assert_eq!(data_of(&project, "SELECT count(*) FROM loop_note"), "0");
    live.signal(Signal::KILL);
    live.wait();
    let gone = once(7);
    assert_eq!(gone[0]["event"], "gone");
    assert!(gone[0]["hint"].as_str().unwrap().contains(&id));
    // A loop that is over is nothing to look at.
    project.run(&[]).expect(0);
    assert!(health_file(&project, &id).parent().unwrap().exists());
    assert!(once(0).is_empty());
    assert_eq!(loop_id(&project), id);
}
