//! A running loop, steered by a client; and none.

use serde_json::json;

use super::{
    client::Client,
    support::{Live, Project, story, wait_until},
};

/// Keeps its prompt, says that it has begun, and does its task once the file `go` is there.
fn waits_for_go() -> Project {
    let project = Project::with_stories(&[story("A"), story("B")]);
    let (go, prompts) = (project.outside("go"), project.outside("prompts"));
    project.command(&format!(
        "cat >> {prompts}; echo begun\n\
         while [ ! -e {go} ]; do sleep 0.02; done\n\
         echo x > $RALPH_TASK_ID.txt; echo \"Task $RALPH_TASK_ID complete\"",
        go = go.display(),
        prompts = prompts.display(),
    ))
}

fn begun(live: &mut Live) {
    while live.wait_for("agent")["text"] != "begun" {}
}

#[test]
fn a_loop_is_paused_told_something_and_resumed() {
    let project = waits_for_go();
    let mut live = project.start(&[]);
    begun(&mut live);
    let mut client = Client::plain(&project);
    assert_eq!(client.done("status", json!({}))["running"], true);
    let said = client.done("say", json!({"text": "Mind the gap."}));
    assert_eq!(said["command"], "say");
    let paused = client.done("pause", json!({}));
    assert_eq!(paused["command"], "pause", "{paused}");
    std::fs::write(project.outside("go"), "").unwrap();
    let is_paused =
        |client: &mut Client| !client.done("status", json!({}))["loop"]["pausedAt"].is_null();
    wait_until("the loop pauses", || is_paused(&mut client));
    let resumed = client.done("resume", json!({}));
    assert_eq!(resumed["command"], "resume", "{resumed}");
    live.wait().expect(0);
    assert_eq!(project.landed(), ["A", "B"]);
    let prompts = std::fs::read_to_string(project.outside("prompts")).unwrap();
    assert!(prompts.contains("Mind the gap."), "{prompts}");
    client.end().well();
    project.assert_nothing_alive();
}

#[test]
fn a_pause_now_stops_the_agent_and_keeps_its_work() {
    let project = waits_for_go().config("loop:\n  stop_grace_seconds: 1\n");
    let mut live = project.start(&[]);
    begun(&mut live);
    let mut client = Client::plain(&project);
    let paused = client.done("pause", json!({"now": true}));
    assert_eq!(paused["state"], "done", "{paused}");
    std::fs::write(project.outside("go"), "").unwrap();
    client.done("resume", json!({}));
    live.wait().expect(0);
    client.end().well();
}

#[test]
fn no_tool_starts_a_loop() {
    let project = Project::with_stories(&[story("A")]);
    let mut client = Client::plain(&project);
    assert_eq!(
        client.failed("resume", json!({})),
        "no loop is running here, so there is no pause to lift\n\
         hint: `ralph resume` in a terminal starts the last loop again; this server starts none"
    );
    let paused = client.done("pause", json!({}));
    assert_eq!(
        paused["sentence"],
        "no loop is running here: nothing to pause"
    );
    assert_eq!(client.done("status", json!({}))["running"], false);
    client.end().well();
    project.assert_nothing_alive();
}
