//! Which events are told, in which words, and what is never in them.

use jiff::Timestamp;
use serde_json::{Value, json};

use super::*;
use crate::{
    agent::{AgentEvent, Usage},
    dollars::Dollars,
    economics::{Budget, BudgetPolicy, KnownCost, Per, Scope},
    event::{Event, Tally, WaitReason},
    health::InterventionLevel,
    id::QuestionId,
    secret::NamedValue,
    termination::Stop,
    verdict::{Halt, IterationOutcome, Verdict},
};

fn at() -> Timestamp {
    "2026-11-15T12:00:00Z".parse().unwrap()
}

fn started() -> Event {
    Event::LoopStarted {
        loop_id: "loop-1".into(),
        command: "ralph run".into(),
        source: "prd.json".into(),
        branch: "ralph/work".into(),
        from: Some("main@0123456789".into()),
        agent: "claude".into(),
        workspace: "layers in /data/layers".into(),
        sandbox: "on, by namespaces".into(),
        tasks: Tally::default(),
        max_iterations: 50,
        resumed: false,
    }
}

fn ended(stop: Stop) -> Event {
    Event::LoopEnded {
        sentence: stop.sentence(),
        hint: stop.hint().map(str::to_owned),
        exit_code: stop.exit_code(),
        iterations: 2,
        tasks: Tally {
            total: 3,
            completed: 1,
            ..Tally::default()
        },
        seconds: 1.0,
        usage: Usage::default(),
        cost: KnownCost::default(),
        blocked: Vec::new(),
        next: Vec::new(),
        stop,
    }
}

fn question(id: u64, question: &str) -> Event {
    Event::Question {
        id: QuestionId::new(id),
        task: "A".into(),
        question: question.into(),
        escalation: None,
    }
}

fn waiting(reason: WaitReason, nth: u32) -> Event {
    Event::Waiting {
        reason,
        until: "2026-11-15T17:00:00Z".parse().unwrap(),
        seconds: 18_000.0,
        nth,
        detail: String::new(),
    }
}

fn iteration_ended(cost: f64) -> Event {
    Event::IterationEnded {
        iteration: 1,
        task: "A".into(),
        verdict: Verdict::Verified,
        outcome: IterationOutcome::Success,
        seconds: 1.0,
        usage: usage(cost),
        cost: KnownCost {
            spent_usd: Dollars::told(cost),
            ..KnownCost::default()
        },
        tail: String::new(),
        log: String::new(),
    }
}

fn usage(cost: f64) -> Usage {
    Usage {
        cost_usd: Some(cost),
        ..Usage::default()
    }
}

fn run_started(run: u32) -> Event {
    Event::RunStarted {
        run,
        agent: "claude".into(),
        fix_only: false,
        tail: String::new(),
    }
}

fn once(verdict: Verdict) -> Event {
    ended(Stop::OnceDone { verdict })
}

#[test]
fn the_events_that_are_an_occasion() {
    use Occasion::{Complete, Escalation, Halt as Halted, Limit};
    let spent = Dollars::told(1.0);
    let refused = Verdict::Refused {
        reason: "x".into(),
        halt: Halt::Loop,
    };
    let table: Vec<(Event, Option<Occasion>)> = vec![
        (question(1, "?"), Some(Escalation)),
        (waiting(WaitReason::UsageLimit, 1), Some(Limit)),
        (waiting(WaitReason::UsageLimit, 2), None),
        (waiting(WaitReason::Overload, 1), None),
        (ended(Stop::AllComplete), Some(Complete)),
        (once(Verdict::Verified), Some(Complete)),
        (once(Verdict::LimitHit { resets_at: None }), Some(Limit)),
        (once(refused), Some(Halted)),
        (ended(Stop::Iterations { max: 5 }), Some(Limit)),
        (ended(Stop::Minutes { max: 5 }), Some(Limit)),
        (
            ended(Stop::Budget {
                spent_usd: spent,
                max_usd: spent,
                budget: None,
                reserve_usd: None,
            }),
            Some(Limit),
        ),
        (ended(Stop::UsageLimit { resets_at: None }), Some(Limit)),
        (
            ended(Stop::Attempts {
                task: "A".into(),
                attempts: 3,
                max: 3,
            }),
            Some(Halted),
        ),
        (ended(Stop::NothingReady), Some(Halted)),
        (ended(Stop::Question), Some(Halted)),
        (ended(Stop::Halted { reason: "x".into() }), Some(Halted)),
        (ended(Stop::Errors { count: 3 }), Some(Halted)),
        (ended(Stop::NoProgress { iterations: 3 }), Some(Halted)),
        (
            ended(Stop::HealthFailure {
                state: crate::health::HealthState::Terminated,
            }),
            Some(Halted),
        ),
        (
            ended(Stop::AgentUnavailable {
                message: "x".into(),
            }),
            Some(Halted),
        ),
        (ended(Stop::Aborted), None),
        (ended(Stop::Interrupted { signal: 2 }), None),
        (started(), None),
        (iteration_ended(1.0), None),
        (run_started(1), None),
        (
            Event::Warning {
                message: "x".into(),
            },
            None,
        ),
    ];
    for (event, expected) in table {
        assert_eq!(occasion(&event), expected, "{event:?}");
    }
}

