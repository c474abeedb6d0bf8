//! Every kind of line that `ralph run --json` writes, word for word: programs rely on it.

use jiff::Timestamp;
use ralph_core::{
    agent::{AgentEvent, AgentResult},
    breaker::BreakerState,
    command::CommandReport,
    dollars::Dollars,
    economics::{Budget, BudgetPolicy, Per, Scope},
    event::{AfterGutter, Blocked, Event, WaitReason},
    gutter::Gutter,
    handoff::HandoffTrigger,
    health::{HealthState, InterventionLevel},
    id::{CommandId, QuestionId},
    termination::Stop,
    verdict::{Halt, Verdict},
    verify::CleanOutcome,
};

use super::{
    super::{JsonLines, Reporter as _},
    Closing, Shared, story,
    story::at,
    tell,
};

const DOCS: &str = include_str!("../../../../../docs/run-events.md");

fn line(event: &Event) -> String {
    // Secrets are taken out of what is written, which is then read again.
    let value = serde_json::to_value(event).unwrap();
    assert_eq!(serde_json::from_value::<Event>(value).unwrap(), *event);
    let out = Shared::default();
    JsonLines::new(out.clone()).report(event, at(4));
    let text = out.text();
    assert_eq!(text.matches('\n').count(), 1, "{text}");
    text.trim_end().to_owned()
}

fn agent(event: AgentEvent) -> Event {
    Event::Agent(event)
}

fn same_failure() -> Gutter {
    Gutter::SameFailure {
        command: "make".into(),
        signature: "s".into(),
        count: 3,
    }
}

fn churn() -> Gutter {
    Gutter::Churn {
        files: vec!["a.rs".into()],
        attempts: 3,
    }
}

fn oscillation() -> Gutter {
    Gutter::Oscillation {
        count: 2,
        attempts: 4,
        trees: ["1a".into(), "2b".into()],
    }
}

/// Each event with its line, without the time that begins it.
fn lines() -> Vec<(Event, &'static str)> {
    let mut all = loop_lines();
    all.extend(iteration_lines());
    all.extend(agent_lines());
    all
}

