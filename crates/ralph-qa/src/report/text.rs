//! The report as text. The same failure reads the same in the next run: no times, no ports, nothing that is made up
//! for one run, since the text is what failures are told apart by.

use std::{borrow::Cow, collections::BTreeSet, sync::LazyLock};

use ralph_core::{figures, sanitize::one_line};
use regex::Regex;

use super::{RESULTS, ReportCounts, is_failed, without_baseline};
use crate::result::{
    ConsoleLevel, ConsoleMessage, FlowVerificationResult, NetworkRequest, PageVerificationResult,
    QaReport, StepOutcome, StepResult,
};

/// Limits of what is told of a report.
const MOST_FLOWS: usize = 20;
const MOST_CHARS: usize = 24_000;
/// Limits of what is told of a flow that failed.
const MOST_STEPS: usize = 10;
const MOST_NEAREST: usize = 6;
const MOST_CONSOLE: usize = 8;
const MOST_REQUESTS: usize = 8;
/// Lines of the application under test.
const MOST_SERVER_LINES: usize = 8;
const MOST_NAMES: usize = 10;
/// Columns of a line.
const WIDTH: usize = 400;

/// Where an address names a port of this machine.
static PORT: LazyLock<Regex> = LazyLock::new(|| {
    Regex::new(r"(?i)(\b(?:localhost|127(?:\.[0-9]{1,3}){3}|0\.0\.0\.0)|\[::1?\]):[0-9]{1,5}\b")
        .expect("a constant pattern")
});

/// Lines of a server that say what failed, and what makes them differ from run to run.
static FAULT: LazyLock<Regex> = LazyLock::new(|| {
    Regex::new(r"(?i)error|exception|panic|traceback|fatal|unhandled").expect("a constant pattern")
});
static CHANGES: LazyLock<Regex> = LazyLock::new(|| {
    Regex::new(
        r"(?x)
        \[?\b[0-9]{4}-[0-9]{2}-[0-9]{2}[T\ ][0-9:.,]+(?:Z|[+-][0-9:]+)?\]?
        | \[?\b[0-9]{1,2}:[0-9]{2}:[0-9]{2}(?:[.,][0-9]+)?\b\]?
        | \b[0-9a-fA-F]{8}-[0-9a-fA-F]{4}-[0-9a-fA-F]{4}-[0-9a-fA-F]{4}-[0-9a-fA-F]{12}\b
        | \b[0-9]+(?:\.[0-9]+)?\ ?(?:ms|µs|s)\b",
    )
    .expect("a constant pattern")
});

/// Says what failed, each flow with the place in its file, what was expected and what was there; then what passed.
pub fn text(report: &QaReport) -> String {
    let counts = ReportCounts::of(report);
    let mut lines = ReportLines::default();
    let failed = || report.flows.iter().filter(|flow| !flow.passed);
    for flow in failed().take(MOST_FLOWS) {
        flow_lines(&mut lines, flow);
    }
    if counts.failed_flows > MOST_FLOWS {
        let rest = failed().skip(MOST_FLOWS).map(|flow| flow.flow.as_str());
        lines.push(0, &format!("also failed: {}", names(rest)));
    }
    if counts.failed_flows > 0 {
        server_lines(&mut lines, &report.server_log);
    }
    let new: Vec<String> = report.flows.iter().flat_map(without_baseline).collect();
    if !new.is_empty() {
        let shown = names(new.iter().map(String::as_str));
        lines.push(0, &format!("no baseline yet (`ralph qa approve`): {shown}"));
    }
    let passed = || report.flows.iter().filter(|flow| flow.passed);
    if counts.failed_flows == 0 {
        let flows = figures::count(counts.flows, "flow", "flows");
        let steps = figures::count(counts.steps, "step", "steps");
        lines.push(0, &format!("{flows} passed, {steps}"));
    } else {
        if passed().next().is_some() {
            let passed = names(passed().map(|flow| flow.flow.as_str()));
            lines.push(0, &format!("passed: {passed}"));
        }
        let flows = figures::count(counts.flows, "flow", "flows");
        lines.push(0, &format!("{} of {flows} failed", counts.failed_flows));
        lines.push(0, &format!("report: {RESULTS}/report.html"));
    }
    lines.text
}

/// Lines up to a sum of characters.
#[derive(Default)]
struct ReportLines {
    text: String,
    is_full: bool,
}

impl ReportLines {
    fn push(&mut self, indent: usize, line: &str) {
        if self.is_full {
            return;
        }
        let line = one_line(&stable(line), WIDTH);
        if self.text.len() + line.len() > MOST_CHARS {
            self.is_full = true;
            self.text
                .push_str(&format!("… the rest is in {RESULTS}/report.json\n"));
            return;
        }
        self.text.push_str(&"  ".repeat(indent));
        self.text.push_str(&line);
        self.text.push('\n');
    }
}

/// A line without the port that this run had.
fn stable(line: &str) -> Cow<'_, str> {
    PORT.replace_all(line, "$1:$$PORT")
}