fn watch() -> NotificationWatch {
    let mut watch = NotificationWatch::new("shop", None);
    assert_eq!(watch.observe(&started(), at()), None);
    watch
}

fn told(event: &Event) -> Value {
    serde_json::to_value(watch().observe(event, at()).unwrap()).unwrap()
}

#[test]
fn a_person_is_asked_about_an_agent_that_does_not_get_on_and_not_told_of_reminders() {
    let intervention = |level| Event::Intervention {
        iteration: 4,
        task: "A".into(),
        level,
        nth: 1,
        sentence: "no progress for 1 hour".into(),
        hint: Some("`ralph intervene more-time` lets it go on".into()),
        until: None,
    };
    let message = told(&intervention(InterventionLevel::Escalate));
    assert_eq!(message["event"], "escalation");
    let title = "ralph in shop: the agent at task A does not get on";
    assert_eq!(message["title"], title);
    assert_eq!(message["text"], "no progress for 1 hour");
    let hint = "`ralph intervene more-time` lets it go on";
    assert_eq!(
        (&message["hint"], &message["task"]),
        (&json!(hint), &json!("A"))
    );
    for level in [InterventionLevel::Nudge, InterventionLevel::Terminate] {
        assert_eq!(watch().observe(&intervention(level), at()), None);
    }
}

#[test]
fn the_json_of_a_message_is_a_contract() {
    assert_eq!(
        told(&question(7, "Which API version?")),
        json!({
            "event": "escalation",
            "title": "ralph in shop: a question about task A",
            "text": "Which API version?",
            "hint": "`ralph answer 7` answers it, `ralph escalations` shows it whole",
            "task": "A",
            "loopId": "loop-1",
            "source": "prd.json",
            "branch": "ralph/work",
            "exitCode": null,
            "at": "2026-11-15T12:00:00Z",
        })
    );
    assert_eq!(
        told(&ended(Stop::Attempts {
            task: "A".into(),
            attempts: 3,
            max: 3
        })),
        json!({
            "event": "halt",
            "title": "ralph in shop: halted",
            "text": "task A is out of attempts: 3 of 3 failed (1 of 3 tasks complete)",
            "hint": "`ralph logs` shows what failed; `ralph retry --task ID` opens the task again, \
                     or set `loop.on_max_attempts: block`",
            "task": "A",
            "loopId": "loop-1",
            "source": "prd.json",
            "branch": "ralph/work",
            "exitCode": 4,
            "at": "2026-11-15T12:00:00Z",
        })
    );
    let waits = told(&waiting(WaitReason::UsageLimit, 1));
    assert_eq!(waits["event"], "limit");
    assert_eq!(
        waits["text"],
        "the agent's usage limit is reached: ralph waits until 2026-11-15T17:00:00Z"
    );
    let complete = told(&ended(Stop::AllComplete));
    assert_eq!(complete["title"], "ralph in shop: complete");
    assert_eq!(complete["exitCode"], 0);
}

#[test]
fn the_words_of_the_occasions_are_read_back() {
    let words = ["escalation", "complete", "halt", "limit", "budget_alert"];
    for (one, word) in Occasion::ALL.into_iter().zip(words) {
        assert_eq!(serde_json::to_value(one).unwrap(), word);
        assert_eq!(word.parse(), Ok(one));
    }
    let error = "done".parse::<Occasion>().unwrap_err();
    assert_eq!(
        error,
        "unknown occasion \"done\" (one of: escalation, complete, halt, limit, budget_alert)"
    );
}

#[test]
fn a_question_is_told_once_a_run() {
    let mut watch = watch();
    assert!(watch.observe(&question(1, "?"), at()).is_some());
    assert!(watch.observe(&question(1, "?"), at()).is_none());
    assert!(watch.observe(&question(2, "?"), at()).is_some());
}

