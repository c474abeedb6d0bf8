//! Describes what verify commands found: reports, the signature of a failure, and the comparison with how
//! things stood before.
//!
//! Runs nothing: the engine's verifier does, and hands over what it saw.

mod clean;
mod excerpt;
mod normalise;
mod programs;
mod test_count;

pub use clean::{CleanFinding, CleanOutcome, CleanResult, judge_clean};
pub use excerpt::excerpt;
pub use programs::{names_program, program_not_found, required_programs, starts_one_of};
pub use test_count::{
    TestCounter, TestCounts, TestFinding, compare_tests, count_report, count_tests, may_be_report,
    strip_terminal,
};

use std::{fmt::Write, time::Duration};

use normalise::normalise;
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};

use crate::task::VerifyCommand;

/// The way one command ended.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(
    rename_all = "camelCase",
    rename_all_fields = "camelCase",
    tag = "kind"
)]
pub enum CommandOutcome {
    Passed,
    Failed {
        code: i32,
    },
    Signalled {
        signal: i32,
    },
    TimedOut {
        #[serde(rename = "afterMs", with = "millis")]
        after: Duration,
    },
    /// It did what it may not, and was ended.
    Stopped {
        why: String,
    },
    NotStarted {
        why: String,
    },
}

impl CommandOutcome {
    /// Returns true if the command, or a program that it needs, could not be started: 126 and 127 are the shell's
    /// codes for that.
    pub fn is_not_started(&self) -> bool {
        matches!(
            self,
            Self::NotStarted { .. } | Self::Failed { code: 126 | 127 }
        )
    }
}

impl std::fmt::Display for CommandOutcome {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Passed => f.write_str("passed"),
            Self::Failed { code } => write!(f, "failed with exit code {code}"),
            Self::Signalled { signal } => write!(f, "ended by signal {signal}"),
            Self::TimedOut { after } => write!(f, "timed out after {} s", after.as_secs_f64()),
            Self::Stopped { why } => write!(f, "stopped: {why}"),
            Self::NotStarted { why } => write!(f, "not started: {why}"),
        }
    }
}

/// One command's run.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct VerifyCommandReport {
    pub command: VerifyCommand,
    pub outcome: CommandOutcome,
    #[serde(rename = "durationMs", with = "millis")]
    pub duration: Duration,
    /// The end of what it printed, trimmed for a prompt.
    pub tail: String,
    /// Tells what makes two failures the same; none if it passed.
    pub signature: Option<Signature>,
    /// The tests that it ran, where a known runner says so.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tests: Option<TestCounts>,
}

impl VerifyCommandReport {
    /// A report of a command that printed `output`, of which `tail` is what people and agents see.
    pub fn new(
        command: VerifyCommand,
        outcome: CommandOutcome,
        duration: Duration,
        output: &str,
        tail: String,
    ) -> Self {
        let failed = outcome != CommandOutcome::Passed;
        let signature = failed.then(|| Signature::of(&command, &outcome, output));
        Self {
            command,
            outcome,
            duration,
            tail,
            signature,
            tests: None,
        }
    }

    /// The same with the tests that it ran.
    #[must_use]
    pub fn with_tests(self, tests: Option<TestCounts>) -> Self {
        Self { tests, ..self }
    }

    pub fn passed(&self) -> bool {
        self.outcome == CommandOutcome::Passed
    }
}

/// One run of all commands.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct VerifyReport {
    pub commands: Vec<VerifyCommandReport>,
    /// True if it was stopped before all commands had run; such a report never passes.
    #[serde(default)]
    pub cancelled: bool,
    /// True if the commands had the network, false if not; unknown without a sandbox.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub network: Option<bool>,
}

impl VerifyReport {
    /// Every command ran and passed. Also true of no commands at all: that nothing was verified is
    /// for the verdict to say.
    pub fn passed(&self) -> bool {
        !self.cancelled && self.first_failure().is_none()
    }

    pub fn first_failure(&self) -> Option<&VerifyCommandReport> {
        self.commands.iter().find(|report| !report.passed())
    }
}

