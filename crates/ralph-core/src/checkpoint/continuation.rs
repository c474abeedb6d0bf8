//! The continuation prompt: what a fresh agent is told of the work so far, instead of the words of the
//! agent before it.
//!
//! Each entry is one line, whatever an agent wrote into it: nothing in a list can pass for a heading.

use std::fmt::Write as _;

use super::{Checkpoint, Item};
use crate::sanitize::one_line;

/// The text, in the layout that agents are given everywhere.
pub fn continuation(checkpoint: &Checkpoint) -> String {
    let Checkpoint {
        metadata,
        execution,
        context,
        recovery,
        ..
    } = checkpoint;
    let mut text = format!(
        "## Handoff from Iteration {}\n\n**Phase:** {}\n**Last Agent:** {}\n**Checkpoint:** {}\n",
        metadata.iteration.unwrap_or(0),
        execution.phase,
        one_line(&metadata.agent, usize::MAX),
        metadata.checkpoint_id,
    );
    section(&mut text, "Completed", execution.completed.iter().map(item));
    section(&mut text, "Pending", execution.pending.iter().map(item));
    let blocked = execution.blocked.iter();
    let blocked = blocked.map(|one| match one.reason.trim() {
        "" => one.item.clone(),
        reason => format!("{}: {reason}", one.item),
    });
    section(&mut text, "Blocked", blocked);
    section(
        &mut text,
        "Key Decisions",
        context.decisions.iter().cloned(),
    );
    let next = recovery.continuation_prompt.trim_end();
    // Writing to a string can't fail.
    let _ = write!(text, "\n### Next Steps\n{next}\n");
    text
}

fn item(item: &Item) -> String {
    match item.title.trim() {
        "" => item.task_id.clone(),
        title => format!("{} {title}", item.task_id),
    }
}

fn section(text: &mut String, heading: &str, entries: impl Iterator<Item = String>) {
    let _ = write!(text, "\n### {heading}\n");
    let mut any = false;
    for entry in entries {
        any = true;
        let _ = writeln!(text, "- {}", one_line(&entry, usize::MAX));
    }
    if !any {
        text.push_str("- none\n");
    }
}
