//! `ralph qa lint`: what is wrong with flows, without a browser.
//!
//! Findings go to standard output, one a line, in the form that editors take.

use std::process::ExitCode;

use ralph_core::sanitize::terminal_safe;
use ralph_qa::flow::{FindingSeverity, FlowFileError, find_flows, lint_flow};
use serde::Serialize;

use super::{run::from_root, settings::QaPlace};
use crate::{
    cli::Global,
    error::CommandError,
    output,
    view::{Tone, figures::count, paint},
};

#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// Names of flows, or their files [default: all in `qa.flows`]
    #[arg(value_name = "FLOW")]
    flows: Vec<String>,

    /// Print one JSON document instead of text
    #[arg(long)]
    json: bool,
}

/// What was found; the JSON form is a contract (docs/json.md).
#[derive(Debug, Serialize)]
struct FlowLintReport {
    flows: usize,
    errors: usize,
    warnings: usize,
    findings: Vec<ShownFinding>,
}

#[derive(Debug, Serialize)]
struct ShownFinding {
    severity: ShownSeverity,
    file: String,
    line: usize,
    message: String,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
enum ShownSeverity {
    Error,
    Warning,
}

pub(crate) fn run(args: &Args, global: &Global) -> Result<ExitCode, CommandError> {
    let place = QaPlace::find(global)?;
    let names = from_root(&args.flows, &global.surroundings()?.start, &place.root);
    let (flows, findings) = match find_flows(&place.root, &place.config.flows, &names) {
        Ok(flows) => {
            let findings = flows.iter().flat_map(|flow| {
                let file = flow.file.to_string_lossy().into_owned();
                lint_flow(flow).into_iter().map(move |finding| ShownFinding {
                    severity: ShownSeverity::Warning,
                    file: file.clone(),
                    line: finding.line,
                    message: finding.message,
                })
            });
            (flows.len(), findings.collect::<Vec<_>>())
        }
        Err(error) => todo!(),
    };
    let of = |severity| findings.iter().filter(|one| one.severity == severity).count();
    let report = FlowLintReport {
        flows,
        errors: of(ShownSeverity::Error),
        warnings: of(ShownSeverity::Warning),
        findings,
    };
    output::show(args.json, &report, || render(&report))?;
    Ok(ExitCode::from(if report.errors > 0 { 2 } else { 0 }))
}

fn render(report: &FlowLintReport) -> String {
    let mut text = String::new();
    for one in &report.findings {
        let word = match one.severity {
            ShownSeverity::Error => paint(Tone::Bad, "error"),
            ShownSeverity::Warning => paint(Tone::Careful, "warning"),
        };
        let (file, message) = (terminal_safe(&one.file), terminal_safe(&one.message));
        text.push_str(&format!("{file}:{}: {word}: {message}\n", one.line));
    }
    let flows = count(report.flows, "flow", "flows");
    let errors = count(report.errors, "error", "errors");
    let warnings = count(report.warnings, "warning", "warnings");
    text.push_str(&format!("{flows}, {errors}, {warnings}\n"));
    text
}
