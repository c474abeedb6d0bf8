//! Reports of flows: a page for people, JUnit XML for other tools, text for terminals and for the prompt of the next
//! agent.
//!
//! Everything in a report that pages, servers and flows said is untrusted text. Nothing is judged here.

mod html;
mod junit;
mod text;

pub use html::html;
pub use junit::junit;
pub use text::text;

use crate::result::{FlowVerificationResult, NetworkRequest, QaReport, StepOutcome};

/// Where flows leave their results, relative to the project.
pub const RESULTS: &str = ".ralph/qa";

/// Counts of a report.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct ReportCounts {
    flows: usize,
    failed_flows: usize,
    steps: usize,
    failed_steps: usize,
    skipped_steps: usize,
}

impl ReportCounts {
    fn of(report: &QaReport) -> Self {
        let steps = |outcome: StepOutcome| {
            let steps = report.flows.iter().flat_map(|flow| &flow.steps);
            steps.filter(|step| step.outcome == outcome).count()
        };
        let (passed, failed, skipped) = (
            steps(StepOutcome::Passed),
            steps(StepOutcome::Failed),
            steps(StepOutcome::Skipped),
        );
        Self {
            flows: report.flows.len(),
            failed_flows: report.flows.iter().filter(|flow| !flow.passed).count(),
            steps: passed + failed + skipped,
            failed_steps: failed,
            skipped_steps: skipped,
        }
    }
}

/// Tells whether a request had no answer, or one that says it failed.
fn is_failed(request: &NetworkRequest) -> bool {
    request.error.is_some() || request.status.is_some_and(|status| status >= 400)
}

/// Pictures that were taken where there was no baseline, as `FLOW/PICTURE`.
fn without_baseline(flow: &FlowVerificationResult) -> impl Iterator<Item = String> + '_ {
    let new = flow.pages.iter().filter(|page| page.compared.is_none());
    new.map(|page| format!("{}/{}", flow.flow, page.name))
}

#[cfg(test)]
mod samples;
#[cfg(test)]
mod tests;
