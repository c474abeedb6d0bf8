//! What flows came to, as text: for a person, and the same for ralph and agents, whose text tells failures apart.
//!
//! Without times for those, and in the order of the flows: the same results are the same text.

use std::fmt::Write as _;

use ralph_core::sanitize::{one_line, terminal_safe};
use ralph_engine::dot_ralph::FLOW_RESULTS;
use ralph_qa::result::{
    ConsoleLevel, FailureKind, FlowVerificationResult, NetworkRequest, PageVerificationResult,
    QaReport, StepFailure, StepOutcome, StepResult,
};

use crate::view::{
    Tone,
    figures::{count, duration},
    paint,
};

/// Lines of each kind about one flow; the page of results has all.
const MOST_LINES: usize = 8;
/// Columns of a text that a page wrote.
const MOST_COLUMNS: usize = 300;
/// Lines of the application's output.
const MOST_OF_SERVER: usize = 15;

/// When results are told.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Telling {
    /// To a person: each flow as it ends, with its time.
    AsTheyEnd,
    /// To ralph and to agents.
    AtTheEnd,
}

/// One flow on a line.
pub(super) fn flow_line(flow: &FlowVerificationResult, telling: Telling) -> String {
    let (tone, word) = if flow.passed {
        (Tone::Good, "passed")
    } else {
        (Tone::Bad, "failed")
    };
    let steps = count(flow.steps.len(), "step", "steps");
    let time = match telling {
        Telling::AsTheyEnd => format!(", {}", duration(flow.seconds)),
        Telling::AtTheEnd => String::new(),
    };
    let (word, name) = (paint(tone, word), terminal_safe(&flow.flow));
    format!("{word}  {name} ({steps}{time})\n")
}

/// The flows that failed, how many passed, and what to do next.
pub(super) fn report_text(report: &QaReport, telling: Telling) -> String {
    let mut text = String::new();
    if telling == Telling::AtTheEnd {
        let lines = report.flows.iter();
        text.extend(lines.map(|flow| flow_line(flow, telling)));
    }
    for flow in report.flows.iter().filter(|flow| !flow.passed) {
        text.push('\n');
        failed_flow(&mut text, flow);
    }
    if !report.passed && !report.server_log.is_empty() {
        text.push_str("\nthe application under test said at last:\n");
        let log = &report.server_log;
        for line in &log[log.len().saturating_sub(MOST_OF_SERVER)..] {
            let _ = writeln!(text, "  {}", said(line));
        }
    }
    let passed = report.flows.iter().filter(|flow| flow.passed).count();
    let all = count(report.flows.len(), "flow", "flows");
    let _ = writeln!(text, "\n{passed} of {all} passed");
    let _ = writeln!(text, "the page with all steps and pictures: {FLOW_RESULTS}/report.html");
    text.push_str(&next_steps(report));
    text
}

fn failed_flow(text: &mut String, flow: &FlowVerificationResult) {
    let failed = flow.steps.iter().filter_map(|step| {
        let failure = step.failure.as_ref()?;
        Some((step, failure))
    });
    for (step, failure) in failed {
        failed_step(text, flow, step, failure);
    }
    let skipped = flow.steps.iter();
    let skipped = skipped.filter(|step| step.outcome == StepOutcome::Skipped);
    let skipped = skipped.count();
    if skipped > 0 {
        let steps = count(skipped, "step", "steps");
        let _ = writeln!(text, "  {steps} after it did not run");
    }
    let errors: Vec<String> = flow
        .console
        .iter()
        .filter(|message| {
            matches!(message.level, ConsoleLevel::Error | ConsoleLevel::Uncaught)
        })
        .map(|message| said(&message.text))
        .collect();
    some_lines(text, "errors in the console", &errors);
    let requests: Vec<String> = flow.network.iter().filter_map(failed_request).collect();
    some_lines(text, "requests that failed", &requests);
}

