//! `ralph import`: a task file in another format, with every field that it has.
//!
//! The file that is read stays as it is. Exit 2 means that nothing was written.

mod target;

pub(crate) use target::{Overwrite, Target, format_words};

use std::{
    path::{Path, PathBuf},
    process::ExitCode,
};

use ralph_core::task::format::{self, Converted, Format, LostField, Moved, UsualPlace};
use ralph_engine::{plain_file, source::Source};
use serde::Serialize;

use crate::{
    commands::CommandAccess,
    error::CommandError,
    output,
    project::Project,
    view::{Table, Tone, cell, figures::count, paint},
};

#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// The task file to convert, or a folder of them
    file: PathBuf,

    /// The format it is to have
    #[arg(long, value_name = "FORMAT", value_parser = format_words(&Format::ALL))]
    to: Format,

    /// Where to write it, as JSON or YAML by its ending, `-` for standard output; without it, the
    /// place that the format has: .ralph/tasks/NAME.yaml, PRD.json, .artefacts/NAME/tasks.json, TODO.md or
    /// .beads/issues.jsonl
    #[arg(long, short, value_name = "PATH")]
    output: Option<PathBuf>,

    /// Write over a file that is there
    #[arg(long)]
    force: bool,

    /// Say what would be written, and write nothing
    #[arg(long)]
    dry_run: bool,

    /// Print one JSON document instead of text
    #[arg(long, conflicts_with = "dry_run")]
    json: bool,
}

/// The result; the JSON form is a contract (docs/json.md).
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
struct ImportReport {
    source: String,
    from: &'static str,
    to: &'static str,
    output: String,
    tasks: usize,
    moved: Vec<Moved>,
    /// The number of comments that have no place in the new file.
    #[serde(skip_serializing_if = "Option::is_none")]
    lost_comments: Option<usize>,
    /// The fields that are not in the new file, or not as they were.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    lost: Vec<LostField>,
    /// The file itself, where it was not written to one.
    #[serde(skip_serializing_if = "Option::is_none")]
    text: Option<String>,
}

impl Args {
    pub(crate) fn access(&self) -> CommandAccess {
        CommandAccess::writes_unless(self.dry_run)
    }
}

pub(crate) fn run(args: &Args, project: &Project) -> Result<ExitCode, CommandError> {
    let path = project.surroundings.start.join(&args.file);
    let (name, bytes) = read(project, &path)?;
    let overwrite = Overwrite::by_flag(args.force);
    let to = args.to;
    let called = called(project, &path, &name, &bytes, to);
    let target = Target::choose(project, args.output.as_deref(), to, &called);
    let converted = format::convert(&name, &bytes, to, target.syntax(to)?).map_err(|error| {
        CommandError::user(error).hint("nothing was written; `ralph lint FILE` checks a task file")
    })?;
    target.check(project, overwrite)?;
    let mut report = ImportReport {
        source: project.shown(&path),
        from: converted.from.as_str(),
        to: to.as_str(),
        output: target.shown(project),
        tasks: converted.tasks,
        moved: converted.moved.clone(),
        lost: converted.lost.clone(),
        lost_comments: Some(converted.lost_comments).filter(|lost| *lost > 0),
        text: None,
    };
    if args.dry_run {
        output::print(&report.render("would write"));
        return Ok(ExitCode::SUCCESS);
    }
    match (&target, args.json) {
        (Target::File(file), _) => Target::write(project, file, &converted.text, overwrite)?,
        (Target::Stdout, true) => report.text = Some(converted.text.clone()),
        (Target::Stdout, false) => {
            output::print(&converted.text);
            output::print_to_stderr(&report.render("wrote"));
            return Ok(ExitCode::SUCCESS);
        }
    }
    if args.json {
        output::print_json(&report)?;
        return Ok(ExitCode::SUCCESS);
    }
    output::print(&report.render("wrote"));
    output::print(&next(project, &target, &path, &converted));
    Ok(ExitCode::SUCCESS)
}

