//! Every pair of states, and every way to stop.

use std::time::Duration;

use super::{
    IterationResult, LoopState, LoopStatus, LoopStatusConfig, Reached, Termination,
    TerminationReason,
};
use crate::{
    dollars::Dollars,
    economics::{Alert, Budget, BudgetPolicy, Per, Scope},
    health::HealthState,
    termination::Stop,
    verdict::Verdict,
};

/// A line a state: what it is, and for each state in the order of the heading whether it may follow.
const TRANSITIONS: &str = "
             init run pause hand compl-ing compl-ed failed term
initializing -    x   -     -    x         -        x      x
running      -    -   x     x    x         -        x      x
paused       -    x   -     -    -         -        x      x
handoff      -    x   -     -    -         -        x      x
completing   -    -   -     -    -         x        x      x
completed    -    -   -     -    -         -        -      -
failed       -    -   -     -    -         -        -      -
terminated   -    -   -     -    -         -        -      -
";

#[test]
fn only_legal_transitions_are_made() {
    let rows: Vec<Vec<&str>> = TRANSITIONS
        .lines()
        .skip(2)
        .map(|line| line.split_whitespace().collect())
        .collect();
    assert_eq!(rows.len(), 8);
    let mut pairs = 0;
    for (from, row) in LoopState::ALL.into_iter().zip(&rows) {
        assert_eq!(row[0], from.as_str());
        assert_eq!(row.len(), 9);
        for (next, mark) in LoopState::ALL.into_iter().zip(&row[1..]) {
            pairs += 1;
            match *mark {
                "x" => assert_eq!(from.to(next), Ok(next)),
                "-" => assert_eq!(
                    from.to(next).unwrap_err().to_string(),
                    format!(
                        "a loop that is {} can't become {}",
                        from.as_str(),
                        next.as_str()
                    )
                ),
                other => panic!("no mark: {other}"),
            }
        }
    }
    assert_eq!(pairs, 64);
}

#[test]
fn nothing_follows_a_final_state() {
    let ends: Vec<&str> = LoopState::ALL
        .into_iter()
        .filter(|state| state.is_final())
        .map(LoopState::as_str)
        .collect();
    assert_eq!(ends, ["completed", "failed", "terminated"]);
}

#[test]
fn the_words_of_states_and_reasons_are_those_of_their_json() {
    for state in LoopState::ALL {
        let json = serde_json::to_string(&state).unwrap();
        assert_eq!(json, format!("\"{}\"", state.as_str()));
    }
    for (stop, _) in table() {
        let reason = TerminationReason::of(&stop);
        let json = serde_json::to_string(&reason).unwrap();
        assert_eq!(json, format!("\"{}\"", reason.as_str()));
    }
}

/// A way to stop, and `state reason: details`.
fn table() -> Vec<(Stop, &'static str)> {
    let mut all = ends();
    all.extend(limits());
    all
}

fn ends() -> Vec<(Stop, &'static str)> {
    let (task, message) = ("T1".to_owned(), "not logged in".to_owned());
    let attempts = Stop::Attempts {
        task,
        attempts: 3,
        max: 3,
    };
    let reason = "someone else changed a.txt".to_owned();
    vec![
        (
            Stop::AllComplete,
            "completed goal_achieved: all tasks are complete",
        ),
        (
            attempts,
            "failed attempts_exhausted: task T1 is out of attempts: 3 of 3 failed",
        ),
        (
            Stop::NothingReady,
            "failed nothing_ready: work is left, but no task is ready",
        ),
        (
            Stop::Question,
            "failed person_needed: what is left waits for a person's answer",
        ),
        (
            Stop::Aborted,
            "terminated explicit_stop: ended by a person instead of an answer",
        ),
        (
            Stop::Halted { reason },
            "failed halted: halted: someone else changed a.txt",
        ),
        (
            Stop::Errors { count: 3 },
            "failed consecutive_errors: 3 consecutive errors",
        ),
        (
            Stop::NoProgress { iterations: 3 },
            "failed no_progress: No completed items after 3 iterations",
        ),
        (
            Stop::CircuitBreakerOpen {
                failures: 5,
                of: 10,
                until: None,
            },
            "failed circuit_breaker_open: Too many failures — circuit breaker tripped",
        ),
        (
            Stop::HealthFailure {
                state: HealthState::Terminated,
            },
            "failed health_failure: Agent health state: terminated",
        ),
        (
            Stop::AgentUnavailable { message },
            "failed agent_unavailable: the agent is not available: not logged in",
        ),
        (
            Stop::Interrupted { signal: 2 },
            "terminated explicit_stop: stopped by Ctrl-C (SIGINT)",
        ),
        (
            Stop::Failed {
                error: "the disk is full".to_owned(),
                exit_code: 1,
            },
            "failed internal_error: ralph can't go on: the disk is full",
        ),
    ]
}

