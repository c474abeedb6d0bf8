//! The command line: what there is, and which command does it.
//!
//! Only parses and hands on. Errors are printed here, in one place.

use std::process::ExitCode;

use clap::{Parser, Subcommand};

use crate::{commands, error::CommandError, output};

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
    command: TopCommand,

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

#[derive(Debug, Subcommand)]
enum TopCommand {
    /// Run agents on the tasks until all tasks are complete or a limit is reached
    Run(commands::run::Args),
    /// Run the tasks of an artefacts project and write a summary of the results
    Execute(commands::execute::Args),
    /// Work towards one goal, without a task list, until it is reached
    Loop(commands::goal::Args),
    /// Create a small sample repository and run a loop in it
    Demo(commands::demo::Args),
    /// Stop the running loop cleanly: the agent is stopped and its work is kept
    Stop(commands::stop::Args),
    /// Undo an iteration and all later ones: reset the branch and reopen their tasks
    Revert(commands::revert::Args),
    /// Combine all commits that ralph made on this branch into one
    Squash(commands::squash::Args),
    /// Create, list, verify and restore checkpoints of a loop
    Checkpoint(commands::checkpoint::Args),
    /// Pause the loop after the current iteration, or immediately with `--now`
    Pause(commands::pause::Args),
    /// Give the running agent more time, hand its work over to a new agent, or end it
    Intervene(commands::intervene::Args),
    /// Resume a paused loop, or restart one whose process is gone
    Resume(commands::resume::Args),
    /// Reopen a task with all its attempts, and tell agents what to do differently
    Retry(commands::retry::Args),
    /// Skip a task, with a reason
    Skip(commands::skip::Args),
    /// Reopen a task that has no attempts left
    Unblock(commands::unblock::Args),
    /// Send a message to the next agent, or to the running one with `--now`
    Say(commands::say::Args),
    /// Answer a question: choose an option, write your own answer, or skip the task
    Answer(commands::answer::Args),
    /// List the questions that are waiting for an answer
    Escalations(commands::escalations::Args),
    /// List the loops of this repository and their results
    Loops(commands::loops::Args),
    /// Show the health of running loops: their agents and processes
    Health(commands::health::Args),
    /// Watch all loops on this machine, and act if one hangs or its process is gone
    Monitor(commands::monitor::Args),
    /// Show the state of the tasks and of the loop
    Status(commands::status::Args),
    /// Show the log of an iteration
    Logs(commands::logs::Args),
    /// Summarize the last loop: commits, tasks and the work that is left
    Report(commands::report::Args),
    /// Show the cost by task, model, day or loop, a forecast, and the prices in use
    Cost(commands::cost::Args),
    /// Show the tokens that the last loop used, by kind and by model
    Tokens(commands::tokens::Args),
    /// List, show and add tasks
    Tasks(commands::tasks::Args),
    /// Use an agent to turn a brief, a PRD or a folder of specifications into tasks
    Plan(commands::plan::Args),
    /// Convert a task file to another format, keeping every field
    Import(commands::import::Args),
    /// Set up a project (ralph.yaml, .ralph/, parent task), or create the brief of a named one
    Init(commands::init::Args),
    /// Let agents interview you about a project's brief and create its tasks
    Interview(commands::interview::Args),
    /// Print the prompts for the agents of an artefacts project
    Prompt(commands::prompt::Args),
    /// Check the tasks for problems before agents work on them
    Lint(commands::lint::Args),
    /// Check the machine, the repository and the agent
    Doctor(commands::doctor::Args),
    /// Test the configured notifications
    Notify(commands::notify::Args),
    /// List agents, explain a recorded stream, or talk to an agent
    Agent(commands::agent::Args),
    /// Print the effective configuration and where each value comes from
    Config(commands::config::Args),
    /// Print a completion script for a shell
    Completions(commands::completions::Args),
    /// Generate the manual pages
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
            TopCommand::Run(args) => commands::run::run(args, global),
            TopCommand::Execute(args) => commands::execute::run(args, global),
            TopCommand::Loop(args) => commands::goal::run(args, global),
            TopCommand::Demo(args) => commands::demo::run(args),
            TopCommand::Stop(args) => commands::stop::run(&args, global),
            TopCommand::Revert(args) => commands::revert::run(&args, global),
            TopCommand::Squash(args) => commands::squash::run(&args, global),
            TopCommand::Checkpoint(args) => commands::checkpoint::run(&args, global),
            TopCommand::Pause(args) => commands::pause::run(&args, global),
            TopCommand::Intervene(args) => commands::intervene::run(&args, global),
            TopCommand::Resume(args) => commands::resume::run(args, global),
            TopCommand::Retry(args) => commands::retry::run(args, global),
            TopCommand::Skip(args) => commands::skip::run(args, global),
            TopCommand::Unblock(args) => commands::unblock::run(args, global),
            TopCommand::Say(args) => commands::say::run(args, global),
            TopCommand::Answer(args) => commands::answer::run(args, global),
            TopCommand::Escalations(args) => commands::escalations::run(&args, global),
            TopCommand::Loops(args) => commands::loops::run(&args, global),
            TopCommand::Health(args) => commands::health::run(&args, global),
            TopCommand::Monitor(args) => commands::monitor::run(&args, global),
            TopCommand::Status(args) => commands::status::run(&args, global),
            TopCommand::Logs(args) => commands::logs::run(&args, global),
            TopCommand::Report(args) => commands::report::run(&args, global),
            TopCommand::Cost(args) => commands::cost::run(&args, global),
            TopCommand::Tokens(args) => commands::tokens::run(&args, global),
            TopCommand::Tasks(args) => commands::tasks::run(&args, global),
            TopCommand::Plan(args) => commands::plan::run(&args, global),
            TopCommand::Import(args) => commands::import::run(&args, global),
            TopCommand::Init(args) => commands::init::run(&args, global),
            TopCommand::Interview(args) => commands::interview::run(&args, global),
            TopCommand::Prompt(args) => commands::prompt::run(&args, global),
            TopCommand::Lint(args) => commands::lint::run(&args, global),
            TopCommand::Doctor(args) => commands::doctor::run(&args, global),
            TopCommand::Notify(args) => commands::notify::run(&args, global),
            TopCommand::Agent(args) => commands::agent::run(&args, global),
            TopCommand::Config(args) => commands::config::run(&args, global),
            TopCommand::Completions(args) => commands::completions::run(&args),
            TopCommand::Man(args) => commands::man::run(&args),
            TopCommand::PlayScript(args) => commands::play_script::run(&args),
        }
    }
}
