//! The `ralph` program: arguments in, exit code out.

mod cli;
mod commands;
mod error;
mod output;
mod project;

fn main() -> std::process::ExitCode {
    cli::main()
}
