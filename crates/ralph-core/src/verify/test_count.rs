//! Counts the tests that a command ran, from what known test runners print.
//!
//! An output that no known runner wrote gives no count, never zero. What a runner prints can be forged by
//! the tests themselves: a count is a floor to compare with, not a proof.

mod cargo;
mod compare;
mod go;
mod javascript;
mod junit;
mod jvm;
mod php;
mod plain;
mod python;
mod report_file;
mod ruby;

pub use compare::{TestFinding, compare_tests};
pub use plain::strip_terminal;
pub use report_file::{count_report, may_be_report};

use std::{collections::BTreeSet, sync::LazyLock};

use regex::Regex;
use serde::{Deserialize, Serialize};

/// Names that are kept, and the length of each.
const MAX_NAMES: usize = 500;
const MAX_NAME_CHARS: usize = 200;
/// A longer line is no summary of any runner.
const MAX_LINE: usize = 4_000;
/// Of a line that may be a whole report in XML.
const MAX_UNREAD: usize = 4 * 1024 * 1024;

/// Tests as their runner counted them.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct TestCounts {
    pub passed: u64,
    /// Failures and errors.
    pub failed: u64,
    /// Tests that need not pass: skipped, ignored, pending, to do, expected to fail.
    pub skipped: u64,
    /// The names of skipped tests, as far as the runner prints them.
    #[serde(skip_serializing_if = "BTreeSet::is_empty")]
    pub skipped_names: BTreeSet<String>,
}

impl TestCounts {
    /// The tests that were run.
    pub fn ran(&self) -> u64 {
        self.passed.saturating_add(self.failed)
    }

    /// All tests, also those that were skipped.
    pub fn total(&self) -> u64 {
        self.ran().saturating_add(self.skipped)
    }

    /// Adds the tests of another run.
    pub fn add(&mut self, other: TestCounts) {
        self.passed = self.passed.saturating_add(other.passed);
        self.failed = self.failed.saturating_add(other.failed);
        self.skipped = self.skipped.saturating_add(other.skipped);
        for name in other.skipped_names {
            self.add_name(&name);
        }
    }

    fn add_name(&mut self, name: &str) {
        let name: String = name.trim().chars().take(MAX_NAME_CHARS).collect();
        if !name.is_empty() && self.skipped_names.len() < MAX_NAMES {
            self.skipped_names.insert(name);
        }
    }
}

/// Counts the tests of a command that printed `output`; none if no known runner wrote it.
pub fn count_tests(output: &str) -> Option<TestCounts> {
    let mut counter = TestCounter::default();
    counter.read(output.as_bytes());
    counter.finish()
}

/// A counter that is fed as the output comes, so that one of any size can be counted.
#[derive(Debug, Default)]
pub struct TestCounter {
    /// The beginning of a line that has not ended.
    line: Vec<u8>,
    cargo: cargo::CargoReader,
    python: python::PythonReader,
    javascript: javascript::JavascriptReader,
    go: go::GoReader,
    php: php::PhpReader,
    ruby: ruby::RubyReader,
    jvm: jvm::JvmReader,
    junit: junit::JunitReader,
}

/// The words, figures and marks that a line has which any reader counts by. Most lines of a long output have none.
static MARKS: LazyLock<Regex> = LazyLock::new(|| {
    compiled(r"[0-9<\x1b]|[^\x00-\x7f]|^\s*- |(?i-u:test|skip|ignore|pend|todo|fail|pass|ok|no )")
});

impl TestCounter {
    /// Takes a part of the output, which may begin and end within a line.
    pub fn read(&mut self, mut bytes: &[u8]) {
        while let Some(at) = bytes.iter().position(|byte| *byte == b'\n') {
            self.add_to_line(&bytes[..at]);
            self.end_line();
            bytes = &bytes[at + 1..];
        }
        self.add_to_line(bytes);
    }

    fn add_to_line(&mut self, bytes: &[u8]) {
        let room = MAX_UNREAD.saturating_sub(self.line.len());
        self.line.extend(&bytes[..bytes.len().min(room)]);
    }

