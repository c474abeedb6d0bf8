//! The `ralph` program: arguments in, exit code out.

mod artefacts;
mod ask;
mod board;
mod cli;
mod commands;
mod error;
mod hangup;
mod inside_run;
mod integration;
mod mcp;
mod moment;
mod output;
mod project;
mod queue;
mod sandboxed;
mod session;
mod side_budget;
mod view;

fn main() -> std::process::ExitCode {
    cli::main()
}
