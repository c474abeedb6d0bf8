//! The same files changed in attempt after attempt, without anything getting better.
//!
//! *Better* is what ralph can see by itself: fewer failing commands, a first failing command that comes
//! later, or, where its output says how many, fewer failing tests. Another message alone is not better.

use std::sync::LazyLock;

use regex::Regex;

use super::{Attempt, Failing, Gutter};

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
pub(super) fn failing_tests(tail: &str) -> Option<u64> {
    COUNTS.iter().find_map(|find| {
        let found = find.captures_iter(tail);
        let counts = found.filter_map(|c| c.get(1)?.as_str().parse::<u64>().ok());
        counts.reduce(u64::saturating_add)
    })
}

/// Fires where `limit` attempts in a row changed again what the ones before had changed and were no
/// better than the best of them. The first of a row is the one that they are measured by.
pub(super) fn evaluate(row: &[&Attempt], limit: u32) -> Option<Gutter> {
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