fn failed_step(
    text: &mut String,
    flow: &FlowVerificationResult,
    step: &StepResult,
    failure: &StepFailure,
) {
    let place = format!("{}:{}", terminal_safe(&flow.file), step.line);
    let label = paint(Tone::Bad, "failed");
    let _ = writeln!(text, "{place}: {label}: {}", said(&step.step));
    let _ = writeln!(text, "  expected: {}", said(&failure.expected));
    let _ = writeln!(text, "  found: {}", said(&failure.actual));
    let nearest: Vec<String> = failure.nearest.iter().map(|one| said(one)).collect();
    some_lines(text, "nearest on the page", &nearest);
    let differs = failure.kind == FailureKind::Picture;
    let mut pages = flow.pages.iter();
    let page = pages.find(|page| {
        let is_of_step = step.picture.as_ref() == Some(&page.screenshot);
        is_of_step || differs && !page.passed
    });
    match (page, &step.picture) {
        (Some(page), _) => pictures_of(text, page),
        (None, Some(picture)) => picture_line(text, "picture of the page", picture),
        (None, None) => {}
    }
}

fn pictures_of(text: &mut String, page: &PageVerificationResult) {
    picture_line(text, "picture now", &page.screenshot);
    let Some(compared) = &page.compared else {
        return;
    };
    if let Some(baseline) = &compared.baseline {
        picture_line(text, "picture as approved", baseline);
    }
    if let Some(difference) = &compared.picture {
        picture_line(text, "difference", difference);
    }
}

fn picture_line(text: &mut String, what: &str, picture: &str) {
    let _ = writeln!(text, "  {what}: {FLOW_RESULTS}/{}", terminal_safe(picture));
}

fn failed_request(request: &NetworkRequest) -> Option<String> {
    let why = match (&request.error, request.status) {
        (Some(error), _) => error.clone(),
        (None, Some(status @ 400..)) => status.to_string(),
        (None, _) => return None,
    };
    Some(said(&format!("{} {}: {why}", request.method, request.url)))
}

fn some_lines(text: &mut String, what: &str, lines: &[String]) {
    match lines {
        [] => {}
        [one] => {
            let _ = writeln!(text, "  {what}: {one}");
        }
        several => {
            let _ = writeln!(text, "  {what}:");
            for line in several.iter().take(MOST_LINES) {
                let _ = writeln!(text, "    {line}");
            }
            if let Some(more) = several.len().checked_sub(MOST_LINES).filter(|n| *n > 0) {
                let _ = writeln!(text, "    … and {more} more");
            }
        }
    }
}

/// A text that a page or a program wrote.
fn said(text: &str) -> String {
    one_line(text, MOST_COLUMNS)
}

/// What a person does about pictures.
fn next_steps(report: &QaReport) -> String {
    let pages = || report.flows.iter().flat_map(|flow| &flow.pages);
    let new = pages().filter(|page| page.compared.is_none()).count();
    let is_changed =
        |page: &&PageVerificationResult| page.compared.as_ref().is_some_and(|c| !c.matches);
    let changed = pages().filter(is_changed).count();
    let mut text = String::new();
    if new > 0 {
        let pictures = count(new, "picture has", "pictures have");
        let _ = writeln!(text, "{pictures} no baseline yet: `ralph qa approve` shows and approves them");
    }
    if changed > 0 {
        let pictures = count(changed, "picture differs", "pictures differ");
        let _ = writeln!(
            text,
            "{pictures} from the baseline: `ralph qa approve`, if a person wants the page like this"
        );
    }
    text
}

#[cfg(test)]
mod tests {
    use ralph_qa::{
        flow::Viewport,
        result::{ConsoleMessage, VERSION, VisualCompareResult, VisualVerdict},
    };

    use super::*;

    fn step(line: usize, failure: Option<StepFailure>, picture: Option<&str>) -> StepResult {
        StepResult {
            number: 1,
            line,
            action: "click".into(),
            step: "click button \"Pay\"".into(),
            note: None,
            outcome: match failure {
                Some(_) => StepOutcome::Failed,
                None => StepOutcome::Skipped,
            },
            seconds: 3.0,
            failure,
            picture: picture.map(str::to_owned),
        }
    }

    fn failure() -> StepFailure {
        StepFailure {
            kind: FailureKind::NotFound,
            expected: "a button with the name \"Pay\"".into(),
            actual: "no button has this name".into(),
            nearest: vec!["button \"Buy\"".into(), "link \"Pay later\"".into()],
        }
    }

