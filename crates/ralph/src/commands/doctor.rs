//! `ralph doctor`: one line a check of the machine, the repository and the agent; what is not right
//! comes with what to do.
//!
//! Looks, and changes nothing unless it is told to. Warnings don't fail it.

mod agent;
mod browser;
mod git;
mod journal;
mod leftovers;
mod machine;
mod notify;
pub(crate) mod programs;
mod secrets;
mod store;
mod tasks;

use std::process::ExitCode;

use ralph_engine::settings::{ProjectKind, find_project};
use serde::Serialize;

use crate::{
    cli::Global,
    commands::CommandAccess,
    error::CommandError,
    output,
    project::Project,
    view::{Table, Tone, cell, figures::count},
};

#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// Repair what runs that were killed left: accept a git folder that was put back by hand, remove half-written files
    #[arg(long)]
    fix: bool,

    /// Print one JSON document instead of text
    #[arg(long)]
    json: bool,
}

impl Args {
    pub(crate) fn access(&self) -> CommandAccess {
        CommandAccess::writes_unless(!self.fix)
    }
}

/// One thing that was looked at; the JSON form is a contract (docs/json.md).
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub(super) struct Check {
    pub(super) name: &'static str,
    pub(super) state: State,
    pub(super) message: String,
    /// What to do about it.
    pub(super) hint: Option<String>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum State {
    Ok,
    /// Good to know, and nothing to do about it.
    Note,
    Warning,
    Problem,
}

impl Check {
    fn new(name: &'static str, state: State, message: impl Into<String>) -> Self {
        Self {
            name,
            state,
            message: message.into(),
            hint: None,
        }
    }

    pub(super) fn ok(name: &'static str, message: impl Into<String>) -> Self {
        Self::new(name, State::Ok, message)
    }

    pub(super) fn note(name: &'static str, message: impl Into<String>) -> Self {
        Self::new(name, State::Note, message)
    }

    pub(super) fn warning(name: &'static str, message: impl Into<String>) -> Self {
        Self::new(name, State::Warning, message)
    }

    pub(super) fn problem(name: &'static str, message: impl Into<String>) -> Self {
        Self::new(name, State::Problem, message)
    }

    pub(super) fn hint(mut self, hint: impl Into<String>) -> Self {
        self.hint = Some(hint.into());
        self
    }
}

#[derive(Debug, Serialize)]
struct DoctorReport {
    ok: bool,
    checks: Vec<Check>,
}

pub(crate) fn run(args: &Args, global: &Global) -> Result<ExitCode, CommandError> {
    let mut checks = Vec::new();
    if args.fix {
        checks.extend(leftovers::fix(&Project::open(global, Vec::new())?)?);
    }
    checks.extend(check(global)?);
    let report = DoctorReport {
        ok: !checks.iter().any(|c| c.state == State::Problem),
        checks,
    };
    output::show(args.json, &report, || render(&report))?;
    Ok(ExitCode::from(if report.ok { 0 } else { 2 }))
}

fn check(global: &Global) -> Result<Vec<Check>, CommandError> {
    let surroundings = global.surroundings()?;
    let place = find_project(&surroundings.start).map_err(|error| {
        CommandError::user(format!(
            "can't read {}: {error}",
            surroundings.start.display()
        ))
    })?;
    let opened = Project::open(global, Vec::new());
    let mut checks = git::program();
    let git_works = checks.iter().all(|c| c.state != State::Problem);
    match place.kind {
        ProjectKind::Repository if git_works => {
            checks.extend(git::repository(
                &place.root,
                &not_dirt(opened.as_ref().ok()),
            ));
        }
        ProjectKind::Repository => {}
        ProjectKind::Folder => checks.push(
            Check::problem("repository", format!("{} is in none", place.root.display()))
                .hint("`git init` makes one; ralph works only in a repository"),
        ),
    }
    match &opened {
        Ok(project) => {
            checks.extend(tasks::checks(project));
            checks.extend(agent::checks(project));
            checks.extend(machine::checks(project));
            checks.extend(browser::checks(project));
            checks.extend(secrets::checks(project));
            checks.extend(notify::checks(project));
            checks.extend(store::checks(project));
            let journal = journal::check(project);
            let can_be_read = journal.state != State::Problem;
            checks.push(journal);
            if can_be_read {
                checks.extend(leftovers::checks(project));
            }
        }
        Err(error) => {
            let said = error.sentences().join(": ");
            checks
                .push(Check::problem("config", said).hint("correct it; the rest is checked then"));
        }
    }
    Ok(checks)
}

/// What never makes a working tree dirty: the task source and ralph's own files.
fn not_dirt(project: Option<&Project>) -> Vec<String> {
    let mut names = vec![".ralph".to_owned(), "ralph.yaml".to_owned()];
    if let Some(project) = project
        && let Ok(source) = project.find_source(None)
    {
        names.push(project.shown(&source.path));
    }
    names
}

fn render(report: &DoctorReport) -> String {
    let mut table = Table::new(2, 0);
    for check in &report.checks {
        let (tone, word) = match check.state {
            State::Ok => (Tone::Good, "ok"),
            State::Note => (Tone::Faint, "note"),
            State::Warning => (Tone::Careful, "warning"),
            State::Problem => (Tone::Bad, "problem"),
        };
        let said = match &check.hint {
            Some(hint) => format!("{}: {hint}", check.message),
            None => check.message.clone(),
        };
        table.row([
            cell(tone, word),
            cell(Tone::Heading, check.name),
            cell(Tone::Plain, said),
        ]);
    }
    // Not cut at the terminal's edge: what to do stands at the end of a line.
    let mut text = table.render(None);
    let of = |state| report.checks.iter().filter(|c| c.state == state).count();
    let problems = count(of(State::Problem), "problem", "problems");
    let warnings = count(of(State::Warning), "warning", "warnings");
    text.push_str(&format!("\n{problems}, {warnings}\n"));
    text
}
