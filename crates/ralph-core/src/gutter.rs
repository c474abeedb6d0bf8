//! Decides whether the work on a task goes round in circles: the same failure again, the same files changed
//! again without anything getting better, or a change that goes back and forth.
//!
//! Pure: looks at what is kept of the last attempts, and says which rule fires. What follows is decided
//! in `termination`; nothing here reads git or the journal.

use std::sync::LazyLock;

use regex::Regex;
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};

use crate::{
    record::{IterationRecord, VerificationRecord},
    sanitize::fold,
    signal::{Escalation, EscalationKind},
    verdict::Verdict,
};

/// The number of attempts to look at, at least: what fires has to be seen as a whole.
const WINDOW: usize = 10;
/// And at most, whatever the limits are set to.
const MOST_ATTEMPTS: usize = 100;

/// Describes what is allowed before a rule fires; `None` for a rule that can't.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct GutterLimits {
    /// Attempts in a row whose verification failed in the same way.
    pub same_failure: Option<u32>,
    /// Attempts in a row that changed again what the one before had changed, and were no better.
    pub churn: Option<u32>,
    /// Attempts in a row that went back to where the work had been.
    pub oscillations: Option<u32>,
}

impl GutterLimits {
    /// One step before these: where a diagnosis still comes in time. A first failure is no circle yet.
    pub fn one_before(&self) -> Self {
        let before = |limit: Option<u32>, least: u32| {
            let limit = limit?.checked_sub(1)?;
            (limit >= least).then_some(limit)
        };
        Self {
            same_failure: before(self.same_failure, 2),
            churn: before(self.churn, 1),
            oscillations: before(self.oscillations, 1),
        }
    }

    /// Returns how many of a task's attempts have to be known.
    pub fn window(&self) -> usize {
        let most = self.churn.max(self.oscillations).unwrap_or(0);
        let most = usize::try_from(most).unwrap_or(MOST_ATTEMPTS);
        most.saturating_add(2).clamp(WINDOW, MOST_ATTEMPTS)
    }
}

/// A rule that fired, with its figures.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(
    tag = "rule",
    rename_all = "snake_case",
    rename_all_fields = "camelCase"
)]
pub enum Gutter {
    SameFailure {
        command: String,
        signature: String,
        count: u32,
    },
    /// `attempts` in a row changed all of `files`, and the later ones were no better than the first.
    Churn { files: Vec<String>, attempts: u32 },
    /// The work went back `count` times in a row to where it had been; `trees` are the two states.
    Oscillation {
        count: u32,
        attempts: u32,
        trees: [String; 2],
    },
}

/// Files that a sentence names.
const FILES_NAMED: usize = 3;

impl Gutter {
    /// Returns what fired, with the figures, in one sentence without a full stop.
    pub fn sentence(&self) -> String {
        match self {
            Self::SameFailure { command, count, .. } => {
                format!("`{command}` failed the same way {count} times in a row")
            }
            Self::Churn { files, attempts } => {
                let named: Vec<&str> = files.iter().take(FILES_NAMED).map(String::as_str).collect();
                let more = match files.len().saturating_sub(FILES_NAMED) {
                    0 => String::new(),
                    n => format!(" and {n} more"),
                };
                format!(
                    "{attempts} attempts in a row changed {}{more}, and nothing got better",
                    named.join(", ")
                )
            }
            Self::Oscillation {
                count, attempts, ..
            } => {
                let times = match count {
                    1 => "once".to_owned(),
                    n => format!("{n} times"),
                };
                format!(
                    "the last {attempts} attempts go back and forth: what one changed, the next undid, {times}"
                )
            }
        }
    }

    /// Returns what a person is asked.
    pub fn question(&self) -> String {
        format!("{}: how to proceed?", self.sentence())
    }

    /// The key whose limit it is.
    pub fn key(&self) -> &'static str {
        match self {
            Self::SameFailure { .. } => "loop.gutter.max_same_failure",
            Self::Churn { .. } => "loop.gutter.max_churn_commits",
            Self::Oscillation { .. } => "loop.gutter.max_oscillations",
        }
    }
}

/// The failures in a row of the task's verification in one way; counted by the journal, which forgets
/// nothing.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Repeated<'a> {
    pub command: &'a str,
    pub signature: &'a str,
    pub count: u32,
}

/// One attempt, as far as the rules go.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Attempt {
    pub state: AttemptState,
    pub trace: Option<Trace>,
}

/// The way an attempt ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum AttemptState {
    /// Its verification failed.
    Failed(Failing),
    /// It was charged for something else, so a row ends here.
    Other,
    /// A stop, a usage limit, a diagnosis: it says nothing of the work.
    Nothing,
}

