//! `ralph qa lint`: what is wrong with flows, without a browser.
//!
//! Findings go to standard output, one a line, in the form that editors take.

use std::process::ExitCode;

use ralph_core::sanitize::terminal_safe;
use ralph_qa::{
    config::BrowserAutomationConfig,
    flow::{Flow, FlowFileError, FlowMistakes, find_flows, lint_flow},
};
use serde::Serialize;

use super::{
    run::from_root,
    settings::{QaPlace, automation},
};
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

/// The findings in flows; the JSON form is a contract (docs/json.md).
#[derive(Debug, Serialize)]
struct FlowLintReport {
    errors: usize,
    warnings: usize,
    findings: Vec<ShownFinding>,
}

#[derive(Debug, Serialize)]
struct ShownFinding {
    rule: &'static str,
    severity: FindingSeverity,
    file: String,
    line: usize,
    message: String,
    hint: Option<String>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
enum FindingSeverity {
    Error,
    Warning,
}

pub(crate) fn run(args: &Args, global: &Global) -> Result<ExitCode, CommandError> {
    let place = QaPlace::find(global)?;
    let names = from_root(&args.flows, &global.surroundings()?.start, &place.root);
    let found = find_flows(&place.root, &place.config.flows, &names);
    let findings: Vec<ShownFinding> = match found {
        Ok(flows) => {
            let config = automation(&place.config, &place.root);
            let found = flows.iter().flat_map(|flow| warnings_of(flow, &config));
            found.collect()
        }
        Err(FlowFileError::Mistakes(files)) => files.iter().flat_map(errors_of).collect(),
        Err(error) => return Err(CommandError::user(error)),
    };
    let of = |severity| {
        findings
            .iter()
            .filter(|one| one.severity == severity)
            .count()
    };
    let report = FlowLintReport {
        errors: of(FindingSeverity::Error),
        warnings: of(FindingSeverity::Warning),
        findings,
    };
    output::show(args.json, &report, || render(&report))?;
    Ok(ExitCode::from(if report.errors > 0 { 2 } else { 0 }))
}

fn warnings_of(flow: &Flow, config: &BrowserAutomationConfig) -> Vec<ShownFinding> {
    let found = lint_flow(flow, config).into_iter();
    let shown = found.map(|finding| ShownFinding {
        rule: finding.code.word(),
        severity: FindingSeverity::Warning,
        file: flow.file.to_string_lossy().into_owned(),
        line: finding.line,
        message: finding.message,
        hint: Some(finding.fix),
    });
    shown.collect()
}

fn errors_of(file: &FlowMistakes) -> Vec<ShownFinding> {
    let mistakes = file.mistakes.iter();
    let shown = mistakes.map(|mistake| ShownFinding {
        rule: "mistake",
        severity: FindingSeverity::Error,
        file: file.file.to_string_lossy().into_owned(),
        line: mistake.line,
        message: mistake.message.clone(),
        hint: mistake.hint.clone(),
    });
    shown.collect()
}

fn render(report: &FlowLintReport) -> String {
    let mut text = String::new();
    for one in &report.findings {
        let word = match one.severity {
            FindingSeverity::Error => paint(Tone::Bad, "error"),
            FindingSeverity::Warning => paint(Tone::Careful, "warning"),
        };
        let (file, message) = (terminal_safe(&one.file), terminal_safe(&one.message));
        text.push_str(&format!("{file}:{}: {word}: {message}\n", one.line));
        if let Some(hint) = &one.hint {
            text.push_str(&format!("  hint: {}\n", terminal_safe(hint)));
        }
    }
    let errors = count(report.errors, "error", "errors");
    let warnings = count(report.warnings, "warning", "warnings");
    text.push_str(&format!("{errors}, {warnings}\n"));
    text
}
