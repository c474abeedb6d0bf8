//! `cargo test` and `cargo nextest`.

use std::sync::LazyLock;

use regex::Regex;

use super::{ItemKind, OutputReader, Summaries, TestCounts, compiled, items, number};

/// A reader of both: nextest runs the other one's binaries, and can pass on what they print.
#[derive(Debug, Default)]
pub(super) struct CargoReader {
    summaries: Summaries,
    in_nextest: bool,
}

static LIBTEST: LazyLock<Regex> = LazyLock::new(|| {
    compiled(
        r"^test result: \w+\. (\d+) passed; (\d+) failed; (\d+) ignored; (\d+) measured; \d+ filtered out",
    )
});
static IGNORED: LazyLock<Regex> =
    LazyLock::new(|| compiled(r"^test (.+?)(?: \(line \d+\))? \.\.\. ignored(?:,.*)?$"));
static STARTING: LazyLock<Regex> = LazyLock::new(|| {
    compiled(r"^\s+Starting \d+ tests? across \d+ binar(?:y|ies)|^\s+Nextest run ID ")
});
static SUMMARY: LazyLock<Regex> = LazyLock::new(|| {
    compiled(r"^\s+Summary \[[^\]]*\]\s+\d+(?:/\d+)? tests? run: (\d+ passed.*)$")
});
static IN_PARENTHESES: LazyLock<Regex> = LazyLock::new(|| compiled(r" \([^)]*\)"));
static SKIP: LazyLock<Regex> =
    LazyLock::new(|| compiled(r"^\s+SKIP \[[^\]]*\]\s+(?:\([^)]*\)\s+)?(.+)$"));

impl OutputReader for CargoReader {
    fn read(&mut self, line: &str) -> bool {
        if STARTING.is_match(line) {
            self.in_nextest = true;
        } else if let Some(found) = SUMMARY.captures(line) {
            self.in_nextest = false;
            let said = IN_PARENTHESES.replace_all(&found[1], "");
            if let Some(counts) = items(&said, ",", nextest_word) {
                self.summaries.add(counts);
                return true;
            }
        } else if let Some(found) = SKIP.captures(line) {
            self.summaries.name(&found[1]);
        } else if let Some(found) = IGNORED.captures(line) {
            self.summaries.name(&found[1]);
        } else if let Some(found) = LIBTEST.captures(line).filter(|_| !self.in_nextest) {
            self.summaries.add(TestCounts {
                passed: number(&found[1]) + number(&found[4]),
                failed: number(&found[2]),
                skipped: number(&found[3]),
                ..TestCounts::default()
            });
            return true;
        }
        false
    }

    fn counts(&self) -> Option<TestCounts> {
        self.summaries.counts()
    }
}

fn nextest_word(word: &str) -> Option<ItemKind> {
    match word {
        "passed" => Some(ItemKind::Passed),
        "failed" | "timed out" | "exec failed" | "setup scripts failed" => Some(ItemKind::Failed),
        "skipped" => Some(ItemKind::Skipped),
        _ => Some(ItemKind::Aside),
    }
}
