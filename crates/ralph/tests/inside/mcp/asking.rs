//! Answers to questions: in the call, by the person whom the client asks, and not at all.

use serde_json::{Value, json};

use super::{
    client::{Client, ERAS, Era, failure, structure},
    support::{Project, good_attempt, good_script, story},
};

const ASKS: &str = "<escalate type=\"deviation\">\n<summary>Spec is old</summary>\n\
    <context>v1 is deprecated.</context>\n<options>\n1. Use v2\n2. Use v1 anyway\n</options>\n\
    <question>Which API version?</question>\n</escalate>";

/// A project whose agent has asked about A.
fn asked() -> Project {
    let script = json!({"tasks": {"A": [{"do": [{"say": ASKS}]}]}, "default": [good_attempt()]});
    let project = Project::with_stories(&[story("A")]).script(&script);
    project.run(&[]).expect(4);
    project.script(&good_script())
}

/// A client that can ask.
fn can_ask() -> Value {
    json!({"elicitation": {}})
}

/// Calls it without an answer. Returns the form that the person gets, and what the client has to reply to.
fn form(client: &mut Client, era: Era) -> (Value, Asking) {
    let id = client.start_call("question_answer", json!({}));
    match era {
        Era::Sessions => {
            let request = client.next();
            assert_eq!(request["method"], "elicitation/create", "{request}");
            let asking = Asking::Request {
                call: id,
                id: request["id"].clone(),
            };
            (request["params"].clone(), asking)
        }
        Era::Stateless => {
            let reply = client.reply(id);
            let result = &reply["result"];
            assert_eq!(result["resultType"], "input_required", "{reply}");
            let request = &result["inputRequests"]["person"];
            assert_eq!(request["method"], "elicitation/create", "{reply}");
            let state = result["requestState"].clone();
            (request["params"].clone(), Asking::Answer { state })
        }
    }
}

enum Asking {
    Request { call: i64, id: Value },
    Answer { state: Value },
}

/// Sends the person's reply; returns the end of the call.
fn reply(client: &mut Client, asking: Asking, result: Value) -> Value {
    match asking {
        Asking::Request { call, id } => {
            client.send(&json!({"jsonrpc": "2.0", "id": id, "result": result}));
            client.reply(call)
        }
        Asking::Answer { state } => {
            let again = json!({
                "name": "question_answer", "arguments": {},
                "inputResponses": {"person": result}, "requestState": state,
            });
            let id = client.request("tools/call", again);
            client.reply(id)
        }
    }
}

fn accept(choice: &str, text: &str) -> Value {
    json!({"action": "accept", "content": {"answer": choice, "text": text}})
}

fn is_open(client: &mut Client) -> bool {
    let listed = client.done("questions_list", json!({}));
    listed["questions"].as_array().unwrap().len() == 1
}

#[test]
fn the_person_is_asked_with_the_options_and_their_choice_is_the_answer() {
    for era in ERAS {
        let project = asked();
        let mut client = Client::begin(&project, era, can_ask());
        let (shown, asking) = form(&mut client, era);
        let message = shown["message"].as_str().unwrap();
        assert_eq!(
            message,
            "Question 1 of task A, iteration 1:\n\nSpec is old\n\nv1 is deprecated.\n\nWhich API version?"
        );
        assert_eq!(
            shown["requestedSchema"],
            json!({
                "type": "object",
                "properties": {
                    "answer": {"type": "string", "title": "Your answer", "enum": [
                        "1. Use v2", "2. Use v1 anyway", "Answer in my own words (below)",
                        "Try again without an answer", "Skip the task", "Stop the loop",
                    ]},
                    "text": {"type": "string", "title": "In your own words", "maxLength": 8000},
                },
                "required": ["answer"],
            })
        );
        let ended = reply(&mut client, asking, accept("1. Use v2", ""));
        let sent = structure(&ended);
        assert_eq!(
            (&sent["command"], &sent["state"]),
            (&json!("answer"), &json!("done")),
            "{sent}"
        );
        let all = client.done("questions_list", json!({"all": true}));
        assert_eq!(all["questions"][0]["answer"]["how"], "option", "{all}");
        assert!(!is_open(&mut client));
        client.end().well();
        project.run(&[]).expect(0);
        assert_eq!(project.landed(), ["A"]);
    }
}

#[test]
fn their_own_words_go_to_the_next_agent() {
    for era in ERAS {
        let project = asked();
        let mut client = Client::begin(&project, era, json!({"elicitation": {"form": {}}}));
        let (_, asking) = form(&mut client, era);
        let words = accept("Answer in my own words (below)", "Use v3 of the API.");
        structure(&reply(&mut client, asking, words));
        let all = client.done("questions_list", json!({"all": true}));
        assert_eq!(all["questions"][0]["answer"]["how"], "guidance", "{all}");
        client.end().well();
        let dry = project.ralph(&["run", "--dry-run"]).output().unwrap();
        assert!(String::from_utf8_lossy(&dry.stdout).contains("Use v3 of the API."));
    }
}

