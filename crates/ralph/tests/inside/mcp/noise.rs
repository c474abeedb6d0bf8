//! Clients that send unexpected things: the server answers what it can, and lives on.

use serde_json::json;

use super::{
    client::{Client, ERAS, Era},
    support::{Project, story},
};

fn fresh() -> Project {
    Project::with_stories(&[story("A")])
}

#[test]
fn lines_that_are_no_messages_change_nothing() {
    let project = fresh();
    for era in ERAS {
        let mut client = Client::begin(&project, era, json!({}));
        for line in [
            "",
            "   ",
            "hello",
            "{",
            "\u{0}\u{1}\u{fffd}",
            "{\"jsonrpc\":\"2.0\"",
        ] {
            client.send_line(line);
        }
        // What is JSON and no message is said to be so.
        for line in [
            "[]",
            "7",
            "{\"jsonrpc\":\"1.0\",\"id\":3,\"method\":\"tools/list\"}",
            "{\"a\":1}",
        ] {
            client.send_line(line);
            let error = client.next();
            assert_eq!(error["error"]["code"], -32600, "{line}: {error}");
        }
        assert_eq!(client.done("status", json!({}))["tasks"]["total"], 1);
        client.end().well();
    }
}

#[test]
fn a_line_that_is_too_long_is_read_over_and_refused() {
    let project = fresh();
    for era in ERAS {
        let mut client = Client::begin(&project, era, json!({}));
        let huge = "x".repeat(5 * 1024 * 1024);
        let call = json!({"jsonrpc": "2.0", "id": 9, "method": "tools/call", "params": {
            "name": "say", "arguments": {"text": huge},
        }});
        for line in [huge.clone(), call.to_string()] {
            client.send_line(&line);
            let refused = client.next();
            let expected = json!({"jsonrpc": "2.0", "error": {
                "code": -32600, "message": "a message has at most 1048576 bytes",
            }});
            assert_eq!(refused, expected);
        }
        assert_eq!(client.done("status", json!({}))["tasks"]["total"], 1);
        // With its end, the first has as many bytes as are allowed.
        let call = json!({"jsonrpc": "2.0", "id": 10, "method": "nothing"}).to_string();
        let blanks = " ".repeat(1024 * 1024 - call.len() - 1);
        client.send_line(&format!("{call}{blanks}"));
        client.reply(10);
        client.send_line(&format!("{call}{blanks} "));
        assert_eq!(client.next()["error"]["code"], -32600);
        client.end().well();
    }
}

#[test]
fn a_line_that_is_too_long_and_never_ends_is_no_reason_to_fail() {
    let project = fresh();
    let mut client = Client::plain(&project);
    assert_eq!(client.done("status", json!({}))["tasks"]["total"], 1);
    client.send_part(&"x".repeat(5 * 1024 * 1024));
    client.end().well();
}

#[test]
fn methods_that_there_are_not_are_answered_by_an_error() {
    let project = fresh();
    for era in ERAS {
        let mut client = Client::begin(&project, era, json!({}));
        for method in ["tools/delete", "ralph/run", "prompts/get", "resources/read"] {
            let id = client.request(method, json!({"name": "x", "uri": "file:///etc/passwd"}));
            let reply = client.reply(id);
            assert_eq!(reply["error"]["code"], -32601, "{method}: {reply}");
        }
        let id = client.request("tools/call", json!({"arguments": {}}));
        assert!(client.reply(id)["error"]["code"].as_i64().unwrap() < 0);
        client.send(&json!({"jsonrpc": "2.0", "method": "notifications/whatever"}));
        client.send(&json!({"jsonrpc": "2.0", "id": 999, "result": {"action": "accept"}}));
        assert_eq!(client.done("status", json!({}))["tasks"]["total"], 1);
        client.end().well();
    }
}

#[test]
fn what_comes_before_the_beginning_is_no_reason_to_end() {
    let project = fresh();
    let mut client = Client::silent(project.ralph(&["mcp"]));
    client.send(&json!({"jsonrpc": "2.0", "method": "notifications/initialized"}));
    client.send(
        &json!({"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": 1}}),
    );
    client.send(&json!({"jsonrpc": "2.0", "id": 5, "result": {}}));
    // A call that says nothing of its client belongs to no era.
    client.send(
        &json!({"jsonrpc": "2.0", "id": 6, "method": "tools/call", "params": {"name": "status"}}),
    );
    assert_eq!(client.reply(6)["error"]["code"], -32602);
    client.send(&json!({"jsonrpc": "2.0", "method": "notifications/initialized"}));
    client.greet(Era::Sessions, json!({}));
    assert_eq!(client.done("status", json!({}))["tasks"]["total"], 1);
    client.end().well();
}

#[test]
fn calls_that_are_cancelled_are_not_answered_and_others_are() {
    let project = fresh();
    let mut client = Client::plain(&project);
    let ids: Vec<i64> = (0..20)
        .map(|_| client.start_call("status", json!({})))
        .collect();
    for id in ids.iter().skip(1) {
        client.send(&json!({
            "jsonrpc": "2.0", "method": "notifications/cancelled",
            "params": {"requestId": id, "reason": "changed my mind"},
        }));
    }
    assert_eq!(client.reply(ids[0])["result"]["isError"], false);
    assert_eq!(client.done("tasks_list", json!({}))["left"], 0);
    let ended = client.end();
    assert_eq!(ended.code, Some(0), "{ended:?}");
}

#[test]
fn many_calls_at_once_are_all_answered() {
    let project = fresh();
    let mut client = Client::plain(&project);
    let ids: Vec<i64> = (0..60)
        .map(|n| match n % 3 {
            0 => client.start_call("status", json!({})),
            1 => client.start_call("tasks_list", json!({"limit": 1})),
            _ => client.start_call("task_add", json!({"title": format!("Task number {n}")})),
        })
        .collect();
    for id in ids {
        assert_eq!(client.reply(id)["result"]["isError"], false);
    }
    assert_eq!(client.done("status", json!({}))["tasks"]["total"], 21);
    client.end().well();
}