#[test]
fn the_budget_is_told_once_and_as_soon_as_an_agent_tells_its_cost() {
    let alert = BudgetAlert {
        max: Dollars::told(1.0),
        percent: 80,
    };
    let mut watch = NotificationWatch::new("shop", Some(alert));
    let cost = |usd| Event::Agent(AgentEvent::Usage(usage(usd)));
    let quiet = [
        started(),
        run_started(1),
        cost(0.3),
        cost(0.4),
        iteration_ended(0.4),
        run_started(1),
        cost(0.2),
        // A repair: what the first run of the iteration cost counts too.
        run_started(2),
        cost(0.1),
        cost(0.1999),
    ];
    for event in quiet {
        assert_eq!(watch.observe(&event, at()), None, "{event:?}");
    }
    let told = watch.observe(&cost(0.2), at()).unwrap();
    assert_eq!(told.event, Occasion::BudgetAlert);
    assert_eq!(told.title, "ralph in shop: 80 % of the budget is spent");
    assert_eq!(told.text, "$0.80 of $1.00 are spent");
    assert_eq!(watch.observe(&cost(0.5), at()), None);
    assert_eq!(watch.observe(&iteration_ended(0.9), at()), None);
}

#[test]
fn the_alert_of_a_budget_is_told_with_its_sentence_and_its_task() {
    let budget = Budget {
        scope: Scope::Task,
        per: Per::Total,
        usd: Dollars::told(5.0),
        action: BudgetPolicy::AlertOnly,
    };
    let alert = |spent: f64| Event::BudgetAlert {
        budget,
        task: Some("A".into()),
        spent_usd: Dollars::told(spent),
        left_usd: budget.usd.without(Dollars::told(spent)),
        sentence: "the task's budget".into(),
    };
    let told = watch().observe(&alert(4.0), at()).unwrap();
    assert_eq!(told.event, Occasion::BudgetAlert);
    assert_eq!(told.title, "ralph in shop: a budget is nearly used up");
    assert_eq!(
        (told.text.as_str(), told.task.as_deref()),
        ("the task's budget", Some("A"))
    );
    let told = watch().observe(&alert(5.0), at()).unwrap();
    assert_eq!(told.title, "ralph in shop: a budget is used up");
}

#[test]
fn without_a_limit_there_is_no_alert() {
    let mut watch = watch();
    assert_eq!(watch.observe(&iteration_ended(1e6), at()), None);
}

#[test]
fn a_failure_of_ralph_itself_is_told_once_a_loop_has_begun() {
    assert_eq!(
        NotificationWatch::new("shop", None).failed("disk full", at()),
        None
    );
    let told = watch().failed("disk full", at()).unwrap();
    assert_eq!(told.event, Occasion::Halt);
    assert_eq!(told.text, "ralph itself could not go on: disk full");
    assert_eq!(told.exit_code, Some(1));
}

#[test]
fn secrets_are_taken_out_before_a_text_is_cut() {
    let key = format!("ghp_{}", "a1B2".repeat(10));
    let pem =
        "-----BEGIN RSA PRIVATE KEY-----\nMIIEowIBAAKCAQEA\nxyz\n-----END RSA PRIVATE KEY-----";
    let values = ["hunter22", "hunter22-long", "on"];
    let redaction = Redaction::new(values.map(|value| NamedValue::new("A", value)));
    for (text, expected) in [
        ("is hunter22 right?", "is [redacted] right?"),
        ("is hunter22-long right?", "is [redacted] right?"),
        (&*format!("use {key}?"), "use [redacted]?"),
        (&*format!("key {pem} then"), "key [redacted] then"),
        (
            "-----BEGIN PRIVATE KEY-----\nMIIEowIBAAKCAQEA",
            "[redacted]",
        ),
        ("go on", "go on"),
        ("a\n  b\u{1b}[31m\0", "a b\\x1b[31m\\x00"),
    ] {
        let message = watch().observe(&question(1, text), at()).unwrap();
        assert_eq!(message.fit_to_send(&redaction).text, expected);
    }
    let long = format!("{} {key}", "x".repeat(990));
    let message = watch().observe(&question(1, &long), at()).unwrap();
    let sent = message.fit_to_send(&redaction);
    assert!(!sent.text.contains("ghp_"), "{}", sent.text);
    assert_eq!(format!("{redaction:?}"), "Redaction(2 values)");
}
