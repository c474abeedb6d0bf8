//! Judges a run of verify commands in a fresh clone of a commit that has landed.

use serde::{Deserialize, Serialize};

use super::VerifyReport;

/// The finding of a check in a fresh clone.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum CleanFinding {
    Passed,
    /// A command fails there that passed before the commit landed.
    Failed {
        command: String,
        /// The end of its output.
        tail: String,
    },
    /// Nothing can be said.
    NotChecked {
        reason: String,
    },
}

/// The outcome of a check in a fresh clone.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum CleanOutcome {
    Passed,
    Failed,
    NotChecked,
}

/// The result of such a check, as the journal and reports have it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct CleanResult {
    pub commit: String,
    pub outcome: CleanOutcome,
    /// The command that fails.
    pub command: Option<String>,
    /// The reason why it was not checked.
    pub reason: Option<String>,
    /// All of it in one sentence.
    pub sentence: String,
}

impl CleanFinding {
    /// Returns what is kept of it, for a commit that people know by its short name.
    pub fn result(&self, commit: &str, short: &str) -> CleanResult {
        let (outcome, sentence) = match self {
            Self::Passed => (
                CleanOutcome::Passed,
                format!("{short} passes in a clean clone"),
            ),
            Self::Failed { command, .. } => (
                CleanOutcome::Failed,
                format!("{short} fails `{command}` in a clean clone"),
            ),
            Self::NotChecked { reason } => (
                CleanOutcome::NotChecked,
                format!("not checked in a clean clone: {reason}"),
            ),
        };
        CleanResult {
            commit: commit.to_owned(),
            outcome,
            command: match self {
                Self::Failed { command, .. } => Some(command.clone()),
                Self::Passed | Self::NotChecked { .. } => None,
            },
            reason: match self {
                Self::NotChecked { reason } => Some(reason.clone()),
                Self::Passed | Self::Failed { .. } => None,
            },
            sentence,
        }
    }

    /// Returns the end of the output of the command that fails.
    pub fn tail(&self) -> &str {
        match self {
            Self::Failed { tail, .. } => tail,
            Self::Passed | Self::NotChecked { .. } => "",
        }
    }
}

/// Judges a report whose first `prepare` commands make a checkout ready. Only commands that passed before count:
/// a known failure is none of the clone's.
pub fn judge_clean(report: &VerifyReport, prepare: usize, passed: &[String]) -> CleanFinding {
    if report.cancelled {
        return CleanFinding::NotChecked {
            reason: "it was stopped".into(),
        };
    }
    let (preparing, verifying) = report.commands.split_at(prepare.min(report.commands.len()));
    if let Some(failed) = preparing.iter().find(|command| !command.passed()) {
        return CleanFinding::NotChecked {
            reason: format!("`{}` {}", failed.command, failed.outcome),
        };
    }
    let counts = |command: &str| passed.iter().any(|one| one == command);
    let mut failed = verifying.iter().filter(|command| !command.passed());
    match failed.find(|failed| counts(&failed.command.to_string())) {
        None => CleanFinding::Passed,
        Some(failed) => CleanFinding::Failed {
            command: failed.command.to_string(),
            tail: format!("{}\n[{}]", failed.tail.trim_end(), failed.outcome),
        },
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;
    use crate::{
        task::VerifyCommand,
        verify::{CommandOutcome, VerifyCommandReport},
    };

    fn report(commands: &[(&str, i32)]) -> VerifyReport {
        let one = |(line, code): &(&str, i32)| {
            let outcome = match code {
                0 => CommandOutcome::Passed,
                code => CommandOutcome::Failed { code: *code },
            };
            let command = VerifyCommand::Shell((*line).to_owned());
            VerifyCommandReport::new(command, outcome, Duration::ZERO, "", String::new())
        };
        VerifyReport {
            commands: commands.iter().map(one).collect(),
            network: None,
            cancelled: false,
        }
    }

    #[test]
    fn a_command_that_passed_before_and_fails_in_the_clone_counts() {
        let report = report(&[("npm ci", 0), ("old", 1), ("test", 2)]);
        let passed = ["npm ci".to_owned(), "test".to_owned()];
        let CleanFinding::Failed { command, tail } = judge_clean(&report, 1, &passed) else {
            panic!("it failed");
        };
        assert_eq!(
            (command.as_str(), tail.as_str()),
            ("test", "\n[failed with exit code 2]")
        );
        // A known failure of the baseline is none of the clone's.
        assert_eq!(
            judge_clean(&report, 1, &["npm ci".to_owned()]),
            CleanFinding::Passed
        );
    }

    #[test]
    fn nothing_is_said_where_preparing_failed_or_it_was_stopped() {
        let failed = report(&[("npm ci", 1), ("test", 1)]);
        let passed = ["test".to_owned()];
        let CleanFinding::NotChecked { reason } = judge_clean(&failed, 1, &passed) else {
            panic!("it is not checked");
        };
        assert_eq!(reason, "`npm ci` failed with exit code 1");
        let stopped = VerifyReport {
            cancelled: true,
            ..report(&[("npm ci", 0)])
        };
        let stopped = judge_clean(&stopped, 1, &passed);
        assert!(matches!(stopped, CleanFinding::NotChecked { .. }));
        assert_eq!(judge_clean(&report(&[]), 2, &passed), CleanFinding::Passed);
    }
}
