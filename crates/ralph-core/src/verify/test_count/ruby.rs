//! RSpec and minitest.

use std::sync::LazyLock;

use regex::Regex;

use super::{OutputReader, Summaries, TestCounts, compiled, number, of_total};

#[derive(Debug, Default)]
pub(super) struct RubyReader {
    summaries: Summaries,
    in_pending: bool,
}

static RSPEC: LazyLock<Regex> = LazyLock::new(|| {
    compiled(
        r"^(\d+) examples?, (\d+) failures?(?:, (\d+) pending)?(?:, (\d+) errors? occurred outside of examples)?$",
    )
});
static MINITEST: LazyLock<Regex> = LazyLock::new(|| {
    compiled(
        r"^(\d+) (?:runs|tests), \d+ assertions, (\d+) failures, (\d+) errors(?:, \d+ pendings, \d+ omissions, \d+ notifications)?(?:, (\d+) skips)?$",
    )
});
static ENTRY: LazyLock<Regex> = LazyLock::new(|| compiled(r"^\s+\d+\) (.+)$"));
static DOCUMENTED: LazyLock<Regex> = LazyLock::new(|| compiled(r"^\s+(.+) \(PENDING: .*\)$"));

impl OutputReader for RubyReader {
    fn read(&mut self, line: &str) -> bool {
        for pattern in [&RSPEC, &MINITEST] {
            let Some(found) = pattern.captures(line) else {
                continue;
            };
            let n = |at: usize| found.get(at).map_or(0, |n| number(n.as_str()));
            // The third and fourth figure change places between the two.
            let counts = if found[0].contains("example") {
                let mut counts = of_total(n(1), n(2), n(3));
                counts.failed += n(4);
                counts
            } else {
                of_total(n(1), n(2) + n(3), n(4))
            };
            self.summaries.add(counts);
            self.in_pending = false;
            return true;
        }
        if line.starts_with("Pending:") {
            self.in_pending = true;
        } else if line.starts_with("Failures:") || line.starts_with("Finished in") {
            self.in_pending = false;
        } else if let Some(found) = ENTRY.captures(line).filter(|_| self.in_pending) {
            self.summaries.name(&found[1]);
        } else if let Some(found) = DOCUMENTED.captures(line) {
            self.summaries.name(&found[1]);
        }
        false
    }

    fn counts(&self) -> Option<TestCounts> {
        self.summaries.counts()
    }
}
