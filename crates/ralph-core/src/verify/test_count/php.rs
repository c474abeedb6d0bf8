//! PHPUnit and Pest.

use std::sync::LazyLock;

use regex::Regex;

use super::{ItemKind, OutputReader, Summaries, TestCounts, compiled, items, number, of_total};

#[derive(Debug, Default)]
pub(super) struct PhpReader {
    summaries: Summaries,
    /// The list that follows is one of skipped tests.
    in_skipped: bool,
}

static OK: LazyLock<Regex> = LazyLock::new(|| compiled(r"^OK \((\d+) tests?, \d+ assertions?\)$"));
static TESTS: LazyLock<Regex> =
    LazyLock::new(|| compiled(r"^Tests: (\d+), Assertions: \d+((?:, [A-Z][\w ]*: \d+)*)\.$"));
static PEST: LazyLock<Regex> =
    LazyLock::new(|| compiled(r"^\s*Tests:\s+((?:\d+ \w+(?:, )?)+) \(\d+ assertions?\)$"));
static LIST: LazyLock<Regex> =
    LazyLock::new(|| compiled(r"^There (?:was|were) \d+ (.+?)(?: tests?)?:$"));
static ENTRY: LazyLock<Regex> = LazyLock::new(|| compiled(r"^\d+\) (\S+::.+)$"));
static TESTDOX: LazyLock<Regex> = LazyLock::new(|| compiled(r"^ [↩∅] (.+?)(?: \[[\d.]+ ms\])?$"));

impl OutputReader for PhpReader {
    fn read(&mut self, line: &str) -> bool {
        let summary = if let Some(found) = OK.captures(line) {
            Some(of_total(number(&found[1]), 0, 0))
        } else if let Some(found) = TESTS.captures(line) {
            Some(with_issues(number(&found[1]), &found[2]))
        } else if let Some(found) = PEST.captures(line) {
            items(&found[1], ",", pest_word)
        } else {
            (line == "No tests executed!").then(TestCounts::default)
        };
        if let Some(counts) = summary {
            self.summaries.add(counts);
            return true;
        }
        if let Some(found) = LIST.captures(line) {
            self.in_skipped = matches!(&found[1], "skipped" | "incomplete");
        } else if let Some(found) = ENTRY.captures(line).filter(|_| self.in_skipped) {
            self.summaries.name(&found[1]);
        } else if let Some(found) = TESTDOX.captures(line) {
            self.summaries.name(&found[1]);
        }
        false
    }

    fn counts(&self) -> Option<TestCounts> {
        self.summaries.counts()
    }
}

/// ", Failures: 1, Skipped: 2"
fn with_issues(total: u64, said: &str) -> TestCounts {
    let (mut failed, mut skipped) = (0, 0);
    for (word, n) in said.split(',').filter_map(|item| item.split_once(':')) {
        match word.trim() {
            "Errors" | "Failures" => failed += number(n),
            "Skipped" | "Incomplete" => skipped += number(n),
            _ => {}
        }
    }
    of_total(total, failed, skipped)
}

fn pest_word(word: &str) -> Option<ItemKind> {
    match word {
        "passed" => Some(ItemKind::Passed),
        "failed" => Some(ItemKind::Failed),
        "skipped" | "todo" | "todos" | "incomplete" => Some(ItemKind::Skipped),
        // A warning or a deprecation is of a test that passed.
        "warnings" | "warning" | "risky" | "deprecated" | "notices" | "notice" => {
            Some(ItemKind::Passed)
        }
        _ => None,
    }
}