/// Describes what failed of the verification.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Failing {
    pub commands: usize,
    /// Which command was the first to fail, from 0.
    pub first: usize,
    /// The number of tests that failed in that one, where its output says so.
    pub tests: Option<u64>,
}

impl Failing {
    /// Fewer commands fail, or the first that fails comes later, or fewer tests fail in it.
    fn is_better_than(&self, other: &Self) -> bool {
        if self.commands != other.commands {
            return self.commands < other.commands;
        }
        if self.first != other.first {
            return self.first > other.first;
        }
        matches!((self.tests, other.tests), (Some(a), Some(b)) if a < b)
    }
}

impl Attempt {
    pub fn of(record: &IterationRecord) -> Self {
        let state = match &record.verdict {
            Verdict::Failed { .. } => {
                let last = record.verification.iter().map(|v| v.run).max();
                let run = record.verification.iter().filter(|v| Some(v.run) == last);
                AttemptState::Failed(failing(&run.collect::<Vec<_>>()))
            }
            // A diagnosis is no attempt, however it ended.
            _ if record.diagnoses.is_some() => AttemptState::Nothing,
            verdict if verdict.is_charged() => AttemptState::Other,
            _ => AttemptState::Nothing,
        };
        Self {
            state,
            trace: record.trace.clone(),
        }
    }

    fn failing(&self) -> Option<&Failing> {
        match &self.state {
            AttemptState::Failed(failing) => Some(failing),
            AttemptState::Other | AttemptState::Nothing => None,
        }
    }
}

fn failing(run: &[&VerificationRecord]) -> Failing {
    let first = run.iter().position(|v| !v.passed);
    Failing {
        commands: run.iter().filter(|v| !v.passed).count(),
        first: first.unwrap_or(run.len()),
        tests: first.and_then(|first| failing_tests(&run[first].tail)),
    }
}

/// The rule that fires at these limits: the most telling one if there are several. `attempts` are the
/// task's own since it was opened, oldest first; the last one has just failed.
pub fn evaluate(
    repeated: Option<Repeated<'_>>,
    attempts: &[Attempt],
    limits: &GutterLimits,
) -> Option<Gutter> {
    let row = row(attempts);
    same_failure(repeated, limits)
        .or_else(|| oscillation(&row, limits.oscillations?))
        .or_else(|| churn(&row, limits.churn?))
}

fn same_failure(repeated: Option<Repeated<'_>>, limits: &GutterLimits) -> Option<Gutter> {
    let (repeated, limit) = (repeated?, limits.same_failure?);
    (repeated.count >= limit).then(|| Gutter::SameFailure {
        command: repeated.command.to_owned(),
        signature: repeated.signature.to_owned(),
        count: repeated.count,
    })
}

/// The failed attempts in a row that end with the last one; what says nothing of the work is left out.
fn row(attempts: &[Attempt]) -> Vec<&Attempt> {
    let mut row: Vec<&Attempt> = attempts
        .iter()
        .rev()
        .filter(|a| a.state != AttemptState::Nothing)
        .take_while(|a| a.failing().is_some())
        .collect();
    row.reverse();
    row
}

/// Fires where the last `limit` attempts in a row each went back.
fn oscillation(row: &[&Attempt], limit: u32) -> Option<Gutter> {
    let mut count: u32 = 0;
    for at in (1..row.len()).rev() {
        if !went_back(row, at) {
            break;
        }
        count += 1;
    }
    let last = row.last()?.trace.as_ref()?;
    let other = row
        .len()
        .checked_sub(2)
        .and_then(|at| row[at].trace.as_ref())?;
    (count >= limit).then(|| Gutter::Oscillation {
        count,
        attempts: count + 2,
        trees: [other.tree.clone(), last.tree.clone()],
    })
}

/// Returns true if the attempt at that place took back what the one before it did.
fn went_back(row: &[&Attempt], at: usize) -> bool {
    let (Some(now), Some(before)) = (&row[at].trace, &row[at - 1].trace) else {
        return false;
    };
    let earlier = at.checked_sub(2).and_then(|at| row[at].trace.as_ref());
    let same_tree =
        earlier.is_some_and(|earlier| now.tree == earlier.tree && now.tree != before.tree);
    // To take the very first attempt back is to start again, and no circle.
    same_tree || at >= 2 && undoes(&now.hunks, &before.hunks)
}

