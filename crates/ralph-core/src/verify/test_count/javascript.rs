//! jest, vitest, mocha and `node --test`.

use std::sync::LazyLock;

use regex::Regex;

use super::{ItemKind, OutputReader, Summaries, TestCounts, compiled, items, number};

#[derive(Debug, Default)]
pub(super) struct JavascriptReader {
    summaries: Summaries,
    /// Lines that mocha prints of a pending test; a list of anything else looks the same.
    dashes: Vec<String>,
    mocha: bool,
    /// Lines of TAP that tell of a skipped test, for runners that do not sum them up.
    tap_skips: u64,
    tap: bool,
}

static JEST: LazyLock<Regex> =
    LazyLock::new(|| compiled(r"^Tests:\s+((?:\d+ \w+, )*)(\d+) total$"));
static VITEST: LazyLock<Regex> =
    LazyLock::new(|| compiled(r"^\s*Tests\s+((?:\d+ [a-z]+(?: [a-z]+)?(?: \| )?)+) \(\d+\)$"));
static NONE: LazyLock<Regex> = LazyLock::new(|| {
    compiled(r"^\s*No tests? (?:files? )?found, exiting with code \d+$|^\s*Tests\s+no tests$")
});
static MARKED: LazyLock<Regex> = LazyLock::new(|| {
    compiled(r"^\s*(?:○ skipped |✎ todo |[↓□] )(.+?)(?: \[skipped\])?(?: \d+ms)?$")
});
static MOCHA: LazyLock<Regex> =
    LazyLock::new(|| compiled(r"^\s+(\d+) (passing \(.+\)|pending|failing)$"));
static DASH: LazyLock<Regex> = LazyLock::new(|| compiled(r"^\s+- (.+)$"));
static NODE: LazyLock<Regex> =
    LazyLock::new(|| compiled(r"^(?:#|ℹ) (tests|pass|fail|cancelled|skipped|todo)\s+(\d+)$"));
static TAP_SKIP: LazyLock<Regex> =
    LazyLock::new(|| compiled(r"(?i)^\s*(?:not )?ok \d+ (?:- )?(.+?) # (?:SKIP|TODO)\b"));
/// `﹣ off (0.1ms) # no network`; a test to do has the mark of one that passed.
static SPEC_SKIP: LazyLock<Regex> = LazyLock::new(|| {
    compiled(r"^\s*(?:﹣ (.+?) \([\d.]+ms\)(?: # .*)?|✔ (.+?) \([\d.]+ms\) # TODO\b.*)$")
});

impl OutputReader for JavascriptReader {
    fn read(&mut self, line: &str) -> bool {
        let summary = JEST.captures(line).map(|found| items(&found[1], ",", word));
        let summary = summary
            .or_else(|| {
                VITEST
                    .captures(line)
                    .map(|found| items(&found[1], "|", word))
            })
            .flatten()
            .or_else(|| NONE.is_match(line).then(TestCounts::default));
        if let Some(counts) = summary {
            self.summaries.add(counts);
            return true;
        }
        if let Some(found) = MOCHA.captures(line) {
            return self.mocha(number(&found[1]), &found[2]);
        }
        if let Some(found) = NODE.captures(line) {
            self.node(&found[1], number(&found[2]));
            return true;
        }
        if let Some(found) = MARKED.captures(line) {
            if !found[1].starts_with(|c: char| c.is_ascii_digit()) {
                self.summaries.name(&found[1]);
            }
        } else if let Some(found) = TAP_SKIP.captures(line) {
            self.tap_skips += 1;
            self.summaries.name(&found[1]);
        } else if let Some(found) = SPEC_SKIP.captures(line) {
            let name = found.get(1).or_else(|| found.get(2));
            self.summaries.name(name.map_or("", |name| name.as_str()));
        } else if let Some(found) = DASH.captures(line) {
            self.dashes.push(found[1].to_owned());
            // Only the last of them can be what a summary counts.
            if self.dashes.len() > 2 * super::MAX_NAMES {
                self.dashes.drain(..super::MAX_NAMES);
            }
        }
        false
    }

    fn counts(&self) -> Option<TestCounts> {
        let mut counts = self.summaries.counts()?;
        if self.tap {
            counts.skipped = counts.skipped.saturating_add(self.tap_skips);
        }
        Some(counts)
    }
}

impl JavascriptReader {
    /// Passing comes first, then what is pending and failing, each only where there is some.
    fn mocha(&mut self, n: u64, what: &str) -> bool {
        let mut counts = TestCounts::default();
        match what {
            "pending" if self.mocha => {
                counts.skipped = n;
                let dashes = std::mem::take(&mut self.dashes);
                if u64::try_from(dashes.len()) == Ok(n) {
                    for name in &dashes {
                        self.summaries.name(name);
                    }
                }
            }
            "failing" if self.mocha => {
                counts.failed = n;
                self.mocha = false;
            }
            "pending" | "failing" => return false,
            _ => {
                self.mocha = true;
                counts.passed = n;
            }
        }
        self.summaries.add(counts);
        true
    }

    fn node(&mut self, what: &str, n: u64) {
        let mut counts = TestCounts::default();
        match what {
            "tests" => self.tap = true,
            "pass" => counts.passed = n,
            "fail" | "cancelled" => counts.failed = n,
            _ => {
                // It sums them up itself.
                self.tap = false;
                counts.skipped = n;
            }
        }
        self.summaries.add(counts);
    }
}

fn word(word: &str) -> Option<ItemKind> {
    match word {
        "passed" => Some(ItemKind::Passed),
        "failed" => Some(ItemKind::Failed),
        "skipped" | "todo" | "pending" | "expected fail" => Some(ItemKind::Skipped),
        _ => None,
    }
}