fn limits() -> Vec<(Stop, &'static str)> {
    let once = |verdict| Stop::OnceDone { verdict };
    let budget = Stop::Budget {
        spent_usd: Dollars::told(50.125),
        max_usd: Dollars::told(50.0),
        budget: None,
        reserve_usd: None,
    };
    let denied = Stop::BudgetDenied(Alert {
        budget: Budget {
            scope: Scope::Project,
            per: Per::Day,
            usd: Dollars::told(50.0),
            action: BudgetPolicy::Deny,
        },
        spent_usd: Dollars::told(50.125),
        reserve_usd: None,
        share_of_usd: None,
    });
    vec![
        (
            once(Verdict::Verified),
            "completed max_iterations: Iteration 10 >= 1 max",
        ),
        (
            once(Verdict::Unclaimed),
            "terminated max_iterations: Iteration 10 >= 1 max",
        ),
        (
            Stop::Iterations { max: 10 },
            "terminated max_iterations: Iteration 10 >= 10 max",
        ),
        (
            Stop::Minutes { max: 120 },
            "terminated max_duration: 121 min >= 120 max",
        ),
        (
            budget,
            "terminated budget_exhausted: $50.12 >= $50.00 budget",
        ),
        (
            denied,
            "terminated budget_exhausted: the project's budget of $50.00 a day is used up: $50.1250 are spent",
        ),
        (
            Stop::UsageLimit { resets_at: None },
            "terminated usage_limit: the agent's usage limit is reached",
        ),
    ]
}

#[test]
fn every_stop_has_a_state_a_reason_and_its_details() {
    let reached = Reached {
        iterations: 10,
        elapsed: Duration::from_secs(121 * 60 + 59),
    };
    for (stop, expected) in table() {
        let found = Termination::of(&stop, reached);
        let words = format!(
            "{} {}: {}",
            LoopState::after(&stop).as_str(),
            found.reason.as_str(),
            found.details
        );
        assert_eq!(words, expected, "{stop:?}");
    }
}

fn record(n: u64, verdict: Verdict) -> crate::record::IterationRecord {
    let at = "2026-02-16T10:00:00Z".parse().unwrap();
    crate::record::IterationRecord {
        iteration_id: format!("I{n}").into(),
        iteration: n,
        loop_id: "550e8400-e29b".into(),
        task_id: "T1".into(),
        title: "Core".into(),
        attempt: 1,
        started_at: at,
        ended_at: at,
        runs: Vec::new(),
        git: crate::record::GitRecord::default(),
        verification: Vec::new(),
        unverified: false,
        suggested: Vec::new(),
        outcome: verdict.outcome(),
        verdict,
        feedback: None,
        flags: Vec::new(),
        said: crate::record::AgentStatements::default(),
        guidance: Vec::new(),
        trace: None,
        diagnoses: None,
        diagnosis: None,
        health_state: Default::default(),
        events: Vec::new(),
        usage: crate::agent::Usage {
            input_tokens: 2,
            output_tokens: 1,
            cost_usd: Some(0.1),
            ..crate::agent::Usage::default()
        },
    }
}

fn empty_status() -> LoopStatus {
    LoopStatus {
        loop_id: "550e8400-e29b".into(),
        task_id: String::new(),
        project_id: "PILOT".into(),
        state: LoopState::Running,
        goal: "X".into(),
        config: LoopStatusConfig {
            max_iterations: 10,
            max_cost: 0.0,
            max_duration_minutes: 0.0,
            context_threshold: 0.7,
            agent_type: "claude".into(),
            model: String::new(),
        },
        current_iteration: 0,
        iterations: Vec::new(),
        total_input_tokens: 0,
        total_output_tokens: 0,
        total_cost: 0.0,
        started_at: String::new(),
        completed_at: String::new(),
        termination_reason: String::new(),
        last_checkpoint_id: None,
        errors: Vec::new(),
    }
}

#[test]
fn the_status_stays_bounded_and_its_totals_are_of_all() {
    let mut status = empty_status();
    for n in 1..=1_003 {
        status.add(
            &record(
                n,
                Verdict::AgentError {
                    message: format!("no {n}"),
                },
            ),
            None,
        );
    }
    assert_eq!(status.iterations.len(), 1_000);
    assert_eq!(status.iterations[0].iteration, 4);
    assert_eq!(
        status.iterations[999].agent_id,
        "ralph-loop-550e8400-iter-1003"
    );
    assert_eq!(status.errors.len(), 100);
    assert_eq!(status.errors[99], "the agent failed: no 1003");
    assert_eq!(
        (status.current_iteration, status.total_input_tokens),
        (1_003, 2_006)
    );
    assert!(
        (status.total_cost - 100.3).abs() < 1e-9,
        "{}",
        status.total_cost
    );
}

#[test]
fn the_phase_of_an_iteration_is_that_of_its_checkpoint() {
    let checked = [crate::record::VerificationRecord {
        run: 1,
        command: "c".into(),
        outcome: "passed".into(),
        passed: true,
        seconds: 0.1,
        against_baseline: "held".into(),
        signature: None,
        tail: String::new(),
        tests: None,
    }];
    let cases = [
        (Verdict::Verified, &[][..], None, "complete"),
        (
            Verdict::Verified,
            &checked[..],
            Some("planning"),
            "complete",
        ),
        (Verdict::Unclaimed, &[][..], None, "planning"),
        (Verdict::Unclaimed, &checked[..], None, "testing"),
        (
            Verdict::Unclaimed,
            &checked[..],
            Some("Reviewing"),
            "reviewing",
        ),
        (
            Verdict::Unclaimed,
            &checked[..],
            Some("complete"),
            "reviewing",
        ),
        (Verdict::Unclaimed, &checked[..], Some("dancing"), "testing"),
        (Verdict::Progress, &checked[..], Some("testing"), "testing"),
    ];
    for (verdict, verification, said, phase) in cases {
        let mut record = record(1, verdict);
        record.verification = verification.to_vec();
        record.said.block.phase = said.map(str::to_owned);
        let result = IterationResult::of(&record, 1, None);
        assert_eq!(result.phase, phase, "{:?} {said:?}", record.verdict);
    }
}
