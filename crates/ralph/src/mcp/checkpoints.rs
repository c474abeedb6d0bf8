//! The tools for checkpoints: `checkpoints_list` and `checkpoint_create`.

use ralph_engine::mcp::{ArgumentKind, ToolDefinition, ToolEffect};

use super::{Asked, Done, done, optional};
use crate::commands::checkpoint::{create, list as listing};

/// Checkpoints of a list, at most and by default.
const MOST_CHECKPOINTS: i64 = 100;
const SOME_CHECKPOINTS: u32 = 20;

pub(super) const LIST: ToolDefinition = ToolDefinition {
    name: "checkpoints_list",
    title: "List checkpoints",
    description: "Checkpoints of the last loop, newest first. The same as `ralph checkpoint list --json`.",
    effect: ToolEffect::Reads,
    arguments: &[
        optional(
            "all",
            ArgumentKind::Flag,
            "Those of all loops of this repository.",
        ),
        optional(
            "limit",
            ArgumentKind::Number {
                least: 1,
                most: MOST_CHECKPOINTS,
            },
            "At most this many; 20 by default.",
        ),
    ],
};

pub(super) async fn list(asked: &Asked<'_>) -> Done {
    let limit = asked.arguments.number("limit");
    let limit = limit.and_then(|n| u32::try_from(n).ok());
    let args = listing::Args {
        all: asked.arguments.flag("all"),
        limit: limit.unwrap_or(SOME_CHECKPOINTS),
        ..listing::Args::default()
    };
    done(&listing::gather(asked.project, &args).await?)
}

pub(super) const CREATE: ToolDefinition = ToolDefinition {
    name: "checkpoint_create",
    title: "Create a checkpoint",
    description: "Keeps where the loop stands now, also while it runs. The same as `ralph checkpoint create --json`.",
    effect: ToolEffect::Adds,
    arguments: &[optional(
        "note",
        ArgumentKind::Text { most: 2_000 },
        "A note for the checkpoint, and guidance for the next agent.",
    )],
};

pub(super) async fn create(asked: &Asked<'_>) -> Done {
    let note = asked.arguments.text("note");
    done(&create::create(asked.project, note).await?)
}
