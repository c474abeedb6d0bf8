//! The fake agent at its worst, below a keeper.

use std::time::Duration;

use ralph_engine::process::{CommandSpec, Ended, LineReader, Signal, Stdin, StopPlan, spawn};
use ralph_testkit::fake_agent::fake_agent;

use crate::support::{Leash, tight_containments};

fn agent(leash: &Leash, scenario: &str) -> CommandSpec {
    let path = leash.dir().join("scenario.json");
    std::fs::write(&path, scenario).unwrap();
    let mut spec = CommandSpec::new(fake_agent(), leash.dir())
        .args(["-p", "--output-format", "stream-json"])
        .env("PATH", std::env::var_os("PATH").unwrap())
        .env("FAKE_AGENT_SCENARIO", path)
        .stdin(Stdin::Bytes(b"the prompt".to_vec()));
    for (key, value) in leash.env() {
        spec = spec.env(key, value);
    }
    spec
}

const SURVIVOR: &str = r#"{"do": "spawnChild", "pidFile": "pid", "holdOutput": true,
    "command": "exec 9>\"$LEASH\"; echo up >&9; exec sleep 1000"}"#;

#[tokio::test]
async fn an_agent_that_is_finished_but_never_exits_and_ignores_signals_is_stopped() {
    for containment in tight_containments() {
        let mut leash = Leash::new();
        let scenario = format!(
            r#"{{"ignoreSignals": ["TERM", "INT"],
                 "default": [{SURVIVOR}, {{"do": "result"}}, {{"do": "hang"}}]}}"#
        );
        let mut running = spawn(&agent(&leash, &scenario), containment).unwrap();
        let mut lines = LineReader::new(running.take_stdout().unwrap());
        while let Some(line) = lines.next_line().await.unwrap() {
            if line.bytes.starts_with(br#"{"type":"result""#) {
                break;
            }
        }
        leash.up(1).await;
        let short = Duration::from_millis(50);
        let plan = StopPlan {
            first: Signal::INT,
            grace: short,
            term_grace: short,
        };
        assert_eq!(running.stop(plan).await.unwrap(), Ended::Signal(9));
        leash.assert_dead(containment.as_str()).await;
        assert_eq!(
            lines.next_line().await.unwrap(),
            None,
            "nothing holds the output"
        );
    }
}

#[tokio::test]
async fn a_child_that_an_agent_leaves_in_another_session_dies_with_it() {
    for containment in tight_containments() {
        let mut leash = Leash::new();
        let scenario = format!(
            r#"{{"default": [{SURVIVOR}, {{"do": "hang", "untilFile": "go"}}, {{"do": "exit", "code": 4}}]}}"#
        );
        let mut running = spawn(&agent(&leash, &scenario), containment).unwrap();
        leash.up(1).await;
        std::fs::write(leash.dir().join("go"), "").unwrap();
        let mut lines = LineReader::new(running.take_stdout().unwrap());
        while lines.next_line().await.unwrap().is_some() {}
        assert_eq!(running.wait().await.unwrap(), Ended::Code(4));
        leash.assert_dead(containment.as_str()).await;
    }
}