fn flow_lines(lines: &mut ReportLines, flow: &FlowVerificationResult) {
    lines.push(0, &format!("FAILED {} ({})", flow.flow, flow.file));
    let failed = || {
        let steps = flow.steps.iter();
        steps.filter(|step| step.outcome == StepOutcome::Failed)
    };
    for step in failed().take(MOST_STEPS) {
        step_lines(lines, flow, step);
    }
    let more = failed().count().saturating_sub(MOST_STEPS);
    if more > 0 {
        let steps = figures::count(more, "more step", "more steps");
        lines.push(1, &format!("{steps} failed"));
    }
    let mut told = BTreeSet::new();
    let errors = flow.console.iter().filter(|one| is_error(one));
    let errors = errors
        .map(console_line)
        .filter(|line| told.insert(line.clone()));
    some_lines(lines, "console", errors.collect(), MOST_CONSOLE);
    let requests = flow.network.iter().filter(|one| is_failed(one));
    let requests = requests
        .map(request_line)
        .filter(|line| told.insert(line.clone()));
    some_lines(
        lines,
        "requests that failed",
        requests.collect(),
        MOST_REQUESTS,
    );
}

fn step_lines(lines: &mut ReportLines, flow: &FlowVerificationResult, step: &StepResult) {
    let place = format!("{}:{}", flow.file, step.line);
    lines.push(1, &format!("{place}: step {}: {}", step.number, step.step));
    if let Some(failure) = &step.failure {
        lines.push(2, &format!("expected: {}", failure.expected));
        lines.push(2, &format!("actual: {}", failure.actual));
        if !failure.nearest.is_empty() {
            let nearest: Vec<&str> = failure
                .nearest
                .iter()
                .take(MOST_NEAREST)
                .map(String::as_str)
                .collect();
            lines.push(2, &format!("nearest: {}", nearest.join(", ")));
        }
    }
    if let Some(note) = &step.note {
        lines.push(2, &format!("note: {note}"));
    }
    let page = step
        .picture
        .as_ref()
        .and_then(|picture| flow.pages.iter().find(|page| page.screenshot == *picture));
    if let Some(page) = page {
        picture_lines(lines, page);
    } else if let Some(picture) = &step.picture {
        lines.push(2, &format!("picture: {RESULTS}/{picture}"));
    }
}

fn picture_lines(lines: &mut ReportLines, page: &PageVerificationResult) {
    lines.push(2, &format!("picture: {RESULTS}/{}", page.screenshot));
    let Some(compared) = &page.compared else {
        return;
    };
    lines.push(2, &format!("baseline: {}", page.baseline));
    if let Some(difference) = &compared.picture {
        lines.push(2, &format!("difference: {RESULTS}/{difference}"));
    }
}

fn some_lines(lines: &mut ReportLines, name: &str, all: Vec<String>, most: usize) {
    if all.is_empty() {
        return;
    }
    lines.push(1, &format!("{name}:"));
    for line in all.iter().take(most) {
        lines.push(2, line);
    }
    if all.len() > most {
        lines.push(2, &format!("… {} more", all.len() - most));
    }
}

fn is_error(message: &ConsoleMessage) -> bool {
    match message.level {
        ConsoleLevel::Error | ConsoleLevel::Uncaught => true,
        ConsoleLevel::Debug | ConsoleLevel::Info | ConsoleLevel::Warning => false,
    }
}

fn console_line(message: &ConsoleMessage) -> String {
    let word = match message.level {
        ConsoleLevel::Uncaught => "uncaught",
        ConsoleLevel::Error => "error",
        ConsoleLevel::Debug | ConsoleLevel::Info | ConsoleLevel::Warning => "message",
    };
    let from = message.from.iter().map(|from| format!(" ({from})"));
    format!("{word}: {}{}", message.text, from.collect::<String>())
}

fn request_line(request: &NetworkRequest) -> String {
    let outcome = match (&request.error, request.status) {
        (Some(error), _) => error.clone(),
        (None, Some(status)) => status.to_string(),
        (None, None) => "no answer".to_owned(),
    };
    format!("{} {}: {outcome}", request.method, request.url)
}

/// The lines of the server that say what failed, each once, without what differs from run to run.
fn server_lines(lines: &mut ReportLines, log: &[String]) {
    let mut told = BTreeSet::new();
    let faults = log
        .iter()
        .filter(|line| FAULT.is_match(line))
        .map(|line| CHANGES.replace_all(line, "…").into_owned())
        .filter(|line| told.insert(line.clone()));
    let faults: Vec<String> = faults.collect();
    if faults.is_empty() {
        return;
    }
    lines.push(0, "the application under test:");
    for line in faults.iter().take(MOST_SERVER_LINES) {
        lines.push(1, line);
    }
    if faults.len() > MOST_SERVER_LINES {
        lines.push(1, &format!("… {} more", faults.len() - MOST_SERVER_LINES));
    }
}

fn names<'a>(all: impl Iterator<Item = &'a str>) -> String {
    let all: Vec<&str> = all.collect();
    let mut shown = all[..all.len().min(MOST_NAMES)].join(", ");
    if all.len() > MOST_NAMES {
        shown.push_str(&format!(" and {} more", all.len() - MOST_NAMES));
    }
    shown
}
