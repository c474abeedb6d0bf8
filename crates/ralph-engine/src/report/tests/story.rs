//! Events as a driver would send them, at fixed times: single ones here, whole stories in `scenes`.

mod scenes;

pub(super) use scenes::{eventful, limit, success};

use jiff::Timestamp;
use ralph_core::{
    agent::{AgentEvent, Mark, Usage},
    dollars::Dollars,
    economics::KnownCost,
    event::{Blocked, Event, NextStep, Tally},
    iteration::ChangedFile,
    signal::{Escalation, EscalationKind},
    termination::Stop,
    verdict::{IterationOutcome, Verdict},
};

pub(super) type Story = Vec<(Timestamp, Event)>;

/// So many seconds after nine o'clock, universal time.
pub(super) fn at(seconds: i64) -> Timestamp {
    Timestamp::from_second(1_772_355_600 + seconds).unwrap()
}

pub(super) fn usage(tokens: u64, cost: Option<f64>) -> Usage {
    Usage {
        input_tokens: tokens / 10,
        output_tokens: tokens / 5,
        cache_read_tokens: tokens - tokens / 10 - tokens / 5,
        cache_write_tokens: 0,
        cost_usd: cost,
        context_tokens: tokens / 2,
    }
}

pub(super) fn tally(completed: usize, ready: usize, waiting: usize, blocked: usize) -> Tally {
    Tally {
        total: completed + ready + waiting + blocked,
        completed,
        ready,
        waiting,
        blocked,
        ..Tally::default()
    }
}

pub(super) fn loop_started(resumed: bool) -> Event {
    Event::LoopStarted {
        loop_id: "0198c0de-0000-7000-8000-000000000001".into(),
        command: "ralph run".into(),
        source: "PRD.json".into(),
        branch: "ralph/users".into(),
        from: Some("main@0123456789".into()),
        agent: "claude".into(),
        workspace: "layers in /data/layers".into(),
        sandbox: "on, by namespaces".into(),
        tasks: tally(1, 2, 1, 0),
        max_iterations: 50,
        resumed,
    }
}

pub(super) fn iteration_started(n: u64, task: &str, title: &str, attempt: u32) -> Event {
    Event::IterationStarted {
        iteration: n + 16,
        iteration_id: "0198c0de-0000-7000-8000-0000000000a1".into(),
        task: task.into(),
        title: title.into(),
        attempt,
        max_attempts: 3,
        nth: u32::try_from(n).unwrap(),
        max_iterations: 50,
        guidance: 0,
        diagnoses: None,
    }
}

pub(super) fn tool(id: &str, name: &str, target: &str) -> Event {
    Event::Agent(AgentEvent::Tool {
        id: id.into(),
        name: name.into(),
        target: target.into(),
        arguments: Mark::EMPTY,
    })
}

pub(super) fn tool_done(id: &str, ok: bool) -> Event {
    Event::Agent(AgentEvent::ToolDone {
        id: id.into(),
        ok,
        answer: Mark::EMPTY,
    })
}

pub(super) fn text(text: &str) -> Event {
    Event::Agent(AgentEvent::Text { text: text.into() })
}

pub(super) fn inspected(files: &[(&str, &str)], flags: &[&str], refusal: Option<&str>) -> Event {
    Event::Inspected {
        files: files
            .iter()
            .map(|(path, kind)| ChangedFile {
                path: (*path).into(),
                kind: (*kind).into(),
            })
            .collect(),
        flags: flags.iter().map(|f| (*f).into()).collect(),
        refusal: refusal.map(Into::into),
    }
}

pub(super) fn verify_started(command: &str) -> Event {
    Event::VerifyStarted {
        command: command.into(),
    }
}

pub(super) fn verify_ended(command: &str, seconds: f64, against_baseline: &str) -> Event {
    Event::VerifyEnded {
        command: command.into(),
        passed: against_baseline == "passed",
        seconds,
        against_baseline: against_baseline.into(),
        tail: String::new(),
        log: String::new(),
    }
}

pub(super) fn landed(task: &str, commit: Option<&str>, unverified: bool) -> Event {
    Event::Landed {
        task: task.into(),
        commit: commit.map(Into::into),
        subject: format!("feat: {task} as asked"),
        unverified,
    }
}

fn cost(spent: f64) -> KnownCost {
    KnownCost {
        spent_usd: Dollars::told(spent),
        ..KnownCost::default()
    }
}

pub(super) fn iteration_ended(n: u64, task: &str, verdict: Verdict, tail: &str) -> Event {
    let outcome = match verdict {
        Verdict::Verified => IterationOutcome::Success,
        Verdict::Escalated => IterationOutcome::Blocked,
        Verdict::LimitHit { .. } | Verdict::Budget { .. } => IterationOutcome::BudgetExceeded,
        _ => IterationOutcome::Failed,
    };
    Event::IterationEnded {
        iteration: n + 16,
        task: task.into(),
        verdict,
        outcome,
        seconds: 98.0,
        usage: usage(12_345, Some(0.42)),
        cost: cost(0.42),
        tail: tail.into(),
        log: format!(".ralph/logs/{}.jsonl", n + 16),
    }
}

pub(super) fn loop_ended(stop: Stop, tasks: Tally, blocked: Vec<Blocked>) -> Event {
    Event::LoopEnded {
        sentence: stop.sentence(),
        hint: stop.hint().map(Into::into),
        exit_code: stop.exit_code(),
        stop,
        iterations: 4,
        tasks,
        seconds: 933.0,
        usage: usage(1_234_567, Some(4.2)),
        cost: cost(4.2),
        blocked,
        next: Vec::new(),
    }
}

/// The end of a loop that did all there was to do, and what can be done with it.
pub(super) fn loop_done(tasks: Tally) -> Event {
    let mut event = loop_ended(Stop::AllComplete, tasks, vec![]);
    if let Event::LoopEnded { next, .. } = &mut event {
        *next = [
            ("git diff main...ralph/users", "2 commits on ralph/users"),
            ("ralph report", "everything about this feature"),
        ]
        .map(|(command, what)| NextStep {
            command: command.into(),
            what: what.into(),
        })
        .into();
    }
    event
}

pub(super) fn escalation() -> Escalation {
    Escalation {
        kind: EscalationKind::Deviation,
        summary: "Spec requires deprecated API endpoint".into(),
        context: "US-003 specifies /api/v1/users but the code uses /api/v2/users.\nThe v1 endpoint is deprecated."
            .into(),
        options: vec![
            "Use v2 instead (update acceptance criteria)".into(),
            "Use v1 anyway (technical debt)".into(),
        ],
        question: "Which API version should I target?".into(),
        raw: "<escalate type=\"deviation\">…".into(),
    }
}