/// Returns true if most hunks of one change take back most hunks of the other.
///
/// One attempt that takes a wrong idea back and tries another one is work, and does not count: what
/// it undoes must be most of what was done, and most of what it does.
fn undoes(now: &[HunkHash], before: &[HunkHash]) -> bool {
    let mut left: Vec<&HunkHash> = before.iter().collect();
    let mut undone = 0;
    for hunk in now {
        let opposite = |b: &&HunkHash| b.added == hunk.removed && b.removed == hunk.added;
        if let Some(at) = left.iter().position(opposite) {
            left.swap_remove(at);
            undone += 1;
        }
    }
    undone * 2 > before.len() && undone * 2 > now.len()
}

/// "3 failed", "12 tests failed", "2 failing", "failures=4", "Failures: 1".
static COUNTS: LazyLock<Vec<Regex>> = LazyLock::new(|| {
    [
        r"(?i)\b([0-9]{1,9}) (?:tests? |specs? |examples? )?(?:failed|failing|failures?)\b",
        r"(?i)\bfailures?[=:] ?([0-9]{1,9})\b",
    ]
    .iter()
    .filter_map(|find| Regex::new(find).ok())
    .collect()
});

/// Returns how many tests failed, as the end of a command's output tells. Summaries of several suites add up;
/// `None` where nothing is said.
fn failing_tests(tail: &str) -> Option<u64> {
    COUNTS.iter().find_map(|find| {
        let found = find.captures_iter(tail);
        let counts = found.filter_map(|c| c.get(1)?.as_str().parse::<u64>().ok());
        counts.reduce(u64::saturating_add)
    })
}

/// Fires where `limit` attempts in a row changed again what the ones before had changed and were no
/// better than the best of them. The first of a row is the one that they are measured by.
///
/// *Better* is what ralph can see by itself: fewer failing commands, a first failing command that
/// comes later, or, where its output says how many, fewer failing tests. Another message alone is
/// not better.
fn churn(row: &[&Attempt], limit: u32) -> Option<Gutter> {
    let mut best: Option<&Failing> = None;
    let mut common: Vec<&String> = Vec::new();
    let mut length: u32 = 0;
    for attempt in row {
        let failing = attempt.failing()?;
        let files = attempt.trace.as_ref().map_or(&[][..], |t| &t.files);
        let shared: Vec<&String> = files.iter().filter(|f| common.contains(f)).collect();
        let no_better = best.is_some_and(|best| !failing.is_better_than(best));
        if no_better && !shared.is_empty() {
            (common, length) = (shared, length + 1);
        } else {
            (common, length) = (files.iter().collect(), 1);
            best = Some(failing);
        }
    }
    (length > limit).then(|| Gutter::Churn {
        files: common.into_iter().cloned().collect(),
        attempts: length,
    })
}

/// Defines what is kept of a diagnosis at most, in characters.
pub const MOST_CHARS: usize = 12_000;

/// Describes what an agent found out. None of it is evidence.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Diagnosis {
    pub iteration: u64,
    /// Tells what made it necessary.
    pub gutter: Gutter,
    /// The agent's file, or the end of its final message.
    pub text: String,
    /// The question that it would ask, with its options.
    pub escalation: Option<Escalation>,
}

impl Diagnosis {
    /// The text within its bound: from a file that was written for it, else from the final message.
    pub fn text_of(file: Option<&str>, message: &str) -> String {
        let written = file.map(str::trim).filter(|text| !text.is_empty());
        let text = written.unwrap_or_else(|| message.trim());
        text.chars().take(MOST_CHARS).collect()
    }

    /// The question to a person: what fired, what was found out, and the options that the agent sees.
    pub fn escalation_about(&self, gutter: &Gutter) -> Escalation {
        let own = self.escalation.as_ref();
        let asks = own.map(|e| e.question.trim()).filter(|q| !q.is_empty());
        Escalation {
            kind: EscalationKind::Stuck,
            summary: gutter.sentence(),
            context: format!("Diagnosis of iteration {}:\n{}", self.iteration, self.text),
            options: own.map(|e| e.options.clone()).unwrap_or_default(),
            question: asks.map_or_else(|| gutter.question(), str::to_owned),
            raw: String::new(),
        }
    }
}

/// Describes what a task's history comes to for diagnoses.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct GutterState {
    /// The task's next iteration is to find out why this happens.
    pub due: Option<Gutter>,
    pub made: Made,
    /// The last one, which the next attempts are told of.
    pub diagnosis: Option<Diagnosis>,
}

impl GutterState {
    pub fn is_empty(&self) -> bool {
        *self == Self::default()
    }

    /// The same for a task that a person opened again: it is counted again, what was found out stays.
    pub fn opened(self) -> Self {
        Self {
            diagnosis: self.diagnosis,
            ..Self::default()
        }
    }
}

