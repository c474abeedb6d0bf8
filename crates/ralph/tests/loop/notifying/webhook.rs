//! By a webhook: a real server on this machine.

use serde_json::{Value, json};

use super::server::{Answer, Server};
use super::{asks, stories, warnings};
use crate::support::{Project, good_script};

const SECRET: &str = "T00/B00/s3cr3t-s3cr3t";

fn hooked(server: &Server, more: &str) -> Project {
    let url = format!("http://127.0.0.1:{}/{SECRET}", server.port);
    stories(&["A"])
        .config(&format!("notify:\n  webhook: {url}\n{more}"))
        .script(&good_script())
}

#[test]
fn the_message_is_posted_with_the_token() {
    let server = Server::start(&[Answer::Status(200)]);
    let more = "  webhook_token_env: HOOK_TOKEN\n";
    let project = hooked(&server, more).env("HOOK_TOKEN", "battery-staple");
    let ran = project.run(&[]).expect(0);
    assert_eq!(warnings(&ran), [""; 0]);
    let requests = server.requests();
    assert_eq!(requests.len(), 1);
    let request = &requests[0];
    assert_eq!(request.line, format!("POST /{SECRET} HTTP/1.1"));
    for header in [
        "authorization: Bearer battery-staple",
        "content-type: application/json",
    ] {
        let is_it = |found: &String| found.eq_ignore_ascii_case(header);
        assert!(request.headers.iter().any(is_it), "{request:?}");
    }
    let mut body: Value = serde_json::from_str(&request.body).unwrap();
    body["at"].take();
    let id = body["loopId"].take();
    assert_eq!(id, ran.one("loop_started")["loopId"]);
    assert_eq!(
        body,
        json!({
            "event": "complete",
            "title": "ralph in repo: complete",
            "text": "all tasks are complete (1 of 1 tasks complete)",
            "hint": null,
            "task": null, "loopId": null, "source": "prd.json", "branch": "ralph/work",
            "exitCode": 0, "at": null,
        })
    );
}

#[test]
fn a_server_that_fails_once_is_tried_again() {
    for first in [Answer::Status(500), Answer::Status(429), Answer::HangUp] {
        let server = Server::start(&[first, Answer::Status(204)]);
        let ran = hooked(&server, "").run(&[]).expect(0);
        assert_eq!(warnings(&ran), [""; 0], "{first:?}");
        assert_eq!(server.requests().len(), 2, "{first:?}");
    }
}

#[test]
fn a_server_that_goes_on_failing_is_given_up_after_two_tries() {
    let server = Server::start(&[Answer::Status(503)]);
    let ran = hooked(&server, "").run(&[]).expect(0);
    let said = warnings(&ran);
    let host = format!("127.0.0.1:{}", server.port);
    let expected =
        format!("a message by webhook was not sent: {host} answered 503 Service Unavailable");
    assert_eq!(said, [expected]);
    assert_eq!(server.requests().len(), 2);
    assert!(!ran.all().contains("s3cr3t"), "{}", ran.all());
}

#[test]
fn what_another_try_would_not_change_is_not_tried_again() {
    for (answer, status) in [
        (Answer::Status(401), "401 Unauthorized"),
        (Answer::Redirect, "307 Temporary Redirect"),
    ] {
        let server = Server::start(&[answer]);
        let ran = hooked(&server, "").run(&[]).expect(0);
        let said = warnings(&ran);
        assert!(said[0].ends_with(&format!("answered {status}")), "{said:?}");
        assert_eq!(server.requests().len(), 1, "a token goes nowhere else");
    }
}

#[test]
fn a_server_that_hangs_costs_its_time_and_nothing_else() {
    let server = Server::start(&[Answer::Silence]);
    let more = "  timeout_seconds: 1\n";
    let project = hooked(&server, more);
    let ran = project.run(&[]).expect(0);
    let expected = format!(
        "a message by webhook was not sent: an answer of 127.0.0.1:{} took longer than 1 s",
        server.port
    );
    assert_eq!(warnings(&ran), [expected]);
    assert_eq!(server.requests().len(), 1);
}

#[test]
fn a_server_that_is_not_there_is_said_without_the_address() {
    let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    drop(listener);
    let url = format!("http://127.0.0.1:{port}/{SECRET}");
    // Nobody's but ralph's; the repository holds nothing of it.
    let project = stories(&["A"])
        .script(&good_script())
        .env("RALPH_NOTIFY_WEBHOOK", &url);
    let ran = project.run(&[]).expect(0);
    let said = warnings(&ran);
    let begin = format!("a message by webhook was not sent: 127.0.0.1:{port} can't be reached: ");
    assert!(said[0].starts_with(&begin), "{said:?}");
    let trace = std::fs::read_to_string(project.repo.data_dir().join("notify.log")).unwrap();
    for text in [ran.all(), trace] {
        assert!(!text.contains("s3cr3t") && !text.contains("B00"), "{text}");
    }
}

#[test]
fn a_token_that_is_not_set_is_said_and_nothing_is_sent_without_it() {
    let server = Server::start(&[Answer::Status(200)]);
    let ran = hooked(&server, "  webhook_token_env: HOOK_TOKEN\n")
        .run(&[])
        .expect(0);
    assert_eq!(
        warnings(&ran),
        [
            "a message by webhook was not sent: the variable HOOK_TOKEN is not set, which \
             `notify.webhook_token_env` names"
        ]
    );
    assert_eq!(server.requests().len(), 0);
}

#[test]
fn an_address_that_an_agent_found_is_not_repeated() {
    let server = Server::start(&[Answer::Status(200)]);
    let url = format!("http://127.0.0.1:{}/{SECRET}", server.port);
    let project = stories(&["A", "B"])
        .config(&format!("notify:\n  webhook: {url}\n"))
        .script(&asks(&format!("Is {url} the one, or s3cr3t-s3cr3t?")));
    project.run(&[]).expect(4);
    let requests = server.requests();
    assert_eq!(requests.len(), 2);
    let body: Value = serde_json::from_str(&requests[0].body).unwrap();
    let expected = format!(
        "Is http://127.0.0.1:{}/[redacted] the one, or [redacted]?",
        server.port
    );
    assert_eq!(body["text"], expected);
}

#[test]
fn a_proxy_is_not_asked_for_this_machine() {
    let (server, proxy) = (
        Server::start(&[Answer::Status(200)]),
        Server::start(&[Answer::Status(200)]),
    );
    let address = format!("http://127.0.0.1:{}", proxy.port);
    let project = hooked(&server, "")
        .env("http_proxy", &address)
        .env("HTTP_PROXY", &address)
        .env("ALL_PROXY", &address);
    project.run(&[]).expect(0);
    assert_eq!((server.requests().len(), proxy.requests().len()), (1, 0));
}

#[test]
fn nothing_is_said_to_a_server_that_is_not_encrypted_as_it_should_be() {
    let server = Server::start(&[Answer::Status(200)]);
    let url = format!("https://127.0.0.1:{}/{SECRET}", server.port);
    let project = stories(&["A"])
        .config(&format!("notify:\n  webhook: {url}\n"))
        .script(&good_script());
    let ran = project.run(&[]).expect(0);
    let said = warnings(&ran);
    let begin = format!(
        "a message by webhook was not sent: 127.0.0.1:{} can't be reached: ",
        server.port
    );
    assert!(said[0].starts_with(&begin), "{said:?}");
    for request in server.requests() {
        assert_eq!(request.body, "", "{request:?}");
        assert!(!request.line.contains("POST"), "{request:?}");
    }
}
