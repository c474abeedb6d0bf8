//! Runs flows where this program is: inside of the sandbox that it was started in.

use std::{ffi::OsString, path::PathBuf, process::ExitCode};

use ralph_core::{config::QaConfig, secret::NamedValue};
use ralph_engine::{
    environment::is_credential,
    inbox::Inbox,
    process::Containment,
    verifier::{RUN_QA_JOINS, RUN_QA_WALLS},
};
use ralph_qa::{
    flow::{Flow, FlowStepAction, TypedText},
    result::{FailureKind, FlowVerificationResult, QaReport},
    runner::{FlowsRun, QaError, run_flows},
    server::{ProgramPlace, Walls},
};

use super::{
    results::{self, ResultsFolder},
    run::{FLOW_FAILED, FLOW_IS_WRONG, FlowsWanted},
    settings,
    text::{Telling, flow_line, report_text},
    walls,
};
use crate::{
    commands::run::{detection, listen_for_signals},
    error::CommandError,
    output,
    project::{Project, redaction_of_environment},
};

/// Where the flows run, and how their results are told.
pub(super) struct InsidePlace {
    root: PathBuf,
    containment: Containment,
    walls: Walls,
    telling: Telling,
    /// Results of flows before these stay.
    joins: bool,
}

impl InsidePlace {
    /// As the program says that started this one.
    pub(super) fn of_environment(root: PathBuf) -> Result<Self, CommandError> {
        let is_set = |name: &str| std::env::var_os(name).is_some();
        let by_hand = is_set(walls::BY_HAND);
        let forced = std::env::var(walls::CONTAINMENT).ok();
        let forced = forced.map(|word| word.parse()).transpose();
        let forced = forced.map_err(CommandError::user)?;
        Ok(Self {
            root,
            containment: Containment::detect(forced).containment,
            walls: if is_set(RUN_QA_WALLS) {
                Walls::Ralphs
            } else {
                Walls::None
            },
            telling: if by_hand {
                Telling::AsTheyEnd
            } else {
                Telling::AtTheEnd
            },
            joins: is_set(RUN_QA_JOINS),
        })
    }

    /// Where an agent asks for them, to look at its own work.
    pub(super) fn of_run(project: &Project) -> Result<Self, CommandError> {
        Ok(Self {
            root: project.root().to_owned(),
            containment: detection(project)?.containment,
            walls: if has_filter() {
                Walls::Ralphs
            } else {
                Walls::None
            },
            telling: Telling::AtTheEnd,
            joins: false,
        })
    }

    /// Where programs are started: the application, fixtures, the browser.
    pub(super) fn programs(&self) -> ProgramPlace {
        ProgramPlace {
            folder: self.root.clone(),
            env: environment_of_programs(),
            containment: self.containment,
            walls: self.walls,
        }
    }
}

/// Tells whether calls of this program are filtered, as in every sandbox of ralph's.
pub(super) fn has_filter() -> bool {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let mut lines = status.lines();
    lines.any(|line| line.strip_prefix("Seccomp:").map(str::trim) == Some("2"))
}

pub(super) async fn perform(
    place: InsidePlace,
    config: &QaConfig,
    wanted: &FlowsWanted,
) -> Result<ExitCode, CommandError> {
    let mut stop = listen_for_signals(Inbox::default())?;
    let root = &place.root;
    let flows = results::flows(root, config, &wanted.flows)?;
    let secrets = secrets_of(&flows);
    let named = secrets
        .iter()
        .map(|(name, value)| NamedValue::new(name, value));
    let redaction = redaction_of_environment(root).with(named);
    output::hide_values(&redaction);
    let automation = settings::automation(config, root);
    let folder = tokio::select! {
        opened = ResultsFolder::open(root) => opened?,
        signal = stop.until_asked() => return Ok(walls::by_signal(signal)),
    };
    let before = folder.before(place.joins)?;
    let programs = place.programs();
    let ended = |flow: &FlowVerificationResult| {
        if place.telling == Telling::AsTheyEnd && !wanted.json {
            output::print(&flow_line(flow));
        }
    };
    let run = FlowsRun {
        config: &automation,
        flows: &flows,
        place: &programs,
        url: None,
        secrets: &secrets,
        joins: place.joins,
        ended: &ended,
    };
    let report = tokio::select! {
        biased;
        report = run_flows(&run) => report.map_err(explain)?,
        // What was started ends with the future that is dropped.
        signal = stop.until_asked() => {
            output::print_to_stderr("stopped; the flows that ran have no results\n");
            return Ok(walls::by_signal(signal));
        }
    };
    let report = redaction.hide_in(report);
    folder.keep(before, &report)?;
    if let Some(file) = &wanted.junit {
        results::copy_junit(root, file)?;
    }
    output::show(wanted.json, &report, || report_text(&report, place.telling))?;
    Ok(exit_code(&report))
}

/// The environment of the application, of fixtures and the browser: without what is ralph's own.
fn environment_of_programs() -> Vec<(OsString, OsString)> {
    let is_ralphs = |name: &OsString| name.to_string_lossy().starts_with("RALPH_");
    let vars = std::env::vars_os();
    vars.filter(|(name, _)| !is_ralphs(name)).collect()
}

/// The values of the variables that flows type and never show. One that is not set is told by the flow that needs it.
fn secrets_of(flows: &[Flow]) -> Vec<(String, String)> {
    let steps = flows.iter().flat_map(|flow| &flow.steps);
    let mut names: Vec<&str> = steps
        .filter_map(|step| match &step.action {
            FlowStepAction::Type {
                text: TypedText::SecretVariable(name),
                ..
            } => Some(name.as_str()),
            _ => None,
        })
        .collect();
    names.sort_unstable();
    names.dedup();
    let value = |name: &str| Some((name.to_owned(), std::env::var(name).ok()?));
    names.into_iter().filter_map(value).collect()
}

/// A target that several things match is a mistake of the flow, and not of the page.
fn exit_code(report: &QaReport) -> ExitCode {
    let steps = report.flows.iter().flat_map(|flow| &flow.steps);
    let mut failures = steps.filter_map(|step| step.failure.as_ref());
    if failures.any(|failure| failure.kind == FailureKind::Ambiguous) {
        ExitCode::from(FLOW_IS_WRONG)
    } else if report.passed {
        ExitCode::SUCCESS
    } else {
        ExitCode::from(FLOW_FAILED)
    }
}

/// Says what can be done about flows that could not be run.
fn explain(error: QaError) -> CommandError {
    let secret = match &error {
        QaError::Secret { variable, .. } => Some(variable.clone()),
        _ => None,
    };
    let error = CommandError::user(error);
    match secret {
        Some(variable) if is_credential(&variable) => error.hint(format!(
            "set it, and list it in `safety.pass_env`: commands do not get {variable} otherwise"
        )),
        Some(variable) => error.hint(format!("set {variable} in the environment")),
        None => error,
    }
}
