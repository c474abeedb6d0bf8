//! Compares the tests of a candidate with those that there were before it.

use std::fmt;

use serde::{Deserialize, Serialize};

use super::TestCounts;

/// Names that a sentence gives.
const SHOWN_NAMES: usize = 10;

/// A difference between the tests of a base and of a candidate. Shown, it goes on after the name of the command.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(
    rename_all = "camelCase",
    rename_all_fields = "camelCase",
    tag = "kind"
)]
pub enum TestFinding {
    /// No test was run where some were: this fails.
    NoneRan {
        before: u64,
    },
    /// No test was run, and nothing tells whether there ever were any.
    NoTest,
    Fewer {
        before: u64,
        now: u64,
    },
    /// Tests that are skipped now and were not, by name.
    NewlySkipped {
        names: Vec<String>,
    },
    /// More are skipped, and the runner does not say which.
    MoreSkipped {
        before: u64,
        now: u64,
    },
}

impl TestFinding {
    /// Returns true if the change must not land because of it; else it is a flag.
    pub fn fails(&self) -> bool {
        match self {
            Self::NoneRan { .. } => true,
            Self::NoTest
            | Self::Fewer { .. }
            | Self::NewlySkipped { .. }
            | Self::MoreSkipped { .. } => false,
        }
    }
}

impl fmt::Display for TestFinding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NoneRan { before } => write!(f, "ran no test, {before} before"),
            Self::NoTest => f.write_str("ran no test"),
            Self::Fewer { before, now } => write!(f, "has {}, {before} before", tests(*now)),
            Self::NewlySkipped { names } => {
                let shown: Vec<String> = names
                    .iter()
                    .take(SHOWN_NAMES)
                    .map(|name| plain(name))
                    .collect();
                write!(f, "skips {}", shown.join(", "))?;
                match names.len().saturating_sub(SHOWN_NAMES) {
                    0 => f.write_str(" now"),
                    more => write!(f, " and {more} more now"),
                }
            }
            Self::MoreSkipped { before, now } => {
                write!(f, "skips {}, {before} before", tests(*now))
            }
        }
    }
}

fn tests(n: u64) -> String {
    format!("{n} test{}", if n == 1 { "" } else { "s" })
}

/// Names come out of the output of tests: nothing in them may drive a terminal.
fn plain(name: &str) -> String {
    name.chars().filter(|c| !c.is_control()).collect()
}

/// Compares what a command counted at the base with what it counts now. Where there was no count there is
/// nothing to fall short of; a count that is gone is none.
pub fn compare_tests(base: Option<&TestCounts>, now: Option<&TestCounts>) -> Vec<TestFinding> {
    let Some(base) = base.filter(|base| base.total() > 0) else {
        return Vec::new();
    };
    let none = TestCounts::default();
    let now = now.unwrap_or(&none);
    let mut found = Vec::new();
    if now.ran() == 0 && base.ran() > 0 {
        let before = base.ran();
        found.push(TestFinding::NoneRan { before });
    } else if now.total() < base.total() {
        let (before, now) = (base.total(), now.total());
        found.push(TestFinding::Fewer { before, now });
    }
    let new = now.skipped_names.difference(&base.skipped_names);
    let names: Vec<String> = new.cloned().collect();
    if !names.is_empty() {
        found.push(TestFinding::NewlySkipped { names });
    } else if now.skipped > base.skipped {
        let (before, now) = (base.skipped, now.skipped);
        found.push(TestFinding::MoreSkipped { before, now });
    }
    found
}
