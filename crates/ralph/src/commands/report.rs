//! `ralph report`: what the loops of a feature came to: commits, tasks, what went wrong, what is left; as text,
//! Markdown, JSON, or one page of HTML.
//!
//! Says plainly what nothing stood behind. Never asks git; the journal has the commits.

mod dress;
mod facts;
mod flows;
mod html;
mod shape;
mod template;
mod text;

use std::{
    path::{Path, PathBuf},
    process::ExitCode,
};

use dress::Dress;
pub(crate) use facts::{Which, gather};
use minijinja::{Value, context, value::Serde};
use shape::ReportFacts;

use crate::{
    error::CommandError,
    output,
    project::{self, Project},
};

#[derive(Debug, Default, clap::Args)]
pub(crate) struct Args {
    /// Only this loop, by its id or the beginning of it [default: all loops of the last one's feature]
    #[arg(long = "loop", value_name = "ID", conflicts_with = "all")]
    loop_id: Option<String>,

    /// Only the last loop
    #[arg(long, conflicts_with_all = ["loop_id", "all"])]
    last: bool,

    /// All loops of the same task file, whatever their parent task
    #[arg(long)]
    all: bool,

    /// Format of the report [default: from the extension of --output, or text]
    #[arg(long, value_name = "FORM", value_enum)]
    format: Option<Format>,

    /// Print JSON instead of text; the same as --format json
    #[arg(long, conflicts_with = "format")]
    json: bool,

    /// Write the report to this file instead of printing it
    #[arg(long, short, value_name = "FILE")]
    output: Option<PathBuf>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
enum Format {
    Text,
    /// For a pull request; text from agents is escaped
    Markdown,
    Json,
    /// A single self-contained page with charts
    Html,
}

pub(crate) fn run(args: &Args, project: &Project) -> Result<ExitCode, CommandError> {
    let which = match (&args.loop_id, args.all, args.last) {
        (Some(id), _, _) => Which::One(id),
        (None, true, _) => Which::All,
        (None, false, true) => Which::Last,
        (None, false, false) => Which::Feature,
    };
    let facts = project::block_on(gather(project, which))?;
    let text = match (args.format(), &args.output) {
        (Format::Text, None) => text::render(&facts, Dress::Terminal)?,
        (Format::Text, Some(_)) => text::render(&facts, Dress::Plain)?,
        (Format::Markdown, _) => text::render(&facts, Dress::Markdown)?,
        (Format::Json, _) => {
            let text = serde_json::to_string_pretty(&facts)?;
            text + "\n"
        }
        (Format::Html, _) => html::render(&facts, Project::now())?,
    };
    match &args.output {
        None => output::print(&text),
        Some(file) => {
            let path = project.surroundings.start.join(file);
            write(&path, &text)?;
            output::print_to_stderr(&format!("wrote {}\n", file.display()));
        }
    }
    Ok(ExitCode::SUCCESS)
}

impl Args {
    fn format(&self) -> Format {
        if self.json {
            return Format::Json;
        }
        let ending = self.output.as_deref().and_then(|file| file.extension());
        let by_name = match ending.and_then(|ending| ending.to_str()) {
            Some("html" | "htm") => Format::Html,
            Some("md" | "markdown") => Format::Markdown,
            Some("json") => Format::Json,
            Some(_) | None => Format::Text,
        };
        self.format.unwrap_or(by_name)
    }
}

/// Writes a report as a whole, so that no reader sees half of one.
fn write(path: &Path, text: &str) -> Result<(), CommandError> {
    let text = &*output::without_secrets(text);
    let is_special = std::fs::metadata(path).is_ok_and(|meta| !meta.is_file());
    // A pipe or a device is written to; replacing it would take it away from others.
    let written = if is_special {
        std::fs::write(path, text)
    } else {
        ralph_engine::atomic::write(path, text.as_bytes())
    };
    written.map_err(|error| {
        let message = format!("can't write {}: {error}", path.display());
        CommandError::user(message)
    })
}

/// Answers of people, each with its question, for a template.
fn answers(facts: &ReportFacts) -> Vec<Value> {
    let answered = facts.questions.iter().filter_map(|question| {
        let answer = question.answer.as_ref()?;
        let told = answer.told.iter().flat_map(|told| told.lines().skip(1));
        let amended = answer.amended.as_ref();
        Some(context! {
            iteration => question.iteration,
            task_id => question.task_id.as_str(),
            question => question.question.as_str(),
            how => answer.how.word(),
            by => answer.by.as_str(),
            told => told.map(Value::from).collect::<Vec<_>>(),
            amended => amended.map(|one| Value::from(Serde(one))),
        })
    });
    answered.collect()
}
