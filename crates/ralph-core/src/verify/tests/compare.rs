//! Tells what a change broke from what was broken before.

use std::time::Duration;

use super::super::*;
use crate::task::VerifyCommand;

fn report(runs: &[(&str, i32, &str)]) -> VerifyReport {
    let commands = runs
        .iter()
        .map(|(command, code, output)| {
            let outcome = match code {
                0 => CommandOutcome::Passed,
                &code => CommandOutcome::Failed { code },
            };
            let command = VerifyCommand::Shell((*command).into());
            VerifyCommandReport::new(command, outcome, Duration::ZERO, output, String::new())
        })
        .collect();
    VerifyReport {
        commands,
        cancelled: false,
        network: None,
    }
}

#[test]
fn tells_a_regression_from_what_was_broken_before() {
    let baseline = report(&[
        ("ok", 0, ""),
        ("fmt", 0, ""),
        ("lint", 1, "e1"),
        ("test", 1, "e1"),
    ]);
    let now = report(&[
        ("ok", 0, ""),
        ("fmt", 1, "bad"),
        ("lint", 1, "e1"),
        ("test", 1, "e2"),
        ("own", 1, "x"),
    ]);
    assert_eq!(
        compare(Some(&baseline), &now),
        [
            Comparison::Passed,
            Comparison::Regressed,
            Comparison::AlreadyBroken {
                same_signature: true
            },
            Comparison::AlreadyBroken {
                same_signature: false
            },
            Comparison::NewFailure,
        ]
    );
}

#[test]
fn without_a_baseline_every_failure_is_new() {
    let now = report(&[("a", 0, ""), ("b", 1, "x")]);
    assert_eq!(
        compare(None, &now),
        [Comparison::Passed, Comparison::NewFailure]
    );
}

#[test]
fn a_command_that_runs_twice_is_compared_run_by_run() {
    let baseline = report(&[("a", 0, ""), ("a", 1, "x")]);
    let now = report(&[("a", 1, "x"), ("a", 1, "x")]);
    assert_eq!(
        compare(Some(&baseline), &now),
        [
            Comparison::Regressed,
            Comparison::AlreadyBroken {
                same_signature: true
            }
        ]
    );
}