    fn end_line(&mut self) {
        let line = std::mem::take(&mut self.line);
        self.read_line(&String::from_utf8_lossy(&line));
        self.line = line;
        self.line.clear();
    }

    fn read_line(&mut self, line: &str) {
        if !self.junit.is_open() && !MARKS.is_match(line) {
            return;
        }
        let line = plain::strip_terminal(line);
        let line = line.trim_end();
        self.junit.read(line);
        if line.len() > MAX_LINE {
            return;
        }
        if !self.read_plain(line)
            && let Some(rest) = plain::strip_prefix(line)
        {
            self.read_plain(rest);
        }
    }

    /// Gives the line to one reader after the other, until one has counted by it.
    fn read_plain(&mut self, line: &str) -> bool {
        let readers: [&mut dyn OutputReader; 7] = [
            &mut self.cargo,
            &mut self.python,
            &mut self.javascript,
            &mut self.go,
            &mut self.php,
            &mut self.ruby,
            &mut self.jvm,
        ];
        readers.into_iter().any(|reader| reader.read(line))
    }

    /// Sums up what all runners said. A report in XML counts only if no runner said anything else: it is
    /// most often about the same run.
    pub fn finish(mut self) -> Option<TestCounts> {
        self.end_line();
        let said = [
            self.cargo.counts(),
            self.python.counts(),
            self.javascript.counts(),
            self.go.counts(),
            self.php.counts(),
            self.ruby.counts(),
            self.jvm.counts(),
        ];
        said.into_iter()
            .flatten()
            .reduce(|mut sum, more| {
                sum.add(more);
                sum
            })
            .or_else(|| self.junit.counts())
    }
}

/// A reader of the output of one family of runners.
trait OutputReader {
    /// Takes a line, without colours; true if it was counted by.
    fn read(&mut self, line: &str) -> bool;

    /// Returns what was counted, if the output was one of its runners' at all.
    fn counts(&self) -> Option<TestCounts>;
}

/// Counts that exist once a summary was read.
#[derive(Debug, Default)]
struct Summaries {
    sum: Option<TestCounts>,
    /// Names are printed before the summary that counts them.
    names: BTreeSet<String>,
}

impl Summaries {
    fn add(&mut self, counts: TestCounts) {
        self.sum.get_or_insert_default().add(counts);
    }

    fn name(&mut self, name: &str) {
        if self.names.len() < MAX_NAMES {
            self.names.insert(name.trim().to_owned());
        }
    }

    fn counts(&self) -> Option<TestCounts> {
        let mut counts = self.sum.clone()?;
        for name in &self.names {
            counts.add_name(name);
        }
        Some(counts)
    }
}

fn number(text: &str) -> u64 {
    text.trim().parse().unwrap_or(0)
}

/// Counts made of "3 passed, 1 failed"; `None` if a word is none that the runner uses.
fn items(text: &str, between: &str, kind: impl Fn(&str) -> Option<ItemKind>) -> Option<TestCounts> {
    let mut counts = TestCounts::default();
    for item in text.split(between).map(str::trim).filter(|i| !i.is_empty()) {
        let (n, word) = item.split_once(' ')?;
        let n: u64 = n.parse().ok()?;
        match kind(word.trim())? {
            ItemKind::Passed => counts.passed += n,
            ItemKind::Failed => counts.failed += n,
            ItemKind::Skipped => counts.skipped += n,
            ItemKind::Aside => {}
        }
    }
    Some(counts)
}

/// The meaning of a word in a summary.
enum ItemKind {
    Passed,
    Failed,
    Skipped,
    /// It counts something else, or tests that were left out by choice.
    Aside,
}

/// Counts of a runner that gives the total and what did not pass.
fn of_total(total: u64, failed: u64, skipped: u64) -> TestCounts {
    TestCounts {
        passed: total.saturating_sub(failed).saturating_sub(skipped),
        failed,
        skipped,
        skipped_names: BTreeSet::new(),
    }
}

/// Written in this folder and tested: a pattern that does not compile fails every test.
fn compiled(pattern: &str) -> Regex {
    Regex::new(pattern).expect("a pattern of this folder")
}

#[cfg(test)]
mod tests;
