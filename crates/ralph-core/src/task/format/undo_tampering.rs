//! Describes what an agent did to the task file while it ran, undone as far as it is not the agent's to do.
//!
//! A claim is not evidence: how tasks stand and what they ask for, which is all their text, is put back as it
//! was. Notes stay, and so do fields without text that ralph does not know. A new task is a suggestion: it is
//! taken out, and [`added_tasks`] tells it. Decides nothing about the task itself.

use std::collections::HashMap;

use super::{Change, Document, Edit, Meta, apply, parse, parse_loosely};
use crate::task::{Status, Task, TaskId};

/// The file as it should stand after a run, and what had to be put back.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct UndoneTampering {
    pub bytes: Vec<u8>,
    pub tampering: Vec<Tampering>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Tampering {
    /// The file could not be read any more; it is back as it was.
    Unreadable { message: String },
    /// A task was given another status.
    Status {
        task: TaskId,
        was: Status,
        claimed: Status,
    },
    /// A task was added; the file is back as it was.
    Added { task: TaskId },
    /// The count of attempts was changed.
    Attempts {
        task: TaskId,
        was: Option<u32>,
        claimed: Option<u32>,
    },
    /// The request of a task was changed, or the task was removed (`field` is then `id`); the file
    /// is back as it was.
    Rewritten { task: TaskId, field: &'static str },
    /// The file's statement about the project was changed; the file is back as it was.
    Header { field: &'static str },
}

impl std::fmt::Display for Tampering {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let count = |count: &Option<u32>| count.map_or("none".to_owned(), |n| n.to_string());
        match self {
            Self::Unreadable { message } => {
                write!(f, "the task file could not be read any more: {message}")
            }
            Self::Status { task, was, claimed } => {
                write!(f, "task {task} was set from {was} to {claimed}")
            }
            Self::Added { task } => write!(f, "task {task} was added, which is a suggestion"),
            Self::Attempts { task, was, claimed } => {
                let (was, claimed) = (count(was), count(claimed));
                write!(
                    f,
                    "the attempts of task {task} were set from {was} to {claimed}"
                )
            }
            Self::Rewritten { task, field: "id" } => write!(f, "task {task} was removed"),
            Self::Rewritten { task, field } => write!(f, "the {field} of task {task} was changed"),
            Self::Header { field } => write!(f, "the {field} of the task file was changed"),
        }
    }
}

/// Compares a task file before and after a run of an agent on the task `own`.
pub fn undo_tampering(
    file_name: &str,
    before: &[u8],
    after: &[u8],
    own: &TaskId,
) -> UndoneTampering {
    // Where even the old file can't be read there is nothing to compare with.
    let Ok(old) = parse(file_name, 0, before) else {
        return untouched(before);
    };
    if before == after {
        return untouched(before);
    }
    let added = added_to(&old.tasks, parse_loosely(file_name, after));
    let mut tampering: Vec<Tampering> = Vec::new();
    let bytes = match parse(file_name, 0, after) {
        Err(error) => {
            let message = error.to_string();
            tampering.push(Tampering::Unreadable { message });
            before.to_vec()
        }
        Ok(new) => {
            let rewritten = rewritten(&old, &new);
            let (edits, claims) = restore(&old, &new);
            let restored = if rewritten.is_empty() && added.is_empty() {
                restored(file_name, after, &old, &edits)
            } else {
                None
            };
            tampering.extend(if rewritten.is_empty() {
                claims
            } else {
                rewritten
            });
            restored.unwrap_or_else(|| with_notes(file_name, before, &old, &new, own))
        }
    };
    tampering.extend(added.iter().map(|task| Tampering::Added {
        task: task.id.clone(),
    }));
    UndoneTampering { bytes, tampering }
}

/// The tasks that a run added to a file, as it wrote them.
pub fn added_tasks(file_name: &str, before: &[u8], after: &[u8]) -> Vec<Task> {
    match parse(file_name, 0, before) {
        Ok(old) => added_to(&old.tasks, parse_loosely(file_name, after)),
        Err(_) => Vec::new(),
    }
}

fn untouched(bytes: &[u8]) -> UndoneTampering {
    UndoneTampering {
        bytes: bytes.to_vec(),
        tampering: Vec::new(),
    }
}

/// The tasks of `new` that are none of `old`. Of several with an id that was there, the one that asks for the
/// same is the one that was there, else the first.
fn added_to(old: &[Task], mut new: Vec<Task>) -> Vec<Task> {
    let mut by_id: HashMap<&TaskId, Vec<usize>> = HashMap::new();
    for (at, task) in new.iter().enumerate() {
        by_id.entry(&task.id).or_default().push(at);
    }
    let mut known = vec![false; new.len()];
    for was in old {
        let Some(same_id) = by_id.get(&was.id) else {
            continue;
        };
        let mut candidates = same_id.iter();
        let same = candidates.find(|at| changed_field(was, &new[**at]).is_none());
        if let Some(at) = same.or(same_id.first()) {
            known[*at] = true;
        }
    }
    let mut known = known.into_iter();
    new.retain(|_| !known.next().unwrap_or(false));
    new
}

/// The new file with the edits, if it then stands as the old one did.
fn restored(file_name: &str, after: &[u8], old: &Document, edits: &[Edit]) -> Option<Vec<u8>> {
    let bytes = apply(file_name, after, edits).ok()?;
    let now = parse(file_name, 0, &bytes).ok()?;
    let (left, _) = restore(old, &now);
    (left.is_empty() && rewritten(old, &now).is_empty()).then_some(bytes)
}

/// The old file with the notes that the run left for its own task.
fn with_notes(
    file_name: &str,
    before: &[u8],
    old: &Document,
    new: &Document,
    own: &TaskId,
) -> Vec<u8> {
    let notes = |document: &Document| {
        let task = document.tasks.iter().find(|task| task.id == *own);
        task.and_then(|task| task.text.notes.clone())
    };
    match (notes(old), notes(new)) {
        (was, Some(text)) if was.as_ref() != Some(&text) => {
            let edit = Edit {
                task: own.clone(),
                change: Change::Notes(text),
            };
            // Notes are not worth an error.
            apply(file_name, before, &[edit]).unwrap_or_else(|_| before.to_vec())
        }
        (_, _) => before.to_vec(),
    }
}

fn rewritten(old: &Document, new: &Document) -> Vec<Tampering> {
    let by_id: HashMap<&TaskId, &Task> = new.tasks.iter().map(|task| (&task.id, task)).collect();
    let mut found: Vec<Tampering> = header_changes(&old.meta, &new.meta)
        .map(|field| Tampering::Header { field })
        .collect();
    for was in &old.tasks {
        let field = match by_id.get(&was.id) {
            None => Some("id"),
            Some(now) => changed_field(was, now),
        };
        found.extend(field.map(|field| Tampering::Rewritten {
            task: was.id.clone(),
            field,
        }));
    }
    found
}

fn header_changes(was: &Meta, now: &Meta) -> impl Iterator<Item = &'static str> + use<> {
    let fields = [
        ("project", was.project != now.project),
        ("branchName", was.branch_name != now.branch_name),
        ("title", was.title != now.title),
        ("description", was.description != now.description),
    ];
    fields
        .into_iter()
        .filter(|(_, changed)| *changed)
        .map(|(field, _)| field)
}

