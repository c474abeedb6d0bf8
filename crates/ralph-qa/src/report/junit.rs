//! The report as JUnit XML: a suite for each flow, a case for each step.

use std::fmt::Write as _;

use super::{RESULTS, ReportCounts};
use crate::result::{
    ConsoleLevel, FlowVerificationResult, QaReport, StepFailure, StepOutcome, StepResult,
};

/// Messages of the console in a suite, and lines of the server.
const MOST_MESSAGES: usize = 200;
/// Characters of one text.
const MOST_CHARS: usize = 8_000;

pub fn junit(report: &QaReport) -> String {
    let counts = ReportCounts::of(report);
    let mut xml = String::from("<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n");
    let _ = writeln!(
        xml,
        "<testsuites name=\"ralph qa\" tests=\"{}\" failures=\"{}\" errors=\"0\" skipped=\"{}\" time=\"{:.3}\">",
        counts.steps, counts.failed_steps, counts.skipped_steps, report.seconds
    );
    for flow in &report.flows {
        suite(&mut xml, flow, &report.server_log);
    }
    xml.push_str("</testsuites>\n");
    xml
}

fn suite(xml: &mut String, flow: &FlowVerificationResult, server_log: &[String]) {
    let counted = |outcome| {
        let steps = flow.steps.iter();
        steps.filter(|step| step.outcome == outcome).count()
    };
    let name = attribute(&flow.flow);
    let _ = writeln!(
        xml,
        "  <testsuite name=\"{name}\" file=\"{}\" tests=\"{}\" failures=\"{}\" errors=\"0\" skipped=\"{}\" time=\"{:.3}\">",
        attribute(&flow.file),
        flow.steps.len(),
        counted(StepOutcome::Failed),
        counted(StepOutcome::Skipped),
        flow.seconds
    );
    for step in &flow.steps {
        case(xml, flow, step);
    }
    let errors: Vec<String> = flow
        .console
        .iter()
        .filter_map(|message| {
            let word = match message.level {
                ConsoleLevel::Warning => "warning",
                ConsoleLevel::Error => "error",
                ConsoleLevel::Uncaught => "uncaught",
                ConsoleLevel::Debug | ConsoleLevel::Info => return None,
            };
            Some(format!("{word}: {}", message.text))
        })
        .collect();
    output(xml, "system-out", &errors);
    if !flow.passed {
        output(xml, "system-err", server_log);
    }
    xml.push_str("  </testsuite>\n");
}

fn case(xml: &mut String, flow: &FlowVerificationResult, step: &StepResult) {
    let _ = write!(
        xml,
        "    <testcase classname=\"{}\" name=\"{}\" file=\"{}\" line=\"{}\" time=\"{:.3}\"",
        attribute(&flow.flow),
        // Two steps may read the same, and tools tell cases apart by their names.
        attribute(&format!("{:02} {}", step.number, step.step)),
        attribute(&flow.file),
        step.line,
        step.seconds
    );
    match step.outcome {
        StepOutcome::Passed => xml.push_str("/>\n"),
        StepOutcome::Skipped => xml.push_str(">\n      <skipped/>\n    </testcase>\n"),
        StepOutcome::Failed => {
            xml.push_str(">\n");
            failure(xml, flow, step);
            xml.push_str("    </testcase>\n");
        }
    }
}

fn failure(xml: &mut String, flow: &FlowVerificationResult, step: &StepResult) {
    let mut text = format!("{}:{}: {}\n", flow.file, step.line, step.step);
    let (mut kind, mut message) = ("failed".to_owned(), "it failed".to_owned());
    if let Some(failure) = &step.failure {
        kind = kind_word(failure);
        message = format!("expected: {}; actual: {}", failure.expected, failure.actual);
        text.push_str(&format!(
            "expected: {}\nactual: {}\n",
            failure.expected, failure.actual
        ));
        if !failure.nearest.is_empty() {
            text.push_str(&format!("nearest: {}\n", failure.nearest.join(", ")));
        }
    }
    if let Some(picture) = &step.picture {
        text.push_str(&format!("picture: {RESULTS}/{picture}\n"));
    }
    let _ = writeln!(
        xml,
        "      <failure type=\"{}\" message=\"{}\">{}</failure>",
        attribute(&kind),
        attribute(&message),
        element(&text)
    );
}

/// The kind of a failure as `report.json` has it.
fn kind_word(failure: &StepFailure) -> String {
    let word = serde_json::to_value(failure.kind).ok();
    let word = word.as_ref().and_then(serde_json::Value::as_str);
    word.unwrap_or("failed").to_owned()
}

fn output(xml: &mut String, name: &str, lines: &[String]) {
    if lines.is_empty() {
        return;
    }
    let start = lines.len().saturating_sub(MOST_MESSAGES);
    let text = lines[start..].join("\n");
    let _ = writeln!(xml, "    <{name}>{}</{name}>", element(&text));
}

/// Text in an attribute: white space would be made spaces, so it is written out.
fn attribute(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for c in text.chars().take(MOST_CHARS) {
        match c {
            '\n' => out.push_str("&#10;"),
            '\r' => out.push_str("&#13;"),
            '\t' => out.push_str("&#9;"),
            '"' => out.push_str("&quot;"),
            c => push_escaped(&mut out, c),
        }
    }
    out
}

/// Text in an element; the end of a long one, which says most.
fn element(text: &str) -> String {
    let skipped = text.chars().count().saturating_sub(MOST_CHARS);
    let mut out = String::with_capacity(text.len());
    if skipped > 0 {
        out.push_str("…\n");
    }
    for c in text.chars().skip(skipped) {
        push_escaped(&mut out, c);
    }
    out
}

/// One character; what XML 1.0 has no place for, not even as a number, is replaced.
fn push_escaped(out: &mut String, c: char) {
    match c {
        '&' => out.push_str("&amp;"),
        '<' => out.push_str("&lt;"),
        '>' => out.push_str("&gt;"),
        '\t' | '\n' | '\r' => out.push(c),
        c if c < ' ' || matches!(c, '\u{fffe}' | '\u{ffff}') => out.push('\u{fffd}'),
        c => out.push(c),
    }
}
