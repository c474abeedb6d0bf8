//! The results of flows in a browser, as they were kept beside the logs of their iteration. Where they are gone, the
//! report does without.

use std::{io::Read as _, path::Path};

use ralph_core::record::IterationRecord;
use ralph_engine::{loop_files::flow_results_kept_at, plain_file};
use ralph_qa::result::{FlowVerificationResult, QaReport};
use serde::Serialize;

/// The largest file of results that is read.
const MOST_BYTES: u64 = 64 * 1024 * 1024;

/// The flows of one iteration.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct IterationFlows {
    task_id: String,
    iteration: u64,
    passed: Vec<String>,
    failed: Vec<FailedFlow>,
    /// The page with its pictures, relative to the project.
    page: String,
}

/// A flow that failed, and where.
#[derive(Debug, Serialize)]
pub(super) struct FailedFlow {
    flow: String,
    file: String,
    line: Option<usize>,
    /// The step and what was there instead.
    sentence: String,
}

pub(super) fn read(root: &Path, record: &IterationRecord) -> Option<IterationFlows> {
    let folder = flow_results_kept_at(record.iteration);
    let file = plain_file::open(&root.join(&folder).join("report.json")).ok()?;
    let report: QaReport = serde_json::from_reader(file.take(MOST_BYTES)).ok()?;
    let (passed, failed): (Vec<_>, Vec<_>) = report.flows.iter().partition(|flow| flow.passed);
    Some(IterationFlows {
        task_id: record.task_id.clone(),
        iteration: record.iteration,
        passed: passed.into_iter().map(|flow| flow.flow.clone()).collect(),
        failed: failed.into_iter().map(failure).collect(),
        page: format!("{folder}/report.html"),
    })
}

fn failure(flow: &FlowVerificationResult) -> FailedFlow {
    let mut failed = flow.steps.iter().filter_map(|step| {
        let failure = step.failure.as_ref()?;
        Some((step, failure))
    });
    let first = failed.next();
    FailedFlow {
        flow: flow.flow.clone(),
        file: flow.file.clone(),
        line: first.map(|(step, _)| step.line),
        sentence: first.map_or_else(String::new, |(step, failure)| {
            format!("{}: {}", step.step, failure.actual)
        }),
    }
}