    fn page(compared: Option<VisualCompareResult>) -> PageVerificationResult {
        PageVerificationResult {
            name: "total".into(),
            url: "http://localhost:4000/".into(),
            title: "Shop".into(),
            viewport: Viewport::DESKTOP,
            passed: compared.is_none(),
            screenshot: "checkout/3-total.png".into(),
            baseline: ".ralph/flows/__baselines__/checkout/total-linux-1280x720.png".into(),
            compared,
        }
    }

    fn report(steps: Vec<StepResult>, pages: Vec<PageVerificationResult>) -> QaReport {
        let flow = FlowVerificationResult {
            flow: "checkout".into(),
            description: None,
            file: ".ralph/flows/checkout.yaml".into(),
            viewport: Viewport::DESKTOP,
            passed: steps.is_empty(),
            seconds: 61.0,
            steps,
            pages,
            console: vec![ConsoleMessage {
                level: ConsoleLevel::Uncaught,
                text: "TypeError: x is\nundefined\u{1b}[31m".into(),
                from: None,
            }],
            network: vec![NetworkRequest {
                method: "GET".into(),
                url: "http://localhost:4000/cart".into(),
                kind: "fetch".into(),
                status: Some(500),
                error: None,
                milliseconds: Some(12),
            }],
        };
        QaReport {
            version: VERSION,
            passed: flow.passed,
            browser: None,
            flows: vec![flow],
            seconds: 61.0,
            server_log: vec!["boom".into()],
        }
    }

    #[test]
    fn a_failure_says_where_what_and_what_was_there() {
        let steps = vec![
            step(7, Some(failure()), Some("checkout/failed.png")),
            step(8, None, None),
        ];
        let expected = "\
failed  checkout (2 steps)

.ralph/flows/checkout.yaml:7: failed: click button \"Pay\"
  expected: a button with the name \"Pay\"
  found: no button has this name
  nearest on the page:
    button \"Buy\"
    link \"Pay later\"
  picture of the page: .ralph/qa/checkout/failed.png
  1 step after it did not run
  errors in the console: TypeError: x is undefined\\x1b[31m
  requests that failed: GET http://localhost:4000/cart: 500

the application under test said at last:
  boom

0 of 1 flow passed
the page with all steps and pictures: .ralph/qa/report.html
";
        let report = report(steps, Vec::new());
        assert_eq!(report_text(&report, Telling::AtTheEnd), expected);
        let by_hand = report_text(&report, Telling::AsTheyEnd);
        assert!(by_hand.starts_with("\n.ralph/flows"), "{by_hand}");
        let line = flow_line(&report.flows[0], Telling::AsTheyEnd);
        assert_eq!(line, "failed  checkout (2 steps, 1m 01s)\n");
    }

    #[test]
    fn pictures_that_differ_are_named_before_and_after() {
        let compared = VisualCompareResult {
            matches: false,
            verdict: VisualVerdict::Layout,
            different: 0.1,
            threshold: 0.0,
            similarity: 0.9,
            regions: Vec::new(),
            summary: "the area at 1,2 (3x4) moved by 8 px down".into(),
            picture: Some("checkout/3-total-difference.png".into()),
            baseline: Some("checkout/3-total-baseline.png".into()),
        };
        let steps = vec![step(9, Some(failure()), Some("checkout/3-total.png"))];
        let text = report_text(&report(steps, vec![page(Some(compared))]), Telling::AtTheEnd);
        let says = "  picture now: .ralph/qa/checkout/3-total.png
  picture as approved: .ralph/qa/checkout/3-total-baseline.png
  difference: .ralph/qa/checkout/3-total-difference.png
";
        assert!(text.contains(says), "{text}");
        let next = "1 picture differs from the baseline: `ralph qa approve`, if a person wants the page like this\n";
        assert!(text.ends_with(next), "{text}");
    }

    #[test]
    fn a_new_picture_says_how_it_is_approved() {
        let text = report_text(&report(Vec::new(), vec![page(None)]), Telling::AsTheyEnd);
        assert_eq!(
            text,
            "\n1 of 1 flow passed\nthe page with all steps and pictures: .ralph/qa/report.html\n\
             1 picture has no baseline yet: `ralph qa approve` shows and approves them\n"
        );
    }
}
