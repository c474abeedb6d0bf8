//! pytest and unittest.

use std::sync::LazyLock;

use regex::Regex;

use super::{ItemKind, OutputReader, Summaries, TestCounts, compiled, items, number, of_total};

#[derive(Debug, Default)]
pub(super) struct PythonReader {
    summaries: Summaries,
    /// The tests that unittest ran, before it says how.
    ran: Option<u64>,
}

static PYTEST: LazyLock<Regex> = LazyLock::new(|| {
    compiled(
        r"^(?:=+ )?((?:\d+ [a-z]+(?: passed)?(?:, )?)+|no tests ran(?:, .*)?) in \d[\d.]*s(?: \([\d:]+\))?(?: =+)?$",
    )
});
/// `t/test_a.py::test_x SKIPPED (why) [ 20%]`, and the same as its workers print it.
static VERBOSE: LazyLock<Regex> = LazyLock::new(|| {
    compiled(
        r"^(?:\[gw\d+\] )?(?:\[ *\d+%\] )?(?:(?P<a>\S+\.py::.+?) (?:SKIPPED|XFAIL)\b|(?:SKIPPED|XFAIL) (?P<b>\S+\.py::.+?)(?: - .*)?\s*$)",
    )
});
/// `SKIPPED [1] t/test_a.py:3: why`: the line moves with every edit above it.
static SHORT: LazyLock<Regex> =
    LazyLock::new(|| compiled(r"^SKIPPED \[\d+\] (\S+?)(?::\d+)?: (.*)$"));

static RAN: LazyLock<Regex> = LazyLock::new(|| compiled(r"^Ran (\d+) tests? in \d[\d.]*s$"));
static ENDED: LazyLock<Regex> =
    LazyLock::new(|| compiled(r"^(?:OK|FAILED|NO TESTS RAN)(?: \((.*)\))?$"));
static UNITTEST_SKIP: LazyLock<Regex> =
    LazyLock::new(|| compiled(r"^(.+) \.\.\. (?:skipped(?: .*)?|expected failure)$"));

impl OutputReader for PythonReader {
    fn read(&mut self, line: &str) -> bool {
        if let Some(found) = PYTEST.captures(line) {
            let said = found[1].trim_start_matches("no tests ran");
            let Some(counts) = items(said, ",", pytest_word) else {
                return false;
            };
            self.summaries.add(counts);
            return true;
        }
        if let Some(found) = VERBOSE.captures(line) {
            let name = found.name("a").or_else(|| found.name("b"));
            self.summaries.name(name.map_or("", |name| name.as_str()));
        } else if let Some(found) = SHORT.captures(line) {
            self.summaries
                .name(&format!("{}: {}", &found[1], &found[2]));
        } else if let Some(found) = UNITTEST_SKIP.captures(line) {
            self.summaries.name(&found[1]);
        } else if let Some(found) = RAN.captures(line) {
            self.ran = Some(number(&found[1]));
        } else if let Some(total) = self.ran
            && let Some(found) = ENDED.captures(line)
        {
            self.ran = None;
            let said = found.get(1).map_or("", |said| said.as_str());
            self.summaries.add(unittest(total, said));
            return true;
        }
        false
    }

    fn counts(&self) -> Option<TestCounts> {
        self.summaries.counts()
    }
}

fn pytest_word(word: &str) -> Option<ItemKind> {
    match word {
        "passed" => Some(ItemKind::Passed),
        "failed" | "error" | "errors" | "xpassed" => Some(ItemKind::Failed),
        "skipped" | "xfailed" => Some(ItemKind::Skipped),
        "deselected" | "warning" | "warnings" | "rerun" | "reruns" | "subtests passed" => {
            Some(ItemKind::Aside)
        }
        _ => None,
    }
}

/// "failures=1, skipped=2, expected failures=1"
fn unittest(total: u64, said: &str) -> TestCounts {
    let (mut failed, mut skipped) = (0, 0);
    for item in said.split(',') {
        let (word, n) = item.split_once('=').unwrap_or((item, "0"));
        match word.trim() {
            "failures" | "errors" | "unexpected successes" => failed += number(n),
            "skipped" | "expected failures" => skipped += number(n),
            _ => {}
        }
    }
    of_total(total, failed, skipped)
}
