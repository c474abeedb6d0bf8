//! The command line: what there is, and which command does it.
//!
//! Only parses and hands on. Errors are printed here, in one place.

use std::process::ExitCode;

use clap::{Parser, Subcommand};

use crate::{commands, error::CommandError, output};

/// Runs coding agents unattended, and lands only work that it has verified itself.
#[derive(Debug, Parser)]
#[command(
    name = "ralph",
    version,
    max_term_width = 100,
    arg_required_else_help = true
)]
pub(crate) struct Cli {
    #[command(subcommand)]
    command: Command,

    #[command(flatten)]
    global: Global,
}

/// Options that every command takes.
#[derive(Debug, Clone, clap::Args)]
pub(crate) struct Global {
    /// Work in this folder instead of the current one
    #[arg(short = 'C', long = "directory", global = true, value_name = "DIR")]
    pub(crate) directory: Option<std::path::PathBuf>,

    /// Use this configuration instead of the project's ralph.yaml
    #[arg(long, global = true, value_name = "FILE", env = "RALPH_CONFIG")]
    pub(crate) config: Option<std::path::PathBuf>,
}

#[derive(Debug, Subcommand)]
enum Command {
    /// Work through the tasks until all are complete or a limit is reached
    Run(commands::run::Args),
    /// Work through the tasks of an artefacts project, and sum up what came of them
    Execute(commands::execute::Args),
    /// Work towards one goal without a task list, step by step, until it is reached
    Loop(commands::goal::Args),
    /// Make a small sample repository and run the real loop on it
    Demo(commands::demo::Args),
    /// End the loop that runs here, cleanly: its agent is stopped, its work kept
    Stop(commands::stop::Args),
    /// Take an iteration back, and everything after it: the branch goes back, its tasks are open again
    Revert(commands::revert::Args),
    /// Make one commit of all that ralph landed on this branch
    Squash(commands::squash::Args),
    /// Keep, list, check and go back to points of a loop
    Checkpoint(commands::checkpoint::Args),
    /// Let the loop rest: after its iteration, or with `--now` at once
    Pause(commands::pause::Args),
    /// Decide about the agent that works now: more time, hand over to a fresh one, or end it
    Intervene(commands::intervene::Args),
    /// Let a paused loop go on; start it again if its process is gone
    Resume(commands::resume::Args),
    /// Open a task again with all its attempts, and say what to do differently
    Retry(commands::retry::Args),
    /// Leave a task out, and say why
    Skip(commands::skip::Args),
    /// Open a task that is out of attempts again
    Unblock(commands::unblock::Args),
    /// Tell the next agent something, or with `--now` the one that runs
    Say(commands::say::Args),
    /// Answer a question: by an option, in your own words, or by skipping the task
    Answer(commands::answer::Args),
    /// List the questions that wait for an answer
    Escalations(commands::escalations::Args),
    /// List the loops of this repository, and what each came to
    Loops(commands::loops::Args),
    /// Show how the loops that are not over do: their agents, and their processes
    Health(commands::health::Args),
    /// Watch all loops of this machine from outside, and act where one hangs or is gone
    Monitor(commands::monitor::Args),
    /// Show where the tasks and the loop stand
    Status(commands::status::Args),
    /// Show what happened in an iteration
    Logs(commands::logs::Args),
    /// Sum up the last loop: commits, tasks, what is left
    Report(commands::report::Args),
    /// Show what was spent: by task, model, day or loop; what is to come; what models cost
    Cost(commands::cost::Args),
    /// Show what the last loop used: by kind, by model, and how well
    Tokens(commands::tokens::Args),
    /// List, show and add tasks
    Tasks(commands::tasks::Args),
    /// Have an agent turn a brief, a PRD or a folder of specifications into tasks
    Plan(commands::plan::Args),
    /// Convert a task file to another format, with every field that it has
    Import(commands::import::Args),
    /// Set a project up: ralph.yaml, .ralph/, the parent task; or the brief of a named one
    Init(commands::init::Args),
    /// Let agents ask you about a project's brief, and make its tasks
    Interview(commands::interview::Args),
    /// Print what an agent of an artefacts project would be told
    Prompt(commands::prompt::Args),
    /// Check the tasks before an agent is given them
    Lint(commands::lint::Args),
    /// Check the machine, the repository and the agent
    Doctor(commands::doctor::Args),
    /// Check whether people who are away would be told
    Notify(commands::notify::Args),
    /// List the agents, explain what one of them said, talk to one
    Agent(commands::agent::Args),
    /// Print the configuration in force, and where each value comes from
    Config(commands::config::Args),
    /// Print a completion script for a shell
    Completions(commands::completions::Args),
    /// Write the manual pages
    Man(commands::man::Args),
    #[command(name = "__play-script", hide = true)]
    PlayScript(commands::play_script::Args),
}

pub(crate) fn main() -> ExitCode {
    match Cli::parse().dispatch() {
        Ok(code) => code,
        Err(error) => {
            output::print_error(&error);
            ExitCode::from(error.exit_code())
        }
    }
}

impl Cli {
    fn dispatch(self) -> Result<ExitCode, CommandError> {
        let global = &self.global;
        match self.command {
            Command::Run(args) => commands::run::run(args, global),
            Command::Execute(args) => commands::execute::run(args, global),
            Command::Loop(args) => commands::goal::run(args, global),
            Command::Demo(args) => commands::demo::run(args),
            Command::Stop(args) => commands::stop::run(&args, global),
            Command::Revert(args) => commands::revert::run(&args, global),
            Command::Squash(args) => commands::squash::run(&args, global),
            Command::Checkpoint(args) => commands::checkpoint::run(&args, global),
            Command::Pause(args) => commands::pause::run(&args, global),
            Command::Intervene(args) => commands::intervene::run(&args, global),
            Command::Resume(args) => commands::resume::run(args, global),
            Command::Retry(args) => commands::retry::run(args, global),
            Command::Skip(args) => commands::skip::run(args, global),
            Command::Unblock(args) => commands::unblock::run(args, global),
            Command::Say(args) => commands::say::run(args, global),
            Command::Answer(args) => commands::answer::run(args, global),
            Command::Escalations(args) => commands::escalations::run(&args, global),
            Command::Loops(args) => commands::loops::run(&args, global),
            Command::Health(args) => commands::health::run(&args, global),
            Command::Monitor(args) => commands::monitor::run(&args, global),
            Command::Status(args) => commands::status::run(&args, global),
            Command::Logs(args) => commands::logs::run(&args, global),
            Command::Report(args) => commands::report::run(&args, global),
            Command::Cost(args) => commands::cost::run(&args, global),
            Command::Tokens(args) => commands::tokens::run(&args, global),
            Command::Tasks(args) => commands::tasks::run(&args, global),
            Command::Plan(args) => commands::plan::run(&args, global),
            Command::Import(args) => commands::import::run(&args, global),
            Command::Init(args) => commands::init::run(&args, global),
            Command::Interview(args) => commands::interview::run(&args, global),
            Command::Prompt(args) => commands::prompt::run(&args, global),
            Command::Lint(args) => commands::lint::run(&args, global),
            Command::Doctor(args) => commands::doctor::run(&args, global),
            Command::Notify(args) => commands::notify::run(&args, global),
            Command::Agent(args) => commands::agent::run(&args, global),
            Command::Config(args) => commands::config::run(&args, global),
            Command::Completions(args) => commands::completions::run(&args),
            Command::Man(args) => commands::man::run(&args),
            Command::PlayScript(args) => commands::play_script::run(&args),
        }
    }
}