/// The name and text of the file; a folder's files as one.
fn read(project: &Project, path: &Path) -> Result<(String, Vec<u8>), CommandError> {
    let name = project.shown(path);
    let ending = path.extension().and_then(|ending| ending.to_str());
    let is_text = match ending {
        Some("txt") => true,
        Some("md" | "markdown") => {
            let bytes = plain_file::read(path).unwrap_or_default();
            path.is_file() && format::parse(&name, 0, &bytes).is_err()
        }
        Some(_) | None => false,
    };
    if is_text {
        let message = format!("{name} is a text, not a task file");
        return Err(CommandError::user(message)
            .hint(format!("`ralph plan {name}` has an agent make tasks of it")));
    }
    if path.is_dir() {
        let (source, _) = Source::read(path, project.root()).map_err(CommandError::user)?;
        let file =
            |file: &ralph_engine::source::SourceFile| (file.name.clone(), file.bytes().to_vec());
        let files: Vec<_> = source.files().iter().map(file).collect();
        if files.is_empty() {
            return Err(CommandError::user(format!(
                "there are no task files in {name}"
            )));
        }
        let joined = format::join(&files).map_err(|error| {
            CommandError::user(error).hint("name one file of the folder instead")
        })?;
        return Ok((format!("{name}.json"), joined.into_bytes()));
    }
    let bytes = plain_file::read(path)
        .map_err(|error| CommandError::user(format!("can't read {name}: {error}")))?;
    Ok((name, bytes))
}

/// What the tasks are called, where the format's place has a name in it.
fn called(project: &Project, path: &Path, name: &str, bytes: &[u8], to: Format) -> String {
    let stem = |path: &Path| {
        let stem = path
            .file_stem()
            .map(|stem| stem.to_string_lossy().into_owned());
        stem.unwrap_or_default()
    };
    match to.usual_place() {
        UsualPlace::TaskFolder | UsualPlace::File(_) => stem(path),
        UsualPlace::ProjectFolder { .. } => {
            let said = format::parse(name, 0, bytes).ok();
            let said = said.and_then(|document| document.meta.project);
            said.unwrap_or_else(|| stem(project.root()))
        }
    }
}

impl ImportReport {
    fn render(&self, done: &str) -> String {
        let tasks = count(self.tasks, "task", "tasks");
        let done = paint(Tone::Good, done);
        let mut text = format!(
            "{done} {} ({}) from {} ({}): {tasks}\n",
            self.output, self.to, self.source, self.from
        );
        let mut table = Table::new(1, 2);
        for moved in &self.moved {
            let many = moved.tasks.map(|tasks| count(tasks, "task", "tasks"));
            table.row([
                cell(Tone::Plain, &moved.field),
                cell(Tone::Name, format!("→ {}", moved.now)),
                cell(Tone::Faint, many.unwrap_or_default()),
            ]);
        }
        text.push_str(&table.render(output::width()));
        if let Some(lost) = self.lost_comments {
            let lost = count(lost, "comment", "comments");
            text.push_str(&format!("  left out: {lost}, which have no place there\n"));
        }
        if !self.lost.is_empty() {
            let lost = self.lost.iter().map(|lost| match lost.tasks {
                Some(tasks) => format!("{} ({})", lost.field, count(tasks, "task", "tasks")),
                None => lost.field.clone(),
            });
            let lost: Vec<String> = lost.collect();
            text.push_str(&format!(
                "  left out or not the same there: {}\n",
                lost.join(", ")
            ));
        }
        text
    }
}

/// That there are two files with the same tasks now.
fn next(project: &Project, target: &Target, path: &Path, converted: &Converted) -> String {
    match target {
        Target::File(file) if converted.tasks > 0 => format!(
            "\n{} stays as it is; `ralph run {}` works on the new one\n",
            project.shown(path),
            project.shown(file)
        ),
        Target::File(_) | Target::Stdout => String::new(),
    }
}
