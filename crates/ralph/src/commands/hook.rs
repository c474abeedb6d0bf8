//! `ralph hook`: what the plugin for Claude Code and the package for Pi ask. One JSON document comes in on standard
//! input, at most one goes out.
//!
//! Only reads the question: what follows is in `session`. An answer to Claude Code must never fail for a reason that
//! is not the agent's.

use std::{io::Read as _, path::PathBuf, process::ExitCode};

use ralph_core::{economics::ModelCall, id::LoopId, session_loop::SessionEndReason};
use serde::{Deserialize, de::DeserializeOwned};
use serde_json::Value;

use crate::{
    cli::Global,
    error::CommandError,
    output,
    session::{
        claude::{ClaudeSession, HookInput},
        journal::{self, IterationTold, SessionStart},
    },
};

/// The most bytes of a question.
const MOST_BYTES: u64 = 64 * 1024 * 1024;

#[derive(Debug, clap::Subcommand)]
pub(crate) enum HookCommand {
    /// Decide whether Claude Code may stop (its Stop hook)
    Stop,
    /// Answer a command of the plugin (its UserPromptExpansion hook)
    Prompt,
    /// End the loop of a session that is resumed (its SessionStart hook)
    SessionStart,
    /// End the loop of a session that ends (its SessionEnd hook)
    SessionEnd,
    /// Record a loop that begins in a session
    Start,
    /// Record an iteration of a loop in a session
    Iteration,
    /// Verify the working tree for a loop in a session
    Verify,
    /// Record the end of a loop in a session
    End,
}

#[derive(Deserialize)]
struct LoopNamed {
    #[serde(rename = "loop")]
    loop_id: LoopId,
}

#[derive(Deserialize)]
struct EndTold {
    #[serde(rename = "loop")]
    loop_id: LoopId,
    reason: SessionEndReason,
}

pub(crate) fn dispatch(command: &HookCommand, global: &Global) -> Result<ExitCode, CommandError> {
    match command {
        HookCommand::Stop => return Ok(tell_of_failure(claude(global).and_then(|of| of.stop()))),
        HookCommand::SessionStart => {
            return Ok(tell_of_failure(
                claude(global).and_then(|of| of.session_start()),
            ));
        }
        HookCommand::SessionEnd => {
            return Ok(tell_of_failure(
                claude(global).and_then(|of| of.session_end()),
            ));
        }
        HookCommand::Prompt => answer(&claude(global)?.expand()?),
        HookCommand::Start => {
            let start: SessionStart = question()?;
            output::print_json_line(&journal::start(global, &start)?)
        }
        HookCommand::Iteration => {
            let told: IterationTold = question()?;
            let calls = told.calls.iter().cloned().map(ModelCall::from);
            let calls: Vec<ModelCall> = calls.collect();
            output::print_json_line(&journal::record(global, &told, &calls)?)
        }
        HookCommand::Verify => {
            let named: LoopNamed = question()?;
            output::print_json_line(&journal::verify(global, &named.loop_id)?)
        }
        HookCommand::End => {
            let told: EndTold = question()?;
            output::print_json_line(&journal::end(global, &told.loop_id, told.reason)?)
        }
    }?;
    Ok(ExitCode::SUCCESS)
}

/// Answers, or says what is wrong with exit code 1: with 2, an error would send the agent back to work.
fn tell_of_failure(answered: Result<Option<Value>, CommandError>) -> ExitCode {
    match answered.and_then(|value| answer(&value)) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            output::print_error(&error);
            ExitCode::FAILURE
        }
    }
}

/// The session that Claude Code tells of. The folder that it was started in is in a variable of its hooks.
fn claude(global: &Global) -> Result<ClaudeSession, CommandError> {
    let input: HookInput = question()?;
    let project = std::env::var_os("CLAUDE_PROJECT_DIR").map(PathBuf::from);
    let project = project.filter(|path| path.is_absolute());
    Ok(ClaudeSession::new(input, global, project))
}

fn question<T: DeserializeOwned>() -> Result<T, CommandError> {
    let mut bytes = Vec::new();
    let input = std::io::stdin().lock();
    input.take(MOST_BYTES).read_to_end(&mut bytes)?;
    serde_json::from_slice(&bytes).map_err(|error| {
        CommandError::user(format!(
            "the question on standard input can't be read: {error}"
        ))
        .hint("hooks of Claude Code and Pi ask this; people have no need to")
    })
}

fn answer(value: &Option<Value>) -> Result<(), CommandError> {
    match value {
        Some(value) => output::print_json_line(value),
        None => Ok(()),
    }
}