#[test]
fn what_the_person_declines_closes_or_leaves_empty_changes_nothing() {
    for era in ERAS {
        let project = asked();
        let mut client = Client::begin(&project, era, can_ask());
        for (action, why) in [
            ("decline", "the person declined to answer"),
            ("cancel", "the person closed the question"),
        ] {
            let (_, asking) = form(&mut client, era);
            let ended = structure(&reply(&mut client, asking, json!({"action": action})));
            assert_eq!(ended["answered"], false);
            assert_eq!(ended["why"], why);
            assert_eq!(ended["question"]["id"], 1);
            assert!(is_open(&mut client), "{action}");
        }
        for (choice, says) in [
            (
                "Answer in my own words (below)",
                "the person chose to answer in their own words and wrote none",
            ),
            ("3. Use v9", "the reply is none of the choices"),
            ("", "the reply is none of the choices"),
        ] {
            let (_, asking) = form(&mut client, era);
            let error = failure(&reply(&mut client, asking, accept(choice, " ")));
            assert!(error.starts_with(says), "{error}");
            assert!(is_open(&mut client), "{choice}");
        }
        client.end().well();
    }
}

#[test]
fn a_client_that_can_t_ask_gets_the_question_and_how_to_answer_it() {
    for era in ERAS {
        for capabilities in [json!({}), json!({"elicitation": {"url": {}}})] {
            let project = asked();
            let mut client = Client::begin(&project, era, capabilities);
            let left = client.done("question_answer", json!({"question": "A"}));
            assert_eq!(left["answered"], false);
            let options = &left["question"]["escalation"]["options"];
            assert_eq!(options, &json!(["Use v2", "Use v1 anyway"]));
            assert!(
                left["why"]
                    .as_str()
                    .unwrap()
                    .contains("`option`, `guidance` or `action`")
            );
            assert!(is_open(&mut client));
            let sent = client.done("question_answer", json!({"question": "1", "option": 2}));
            assert_eq!(sent["state"], "done", "{sent}");
            assert!(!is_open(&mut client));
            client.end().well();
        }
    }
}

#[test]
fn a_client_that_fails_to_ask_is_one_that_can_t() {
    let project = asked();
    let mut client = Client::begin(&project, Era::Sessions, can_ask());
    let id = client.start_call("question_answer", json!({}));
    let request = client.next();
    client.send(
        &json!({"jsonrpc": "2.0", "id": request["id"], "error": {"code": -32601, "message": "no"}}),
    );
    let left = structure(&client.reply(id));
    assert_eq!(left["answered"], false);
    assert!(is_open(&mut client));
    client.end().well();
}

#[test]
fn an_answer_in_the_call_needs_no_form() {
    let project = asked();
    let mut client = Client::begin(&project, Era::Sessions, can_ask());
    let error = client.failed("question_answer", json!({"option": 9}));
    assert!(error.contains('9'), "{error}");
    let error = client.failed(
        "question_answer",
        json!({"question": "77", "action": "retry"}),
    );
    assert!(error.contains("77"), "{error}");
    let message = client.refused_arguments("question_answer", json!({"amend": "x"}));
    assert!(message.starts_with("`amend` needs"), "{message}");
    let sent = client.done("question_answer", json!({"action": "skip"}));
    assert_eq!(sent["state"], "done", "{sent}");
    let error = client.failed("question_answer", json!({}));
    assert_eq!(error, "no question is open");
    client.end().well();
}

#[test]
fn others_are_answered_while_a_person_is_asked() {
    let project = asked();
    let mut client = Client::begin(&project, Era::Sessions, can_ask());
    let (_, asking) = form(&mut client, Era::Sessions);
    assert_eq!(client.done("status", json!({}))["tasks"]["asking"], 1);
    // Meanwhile the person has answered in a terminal.
    let answered = project.ralph(&["answer", "1", "--retry"]).output().unwrap();
    assert!(answered.status.success());
    let error = failure(&reply(&mut client, asking, accept("1. Use v2", "")));
    assert!(error.starts_with("there is no open question 1"), "{error}");
    client.end().well();
}

#[test]
fn a_reply_to_a_question_that_was_never_asked_answers_none() {
    let project = asked();
    let mut client = Client::begin(&project, Era::Stateless, can_ask());
    for state in [json!("999"), json!(null), json!("1; drop")] {
        let made_up = Asking::Answer { state };
        let error = failure(&reply(&mut client, made_up, accept("1. Use v2", "")));
        assert!(error.starts_with("there is no open question"), "{error}");
    }
    let again = json!({
        "name": "question_answer", "arguments": {},
        "inputResponses": {"person": {"action": "perhaps"}}, "requestState": "1",
    });
    let id = client.request("tools/call", again);
    assert_eq!(client.reply(id)["error"]["code"], -32602);
    assert!(is_open(&mut client));
    client.end().well();
}

#[test]
fn a_call_that_is_cancelled_while_the_person_is_asked_changes_nothing() {
    let project = asked();
    let mut client = Client::begin(&project, Era::Sessions, can_ask());
    let id = client.start_call("question_answer", json!({}));
    assert_eq!(client.next()["method"], "elicitation/create");
    client.send(&json!({
        "jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": id},
    }));
    assert!(is_open(&mut client));
    client.end().well();
}

#[test]
fn an_input_that_ends_while_the_person_is_asked_ends_the_server() {
    let project = asked();
    let mut client = Client::begin(&project, Era::Sessions, can_ask());
    client.start_call("question_answer", json!({}));
    assert_eq!(client.next()["method"], "elicitation/create");
    let ended = client.end();
    assert_eq!(ended.code, Some(0), "{ended:?}");
    project.assert_nothing_alive();
}
