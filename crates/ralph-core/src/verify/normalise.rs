//! Takes out of a command's output what differs between two runs of the same failure: times,
//! durations, addresses, temporary paths, process ids, ports, progress, line numbers.
//!
//! Line numbers go because an edit above a failing test moves it without mending it. How many tests
//! *fail* stays; how many pass goes, because adding a passing test does not change a failure.

use std::sync::LazyLock;

use regex::{Captures, Regex};

/// A line of minified code or of a data dump says nothing new after this many characters.
const LINE_CAP: usize = 1_000;

struct NormaliseRule {
    find: Regex,
    put: &'static str,
}

/// In order: what comes first must not be taken apart by what comes after.
static RULES: LazyLock<Vec<NormaliseRule>> = LazyLock::new(|| {
    [
        // Colours, cursor movement, titles and links of terminals.
        (r"\x1b\[[0-9;:?<=>]*[ -/]*[@-~]", ""),
        (r"\x1b\][^\x07\x1b]*(?:\x07|\x1b\\)", ""),
        (r"\x1b[@-Z\\^_()][0-9A-Z]?", ""),
        (r"(?i)\b[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}\b", "<uuid>"),
        // Dates, dates with times, times of day.
        (
            r"\b[0-9]{4}[-/][0-9]{2}[-/][0-9]{2}(?:[T ][0-9]{2}:[0-9]{2}(?::[0-9]{2}(?:[.,][0-9]+)?)?(?: ?(?:Z|UTC|[+-][0-9]{2}:?[0-9]{2}))?)?",
            "<time>",
        ),
        (
            r"\b(?:(?:Mon|Tue|Wed|Thu|Fri|Sat|Sun),? +)?(?:[0-9]{1,2} +)?(?:Jan|Feb|Mar|Apr|May|Jun|Jul|Aug|Sep|Oct|Nov|Dec)(?: +[0-9]{1,2})?,?(?: +[0-9]{4})? +[0-9]{1,2}:[0-9]{2}(?::[0-9]{2})?(?: +(?:UTC|GMT|[A-Z]{3,4}))?(?: +[0-9]{4})?",
            "<time>",
        ),
        (r"\b[0-9]{1,2}:[0-9]{2}:[0-9]{2}(?:[.,][0-9]+)?\b", "<time>"),
        (r"\b0[xX][0-9a-fA-F]+\b", "<hex>"),
        // Hashes of builds and commits.
        (r"\b[0-9a-f]{16,64}\b", "<hash>"),
        // Ports on this machine.
        (r"(localhost|127\.0\.0\.1|0\.0\.0\.0|\[::1?\]):[0-9]{2,5}\b", "$1:<port>"),
        (r"(?i)\b(port)([ =:#]+)[0-9]{2,5}\b", "$1$2<port>"),
        // Process and thread ids.
        (r"(?i)\b((?:p|t|process|thread)[ _-]?id)([ =:#]+)[0-9]+", "$1$2<id>"),
        (r"(?i)\b(process|seed)([ =:#]+)[0-9]+\b", "$1$2<id>"),
        (r"(thread '[^']*') \([0-9]+\)", "$1"),
        (r"==[0-9]+==", "==<id>=="),
        (r"([A-Za-z_-])\[[0-9]{2,}\]:", "$1[<id>]:"),
        // Where in a source file: a.rs:12:5, a.ts(12,5), "line 12", and the gutter of rustc.
        (r"(\.[A-Za-z][A-Za-z0-9]{0,7}):[0-9]+(?::[0-9]+|-[0-9]+)?\b", "$1"),
        (r"(\.[A-Za-z][A-Za-z0-9]{0,7})\([0-9]+(?:,[0-9]+)?\)", "$1"),
        (r"(?i)\b(line|lines|col|column|ln)([ :]+)[0-9]+", "$1$2<n>"),
        (r"^\s*[0-9]+\s*\|", "|"),
        // Durations: 0.03s, 12 ms, 1m 12.5s, 3 seconds.
        (
            r"\b(?:[0-9]+(?:\.[0-9]+)?(?: ?(?:ns|µs|us|ms|secs?|seconds?|mins?|minutes?|hours?|milliseconds?)|[smh])(?:[ ,]+|\b)?)*[0-9]+(?:\.[0-9]+)?(?: ?(?:ns|µs|us|ms|secs?|seconds?|mins?|minutes?|hours?|milliseconds?)|[smh])\b",
            "<duration>",
        ),
        // Progress and what passed.
        (r"\b[0-9]+(?:\.[0-9]+)? ?%", "<percent>"),
        (r"^\s*[\[(]\s*[0-9]+\s*/\s*[0-9]+\s*[\])]", "[<n>]"),
        (r"(?i)\b[0-9]+ (passed|passing|total|filtered out|deselected)\b", "<n> $1"),
        (r"(?i)\b(running|ran|collected) [0-9]+\b", "$1 <n>"),
        (r"\s+", " "),
    ]
    .into_iter()
    .map(|(find, put)| NormaliseRule {
        find: Regex::new(find).expect("a constant pattern"),
        put,
    })
    .collect()
});

/// A temporary path: the folder that holds it, the name made up for it, and what comes below.
static TEMPORARY: LazyLock<Regex> = LazyLock::new(|| {
    Regex::new(
        r#"(?:/private)?(?:/var/folders/[^/\s]+/[^/\s]+/T|/tmp|/var/tmp|/dev/shm)/([^/\s'"`:;,)\]}>]+)((?:/[^/\s'"`:;,)\]}>]+)*)"#,
    )
    .expect("a constant pattern")
});

static DIGITS: LazyLock<Regex> =
    LazyLock::new(|| Regex::new("[0-9]+").expect("a constant pattern"));

/// The lines that say something, without what changes from run to run.
pub(super) fn normalise(output: &str) -> Vec<String> {
    output
        .lines()
        .map(last_drawn)
        .map(normalise_line)
        .filter(|line| !line.is_empty())
        .collect()
}

/// Returns what a terminal would show of a line that was drawn over and over.
fn last_drawn(line: &str) -> &str {
    let line = line.trim_end_matches('\r');
    line.rsplit('\r').next().unwrap_or(line)
}

fn normalise_line(line: &str) -> String {
    let end = line
        .char_indices()
        .nth(LINE_CAP)
        .map_or(line.len(), |(at, _)| at);
    let mut text = TEMPORARY
        .replace_all(&line[..end], |found: &Captures<'_>| {
            // Names below stay, since they tell tests apart; numbers in them count runs.
            format!("<tmp>{}", DIGITS.replace_all(&found[2], "#"))
        })
        .into_owned();
    for rule in RULES.iter() {
        if let std::borrow::Cow::Owned(changed) = rule.find.replace_all(&text, rule.put) {
            text = changed;
        }
    }
    text.trim().to_owned()
}

#[cfg(test)]
mod tests;
