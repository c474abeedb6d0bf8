//! The one tool by which an agent in a run writes something: a note in the progress file, where it works.
//!
//! The file is one that agents may write themselves. A note is one line of a fixed form, and looks like nothing else.

use ralph_core::memory::{AgentNote, MAX_NOTE_CHARS};
use ralph_engine::{
    mcp::{ArgumentKind, ToolDefinition, ToolEffect},
    progress_file::add_agent_note,
};
use serde_json::json;

use super::{Asked, Done, required};
use crate::{error::CommandError, project::Project};

pub(super) const NOTE: ToolDefinition = ToolDefinition {
    name: "note",
    title: "Keep a note",
    description: "Keeps a learning of this iteration in the progress file, for the agents that come after. One that \
        begins with `pattern:` holds for the whole code base and is shown to all of them.",
    effect: ToolEffect::Adds,
    arguments: &[required(
        "text",
        ArgumentKind::Text {
            most: MAX_NOTE_CHARS,
        },
        "What was learnt, in one or two sentences.",
    )],
};

pub(super) async fn note(asked: &Asked<'_>) -> Done {
    let project = asked.project;
    let text = asked.arguments.text("text").unwrap_or_default();
    let environment = project.environment(project.root());
    let note = AgentNote {
        of: iteration(project).await,
        text: environment.redaction().hide(text).into_owned(),
    };
    let written = add_agent_note(project.root(), project.config(), &note);
    let file = written.map_err(CommandError::user)?;
    Ok(json!({ "file": project.shown(&file) }))
}

/// The iteration under way, where the journal can be read from here.
async fn iteration(project: &Project) -> Option<(u64, String)> {
    let (mut journal, repository) = project.journal().await.ok()??;
    let row = journal.last_iterations(&repository, 1).await.ok()?.pop()?;
    row.ended_at.is_none().then_some((row.n, row.task_id))
}
