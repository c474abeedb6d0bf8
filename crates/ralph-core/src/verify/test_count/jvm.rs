//! Maven's surefire, Gradle, and JUnit's own text.

use std::sync::LazyLock;

use regex::Regex;

use super::{OutputReader, Summaries, TestCounts, compiled, number, of_total};

#[derive(Debug, Default)]
pub(super) struct JvmReader {
    /// One for each class; counted only if no sum of them is printed.
    classes: Summaries,
    sums: Summaries,
}

static SUREFIRE: LazyLock<Regex> = LazyLock::new(|| {
    compiled(
        r"^(?:\[[A-Z]+\] +)?Tests run: +(\d+), +Failures: +(\d+)(?:, +Errors: +(\d+))?(?:, +Skipped: +(\d+))?(, +Time elapsed.*)?$",
    )
});
static GRADLE: LazyLock<Regex> =
    LazyLock::new(|| compiled(r"^(\d+) tests? completed(?:, (\d+) failed)?(?:, (\d+) skipped)?$"));
static JUNIT4: LazyLock<Regex> = LazyLock::new(|| compiled(r"^OK \((\d+) tests?\)$"));
static CONSOLE: LazyLock<Regex> =
    LazyLock::new(|| compiled(r"^\[ +(\d+) tests (successful|failed|skipped|aborted) +\]$"));
static GRADLE_SKIP: LazyLock<Regex> = LazyLock::new(|| compiled(r"^(\S.* > .+) SKIPPED$"));

impl OutputReader for JvmReader {
    fn read(&mut self, line: &str) -> bool {
        let counts = if let Some(found) = SUREFIRE.captures(line) {
            let n = |at: usize| found.get(at).map_or(0, |n| number(n.as_str()));
            let counts = of_total(n(1), n(2) + n(3), n(4));
            if found.get(5).is_some() {
                self.classes.add(counts);
                return true;
            }
            counts
        } else if let Some(found) = GRADLE.captures(line) {
            let n = |at: usize| found.get(at).map_or(0, |n| number(n.as_str()));
            of_total(n(1), n(2), n(3))
        } else if let Some(found) = JUNIT4.captures(line) {
            of_total(number(&found[1]), 0, 0)
        } else if let Some(found) = CONSOLE.captures(line) {
            let n = number(&found[1]);
            match &found[2] {
                "successful" => of_total(n, 0, 0),
                "failed" => of_total(n, n, 0),
                _ => of_total(n, 0, n),
            }
        } else {
            if let Some(found) = GRADLE_SKIP.captures(line) {
                self.sums.name(&found[1]);
            }
            return false;
        };
        self.sums.add(counts);
        true
    }

    fn counts(&self) -> Option<TestCounts> {
        self.sums.counts().or_else(|| self.classes.counts())
    }
}
