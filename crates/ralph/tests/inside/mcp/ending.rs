//! The end of a server: by its input, by signals, and before it has begun. It leaves nothing behind.

use rustix::process::Signal;
use serde_json::json;

use super::{
    client::{Client, ERAS},
    support::{Project, story},
};

fn fresh() -> Project {
    Project::with_stories(&[story("A")])
}

#[test]
fn it_ends_with_its_input() {
    let project = fresh();
    for era in ERAS {
        let mut client = Client::begin(&project, era, json!({}));
        client.done("status", json!({}));
        client.end().well();
    }
    Client::silent(project.ralph(&["mcp"])).end().well();
    project.assert_nothing_alive();
}

#[test]
fn what_was_asked_before_the_input_ended_is_answered() {
    let project = fresh();
    let mut client = Client::plain(&project);
    let id = client.start_call("say", json!({"text": "be quick"}));
    let ended = client.end();
    assert_eq!(ended.code, Some(0), "{ended:?}");
    assert_eq!(ended.rest.len(), 1, "{ended:?}");
    assert_eq!(ended.rest[0]["id"], id);
    assert_eq!(ended.rest[0]["result"]["isError"], false, "{ended:?}");
}

#[test]
fn signals_end_it_with_their_code() {
    let project = fresh();
    for (signal, code) in [(Signal::TERM, 143), (Signal::INT, 130), (Signal::HUP, 129)] {
        let mut client = Client::plain(&project);
        client.done("status", json!({}));
        client.signal(signal);
        let ended = client.wait();
        assert_eq!(ended.code, Some(code), "{ended:?}");
        assert_eq!(ended.stderr, "", "{ended:?}");
        // One that waits for its first message ends in the same way.
        let mut silent = Client::silent(project.ralph(&["mcp"]));
        silent.send_line(r#"{"jsonrpc":"2.0","id":0,"method":"ping"}"#);
        silent.reply(0);
        silent.signal(signal);
        assert_eq!(silent.wait().code, Some(code));
    }
    project.assert_nothing_alive();
    assert_eq!(project.leftovers(), Vec::<String>::new());
}

#[test]
fn a_poke_meant_for_a_loop_does_not_end_it() {
    let project = fresh();
    let mut client = Client::plain(&project);
    client.signal(Signal::USR1);
    assert_eq!(client.done("status", json!({}))["tasks"]["total"], 1);
    client.end().well();
}