/// Tells whether a diagnosis was made since the task was opened: it gets one.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Made {
    #[default]
    NotYet,
    Once,
}

/// Describes what the rules say of a task after its last attempt.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct GutterFindings {
    /// A limit is reached.
    pub reached: Option<Gutter>,
    /// One step before a limit.
    pub near: Option<Gutter>,
    pub made: Made,
}

/// Hunks that are kept of one attempt, and files that are named.
const MOST_HUNKS: usize = 200;
const MOST_FILES: usize = 100;

/// Describes what an attempt did, against what it started from.
///
/// Bounded, and holds no line of the code. Hunks are normalised: line numbers go, because an edit
/// above moves a hunk without changing it; white space goes, because to indent again is no change
/// of mind. Numbers stay: a time-out that is 5, 10 and 5 again is what is looked for. The path is
/// part of it: the same lines elsewhere undo nothing.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct Trace {
    /// The tree that was verified.
    pub tree: String,
    pub files: Vec<String>,
    pub hunks: Vec<HunkHash>,
}

/// One hunk: what it put in the place of what. Equal hashes are equal lines, in the same file.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct HunkHash {
    pub removed: String,
    pub added: String,
}

/// The trace of an attempt, from a diff without context lines (`-U0`, prefixes `a/` and `b/`).
pub fn trace_of_diff(tree: &str, diff: &[u8]) -> Trace {
    let mut reader = Reader::default();
    for line in diff.split(|byte| *byte == b'\n') {
        reader.line(line);
    }
    reader.end_hunk();
    Trace {
        tree: tree.to_owned(),
        files: reader.files,
        hunks: reader.hunks,
    }
}

#[derive(Default)]
struct Reader {
    files: Vec<String>,
    hunks: Vec<HunkHash>,
    path: String,
    /// Lines that the hunk still has: what comes after them is no line of it, whatever it looks like.
    removed_left: usize,
    added_left: usize,
    removed: Side,
    added: Side,
}

/// One side of a hunk.
#[derive(Default)]
struct Side {
    lines: Vec<String>,
}

impl Side {
    fn take(&mut self, line: &[u8]) {
        let text = String::from_utf8_lossy(line);
        let line = fold(&text);
        if !line.is_empty() {
            self.lines.push(line);
        }
    }

    fn hash(&self, path: &str) -> String {
        let mut hash = Sha256::new();
        hash.update(path);
        for line in &self.lines {
            hash.update([0]);
            hash.update(line);
        }
        let digest = hash.finalize();
        digest.iter().take(8).map(|b| format!("{b:02x}")).collect()
    }
}

impl Reader {
    fn line(&mut self, line: &[u8]) {
        match line.first() {
            Some(b'-') if self.removed_left > 0 => {
                self.removed_left -= 1;
                self.removed.take(&line[1..]);
            }
            Some(b'+') if self.added_left > 0 => {
                self.added_left -= 1;
                self.added.take(&line[1..]);
            }
            _ => self.heading(line),
        }
    }

    fn heading(&mut self, line: &[u8]) {
        if let Some(ranges) = line.strip_prefix(b"@@ -") {
            self.end_hunk();
            let text = String::from_utf8_lossy(ranges);
            let mut parts = text.split(' ');
            self.removed_left = parts.next().map_or(0, length);
            self.added_left = parts.next().map_or(0, length);
        } else if let Some(names) = line.strip_prefix(b"diff --git ") {
            self.end_hunk();
            self.path = path_of(&String::from_utf8_lossy(names));
            if self.files.len() < MOST_FILES {
                self.files.push(self.path.clone());
            }
        }
    }

    fn end_hunk(&mut self) {
        let (removed, added) = (
            std::mem::take(&mut self.removed),
            std::mem::take(&mut self.added),
        );
        if removed.lines != added.lines && self.hunks.len() < MOST_HUNKS {
            self.hunks.push(HunkHash {
                removed: removed.hash(&self.path),
                added: added.hash(&self.path),
            });
        }
    }
}

/// Of `12,3` and `+12,3` the 3; of `12` one.
fn length(range: &str) -> usize {
    let count = range
        .split_once(',')
        .map_or(Some(1), |(_, n)| n.parse().ok());
    count.unwrap_or(0)
}

/// The path of `a/PATH b/PATH`: nothing is renamed, so that the two are the same.
fn path_of(names: &str) -> String {
    let inner = names.trim_matches('"');
    let half = inner.len().saturating_sub(1) / 2;
    let first = inner.get(..half).unwrap_or(inner).trim_matches('"');
    first.strip_prefix("a/").unwrap_or(first).to_owned()
}

#[cfg(test)]
mod tests;
