//! Jobs and outcomes as JSON: what goes in comes out, and another version is refused.

use super::*;
use crate::{
    handoff::{HandoffTrigger, Handover},
    iteration::Handoffs,
    task::{Attempts, Status, TaskId, TaskLinks, TaskText, VerifyCommand},
};

fn at() -> Timestamp {
    "2026-01-02T03:04:05Z".parse().unwrap()
}

fn task() -> Task {
    Task {
        id: TaskId::parse("US-1").unwrap(),
        text: TaskText {
            title: "Write it".into(),
            acceptance: vec!["it is there".into()],
            expects_change: true,
            ..TaskText::default()
        },
        links: TaskLinks {
            parent_id: None,
            depends_on: vec![TaskId::parse("US-0").unwrap()],
        },
        status: Status::Open,
        verify: vec![VerifyCommand::Shell("make test".into())],
        labels: vec!["ui".into()],
        area: Some("ui".into()),
        priority: Some(2),
        attempts: Attempts {
            made: Some(1),
            max: None,
        },
        created_at: Some(at()),
        updated_at: None,
        place: crate::task::Place::default(),
    }
}

fn job() -> Job {
    Job {
        version: JOB_VERSION,
        iteration: IterationId::new("0190"),
        number: 7,
        loop_id: LoopId::new("0180"),
        task: task(),
        attempt: 2,
        max_attempts: 3,
        started_at: at(),
        start: StartPoint {
            branch: "ralph/work".into(),
            base_commit: "a".repeat(40),
            untracked: vec!["notes.txt".into()],
            attempt_ref: Some("refs/ralph/attempts/0170".into()),
        },
        policy: IterationPolicy {
            max_verify_retries: 1,
            max_overload_retries: 2,
            expects_change: true,
            purpose: Purpose::Attempt,
            lands: Lands::Claimed,
            handoffs: Handoffs::UsedUp { in_a_row: 3 },
        },
        diagnose: None,
        history: AttemptHistory {
            last_verdict: Some("verification failed: make test".into()),
            ..AttemptHistory::default()
        },
        prompt: PromptParts {
            guidance: vec![Guidance {
                text: "use tabs".into(),
                by: "ann".into(),
                at: at(),
            }],
            ..PromptParts::default()
        },
        limits: JobLimits {
            own_ms: 5_400_000,
            run_left_ms: Some(60_000),
            run_minutes: 5,
            cost: Some(JobCost {
                spent: Dollars::told(0.25),
                max: Dollars::told(2.0),
                budget: None,
            }),
        },
        goal: None,
        config: Config::default(),
        prices: Prices::with(&std::collections::BTreeMap::new()),
        baseline: Some(VerifyReport::default()),
    }
}

fn outcome() -> Outcome {
    Outcome {
        version: JOB_VERSION,
        iteration: IterationId::new("0190"),
        verdict: Verdict::Handoff {
            trigger: HandoffTrigger::ContextThreshold,
        },
        landing: LandingState::Settled,
        agent_started: true,
        tree_ref: Some("refs/ralph/attempts/0190".into()),
        tip: None,
        last_run: 2,
        log: IterationLog {
            flags: vec!["a flag".into()],
            handoff: Some(Handover {
                trigger: HandoffTrigger::ContextThreshold,
                sentence: "its context is full".into(),
            }),
            ..IterationLog::default()
        },
        unverified: false,
        moved: WorkMoved::No,
        trace: None,
        diagnosis: None,
        guidance: Vec::new(),
    }
}

#[test]
fn a_job_and_an_outcome_come_back_from_their_json() {
    let json = serde_json::to_string(&job()).unwrap();
    assert_eq!(parse_versioned::<Job>(&json).unwrap(), job());
    let json = serde_json::to_string(&outcome()).unwrap();
    assert_eq!(parse_versioned::<Outcome>(&json).unwrap(), outcome());
}

#[test]
fn another_version_is_refused_before_anything_else_is_read() {
    let error = parse_versioned::<Job>(r#"{"version": 2, "new": "shape"}"#).unwrap_err();
    assert_eq!(
        error.to_string(),
        "it is of version 2, and this ralph knows 1"
    );
}

#[test]
fn the_commands_of_a_task_follow_the_configured_ones_and_none_runs_twice() {
    let mut job = job();
    let configured = ["make lint", "make test"];
    job.config.verification.commands = configured.map(|c| VerifyCommand::Shell(c.into())).into();
    let commands: Vec<String> = job
        .verify_commands()
        .iter()
        .map(ToString::to_string)
        .collect();
    assert_eq!(commands, ["make lint", "make test"]);
    job.task
        .verify
        .push(VerifyCommand::Shell("make e2e".into()));
    assert_eq!(job.verify_commands().len(), 3);
}

#[test]
fn a_job_can_be_sent_without_the_secrets_of_its_configuration() {
    let mut config = Config::default();
    let secret = ("API_TOKEN".to_owned(), "s3cr3t".to_owned());
    for env in config.agent_envs() {
        env.0.insert(secret.0.clone(), secret.1.clone());
    }
    let job = Job {
        config: config.without_secrets(),
        ..job()
    };
    let json = serde_json::to_string(&job).unwrap();
    assert!(json.contains("API_TOKEN"), "{json}");
    assert!(!json.contains("s3cr3t"), "{json}");
}
