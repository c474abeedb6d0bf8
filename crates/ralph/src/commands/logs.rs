//! `ralph logs`: what happened in an iteration, in three forms: readable, raw, and as its record.
//!
//! An agent wrote most of it: shown on a terminal, it can do nothing there.

mod follow;
pub(crate) mod tail;

use std::{
    fs::File,
    io::{self, BufReader, Read as _, Seek as _, SeekFrom},
    path::{Path, PathBuf},
    process::ExitCode,
};

use follow::FollowForm;
use jiff::Timestamp;
use ralph_core::{record::IterationRecord, sanitize::terminal_safe};
use ralph_engine::{
    settings::ProjectKind,
    store::{IterationRow, Journal, RepositoryId},
};
use serde::Serialize;

use crate::{
    error::CommandError,
    output::{self, Escapes},
    project::{self, Project},
    view::{
        Table, Tone, cell,
        figures::{ago_text, duration, short_commit},
    },
};

#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// Number of the iteration [default: the last one]
    #[arg(long, short, value_name = "N", conflicts_with = "list")]
    iteration: Option<u64>,

    /// Print the agent's raw output stream
    #[arg(long, conflicts_with_all = ["json", "list"])]
    raw: bool,

    /// Print the record of the iteration or the list as JSON
    #[arg(long)]
    json: bool,

    /// Follow the running iteration and the next ones until the loop ends
    #[arg(long, short, conflicts_with_all = ["iteration", "json", "list"])]
    follow: bool,

    /// Start with only this many of the last lines
    #[arg(long, value_name = "N", conflicts_with_all = ["json", "list"])]
    tail: Option<usize>,

    /// List the last iterations
    #[arg(long, short)]
    list: bool,

    /// Number of iterations to list
    #[arg(
        short = 'n',
        long = "number",
        value_name = "N",
        default_value_t = 20,
        requires = "list"
    )]
    number: u32,
}

/// Which file of an iteration.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum LogKind {
    Readable,
    Stream,
    Record,
}

/// Where a log of an iteration is, if it is there.
pub(crate) fn log_file(root: &Path, iteration: u64, kind: LogKind) -> PathBuf {
    let ending = match kind {
        LogKind::Readable => "txt",
        LogKind::Stream => "stream",
        LogKind::Record => "json",
    };
    logs_folder(root).join(format!("iteration-{iteration}.{ending}"))
}

fn logs_folder(root: &Path) -> PathBuf {
    root.join(".ralph/logs")
}

pub(crate) fn run(args: &Args, project: &Project) -> Result<ExitCode, CommandError> {
    let form = form(args);
    project::block_on(async {
        if args.follow {
            return follow::follow(project, form).await;
        }
        if args.list {
            return list(args, project).await;
        }
        if args.json {
            return output::print_json(&record(project, args.iteration).await?);
        }
        let mut journal = project.journal().await?;
        let range = range(project, &mut journal).await?;
        let n = chosen(project, args.iteration, range)?;
        print_log(project, n, form)
    })?;
    Ok(ExitCode::SUCCESS)
}

type Opened = Option<(Box<dyn Journal>, RepositoryId)>;

/// The numbers there are: of the journal, else of the files.
async fn range(
    project: &Project,
    journal: &mut Opened,
) -> Result<Option<(u64, u64)>, CommandError> {
    if let Some((journal, repository)) = journal
        && let Some(range) = journal.iteration_range(repository).await?
    {
        return Ok(Some(range));
    }
    let names = std::fs::read_dir(logs_folder(project.root()))
        .into_iter()
        .flatten()
        .filter_map(|entry| entry.ok()?.file_name().into_string().ok());
    let numbers: Vec<u64> = names
        .filter_map(|name| {
            let (n, _) = name.strip_prefix("iteration-")?.split_once('.')?;
            n.parse().ok()
        })
        .collect();
    Ok(numbers
        .iter()
        .min()
        .copied()
        .zip(numbers.iter().max().copied()))
}

fn chosen(
    project: &Project,
    asked: Option<u64>,
    range: Option<(u64, u64)>,
) -> Result<u64, CommandError> {
    let Some((first, last)) = range else {
        return Err(nothing_yet(project));
    };
    match asked {
        None => Ok(last),
        Some(n) if (first..=last).contains(&n) => Ok(n),
        Some(n) => {
            let there = if first == last {
                format!("there is only iteration {first}")
            } else {
                format!("there are {first} to {last}")
            };
            let message = format!("there is no iteration {n}; {there}");
            Err(CommandError::user(message).hint("`ralph logs --list` lists the last ones"))
        }
    }
}

/// Nothing has happened that there could be a log or a report of.
pub(crate) fn nothing_yet(project: &Project) -> CommandError {
    match project.kind() {
        ProjectKind::Repository => CommandError::user("ralph has not run here yet")
            .hint("`ralph run` starts the loop; `ralph status` shows what it would do"),
        ProjectKind::Folder => CommandError::user(format!(
            "{} is not in a git repository",
            project.root().display()
        ))
        .hint("go to a repository, or name one: `ralph -C DIR …`"),
    }
}

fn form(args: &Args) -> FollowForm {
    let escapes = if args.raw && !output::stdout_is_terminal() {
        Escapes::AsTheyAre
    } else {
        Escapes::Safe
    };
    let kind = if args.raw {
        LogKind::Stream
    } else {
        LogKind::Readable
    };
    FollowForm {
        kind,
        escapes,
        tail: args.tail,
    }
}

