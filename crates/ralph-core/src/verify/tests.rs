//! Reports: what passes, and what their JSON looks like.

mod compare;
mod signature;
mod tail;

use std::time::Duration;

use super::*;

fn report(outcome: CommandOutcome) -> VerifyCommandReport {
    VerifyCommandReport::new(
        VerifyCommand::Shell("make test".into()),
        outcome,
        Duration::from_millis(1_234),
        "boom",
        "boom".into(),
    )
}

#[test]
fn passes_when_every_command_passed() {
    let report = VerifyReport {
        commands: vec![
            report(CommandOutcome::Passed),
            report(CommandOutcome::Passed),
        ],
        cancelled: false,
        network: None,
    };
    assert!(report.passed());
    assert_eq!(report.first_failure(), None);
    assert_eq!(report.commands[0].signature, None);
}

#[test]
fn every_other_outcome_fails() {
    for outcome in [
        CommandOutcome::Failed { code: 1 },
        CommandOutcome::Signalled { signal: 9 },
        CommandOutcome::TimedOut {
            after: Duration::from_secs(9),
        },
        CommandOutcome::NotStarted {
            why: "program not found: x".into(),
        },
    ] {
        let all = VerifyReport {
            commands: vec![report(CommandOutcome::Passed), report(outcome.clone())],
            cancelled: false,
            network: None,
        };
        assert!(!all.passed(), "{outcome}");
        assert_eq!(all.first_failure().map(|r| &r.outcome), Some(&outcome));
        assert!(all.commands[1].signature.is_some());
    }
}

#[test]
fn a_cancelled_run_never_passes() {
    let report = VerifyReport {
        commands: vec![report(CommandOutcome::Passed)],
        cancelled: true,
        network: None,
    };
    assert!(!report.passed());
}

#[test]
fn json_is_flat_camel_case_and_comes_back_the_same() {
    let all = VerifyReport {
        commands: vec![report(CommandOutcome::TimedOut {
            after: Duration::from_secs(2),
        })],
        cancelled: false,
        network: None,
    };
    let json = serde_json::to_value(&all).unwrap();
    let command = &json["commands"][0];
    assert_eq!(command["command"], "make test");
    assert_eq!(command["outcome"]["kind"], "timedOut");
    assert_eq!(command["outcome"]["afterMs"], 2000);
    assert_eq!(command["durationMs"], 1234);
    assert_eq!(serde_json::from_value::<VerifyReport>(json).unwrap(), all);
}
