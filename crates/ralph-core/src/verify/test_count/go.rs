//! `go test`, plain, with `-v` and with `-json`, and gotestsum.
//!
//! Without `-v` it names no tests: then a package with tests counts as one.

use std::sync::LazyLock;

use regex::Regex;
use serde::Deserialize;

use super::{OutputReader, Summaries, TestCounts, compiled, number, of_total};

#[derive(Debug, Default)]
pub(super) struct GoReader {
    packages: Summaries,
    tests: Summaries,
    /// It named a test that passed, so it names them all.
    is_verbose: bool,
    gotestsum: Summaries,
}

static PACKAGE: LazyLock<Regex> = LazyLock::new(|| {
    compiled(
        r"^(?:(ok)\s+\S+\s+(?:[\d.]+s|\(cached\))(.*)|(FAIL)\t\S+(?:\t[\d.]+s| \[.+\])|\?\s+\S+\s+\[no test files\])$",
    )
});
static TEST: LazyLock<Regex> =
    LazyLock::new(|| compiled(r"^\s*--- (PASS|FAIL|SKIP): (\S.*?) \([\d.]+s\)$"));
static DONE: LazyLock<Regex> = LazyLock::new(|| {
    compiled(
        r"^DONE (\d+) tests?(?:, (\d+) skipped)?(?:, (\d+) failures?)?(?:, (\d+) errors?)? in ",
    )
});

/// A line of `go test -json`.
#[derive(Deserialize)]
#[serde(rename_all = "PascalCase")]
struct GoEvent {
    action: String,
    test: Option<String>,
}

impl OutputReader for GoReader {
    fn read(&mut self, line: &str) -> bool {
        if line.starts_with('{') && line.contains("\"Action\":") {
            return self.event(line);
        }
        if let Some(found) = PACKAGE.captures(line) {
            let mut counts = TestCounts::default();
            let note = found.get(2).map_or("", |note| note.as_str());
            counts.passed =
                u64::from(found.get(1).is_some() && !note.contains("[no tests to run]"));
            counts.failed = u64::from(found.get(3).is_some());
            self.packages.add(counts);
            return true;
        }
        if let Some(found) = TEST.captures(line) {
            self.test(&found[1].to_ascii_lowercase(), &found[2]);
            return true;
        }
        if let Some(found) = DONE.captures(line) {
            let n = |at: usize| found.get(at).map_or(0, |n| number(n.as_str()));
            self.gotestsum.add(of_total(n(1), n(3) + n(4), n(2)));
            return true;
        }
        false
    }

    fn counts(&self) -> Option<TestCounts> {
        let tests = self.tests.counts().filter(|_| self.is_verbose);
        self.gotestsum
            .counts()
            .or(tests)
            .or_else(|| self.packages.counts())
    }
}

impl GoReader {
    fn event(&mut self, line: &str) -> bool {
        let Ok(event) = serde_json::from_str::<GoEvent>(line) else {
            return false;
        };
        match (event.action.as_str(), event.test) {
            (action @ ("pass" | "fail" | "skip"), Some(test)) => {
                self.is_verbose = true;
                self.test(action, &test);
            }
            // A package without tests is skipped.
            ("pass" | "fail" | "skip", None) => self.packages.add(TestCounts::default()),
            _ => return false,
        }
        true
    }

    fn test(&mut self, ending: &str, name: &str) {
        let mut counts = TestCounts::default();
        match ending {
            "pass" => {
                self.is_verbose = true;
                counts.passed = 1;
            }
            "skip" => {
                self.is_verbose = true;
                counts.skipped = 1;
                self.tests.name(name);
            }
            _ => counts.failed = 1,
        }
        self.tests.add(counts);
    }
}
