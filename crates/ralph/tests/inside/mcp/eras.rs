//! Sessions as they go over the pipe, in both eras: lines of a client, and the lines that must come back.

use serde_json::{Value, json};

use super::{
    client::{Client, ERAS, Era, structure},
    support::{Project, story},
};

const NAMES: [&str; 14] = [
    "status",
    "tasks_list",
    "task_show",
    "task_add",
    "logs",
    "report",
    "cost",
    "checkpoints_list",
    "checkpoint_create",
    "questions_list",
    "question_answer",
    "pause",
    "resume",
    "say",
];

/// A project in which ralph never ran.
fn fresh() -> Project {
    Project::with_stories(&[story("A")])
}

/// Sends lines, and compares what comes back with what is written here, as far as that goes.
fn play(lines: &[(&str, &str)]) {
    let project = fresh();
    let mut client = Client::silent(project.ralph(&["mcp"]));
    for (sent, expected) in lines {
        client.send_line(sent);
        if expected.is_empty() {
            continue;
        }
        let expected: Value = serde_json::from_str(expected).unwrap();
        let came = client.next();
        assert_contains(&came, &expected);
    }
    client.end().well();
}

/// Fails unless all that is expected is there; objects may have more.
#[track_caller]
fn assert_contains(came: &Value, expected: &Value) {
    match (came, expected) {
        (Value::Object(came), Value::Object(expected)) => {
            for (name, value) in expected {
                let found = came.get(name);
                assert_contains(
                    found.unwrap_or_else(|| panic!("no {name} in {came:?}")),
                    value,
                );
            }
        }
        (came, expected) => assert_eq!(came, expected),
    }
}

#[test]
fn a_session_of_the_first_era() {
    play(&[
        (
            r#"{"jsonrpc":"2.0","id":0,"method":"ping"}"#,
            r#"{"jsonrpc":"2.0","id":0,"result":{}}"#,
        ),
        (
            r#"{"jsonrpc":"2.0","id":"a","method":"initialize","params":{"protocolVersion":"2025-06-18","capabilities":{"roots":{}},"clientInfo":{"name":"editor","version":"3.1"}}}"#,
            r#"{"jsonrpc":"2.0","id":"a","result":{"protocolVersion":"2025-06-18","capabilities":{"tools":{}},"serverInfo":{"name":"ralph"}}}"#,
        ),
        (
            r#"{"jsonrpc":"2.0","method":"notifications/initialized"}"#,
            "",
        ),
        (
            r#"{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"task_show","arguments":{"id":"A"}}}"#,
            r#"{"jsonrpc":"2.0","id":2,"result":{"isError":false,"structuredContent":{"id":"A","title":"Write A","standing":"ready","verify":["test -f A.txt"]}}}"#,
        ),
        (
            r#"{"jsonrpc":"2.0","id":3,"method":"tools/call","params":{"name":"cost"}}"#,
            r#"{"jsonrpc":"2.0","id":3,"result":{"structuredContent":{"by":"task","rows":[],"more":false}}}"#,
        ),
        (
            r#"{"jsonrpc":"2.0","id":4,"method":"tools/call","params":{"name":"delete_everything","arguments":{}}}"#,
            r#"{"jsonrpc":"2.0","id":4,"error":{"code":-32602,"message":"there is no tool `delete_everything`"}}"#,
        ),
        (
            r#"{"jsonrpc":"2.0","id":5,"method":"tools/call","params":{"name":"report","arguments":{}}}"#,
            r#"{"jsonrpc":"2.0","id":5,"result":{"isError":true,"content":[{"type":"text","text":"ralph has not run here yet\nhint: `ralph run` starts the loop; `ralph status` shows what it would do"}]}}"#,
        ),
    ]);
}