fn print_log(project: &Project, n: u64, form: FollowForm) -> Result<(), CommandError> {
    let path = log_file(project.root(), n, form.kind);
    let copy = || {
        let mut file = File::open(&path)?;
        if let Some(lines) = form.tail {
            let start = tail::start_of_tail(&mut file, lines)?;
            file.seek(SeekFrom::Start(start))?;
        }
        output::copy(BufReader::new(file), form.escapes)
    };
    copy().map_err(|error| no_log(project, n, &path, error))
}

fn no_log(project: &Project, n: u64, path: &Path, error: io::Error) -> CommandError {
    let name = project.shown(path);
    if error.kind() == io::ErrorKind::NotFound {
        return CommandError::user(format!(
            "iteration {n} has no such log: {name} does not exist"
        ))
        .hint(format!(
            "`ralph logs --iteration {n} --json` shows its record in the journal"
        ));
    }
    CommandError::user(format!("can't read {name}: {error}"))
}

/// The record of an iteration, by default of the last one.
pub(crate) async fn record(
    project: &Project,
    iteration: Option<u64>,
) -> Result<IterationRecord, CommandError> {
    let mut journal = project.journal().await?;
    let range = range(project, &mut journal).await?;
    let n = chosen(project, iteration, range)?;
    read_record(project, n, &mut journal).await
}

/// The end of an iteration's readable log.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct LogTail {
    iteration: u64,
    file: String,
    text: String,
    /// There is more before it.
    cut_before: bool,
}

/// The last lines of the readable log of an iteration, by default of the last one, in at most `most_bytes`.
pub(crate) async fn log_tail(
    project: &Project,
    iteration: Option<u64>,
    lines: usize,
    most_bytes: u64,
) -> Result<LogTail, CommandError> {
    let mut journal = project.journal().await?;
    let range = range(project, &mut journal).await?;
    let n = chosen(project, iteration, range)?;
    let path = log_file(project.root(), n, LogKind::Readable);
    let read = || {
        let mut file = File::open(&path)?;
        let size = file.seek(SeekFrom::End(0))?;
        let start = tail::start_of_tail(&mut file, lines)?;
        let start = start.max(size.saturating_sub(most_bytes));
        file.seek(SeekFrom::Start(start))?;
        let mut bytes = Vec::new();
        file.take(most_bytes).read_to_end(&mut bytes)?;
        Ok((start, bytes))
    };
    let (start, bytes) = read().map_err(|error| no_log(project, n, &path, error))?;
    Ok(LogTail {
        iteration: n,
        file: project.shown(&path),
        text: terminal_safe(&String::from_utf8_lossy(&bytes)).into_owned(),
        cut_before: start > 0,
    })
}

/// The last iterations, newest first.
pub(crate) async fn last_iterations(
    project: &Project,
    number: u32,
) -> Result<Vec<IterationRow>, CommandError> {
    Ok(match project.journal().await? {
        Some((mut journal, repository)) => journal.last_iterations(&repository, number).await?,
        None => Vec::new(),
    })
}

async fn read_record(
    project: &Project,
    n: u64,
    journal: &mut Opened,
) -> Result<IterationRecord, CommandError> {
    if let Some((journal, repository)) = journal
        && let Some(record) = journal.record(repository, Some(n)).await?
    {
        return Ok(record);
    }
    let path = log_file(project.root(), n, LogKind::Record);
    let text = match std::fs::read_to_string(&path) {
        Ok(text) => text,
        Err(error) if error.kind() == io::ErrorKind::NotFound => {
            let message = format!("iteration {n} has no record: it has not ended");
            return Err(CommandError::user(message).hint("`ralph status` shows its state"));
        }
        Err(error) => return Err(no_log(project, n, &path, error)),
    };
    serde_json::from_str(&text).map_err(|error| {
        CommandError::user(format!("{} can't be read: {error}", project.shown(&path)))
    })
}

async fn list(args: &Args, project: &Project) -> Result<(), CommandError> {
    let rows = last_iterations(project, args.number).await?;
    if args.json {
        return output::print_json(&serde_json::json!({ "iterations": rows }));
    }
    if rows.is_empty() {
        output::print("no iterations yet\n");
        return Ok(());
    }
    let now = Project::now();
    let mut table = Table::new(2, 0);
    for row in &rows {
        let tone = match row.outcome.as_deref() {
            Some("success") if !row.reverted => Tone::Good,
            Some(_) => Tone::Careful,
            None => Tone::Faint,
        };
        table.row([
            cell(Tone::Heading, row.n.to_string()),
            cell(Tone::Name, &row.task_id),
            cell(Tone::Plain, row.title.as_deref().unwrap_or_default()),
            cell(tone, verdict(row)),
            cell(
                Tone::Faint,
                row.result_commit.as_deref().map_or("", short_commit),
            ),
            cell(Tone::Faint, took(row)),
            cell(Tone::Faint, ago_text(&row.started_at, now)),
        ]);
    }
    output::print(&table.render(output::width()));
    Ok(())
}

/// The verdict on an iteration, and that its commit was taken back.
pub(crate) fn verdict(row: &IterationRow) -> String {
    let verdict = row.verdict.as_deref().unwrap_or("no end");
    if row.reverted {
        format!("{verdict}, reverted")
    } else {
        verdict.to_owned()
    }
}

fn took(row: &IterationRow) -> String {
    let parse = |text: &str| text.parse::<Timestamp>().ok();
    match (
        parse(&row.started_at),
        row.ended_at.as_deref().and_then(parse),
    ) {
        (Some(start), Some(end)) => duration((end.as_second() - start.as_second()) as f64),
        (_, _) => String::new(),
    }
}