/// The first field of what a task asks for that is no longer the same.
fn changed_field(was: &Task, now: &Task) -> Option<&'static str> {
    let fields = [
        ("title", was.text.title != now.text.title),
        ("description", was.text.description != now.text.description),
        ("acceptance", was.text.acceptance != now.text.acceptance),
        ("verify", was.verify != now.verify),
        ("dependsOn", was.links.depends_on != now.links.depends_on),
        ("parentId", was.links.parent_id != now.links.parent_id),
        ("priority", was.priority != now.priority),
        ("maxAttempts", was.attempts.max != now.attempts.max),
        // Without it a run that changed nothing could pass for done.
        (
            "expectsChange",
            was.text.expects_change != now.text.expects_change,
        ),
        // A count that was not there can't be put back, only taken out.
        (
            "attempts",
            was.attempts.made.is_none() && now.attempts.made.is_some(),
        ),
    ];
    fields
        .into_iter()
        .find(|(_, changed)| *changed)
        .map(|(field, _)| field)
}

fn restore(old: &Document, new: &Document) -> (Vec<Edit>, Vec<Tampering>) {
    let by_id: HashMap<&TaskId, &Task> = old.tasks.iter().map(|task| (&task.id, task)).collect();
    let (mut edits, mut tampering) = (Vec::new(), Vec::new());
    for now in &new.tasks {
        let mut edit = |change| {
            edits.push(Edit {
                task: now.id.clone(),
                change,
            });
        };
        let Some(was) = by_id.get(&now.id) else {
            continue;
        };
        if now.status != was.status {
            edit(Change::Status(was.status));
            tampering.push(Tampering::Status {
                task: now.id.clone(),
                was: was.status,
                claimed: now.status,
            });
        }
        if was.attempts.made != now.attempts.made {
            edit(Change::Attempts(was.attempts.made.unwrap_or(0)));
            tampering.push(Tampering::Attempts {
                task: now.id.clone(),
                was: was.attempts.made,
                claimed: now.attempts.made,
            });
        }
    }
    (edits, tampering)
}
