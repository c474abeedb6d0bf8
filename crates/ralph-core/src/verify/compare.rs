//! Tells what a change broke from what was broken before it.

use serde::{Deserialize, Serialize};

use super::{VerifyCommandReport, VerifyReport};

/// The way a command stands against the baseline.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(
    rename_all = "camelCase",
    rename_all_fields = "camelCase",
    tag = "kind"
)]
pub enum Comparison {
    Passed,
    /// Passed at the baseline, fails now.
    Regressed,
    /// Failed at the baseline too, in the same way or in another.
    AlreadyBroken {
        same_signature: bool,
    },
    /// Fails, and the baseline knows nothing of it.
    NewFailure,
}

/// One entry for each command of `now`, in its order. The n-th run of a command is compared with
/// the n-th run of the same command in the baseline.
pub fn compare(baseline: Option<&VerifyReport>, now: &VerifyReport) -> Vec<Comparison> {
    let before = baseline.map_or(&[][..], |report| &report.commands);
    now.commands
        .iter()
        .enumerate()
        .map(|(i, report)| {
            let same = |other: &&VerifyCommandReport| other.command == report.command;
            let earlier = now.commands.iter().take(i).filter(same).count();
            compare_one(before.iter().filter(same).nth(earlier), report)
        })
        .collect()
}

fn compare_one(before: Option<&VerifyCommandReport>, now: &VerifyCommandReport) -> Comparison {
    if now.passed() {
        return Comparison::Passed;
    }
    match before {
        None => Comparison::NewFailure,
        Some(before) if before.passed() => Comparison::Regressed,
        Some(before) => Comparison::AlreadyBroken {
            same_signature: before.signature == now.signature,
        },
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::super::CommandOutcome;
    use super::*;
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
}
