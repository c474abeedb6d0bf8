//! Whole stories: one in which all goes well, one in which little does, one that meets a limit.

use ralph_core::{
    agent::{AgentEvent, AgentResult},
    event::{Blocked, Event},
    id::QuestionId,
    termination::Stop,
    verdict::{Halt, Verdict},
};

use super::{
    Story, at, escalation, inspected, iteration_ended, iteration_started, landed, loop_done,
    loop_ended, loop_started, tally, text, tool, tool_done, usage, verify_ended, verify_started,
};

/// Nothing goes wrong.
pub(in crate::report::tests) fn success() -> Story {
    vec![
        (at(0), loop_started(false)),
        (at(0), Event::BaselineStarted { commands: 2 }),
        (at(3), Event::BaselineEnded { red: vec![] }),
        (
            at(4),
            iteration_started(1, "US-002", "Add the user model", 1),
        ),
        (
            at(4),
            Event::RunStarted {
                run: 1,
                agent: "claude".into(),
                fix_only: false,
                tail: String::new(),
            },
        ),
        (at(5), tool("t1", "Read", "src/lib.rs")),
        (at(9), tool("t2", "Edit", "src/model.rs")),
        (
            at(60),
            Event::Agent(AgentEvent::Result(AgentResult {
                ok: true,
                ..AgentResult::default()
            })),
        ),
        (
            at(61),
            inspected(
                &[("src/model.rs", "added"), ("src/lib.rs", "modified")],
                &[],
                None,
            ),
        ),
        (at(62), verify_ended("cargo test", 1.44, "passed")),
        (
            at(63),
            landed(
                "US-002",
                Some("3f2a91c0d4e5f60718293a4b5c6d7e8f90123456"),
                false,
            ),
        ),
        (at(63), iteration_ended(1, "US-002", Verdict::Verified, "")),
        (at(933), loop_done(tally(4, 0, 0, 0))),
    ]
}

/// Everything that a person may have to see.
pub(in crate::report::tests) fn eventful() -> Story {
    let mut story = vec![
        (at(0), loop_started(true)),
        (
            at(0),
            Event::Notice {
                message: "the branch ralph/users exists: it is continued".into(),
            },
        ),
        (
            at(0),
            Event::Warning {
                message: "claude runs without a sandbox and may do anything you may".into(),
            },
        ),
        (at(0), Event::BaselineStarted { commands: 2 }),
        (
            at(2),
            Event::BaselineEnded {
                red: vec!["npm run lint".into()],
            },
        ),
    ];
    story.extend(failed());
    story.extend(fixed());
    story.extend(no_change());
    story.extend(asked_and_stopped());
    story
}

fn failed() -> Story {
    let started = AgentEvent::Started {
        model: Some("large-1".into()),
        version: Some("2.1.0".into()),
        session: Some("s-77".into()),
    };
    let tests = "running 2 tests\n\nthread 'model' panicked at src/model.rs:9:5:\nassertion failed";
    let failed = Verdict::Failed {
        command: "cargo test".into(),
        signature: "abc".into(),
    };
    vec![
        (
            at(4),
            iteration_started(1, "US-002", "Add the user model", 1),
        ),
        (
            at(4),
            Event::RunStarted {
                run: 1,
                agent: "claude".into(),
                fix_only: false,
                tail: String::new(),
            },
        ),
        (at(5), Event::Agent(started)),
        (at(6), text("I read the model first.\nThen I change it.")),
        (at(7), tool("t1", "Read", "src/lib.rs")),
        (at(7), tool("t2", "Read", "src/lib.rs")),
        (at(8), tool_done("t1", true)),
        (
            at(9),
            tool("t3", "Bash", "cargo test --workspace\n  --no-fail-fast"),
        ),
        (at(30), tool_done("t3", false)),
        (at(31), Event::Agent(AgentEvent::Usage(usage(5_000, None)))),
        (
            at(32),
            Event::Agent(AgentEvent::Retry {
                attempt: 1,
                reason: "overloaded".into(),
            }),
        ),
        (
            at(60),
            inspected(
                &[("src/model.rs", "added"), ("src/old.rs", "deleted")],
                &["a test was removed: tests/old.rs"],
                None,
            ),
        ),
        (at(60), verify_started("cargo test")),
        (at(72), verify_ended("cargo test", 12.2, "regressed")),
        (
            at(73),
            Event::RunStarted {
                run: 2,
                agent: "claude".into(),
                fix_only: true,
                tail: String::new(),
            },
        ),
        (
            at(90),
            inspected(
                &[
                    ("a", "added"),
                    ("b", "added"),
                    ("c", "added"),
                    ("d", "modified"),
                    ("e", "type_changed"),
                ],
                &[],
                None,
            ),
        ),
        (at(91), verify_ended("cargo test", 11.9, "regressed")),
        (at(91), verify_ended("npm run lint", 0.94, "already_broken")),
        (at(102), iteration_ended(1, "US-002", failed, tests)),
    ]
}

