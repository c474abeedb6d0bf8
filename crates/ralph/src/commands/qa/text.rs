//! The words about flows that a person gets besides those of the report: each flow as it ends, and what to do next.

use ralph_core::sanitize::terminal_safe;
use ralph_qa::{
    report::{RESULTS, text},
    result::{FlowVerificationResult, PageVerificationResult, QaReport},
};

use crate::view::{
    Tone,
    figures::{count, duration},
    paint,
};

/// When results are told.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Telling {
    /// To a person: each flow as it ends, with its time.
    AsTheyEnd,
    /// To ralph and to agents: the same text for the same results, whichever flow ends first.
    AtTheEnd,
}

/// One flow on a line.
pub(super) fn flow_line(flow: &FlowVerificationResult) -> String {
    let (tone, word) = if flow.passed {
        (Tone::Good, "passed")
    } else {
        (Tone::Bad, "failed")
    };
    let steps = count(flow.steps.len(), "step", "steps");
    let (word, name) = (paint(tone, word), terminal_safe(&flow.flow));
    format!("{word}  {name} ({steps}, {})\n", duration(flow.seconds))
}

/// The flows that failed, and what to do next.
pub(super) fn report_text(report: &QaReport, telling: Telling) -> String {
    match telling {
        Telling::AtTheEnd => text(report),
        Telling::AsTheyEnd => format!("\n{}{}", text(report), next_steps(report)),
    }
}

fn next_steps(report: &QaReport) -> String {
    let mut next = String::new();
    if report.passed {
        next.push_str(&format!("report: {RESULTS}/report.html\n"));
    }
    let mut pages = report.flows.iter().flat_map(|flow| &flow.pages);
    let differs = |page: &PageVerificationResult| {
        let compared = page.compared.as_ref();
        compared.is_some_and(|compared| !compared.matches)
    };
    if pages.any(differs) {
        next.push_str(
            "`ralph qa approve` makes new baselines, if the pages are right as they are now\n",
        );
    }
    next
}
