//! Tells whether two failures are the same one.
//!
//! Over what a person would call the same: the command, how it ended, and its output without what
//! differs from run to run. Not a security boundary: 64 bits, for counting repeats.

use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};

use super::CommandOutcome;
use super::normalise::normalise;
use crate::task::VerifyCommand;

/// The number of lines at the output's end that count. The head may scroll out of a bounded buffer, and then
/// must not matter.
const LINES: usize = 200;

/// A short hash that is equal for failures that are the same.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Signature(String);

impl Signature {
    pub fn of(command: &VerifyCommand, outcome: &CommandOutcome, output: &str) -> Self {
        let mut hash = Sha256::new();
        hash.update(command.to_string());
        hash.update([0]);
        match outcome {
            CommandOutcome::Passed => hash.update("passed"),
            CommandOutcome::Failed { code } => hash.update(format!("failed {code}")),
            CommandOutcome::Signalled { signal } => hash.update(format!("signal {signal}")),
            CommandOutcome::TimedOut { .. } => hash.update("timed out"),
            CommandOutcome::NotStarted { why } => hash.update(format!("not started {why}")),
        }
        // Where a hanging command was cut off is chance: that it hangs is the failure.
        if !matches!(outcome, CommandOutcome::TimedOut { .. }) {
            let lines = normalise(output);
            for line in lines.iter().skip(lines.len().saturating_sub(LINES)) {
                hash.update([0]);
                hash.update(line);
            }
        }
        let hex: String = hash
            .finalize()
            .iter()
            .take(8)
            .map(|byte| format!("{byte:02x}"))
            .collect();
        Self(hex)
    }

    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl std::fmt::Display for Signature {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.0)
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    fn failed(output: &str) -> Signature {
        let command = VerifyCommand::Shell("cargo test".into());
        Signature::of(&command, &CommandOutcome::Failed { code: 101 }, output)
    }

    #[test]
    fn is_sixteen_hex_digits_that_do_not_change_between_versions() {
        assert_eq!(failed("error: boom at x").as_str(), "2ee00e005576fb5c");
    }

    #[test]
    fn differs_by_command_and_by_ending() {
        let make = VerifyCommand::Shell("make".into());
        let code = |code| CommandOutcome::Failed { code };
        let one = Signature::of(&make, &code(1), "x");
        assert_ne!(one, Signature::of(&make, &code(2), "x"));
        assert_ne!(
            one,
            Signature::of(&make, &CommandOutcome::Signalled { signal: 1 }, "x")
        );
        assert_ne!(
            one,
            Signature::of(&VerifyCommand::Shell("make -k".into()), &code(1), "x")
        );
    }

    #[test]
    fn two_time_outs_of_one_command_are_the_same_wherever_they_were_cut() {
        let make = VerifyCommand::Shell("make".into());
        let after = |s| CommandOutcome::TimedOut {
            after: Duration::from_secs(s),
        };
        assert_eq!(
            Signature::of(&make, &after(1), "test 1 ok"),
            Signature::of(&make, &after(2), "test 1 ok\ntest 2")
        );
    }

    #[test]
    fn only_the_last_lines_count() {
        let end = "same\n".repeat(300);
        assert_eq!(
            failed(&format!("head one\n{end}")),
            failed(&format!("head two\n{end}"))
        );
    }
}
