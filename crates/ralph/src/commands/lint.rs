//! `ralph lint`: what would make a task go wrong, said before an agent is given it.
//!
//! Findings go to standard output, one a line, in the form that editors take.

use std::{fmt::Display, path::PathBuf, process::ExitCode};

use ralph_core::{
    board::Board,
    lint::{Finding, LintContext, Severity, lint, of_checks, of_warnings},
    sanitize::one_line,
    task::{TaskId, format::FormatError, graph::Graph},
};
use ralph_engine::{
    loop_runner::check_configured_paths,
    source::{Source, SourceError},
};
use serde::Serialize;

use crate::{
    commands::run::explain,
    error::CommandError,
    output,
    project::{Project, SourceUse},
    view::{Tone, figures::count, paint, places::Places},
};

#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// The task file or folder; without it, the one chosen before, or found
    source: Option<PathBuf>,

    /// Print one JSON document instead of text
    #[arg(long)]
    json: bool,

    /// Exit with 2 on warnings too
    #[arg(long)]
    deny_warnings: bool,
}

/// What was found; the JSON form is a contract (docs/json.md).
#[derive(Debug, Serialize)]
struct LintReport {
    source: String,
    tasks: usize,
    errors: usize,
    warnings: usize,
    /// Says for each file without the usual shape what was taken for its tasks.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    reading: Vec<String>,
    findings: Vec<Shown>,
}

#[derive(Debug, Serialize)]
struct Shown {
    rule: String,
    severity: Severity,
    file: String,
    /// `None` where no place in the file is to blame.
    line: Option<usize>,
    column: Option<usize>,
    task: Option<String>,
    message: String,
    hint: String,
}

pub(crate) fn run(args: &Args, project: &Project) -> Result<ExitCode, CommandError> {
    check_configured_paths(project.config(), project.root()).map_err(explain)?;
    let path = project.source_path(args.source.as_deref(), SourceUse::Look("ralph lint"))?;
    let report = match Source::read(&path, project.root()) {
        Ok((source, tasks)) => {
            let (graph, problems) = Graph::build(tasks);
            let board = Board::of_all(graph);
            let context = LintContext {
                configured_verify: !project.config().verification.commands.is_empty(),
            };
            let mut findings = of_warnings(source.warnings());
            let files = source.files().iter();
            findings.extend(files.filter_map(|file| of_checks(&file.checks, &context)));
            findings.extend(lint(&board, &problems, &context));
            LintReport::new(&source, board.graph().tasks().len(), findings)
        }
        // A file that can't be read has one thing wrong with it, and a place.
        Err(SourceError::Format(error)) => LintReport::of_file(&project.shown(&path), error),
        Err(error) => return Err(CommandError::user(error)),
    };
    output::show(args.json, &report, || report.render())?;
    let fails = report.errors > 0 || (args.deny_warnings && report.warnings > 0);
    Ok(ExitCode::from(if fails { 2 } else { 0 }))
}

impl LintReport {
    fn new(source: &Source, tasks: usize, findings: Vec<Finding>) -> Self {
        let mut places = Places::new(source);
        let shown = findings.into_iter().map(|finding| {
            let at = places.of(finding.place);
            // What is about all tasks is about no place in the file.
            let placed = finding.task.is_some() || finding.place.offset > 0;
            Shown {
                rule: finding.rule.to_string(),
                severity: finding.severity,
                file: if placed {
                    at.file
                } else {
                    source.name().to_owned()
                },
                line: placed.then_some(at.line),
                column: placed.then_some(at.column),
                task: finding.task.as_ref().map(TaskId::to_string),
                message: finding.message,
                hint: finding.hint,
            }
        });
        let shown = shown.collect();
        Self {
            reading: source.readings(),
            ..Self::of(source.name(), tasks, shown)
        }
    }

    fn of_file(source: &str, error: FormatError) -> Self {
        let finding = Shown {
            rule: "unreadable".into(),
            severity: Severity::Error,
            file: error.file,
            line: error.place.map(|at| at.line),
            column: error.place.map(|at| at.column),
            task: error.task,
            message: error.message,
            hint: "correct the file; nothing else in it can be checked before".into(),
        };
        Self::of(source, 0, vec![finding])
    }

    fn of(source: &str, tasks: usize, findings: Vec<Shown>) -> Self {
        let of = |severity| findings.iter().filter(|f| f.severity == severity).count();
        Self {
            source: source.to_owned(),
            tasks,
            errors: of(Severity::Error),
            warnings: of(Severity::Warning),
            reading: Vec::new(),
            findings,
        }
    }

    fn render(&self) -> String {
        let mut text = String::new();
        for finding in &self.findings {
            text.push_str(&finding.render());
        }
        if !self.findings.is_empty() {
            text.push('\n');
        }
        for reading in &self.reading {
            text.push_str(&format!("{}\n", one_line(reading, usize::MAX)));
        }
        text.push_str(&self.summary());
        text
    }

    fn summary(&self) -> String {
        let tasks = count(self.tasks, "task", "tasks");
        if self.findings.is_empty() {
            return format!("{}: {tasks}, no problems found\n", self.source);
        }
        let errors = count(self.errors, "error", "errors");
        let warnings = count(self.warnings, "warning", "warnings");
        format!("{}: {tasks}, {errors}, {warnings}\n", self.source)
    }
}

impl Shown {
    fn render(&self) -> String {
        let mut place = self.file.clone();
        if let (Some(line), Some(column)) = (self.line, self.column) {
            place.push_str(&format!(":{line}:{column}"));
        }
        let label = label(self.severity, &self.rule);
        let task = self.task.as_deref();
        let task = task.map_or_else(String::new, |id| format!(" task {}:", one_line(id, 120)));
        let message = one_line(&self.message, usize::MAX);
        let hint = paint(Tone::Faint, &format!("  hint: {}", self.hint));
        format!("{place}: {label}{task} {message}\n{hint}\n")
    }
}

/// A rule as a finding begins with it.
pub(crate) fn label(severity: Severity, rule: impl Display) -> String {
    let (tone, word) = match severity {
        Severity::Error => (Tone::Bad, "error"),
        Severity::Warning => (Tone::Careful, "warning"),
    };
    paint(tone, &format!("{word}[{rule}]"))
}