#[test]
fn requests_of_the_stateless_era() {
    play(&[
        (
            r#"{"jsonrpc":"2.0","id":1,"method":"server/discover","params":{"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientInfo":{"name":"editor","version":"4"},"io.modelcontextprotocol/clientCapabilities":{}}}}"#,
            r#"{"jsonrpc":"2.0","id":1,"result":{"resultType":"complete","supportedVersions":["2024-11-05","2025-03-26","2025-06-18","2025-11-25","2026-07-28"],"capabilities":{"tools":{}}}}"#,
        ),
        (
            r#"{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"task_show","arguments":{"id":"A"},"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientInfo":{"name":"editor","version":"4"},"io.modelcontextprotocol/clientCapabilities":{}}}}"#,
            r#"{"jsonrpc":"2.0","id":2,"result":{"resultType":"complete","isError":false,"structuredContent":{"id":"A","title":"Write A","standing":"ready"}}}"#,
        ),
        (
            r#"{"jsonrpc":"2.0","id":3,"method":"tools/call","params":{"name":"task_show","arguments":{"id":"A"}}}"#,
            r#"{"jsonrpc":"2.0","id":3,"error":{"code":-32602}}"#,
        ),
        (
            r#"{"jsonrpc":"2.0","id":4,"method":"tools/call","params":{"name":"task_show","arguments":{"id":"A"},"_meta":{"io.modelcontextprotocol/protocolVersion":"2031-01-01","io.modelcontextprotocol/clientInfo":{"name":"editor","version":"9"},"io.modelcontextprotocol/clientCapabilities":{}}}}"#,
            r#"{"jsonrpc":"2.0","id":4,"error":{"message":"Unsupported protocol version"}}"#,
        ),
    ]);
}

/// A client that does not know which one the server has.
#[test]
fn a_client_may_discover_and_then_begin_a_session() {
    play(&[
        (
            r#"{"jsonrpc":"2.0","id":1,"method":"server/discover","params":{"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientInfo":{"name":"editor","version":"4"},"io.modelcontextprotocol/clientCapabilities":{}}}}"#,
            r#"{"jsonrpc":"2.0","id":1,"result":{"resultType":"complete"}}"#,
        ),
        (
            r#"{"jsonrpc":"2.0","id":2,"method":"initialize","params":{"protocolVersion":"2024-11-05","capabilities":{},"clientInfo":{"name":"editor","version":"4"}}}"#,
            r#"{"jsonrpc":"2.0","id":2,"result":{"protocolVersion":"2024-11-05"}}"#,
        ),
        (
            r#"{"jsonrpc":"2.0","id":3,"method":"tools/call","params":{"name":"questions_list","arguments":{}}}"#,
            r#"{"jsonrpc":"2.0","id":3,"result":{"structuredContent":{"source":null,"questions":[]}}}"#,
        ),
    ]);
}

#[test]
fn the_tools_are_the_same_in_both_eras_and_say_what_they_do() {
    let project = fresh();
    for era in ERAS {
        let mut client = Client::begin(&project, era, json!({}));
        let tools = client.tools();
        let names: Vec<&str> = tools
            .iter()
            .map(|tool| tool["name"].as_str().unwrap())
            .collect();
        assert_eq!(names, NAMES, "{era:?}");
        let reading = tools
            .iter()
            .filter(|tool| tool["annotations"]["readOnlyHint"] == true);
        let reading: Vec<&str> = reading.map(|tool| tool["name"].as_str().unwrap()).collect();
        assert_eq!(
            reading,
            [
                "status",
                "tasks_list",
                "task_show",
                "logs",
                "report",
                "cost",
                "checkpoints_list",
                "questions_list"
            ]
        );
        for tool in &tools {
            assert_eq!(tool["inputSchema"]["type"], "object", "{tool}");
            assert_eq!(tool["inputSchema"]["additionalProperties"], false, "{tool}");
            assert_eq!(tool["annotations"]["openWorldHint"], false, "{tool}");
        }
        client.end().well();
    }
}

#[test]
fn two_clients_of_different_eras_work_side_by_side() {
    let project = fresh();
    let mut one = Client::begin(&project, Era::Sessions, json!({}));
    let mut other = Client::begin(&project, Era::Stateless, json!({}));
    // The first command of all makes the journal; it is alone.
    one.done("say", json!({"text": "hello"}));
    let ids = [
        one.start_call("task_add", json!({"title": "From one"})),
        one.start_call("say", json!({"text": "from one"})),
    ];
    let others = [
        other.start_call("say", json!({"text": "from the other"})),
        other.start_call("status", json!({})),
    ];
    for id in ids {
        structure(&one.reply(id));
    }
    for id in others {
        structure(&other.reply(id));
    }
    assert_eq!(other.done("status", json!({}))["tasks"]["total"], 2);
    one.end().well();
    assert_eq!(
        other.done("tasks_list", json!({}))["tasks"][1]["title"],
        "From one"
    );
    other.end().well();
}