fn fixed() -> Story {
    vec![
        (
            at(103),
            iteration_started(2, "US-002", "Add the user model", 2),
        ),
        (
            at(103),
            Event::RunStarted {
                run: 1,
                agent: "claude".into(),
                fix_only: true,
                tail: String::new(),
            },
        ),
        (at(150), inspected(&[("src/model.rs", "added")], &[], None)),
        (at(151), verify_ended("cargo test", 1.0, "passed")),
        (
            at(152),
            landed(
                "US-002",
                Some("3f2a91c0d4e5f60718293a4b5c6d7e8f90123456"),
                false,
            ),
        ),
        (at(152), iteration_ended(2, "US-002", Verdict::Verified, "")),
    ]
}

fn no_change() -> Story {
    let refused = Verdict::Refused {
        reason: "the change touches the protected path .github/workflows/ci.yml".into(),
        halt: Halt::Attempt,
    };
    vec![
        (at(200), iteration_started(3, "US-003", "Show the users", 1)),
        (at(220), inspected(&[], &[], None)),
        (
            at(221),
            iteration_ended(3, "US-003", Verdict::NoChange { claimed: true }, ""),
        ),
        (at(222), iteration_started(4, "US-003", "Show the users", 2)),
        (
            at(240),
            inspected(
                &[(".github/workflows/ci.yml", "modified")],
                &[],
                Some("the change touches the protected path .github/workflows/ci.yml"),
            ),
        ),
        (at(240), iteration_ended(4, "US-003", refused, "")),
        (
            at(241),
            iteration_started(5, "US-005", "Write the guide", 1),
        ),
        (at(250), inspected(&[("docs/guide.md", "added")], &[], None)),
        (
            at(251),
            landed(
                "US-005",
                Some("aaaa91c0d4e5f60718293a4b5c6d7e8f90123456"),
                true,
            ),
        ),
        (
            at(251),
            iteration_ended(5, "US-005", Verdict::Unverified, ""),
        ),
    ]
}

fn asked_and_stopped() -> Story {
    let blocked = |task: &str, by: &[&str]| Blocked {
        task: task.into(),
        by: by.iter().map(|b| (*b).into()).collect(),
    };
    vec![
        (at(300), iteration_started(6, "US-003", "Show the users", 3)),
        (
            at(310),
            inspected(&[("x", "modified")], &[], Some("secret in x")),
        ),
        (
            at(320),
            iteration_ended(6, "US-003", Verdict::Escalated, ""),
        ),
        (
            at(320),
            Event::Question {
                id: QuestionId::new(3),
                task: "US-003".into(),
                question: "the agent asks a person".into(),
                escalation: Some(escalation()),
            },
        ),
        (
            at(330),
            Event::TaskBlocked {
                task: "US-006".into(),
                reason: "3 of 3 attempts failed, the last one: verification failed: cargo test"
                    .into(),
            },
        ),
        (
            at(933),
            loop_ended(
                Stop::NothingReady,
                tally(3, 0, 1, 2),
                vec![
                    blocked("US-003", &["it is set aside"]),
                    blocked("US-004", &["US-003 is open", "US-009 does not exist"]),
                    blocked("US-006", &[]),
                ],
            ),
        ),
    ]
}

/// A usage limit in the middle of an iteration.
pub(in crate::report::tests) fn limit() -> Story {
    let resets_at = Some(at(5 * 3600 + 1800));
    vec![
        (
            at(4),
            iteration_started(1, "US-002", "Add the user model", 1),
        ),
        (
            at(4),
            Event::RunStarted {
                run: 1,
                agent: "claude".into(),
                fix_only: false,
                tail: String::new(),
            },
        ),
        (
            at(30),
            Event::Agent(AgentEvent::Limit {
                rejected: true,
                resets_at,
                which: Some("five_hour".into()),
            }),
        ),
        (
            at(31),
            iteration_ended(1, "US-002", Verdict::LimitHit { resets_at }, ""),
        ),
        (
            at(31),
            loop_ended(Stop::UsageLimit { resets_at }, tally(1, 2, 1, 0), vec![]),
        ),
    ]
}
