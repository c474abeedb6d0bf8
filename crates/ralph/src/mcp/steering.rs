//! The tools that pass on what a person wants: `pause`, `resume` and `say`.
//!
//! No tool starts a loop: it would need a terminal, or outlive the server that started it.

use std::time::Duration;

use ralph_core::command::{Command, When};
use ralph_engine::{
    lock::Lock,
    mcp::{ArgumentKind, ToolDefinition, ToolEffect},
};

use super::{Asked, Done, WORDS, done, optional, required};
use crate::{
    error::CommandError,
    queue::{self, PATIENCE},
};

/// The wait for an agent that is stopped; after it the command is said to be queued. Clients give up on a call after a
/// minute.
const UNTIL_STOPPED: Duration = Duration::from_secs(30);

pub(super) const PAUSE: ToolDefinition = ToolDefinition {
    name: "pause",
    title: "Pause the loop",
    description: "Pauses the loop after the current iteration, or immediately. It stays paused until `resume`.",
    effect: ToolEffect::Changes,
    arguments: &[optional(
        "now",
        ArgumentKind::Flag,
        "Stop the running agent cleanly; its work is kept and no attempt is charged.",
    )],
};

pub(super) async fn pause(asked: &Asked<'_>) -> Done {
    let (when, patience) = if asked.arguments.flag("now") {
        (When::Now, UNTIL_STOPPED)
    } else {
        (When::InTurn, PATIENCE)
    };
    send(asked, &Command::Pause { when }, patience).await
}

pub(super) const RESUME: ToolDefinition = ToolDefinition {
    name: "resume",
    title: "Resume a paused loop",
    description: "Lets a paused loop go on. A loop whose process is gone is not started: a person does that with \
        `ralph resume` in a terminal.",
    effect: ToolEffect::Changes,
    arguments: &[],
};

pub(super) async fn resume(asked: &Asked<'_>) -> Done {
    let root = asked.project.git_root()?;
    if !Lock::is_held(&asked.project.data_dir()?, &root) {
        let message = "no loop is running here, so there is no pause to lift";
        return Err(CommandError::user(message)
            .hint(
                "`ralph resume` in a terminal starts the last loop again; this server starts none",
            )
            .into());
    }
    send(asked, &Command::Resume, PATIENCE).await
}

pub(super) const SAY: ToolDefinition = ToolDefinition {
    name: "say",
    title: "Say something to the agents",
    description: "Gives a message to the next agent and later ones that work on the same task, or to the running one.",
    effect: ToolEffect::Adds,
    arguments: &[
        required("text", WORDS, "The message."),
        optional(
            "now",
            ArgumentKind::Flag,
            "Send it to the running agent; if that is not possible, it goes into the next prompt.",
        ),
    ],
};

pub(super) async fn say(asked: &Asked<'_>) -> Done {
    let text = asked.arguments.text("text").unwrap_or_default();
    let command = Command::Say {
        text: text.to_owned(),
        when: if asked.arguments.flag("now") {
            When::Now
        } else {
            When::InTurn
        },
    };
    send(asked, &command, PATIENCE).await
}

async fn send(asked: &Asked<'_>, command: &Command, patience: Duration) -> Done {
    done(&queue::deliver(asked.project, command, patience).await?)
}
