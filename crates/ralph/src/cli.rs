//! The command line: parses it and hands on. Errors are printed here, in one place.

use std::process::ExitCode;

use clap::{ArgMatches, CommandFactory as _, FromArgMatches as _, Parser};
use ralph_engine::settings::Surroundings;

use crate::{
    commands::{self, CommandAccess},
    error::CommandError,
    inside_run, output,
};

/// Runs coding agents unattended and lands only work that it has verified itself.
#[derive(Debug, Parser)]
#[command(
    name = "ralph",
    version,
    max_term_width = 100,
    arg_required_else_help = true
)]
pub(crate) struct Cli {
    #[command(subcommand)]
    command: commands::TopCommand,

    #[command(flatten)]
    global: Global,
}

/// Options that every command takes.
#[derive(Debug, Clone, clap::Args)]
pub(crate) struct Global {
    /// Run as if started in this folder
    #[arg(short = 'C', long = "directory", global = true, value_name = "DIR")]
    pub(crate) directory: Option<std::path::PathBuf>,

    /// Use this configuration file instead of the project's ralph.yaml
    #[arg(long, global = true, value_name = "FILE", env = "RALPH_CONFIG")]
    pub(crate) config: Option<std::path::PathBuf>,
}

impl Global {
    /// The surroundings of the process, seen from the folder that was asked for.
    pub(crate) fn surroundings(&self) -> Result<Surroundings, CommandError> {
        let mut surroundings = Surroundings::of_process()?;
        if let Some(folder) = &self.directory {
            surroundings.start.push(folder);
        }
        Ok(surroundings)
    }
}

pub(crate) fn main() -> ExitCode {
    let matches = Cli::command().get_matches();
    let cli = Cli::from_arg_matches(&matches).unwrap_or_else(|error| error.exit());
    match cli.run(&matches) {
        Ok(code) => code,
        Err(error) => {
            output::print_error(&error);
            ExitCode::from(error.exit_code())
        }
    }
}

impl Cli {
    fn run(&self, matches: &ArgMatches) -> Result<ExitCode, CommandError> {
        match self.command.access() {
            CommandAccess::Reads => {}
            CommandAccess::Writes => inside_run::refuse(&words(matches), &self.global)?,
        }
        commands::dispatch(&self.command, &self.global)
    }
}

/// The names of the command, such as `tasks add`.
fn words(matches: &ArgMatches) -> String {
    let mut words = Vec::new();
    let mut at = matches;
    while let Some((name, below)) = at.subcommand() {
        words.push(name);
        at = below;
    }
    words.join(" ")
}
