//! Before a loop: `ralph notify test` and what `ralph doctor` says.

use serde_json::{Value, json};

use super::server::{Answer, Server};
use super::{kept, stories, told_by};
use crate::support::Project;

struct Said {
    code: i32,
    out: String,
    err: String,
}

fn ralph(project: &Project, args: &[&str]) -> Said {
    let output = project.ralph(args).output().unwrap();
    Said {
        code: output.status.code().unwrap(),
        out: String::from_utf8(output.stdout).unwrap(),
        err: String::from_utf8(output.stderr).unwrap(),
    }
}

#[test]
fn a_sample_goes_all_ways_and_each_answer_is_said() {
    let server = Server::start(&[Answer::Status(200), Answer::Status(403)]);
    let more = format!(
        "  webhook: http://localhost:{}/s3cr3t-s3cr3t\n",
        server.port
    );
    let project = kept(stories(&["A"]), &more);
    let said = ralph(&project, &["notify", "test", "--on", "halt"]);
    assert_eq!(said.code, 0, "{}", said.err);
    let program = project.outside("tell");
    let expected = format!(
        "sent  command  {} ended with exit code 0\n\
         sent  webhook  localhost:{} answered 200 OK\n",
        program.display(),
        server.port
    );
    assert_eq!(said.out, expected);
    let text = std::fs::read_to_string(project.outside("messages")).unwrap();
    let mut sample: Value = serde_json::from_str(&text).unwrap();
    sample["at"].take();
    assert_eq!(
        sample,
        json!({
            "event": "halt",
            "title": "ralph in repo: a test",
            "text": "this is what a message about halt looks like",
            "hint": "nothing is to be done: `ralph notify test` sent it",
            "task": null, "loopId": "", "source": "", "branch": "",
            "exitCode": null, "at": null,
        })
    );
    let said = ralph(&project, &["notify", "test"]);
    assert_eq!(said.code, 1, "{}", said.out);
    let failed = format!(
        "failed  webhook  localhost:{} answered 403 Forbidden\n",
        server.port
    );
    assert!(said.out.contains(&failed), "{}", said.out);
    assert!(!said.out.contains("s3cr3t"), "{}", said.out);
}

#[test]
fn what_can_not_be_sent_or_would_not_be_is_said() {
    let project = stories(&["A"]);
    let said = ralph(&project, &["notify", "test"]);
    assert_eq!(said.code, 2);
    assert!(
        said.err.contains("no notifications are configured"),
        "{}",
        said.err
    );
    let project = told_by(project, "exit 0", "  on: [halt]\n");
    let said = ralph(&project, &["notify", "test", "--on=limit"]);
    assert_eq!(said.code, 0, "{}", said.err);
    assert!(
        said.err.contains("`notify.on` does not include limit"),
        "{}",
        said.err
    );
    let said = ralph(&project, &["notify", "test", "--on=x"]);
    assert_eq!(said.code, 2);
    assert!(said.err.contains("budget_alert"), "{}", said.err);
}

fn checks(project: &Project) -> Vec<Value> {
    let said = ralph(project, &["doctor", "--json"]);
    let report: Value = serde_json::from_str(&said.out).unwrap();
    assert!(!said.out.contains("s3cr3t"), "{}", said.out);
    let all = report["checks"].as_array().unwrap().iter();
    let mut found: Vec<Value> = all.filter(|c| c["name"] == "notify").cloned().collect();
    for check in &mut found {
        check.as_object_mut().unwrap().remove("name");
    }
    found
}

#[test]
fn doctor_says_who_would_be_told_and_sends_nothing() {
    let server = Server::start(&[Answer::Status(200)]);
    let more = format!(
        "  webhook: http://localhost:{}/s3cr3t-s3cr3t\n",
        server.port
    );
    let project = kept(stories(&["A"]), &more);
    let program = project.outside("tell");
    assert_eq!(
        checks(&project),
        [
            json!({"state": "ok", "hint": null, "message": format!("command: {}", program.display())}),
            json!({"state": "ok", "hint": null,
                   "message": format!("webhook: http://localhost:{}/(hidden)", server.port)}),
        ]
    );
    assert_eq!(server.requests().len(), 0);
    assert!(!project.outside("messages").exists());
}

#[test]
fn doctor_says_what_would_not_work() {
    let project = stories(&["A"]);
    assert_eq!(checks(&project)[0]["state"], "note");
    let project = project.config(
        "notify:\n  command: [no-such-teller]\n  webhook: https://host/s3cr3t\n  \
         webhook_token_env: HOOK\n  desktop: on\n  on: []\n",
    );
    let found = checks(&project);
    let states: Vec<&str> = found.iter().map(|c| c["state"].as_str().unwrap()).collect();
    assert_eq!(
        states,
        ["problem", "problem", "warning", "warning"],
        "{found:?}"
    );
    assert_eq!(
        found[1]["message"],
        "webhook: https://host/(hidden) needs HOOK, which is not set"
    );
    let program = project.repo.path("tell");
    project.repo.script("tell", "#!/bin/sh\n");
    let project = project.config(&format!("notify:\n  command: [{}]\n", program.display()));
    let found = checks(&project);
    assert_eq!(found[0]["state"], "warning", "{found:?}");
}
