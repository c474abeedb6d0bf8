//! `ralph lint`: what would make a task go wrong, said before an agent is given it.
//!
//! Findings go to standard output, one a line, in the form that editors take. With `--fix` it first puts right
//! what needs no decision, and says so.

use std::{
    fmt::Display,
    path::{Path, PathBuf},
    process::ExitCode,
};

use ralph_core::{
    board::Board,
    lint::{Finding, LintContext, Severity, lint, of_checks, of_unknown_fields, of_warnings},
    sanitize::one_line,
    task::{
        TaskId,
        format::{self, FormatError},
        graph::Graph,
    },
};
use ralph_engine::{
    loop_runner::check_configured_paths,
    plain_file,
    source::{Source, SourceError, write_atomically},
};
use serde::Serialize;

use crate::{
    commands::{CommandAccess, run::explain},
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

    /// First write ids where tasks have none or one that is taken, and correct misspelled statuses
    #[arg(long)]
    fix: bool,

    /// With --fix: say what would be written, and write nothing
    #[arg(long, requires = "fix")]
    dry_run: bool,
}

impl Args {
    pub(crate) fn access(&self) -> CommandAccess {
        CommandAccess::writes_unless(!self.fix || self.dry_run)
    }
}

/// What was found; the JSON form is a contract (docs/json.md).
#[derive(Debug, Serialize)]
struct LintReport {
    source: String,
    tasks: usize,
    errors: usize,
    warnings: usize,
    #[serde(skip_serializing_if = "is_zero")]
    notes: usize,
    /// Values that `--fix` put right, or would.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    fixes: Vec<ShownFix>,
    /// Files of formats in which `--fix` never writes anything.
    #[serde(rename = "notFixed", skip_serializing_if = "Vec::is_empty")]
    not_fixed: Vec<String>,
    /// Says for each file without the usual shape what was taken for its tasks.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    reading: Vec<String>,
    findings: Vec<Shown>,
}

fn is_zero(count: &usize) -> bool {
    *count == 0
}

#[derive(Debug, Serialize)]
struct ShownFix {
    file: String,
    line: usize,
    column: usize,
    task: String,
    message: String,
    /// False where it was only asked for.
    written: bool,
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
    let usage = if args.fix && !args.dry_run {
        SourceUse::Work("ralph lint --fix")
    } else {
        SourceUse::Look("ralph lint")
    };
    let path = project.source_path(args.source.as_deref(), usage)?;
    let (fixes, not_fixed) = if args.fix {
        fix(project, &path, args.dry_run)?
    } else {
        Default::default()
    };
    let mut report = match Source::read(&path, project.root()) {
        Ok((source, tasks)) => {
            let (graph, problems) = Graph::build(tasks);
            let board = Board::of_all(graph);
            let context = LintContext {
                configured_verify: !project.config().verification.commands.is_empty(),
            };
            let mut findings = of_warnings(source.warnings());
            let files = (0_u32..).zip(source.files());
            findings
                .extend(files.filter_map(|(index, file)| of_checks(index, &file.checks, &context)));
            findings.extend(unknown_fields(&source));
            let told = tell(&source, lint(&board, &problems, &context), &findings);
            findings.extend(told);
            LintReport::new(&source, board.graph().tasks().len(), findings)
        }
        // A file that can't be read has one thing wrong with it, and a place.
        Err(SourceError::Format(error)) => LintReport::of_file(&project.shown(&path), error),
        Err(error) => return Err(CommandError::user(error)),
    };
    report.fixes = fixes;
    report.not_fixed = not_fixed;
    output::show(args.json, &report, || report.render())?;
    let fails = report.errors > 0 || (args.deny_warnings && report.warnings > 0);
    Ok(ExitCode::from(if fails { 2 } else { 0 }))
}

/// Puts right what needs no decision in the files of a source. Gives that, and the files that are left alone.
fn fix(
    project: &Project,
    path: &Path,
    dry_run: bool,
) -> Result<(Vec<ShownFix>, Vec<String>), CommandError> {
    let mut fixes = Vec::new();
    let mut not_fixed = Vec::new();
    for path in Source::paths(path).map_err(CommandError::user)? {
        let name = project.shown(&path);
        let bytes = plain_file::read(&path)
            .map_err(|error| CommandError::user(format!("can't read {name}: {error}")))?;
        // What is wrong with a file that can't be read is a finding.
        let Ok(fixed) = format::fix(&name, &bytes) else {
            continue;
        };
        if fixed.is_left {
            not_fixed.push(name);
            continue;
        }
        if fixed.changes.is_empty() {
            continue;
        }
        if !dry_run {
            write_atomically(&path, &fixed.bytes).map_err(CommandError::user)?;
        }
        fixes.extend(fixed.changes.into_iter().map(|change| ShownFix {
            file: name.clone(),
            line: change.place.line,
            column: change.place.column,
            task: change.task.to_string(),
            message: change.message,
            written: !dry_run,
        }));
    }
    Ok((fixes, not_fixed))
}

/// The findings about the tasks, but for what reading the file said already, in the words of its format.
fn tell(source: &Source, findings: Vec<Finding>, said: &[Finding]) -> Vec<Finding> {
    let is_new = |finding: &Finding| {
        let same = |one: &Finding| one.rule == finding.rule && one.task == finding.task;
        !said.iter().any(same)
    };
    let told = findings.into_iter().filter(is_new).map(|mut finding| {
        if let Some(file) = source.files().get(finding.place.file as usize) {
            finding.hint = finding.rule.hint_in(file.format).to_owned();
        }
        finding
    });
    told.collect()
}

fn unknown_fields(source: &Source) -> Vec<Finding> {
    let files = source.files().iter().enumerate();
    let findings = files.filter_map(|(index, file)| {
        let index = u32::try_from(index).unwrap_or(u32::MAX);
        let fields = format::unknown_fields(&file.name, index, file.bytes());
        of_unknown_fields(&fields)
    });
    findings.collect()
}

impl LintReport {
    fn new(source: &Source, tasks: usize, findings: Vec<Finding>) -> Self {
        let mut places = Places::new(source);
        let shown = findings.into_iter().map(|finding| {
            let at = places.of(finding.place);
            Shown {
                rule: finding.rule.to_string(),
                severity: finding.severity,
                file: at.file,
                line: Some(at.line),
                column: Some(at.column),
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
            notes: of(Severity::Note),
            fixes: Vec::new(),
            not_fixed: Vec::new(),
            reading: Vec::new(),
            findings,
        }
    }

    fn render(&self) -> String {
        let mut text = String::new();
        for fix in &self.fixes {
            text.push_str(&fix.render());
        }
        if !self.fixes.is_empty() {
            text.push('\n');
        }
        for file in &self.not_fixed {
            text.push_str(&format!(
                "{file}: --fix leaves checklists and issues of beads as they are\n"
            ));
        }
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
        let notes = match self.notes {
            0 => String::new(),
            notes => format!(", {}", count(notes, "note", "notes")),
        };
        format!("{}: {tasks}, {errors}, {warnings}{notes}\n", self.source)
    }
}

impl ShownFix {
    fn render(&self) -> String {
        let done = if self.written { "fixed" } else { "would fix" };
        let done = paint(Tone::Good, done);
        let Self {
            file,
            line,
            column,
            task,
            message,
            ..
        } = self;
        let message = one_line(message, usize::MAX);
        format!("{done} {file}:{line}:{column}: task {task}: {message}\n")
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
        Severity::Note => (Tone::Faint, "note"),
    };
    paint(tone, &format!("{word}[{rule}]"))
}
