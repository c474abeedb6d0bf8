//! `ralph report`: what a loop came to: commits, tasks, what went wrong, what is left; as text,
//! Markdown, JSON, or one page of HTML.
//!
//! Says plainly what nothing stood behind. Never asks git; the journal has the commits.

mod dress;
mod economics;
mod facts;
mod fates;
mod html;
mod shape;
mod show;
mod write;

use std::{path::PathBuf, process::ExitCode};

use dress::Dress;

use crate::{
    cli::Global,
    error::CommandError,
    output,
    project::{self, Project},
};

#[derive(Debug, Default, clap::Args)]
pub(crate) struct Args {
    /// The loop, by its id or the beginning of it [default: the last one]
    #[arg(long = "loop", value_name = "ID", conflicts_with = "all")]
    loop_id: Option<String>,

    /// Report on all loops of the same tasks
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

pub(crate) fn run(args: &Args, global: &Global) -> Result<ExitCode, CommandError> {
    let project = Project::open(global, Vec::new())?;
    let which = match (&args.loop_id, args.all) {
        (Some(id), _) => facts::Which::One(id),
        (None, true) => facts::Which::All,
        (None, false) => facts::Which::Last,
    };
    let facts = project::block_on(facts::gather(&project, which))?;
    let text = match (args.format(), &args.output) {
        (Format::Text, None) => show::render(&facts, Dress::Terminal),
        (Format::Text, Some(_)) => show::render(&facts, Dress::Plain),
        (Format::Markdown, _) => show::render(&facts, Dress::Markdown),
        (Format::Json, _) => {
            let text = serde_json::to_string_pretty(&facts).map_err(CommandError::internal)?;
            text + "\n"
        }
        (Format::Html, _) => html::render(&facts, Project::now())?,
    };
    match &args.output {
        None => output::print(&text),
        Some(file) => {
            let path = project.surroundings.start.join(file);
            write::write(&path, &text)?;
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
