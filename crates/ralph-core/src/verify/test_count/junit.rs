//! JUnit's XML, as far as it is printed: test cases and what is inside of them.
//!
//! The sums that suites give are not used: suites nest, and each level counts its tests again.

use super::{TestCounts, number};

/// Longest tag that is put together from several lines.
const MAX_TAG: usize = 2 * 1024;

#[derive(Debug, Default)]
pub(super) struct JunitReader {
    counts: TestCounts,
    /// The tests that suites without a single case declare.
    declared: Option<TestCounts>,
    seen: bool,
    case: Option<JunitCase>,
    /// The beginning of a tag that goes on in the next line.
    tag: String,
    in_text: Option<&'static str>,
}

#[derive(Debug)]
struct JunitCase {
    name: String,
    ending: CaseEnding,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum CaseEnding {
    Passed,
    Failed,
    Skipped,
}

impl JunitReader {
    /// Tells whether a report has begun that goes on in the next line.
    pub(super) fn is_open(&self) -> bool {
        !self.tag.is_empty() || self.case.is_some() || self.in_text.is_some()
    }

    pub(super) fn read(&mut self, line: &str) {
        // Most output is no XML: nothing is open, and no tag of a report begins.
        if !self.is_open() && !opens(line) {
            return;
        }
        let joined;
        let mut rest = if self.tag.is_empty() {
            line
        } else {
            joined = format!("{} {line}", std::mem::take(&mut self.tag));
            joined.as_str()
        };
        loop {
            // Text and comments hold what tests printed, also what looks like a tag.
            if let Some(end) = self.in_text {
                let Some(at) = rest.find(end) else { return };
                self.in_text = None;
                rest = &rest[at + end.len()..];
            }
            let Some(start) = rest.find('<') else { return };
            rest = &rest[start..];
            if let Some(after) = rest.strip_prefix("<![CDATA[") {
                (self.in_text, rest) = (Some("]]>"), after);
                continue;
            }
            if let Some(after) = rest.strip_prefix("<!--") {
                (self.in_text, rest) = (Some("-->"), after);
                continue;
            }
            let Some(end) = tag_end(rest) else {
                if rest.len() < MAX_TAG && is_tag(rest) {
                    self.tag = rest.to_owned();
                }
                return;
            };
            let (tag, after) = rest.split_at(end + 1);
            rest = after;
            self.take(tag);
        }
    }

    pub(super) fn counts(self) -> Option<TestCounts> {
        match self.declared {
            Some(declared) if self.counts == TestCounts::default() => Some(declared),
            _ => self.seen.then_some(self.counts),
        }
    }

    fn take(&mut self, tag: &str) {
        let closed = tag.ends_with("/>");
        match name_of(tag) {
            "testsuites" => self.seen = true,
            "testsuite" => {
                self.seen = true;
                self.declare(tag);
            }
            "testcase" => {
                let name = attribute(tag, "name").unwrap_or_default();
                let class = attribute(tag, "classname").filter(|class| !class.is_empty());
                let name = class.map_or_else(|| name.clone(), |class| format!("{class} {name}"));
                let ending = CaseEnding::Passed;
                self.end_case();
                self.case = Some(JunitCase { name, ending });
                if closed {
                    self.end_case();
                }
            }
            "failure" | "error" => self.mark(CaseEnding::Failed),
            "skipped" => self.mark(CaseEnding::Skipped),
            "/testcase" | "/testsuite" => self.end_case(),
            _ => {}
        }
    }

    fn declare(&mut self, tag: &str) {
        let n = |name: &str| attribute(tag, name).map_or(0, |n| number(&n));
        let failed = n("failures") + n("errors");
        let suite = super::of_total(n("tests"), failed, n("skipped"));
        self.declared.get_or_insert_default().add(suite);
    }

    fn mark(&mut self, ending: CaseEnding) {
        if let Some(case) = &mut self.case
            && case.ending == CaseEnding::Passed
        {
            case.ending = ending;
        }
    }

    fn end_case(&mut self) {
        let Some(case) = self.case.take() else { return };
        match case.ending {
            CaseEnding::Passed => self.counts.passed += 1,
            CaseEnding::Failed => self.counts.failed += 1,
            CaseEnding::Skipped => {
                self.counts.skipped += 1;
                self.counts.add_name(&case.name);
            }
        }
    }
}

fn opens(line: &str) -> bool {
    line.contains("<testsuite") || line.contains("<testcase")
}

/// Tells whether text behind a `<` can be a tag of a report, and not a sign in what a test printed.
fn is_tag(text: &str) -> bool {
    let known = [
        "testsuite",
        "testcase",
        "failure",
        "error",
        "skipped",
        "property",
    ];
    known.iter().any(|name| text[1..].starts_with(name))
}

/// Where a tag ends: at the first `>` outside of quotation marks.
fn tag_end(text: &str) -> Option<usize> {
    let mut quote = None;
    for (at, c) in text.char_indices() {
        match (quote, c) {
            (None, '"' | '\'') if is_tag(text) => quote = Some(c),
            (Some(open), c) if c == open => quote = None,
            (None, '>') => return Some(at),
            _ => {}
        }
    }
    None
}

fn name_of(tag: &str) -> &str {
    let name = tag.trim_start_matches('<');
    let end = name.find(|c: char| c.is_whitespace() || c == '>');
    let name = &name[..end.unwrap_or(name.len())];
    name.strip_suffix('/')
        .filter(|n| !n.is_empty())
        .unwrap_or(name)
}

fn attribute(tag: &str, name: &str) -> Option<String> {
    let mut from = 0;
    while let Some(at) = tag[from..].find(name).map(|at| at + from) {
        from = at + name.len();
        let before = tag[..at].chars().next_back();
        let Some(value) = tag[from..].trim_start().strip_prefix('=') else {
            continue;
        };
        let value = value.trim_start();
        let quote = value.chars().next().filter(|c| matches!(c, '"' | '\''));
        if let Some(quote) = quote
            && before.is_some_and(char::is_whitespace)
        {
            let end = value[1..].find(quote)?;
            let decoded = value[1..=end]
                .replace("&lt;", "<")
                .replace("&gt;", ">")
                .replace("&quot;", "\"")
                .replace("&apos;", "'")
                .replace("&amp;", "&");
            return Some(decoded);
        }
    }
    None
}