/// The tests that a command ran for the last change that landed with it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct LandedTests {
    /// The command, as records have it.
    pub command: String,
    pub tests: Option<TestCounts>,
}

/// Durations as whole milliseconds, which people read and other languages have.
mod millis {
    use std::time::Duration;

    use serde::{Deserialize, Deserializer, Serializer};

    pub(super) fn serialize<S: Serializer>(value: &Duration, out: S) -> Result<S::Ok, S::Error> {
        out.serialize_u64(u64::try_from(value.as_millis()).unwrap_or(u64::MAX))
    }

    pub(super) fn deserialize<'de, D: Deserializer<'de>>(from: D) -> Result<Duration, D::Error> {
        u64::deserialize(from).map(Duration::from_millis)
    }
}

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
    let pairs = counterparts(baseline, now).into_iter().zip(&now.commands);
    pairs
        .map(|(before, now)| compare_one(before, now))
        .collect()
}

/// One entry for each command of `now`, in its order: the same command's run in the baseline.
pub fn counterparts<'a>(
    baseline: Option<&'a VerifyReport>,
    now: &VerifyReport,
) -> Vec<Option<&'a VerifyCommandReport>> {
    let before = baseline.map_or(&[][..], |report| &report.commands);
    now.commands
        .iter()
        .enumerate()
        .map(|(i, report)| {
            let same = |other: &&VerifyCommandReport| other.command == report.command;
            let earlier = now.commands.iter().take(i).filter(same).count();
            before.iter().filter(same).nth(earlier)
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

/// The end of `text`: at most so many lines and bytes, not counting the note of what is missing.
pub fn trim_tail(text: &str, max_lines: usize, max_bytes: usize) -> String {
    trim_tail_of(text, max_lines, max_bytes, 0)
}

/// The same for a text whose first `missing` bytes are gone already. Its first line is then only
/// part of a line, and is cut too if another follows.
pub fn trim_tail_of(text: &str, max_lines: usize, max_bytes: usize, missing: u64) -> String {
    let from_lines = start_of_last_lines(text, max_lines);
    let from_bytes = match text.len().checked_sub(max_bytes) {
        None | Some(0) if missing == 0 => 0,
        over => next_line_start(text, over.unwrap_or(0)),
    };
    let start = from_lines.max(from_bytes);
    let cut = missing + start as u64;
    let mut kept = String::new();
    if cut > 0 {
        let _ = writeln!(kept, "[… {cut} bytes cut …]");
    }
    kept.push_str(&text[start..]);
    kept
}

fn start_of_last_lines(text: &str, max_lines: usize) -> usize {
    // The newline that ends the text ends its last line; it does not begin another.
    let body = text.strip_suffix('\n').unwrap_or(text);
    if max_lines == 0 {
        return text.len();
    }
    body.rmatch_indices('\n')
        .nth(max_lines - 1)
        .map_or(0, |(at, _)| at + 1)
}

/// The first line that begins at `from` or after it; within one long last line, the next character.
fn next_line_start(text: &str, from: usize) -> usize {
    let from = (from..=text.len())
        .find(|&at| text.is_char_boundary(at))
        .unwrap_or(text.len());
    if from > 0 && text[..from].ends_with('\n') {
        return from;
    }
    match text[from..].find('\n') {
        Some(at) if from + at + 1 < text.len() => from + at + 1,
        _ => from,
    }
}

/// The number of lines at the output's end that count. The head may scroll out of a bounded buffer, and then
/// must not matter.
const LINES: usize = 200;

/// A short hash that is equal for failures that are the same.
///
/// Over what a person would call the same: the command, how it ended, and its output without what
/// differs from run to run. Not a security boundary: 64 bits, for counting repeats.
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
            CommandOutcome::Stopped { .. } => hash.update("stopped"),
            CommandOutcome::NotStarted { why } => hash.update(format!("not started {why}")),
        }
        // Where a command was cut off is chance: that it had to be is the failure.
        let is_cut = matches!(
            outcome,
            CommandOutcome::TimedOut { .. } | CommandOutcome::Stopped { .. }
        );
        if !is_cut {
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
mod tests;
