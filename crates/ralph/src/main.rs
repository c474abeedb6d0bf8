//! The `ralph` program: arguments in, exit code out.

mod artefacts;
mod board;
mod cli;
mod commands;
mod error;
mod output;
mod project;
mod purse;
mod queue;
mod view;

fn main() -> std::process::ExitCode {
    cli::main()
}