#[rustfmt::skip]
fn loop_lines() -> Vec<(Event, &'static str)> {
    let blocked = vec![Blocked { task: "US-004".into(), by: vec!["US-003 is open".into()] }];
    vec![
        (story::loop_started(false),
         r#""event":"loop_started","loopId":"0198c0de-0000-7000-8000-000000000001","command":"ralph run","source":"PRD.json","branch":"ralph/users","from":"main@0123456789","agent":"claude","workspace":"layers in /data/layers","sandbox":"on, by namespaces","tasks":{"total":4,"completed":1,"ready":2,"asking":0,"waiting":1,"blocked":0,"failed":0,"skipped":0},"maxIterations":50,"resumed":false}"#),
        (Event::Notice { message: "so".into() }, r#""event":"notice","message":"so"}"#),
        (Event::Warning { message: "mind\n\u{1b}[1m".into() }, r#""event":"warning","message":"mind\n\u001b[1m"}"#),
        (Event::BaselineStarted { commands: 2 }, r#""event":"baseline_started","commands":2}"#),
        (Event::BaselineEnded { red: vec!["make".into()] }, r#""event":"baseline_ended","red":["make"]}"#),
        (Event::CleanChecked { commit: "c0ffee".into(), outcome: CleanOutcome::NotChecked, message: "so".into(), tail: String::new() },
         r#""event":"clean_checked","commit":"c0ffee","outcome":"not_checked","message":"so","tail":""}"#),
        (Event::TaskBlocked { task: "T".into(), reason: "why".into() }, r#""event":"task_blocked","task":"T","reason":"why"}"#),
        (Event::Gutter { task: "T".into(), gutter: churn(), sentence: "so".into(), then: AfterGutter::Diagnose, hint: "do".into() },
         r#""event":"gutter","task":"T","rule":"churn","files":["a.rs"],"attempts":3,"sentence":"so","then":"diagnose","hint":"do"}"#),
        (Event::Gutter { task: "T".into(), gutter: same_failure(), sentence: "so".into(), then: AfterGutter::Ask, hint: "do".into() },
         r#""event":"gutter","task":"T","rule":"same_failure","command":"make","signature":"s","count":3,"sentence":"so","then":"ask","hint":"do"}"#),
        (Event::Gutter { task: "T".into(), gutter: oscillation(), sentence: "so".into(), then: AfterGutter::Pause, hint: "do".into() },
         r#""event":"gutter","task":"T","rule":"oscillation","count":2,"attempts":4,"trees":["1a","2b"],"sentence":"so","then":"pause","hint":"do"}"#),
        (Event::Diagnosis { iteration: 7, task: "T".into(), text: "why".into(), put_aside: vec!["a.rs".into()] },
         r#""event":"diagnosis","iteration":7,"task":"T","text":"why","putAside":["a.rs"]}"#),
        (Event::HandoffAsked { iteration: 7, task: "T".into(), trigger: HandoffTrigger::ContextThreshold, sentence: "71 % of its context are in use".into() },
         r#""event":"handoff_asked","iteration":7,"task":"T","trigger":"context_threshold","sentence":"71 % of its context are in use"}"#),
        (Event::Health { iteration: 7, task: "T".into(), before: HealthState::Healthy, state: HealthState::Stuck, sentence: "no progress for 30 min".into() },
         r#""event":"health","iteration":7,"task":"T","before":"healthy","state":"stuck","sentence":"no progress for 30 min"}"#),
        (Event::Intervention { iteration: 7, task: "T".into(), level: InterventionLevel::Nudge, nth: 2, sentence: "reminded".into(), hint: None, until: Some("2026-11-15T14:30:00Z".parse().unwrap()) },
         r#""event":"intervention","iteration":7,"task":"T","level":"nudge","nth":2,"sentence":"reminded","hint":null,"until":"2026-11-15T14:30:00Z"}"#),
        (Event::Breaker { state: BreakerState::HalfOpen, sentence: "one is tried".into() },
         r#""event":"breaker","state":"half_open","sentence":"one is tried"}"#),
        (Event::BudgetAlert { budget: Budget { scope: Scope::Task, per: Per::Total, usd: Dollars::told(5.0), action: BudgetPolicy::Deny }, task: Some("T".into()), spent_usd: Dollars::told(4.5), left_usd: Dollars::told(0.5), sentence: "nearly".into() },
         r#""event":"budget_alert","budget":{"scope":"task","per":"total","usd":5,"action":"deny"},"task":"T","spentUsd":4.5,"leftUsd":0.5,"sentence":"nearly"}"#),
        (Event::Commanded { id: CommandId::new(7), command: "skip".into(), report: CommandReport::done("T is skipped") },
         r#""event":"commanded","id":7,"command":"skip","state":"done","sentence":"T is skipped","hint":null}"#),
        (Event::Question { id: QuestionId::new(3), task: "T".into(), question: "how?".into(), escalation: None },
         r#""event":"question","id":3,"task":"T","question":"how?","escalation":null}"#),
        (Event::Question { id: QuestionId::new(3), task: "T".into(), question: "how?".into(), escalation: Some(story::escalation()) },
         r#""event":"question","id":3,"task":"T","question":"how?","escalation":{"type":"deviation","summary":"Spec requires deprecated API endpoint","context":"US-003 specifies /api/v1/users but the code uses /api/v2/users.\nThe v1 endpoint is deprecated.","options":["Use v2 instead (update acceptance criteria)","Use v1 anyway (technical debt)"],"question":"Which API version should I target?","raw":"<escalate type=\"deviation\">…"}}"#),
        (story::loop_ended(Stop::Iterations { max: 4 }, story::tally(1, 1, 1, 0), blocked),
         r#""event":"loop_ended","stop":{"why":"iterations","max":4},"sentence":"the limit of 4 iterations is reached","hint":"`ralph run` goes on; `--max-iterations N` allows more","exitCode":3,"iterations":4,"tasks":{"total":3,"completed":1,"ready":1,"asking":0,"waiting":1,"blocked":0,"failed":0,"skipped":0},"seconds":933.0,"usage":{"inputTokens":123456,"outputTokens":246913,"cacheReadTokens":864198,"cacheWriteTokens":0,"costUsd":4.2,"contextTokens":617283},"cost":{"spentUsd":4.2,"estimatedUsd":0,"unknownTokens":0},"blocked":[{"task":"US-004","by":["US-003 is open"]}],"next":[]}"#),
    ]
}

#[rustfmt::skip]
fn iteration_lines() -> Vec<(Event, &'static str)> {
    vec![
        (story::iteration_started(1, "US-002", "Add", 2),
         r#""event":"iteration_started","iteration":17,"iterationId":"0198c0de-0000-7000-8000-0000000000a1","task":"US-002","title":"Add","attempt":2,"maxAttempts":3,"nth":1,"maxIterations":50,"guidance":0,"diagnoses":null}"#),
        (Event::RunStarted { run: 2, agent: "pi".into(), fix_only: true, tail: "FAILED".into() }, r#""event":"run_started","run":2,"agent":"pi","fixOnly":true,"tail":"FAILED"}"#),
        (story::inspected(&[("a.rs", "added")], &["odd"], None),
         r#""event":"inspected","files":[{"path":"a.rs","kind":"added"}],"flags":["odd"],"refusal":null}"#),
        (Event::Waiting { reason: WaitReason::UsageLimit, until: at(64), seconds: 60.0, nth: 1, detail: String::new() },
         r#""event":"waiting","reason":"usage_limit","until":"2026-03-01T09:01:04Z","seconds":60.0,"nth":1,"detail":""}"#),
        (Event::Waiting { reason: WaitReason::Overload, until: at(14), seconds: 10.0, nth: 2, detail: "try 1 of 6: 529".into() },
         r#""event":"waiting","reason":"overload","until":"2026-03-01T09:00:14Z","seconds":10.0,"nth":2,"detail":"try 1 of 6: 529"}"#),
        (story::verify_started("make"), r#""event":"verify_started","command":"make"}"#),
        (Event::VerifyOutput { command: "make".into(), line: "cc a.c".into() },
         r#""event":"verify_output","command":"make","line":"cc a.c"}"#),
        (story::verify_ended("make", 1.5, "regressed"),
         r#""event":"verify_ended","command":"make","passed":false,"seconds":1.5,"againstBaseline":"regressed","tail":"","log":""}"#),
        (story::landed("T", Some("abc"), true),
         r#""event":"landed","task":"T","commit":"abc","subject":"feat: T as asked","unverified":true}"#),
        (story::iteration_ended(1, "T", Verdict::Failed { command: "make".into(), signature: "s1".into() }, "boom"),
         r#""event":"iteration_ended","iteration":17,"task":"T","verdict":"failed","command":"make","signature":"s1","outcome":"failed","seconds":98.0,"usage":{"inputTokens":1234,"outputTokens":2469,"cacheReadTokens":8642,"cacheWriteTokens":0,"costUsd":0.42,"contextTokens":6172},"cost":{"spentUsd":0.42,"estimatedUsd":0,"unknownTokens":0},"tail":"boom","log":".ralph/logs/17.jsonl"}"#),
    ]
}

#[rustfmt::skip]
fn agent_lines() -> Vec<(Event, &'static str)> {
    let result = AgentResult {
        ok: false,
        text: "bye".into(),
        error: Some("broke".into()),
        turns: Some(3),
        denied: vec!["Bash rm".into()],
    };
    let limit = AgentEvent::Limit { rejected: true, resets_at: Some(at(60)), which: Some("five_hour".into()) };
    vec![
        (agent(AgentEvent::Started { model: Some("m".into()), version: None, session: Some("s".into()) }),
         r#""event":"agent","kind":"started","model":"m","version":null,"session":"s"}"#),
        (story::text("hi"), r#""event":"agent","kind":"text","text":"hi"}"#),
        (story::tool("t1", "Edit", "a.rs"), r#""event":"agent","kind":"tool","id":"t1","name":"Edit","target":"a.rs"}"#),
        (story::tool_done("t1", true), r#""event":"agent","kind":"tool_done","id":"t1","ok":true}"#),
        (agent(AgentEvent::Usage(story::usage(100, None))),
         r#""event":"agent","kind":"usage","inputTokens":10,"outputTokens":20,"cacheReadTokens":70,"cacheWriteTokens":0,"costUsd":null,"contextTokens":50}"#),
        (agent(AgentEvent::Retry { attempt: 2, reason: "overloaded".into() }),
         r#""event":"agent","kind":"retry","attempt":2,"reason":"overloaded"}"#),
        (agent(limit), r#""event":"agent","kind":"limit","rejected":true,"resetsAt":"2026-03-01T09:01:00Z","which":"five_hour"}"#),
        (agent(AgentEvent::Result(result)),
         r#""event":"agent","kind":"result","ok":false,"text":"bye","error":"broke","turns":3,"denied":["Bash rm"]}"#),
        (agent(AgentEvent::Other { name: "new".into() }), r#""event":"agent","kind":"other","name":"new"}"#),
    ]
}

#[test]
fn every_event_is_one_line_of_a_known_form() {
    for (event, expected) in lines() {
        assert_eq!(
            line(&event),
            format!(r#"{{"at":"2026-03-01T09:00:04Z",{expected}"#)
        );
    }
}

#[test]
fn verdicts_stand_in_the_event_with_fields_of_their_own() {
    let verdicts = [
        (
            Verdict::Verified,
            r#""verdict":"verified","outcome":"success""#,
        ),
        (
            Verdict::Unclaimed,
            r#""verdict":"unclaimed","outcome":"failed""#,
        ),
        (
            Verdict::NoChange { claimed: true },
            r#""verdict":"no_change","claimed":true,"outcome":"failed""#,
        ),
        (
            Verdict::Refused {
                reason: "r".into(),
                halt: Halt::Loop,
            },
            r#""verdict":"refused","reason":"r","halt":"loop","outcome":"failed""#,
        ),
        (
            Verdict::Escalated,
            r#""verdict":"escalated","outcome":"blocked""#,
        ),
        (
            Verdict::LimitHit { resets_at: None },
            r#""verdict":"limit_hit","resetsAt":null,"outcome":"budget_exceeded""#,
        ),
        (
            Verdict::TimedOut { reason: "r".into() },
            r#""verdict":"timed_out","reason":"r","outcome":"failed""#,
        ),
        (
            Verdict::AgentError {
                message: "m".into(),
            },
            r#""verdict":"agent_error","message":"m","outcome":"failed""#,
        ),
        (
            Verdict::AgentUnavailable {
                message: "m".into(),
            },
            r#""verdict":"agent_unavailable","message":"m","outcome":"failed""#,
        ),
        (
            Verdict::Budget {
                spent_usd: Dollars::told(0.6),
                max_usd: Dollars::told(0.5),
                budget: None,
            },
            r#""verdict":"budget","spentUsd":0.6,"maxUsd":0.5,"outcome":"budget_exceeded""#,
        ),
        (
            Verdict::Handoff {
                trigger: HandoffTrigger::Timeout,
            },
            r#""verdict":"handoff","trigger":"timeout","outcome":"failed""#,
        ),
        (
            Verdict::Terminated { reason: "r".into() },
            r#""verdict":"terminated","reason":"r","outcome":"failed""#,
        ),
        (
            Verdict::Interrupted,
            r#""verdict":"interrupted","outcome":"failed""#,
        ),
    ];
    for (verdict, expected) in verdicts {
        let line = line(&story::iteration_ended(1, "T", verdict, ""));
        assert!(line.contains(expected), "{line}");
    }
}

#[test]
fn each_stop_brings_its_own_figures() {
    let stop = |stop| line(&story::loop_ended(stop, story::tally(1, 0, 0, 0), vec![]));
    let halted = stop(Stop::Halted { reason: "r".into() });
    assert!(
        halted.contains(r#""stop":{"why":"halted","reason":"r"}"#),
        "{halted}"
    );
    let budget = stop(Stop::Budget {
        spent_usd: Dollars::told(0.6),
        max_usd: Dollars::told(0.5),
        budget: None,
        reserve_usd: None,
    });
    assert!(
        budget.contains(r#""stop":{"why":"budget","spentUsd":0.6,"maxUsd":0.5}"#),
        "{budget}"
    );
    let attempts = stop(Stop::Attempts {
        task: "T".into(),
        attempts: 3,
        max: 3,
    });
    assert!(
        attempts.contains(r#""stop":{"why":"attempts","task":"T","attempts":3,"max":3}"#),
        "{attempts}"
    );
    let once = stop(Stop::OnceDone {
        verdict: Verdict::NoChange { claimed: true },
    });
    assert!(
        once.contains(
            r#""stop":{"why":"once_done","verdict":{"verdict":"no_change","claimed":true}}"#
        ),
        "{once}"
    );
}

/// The heading of an event in the documentation. Without a wildcard: a new event has to be added
/// here, to the lines above, and to the documentation.
fn heading(event: &Event) -> &'static str {
    match event {
        Event::LoopStarted { .. } => "### `loop_started`",
        Event::Notice { .. } => "### `notice`",
        Event::Warning { .. } => "### `warning`",
        Event::BaselineStarted { .. } => "### `baseline_started`",
        Event::BaselineEnded { .. } => "### `baseline_ended`",
        Event::CleanChecked { .. } => "### `clean_checked`",
        Event::IterationStarted { .. } => "### `iteration_started`",
        Event::RunStarted { .. } => "### `run_started`",
        Event::Agent(_) => "### `agent`",
        Event::Inspected { .. } => "### `inspected`",
        Event::VerifyStarted { .. } => "### `verify_started`",
        Event::VerifyOutput { .. } => "### `verify_output`",
        Event::VerifyEnded { .. } => "### `verify_ended`",
        Event::Landed { .. } => "### `landed`",
        Event::Waiting { .. } => "### `waiting`",
        Event::IterationEnded { .. } => "### `iteration_ended`",
        Event::TaskBlocked { .. } => "### `task_blocked`",
        Event::Gutter { .. } => "### `gutter`",
        Event::Diagnosis { .. } => "### `diagnosis`",
        Event::HandoffAsked { .. } => "### `handoff_asked`",
        Event::Health { .. } => "### `health`",
        Event::Intervention { .. } => "### `intervention`",
        Event::Breaker { .. } => "### `breaker`",
        Event::BudgetAlert { .. } => "### `budget_alert`",
        Event::Commanded { .. } => "### `commanded`",
        Event::Question { .. } => "### `question`",
        Event::LoopEnded { .. } => "### `loop_ended`",
    }
}

#[test]
fn the_documentation_names_every_field_of_every_event() {
    let mut headings = std::collections::BTreeSet::new();
    for (event, line) in lines() {
        let heading = heading(&event);
        headings.insert(heading);
        let start = DOCS
            .find(heading)
            .unwrap_or_else(|| panic!("{heading} is missing"));
        let section = &DOCS[start + heading.len()..];
        let section = &section[..section.find("\n##").unwrap_or(section.len())];
        let value: serde_json::Value = serde_json::from_str(&format!("{{{line}")).unwrap();
        for field in value.as_object().unwrap().keys().filter(|k| *k != "event") {
            assert!(
                section.contains(&format!("`{field}`")),
                "{heading} does not name {field}"
            );
        }
    }
    let documented = DOCS.lines().filter(|l| l.starts_with("### `")).count();
    assert_eq!(headings.len(), 27);
    assert_eq!(documented, 27);
}

#[test]
fn a_closed_pipe_ends_the_output_quietly() {
    let out = Shared::default();
    let refused = std::sync::Arc::default();
    let pipe = Closing {
        left: 2,
        out: out.clone(),
        refused: std::sync::Arc::clone(&refused),
    };
    tell(&mut JsonLines::new(pipe), &story::success());
    assert_eq!(out.text().lines().count(), 2);
    assert_eq!(*refused.lock().unwrap(), 1, "it is not tried again");
}

#[test]
fn each_line_is_flushed_when_it_happens() {
    use std::io::BufWriter;
    let out = Shared::default();
    let mut json = JsonLines::new(BufWriter::new(out.clone()));
    json.report(&story::text("one"), Timestamp::UNIX_EPOCH);
    assert_eq!(
        out.text(),
        "{\"at\":\"1970-01-01T00:00:00Z\",\"event\":\"agent\",\"kind\":\"text\",\"text\":\"one\"}\n"
    );
}
