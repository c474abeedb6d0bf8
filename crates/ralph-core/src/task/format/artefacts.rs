//! The `tasks.json` of an artefacts project: four status words, and flags beside `blocked` for what
//! they don't say.

use super::Syntax;
use super::error::FormatResult;
use super::fields::Field;
use super::layout::TASKS;
use super::render::Value;
use super::rules::{FormatRules, UsualPlace};
use super::status::{FileWords, Put, StatusMembers};
use super::tree::Kind;
use crate::task::Status;

pub(super) const RULES: FormatRules = FormatRules {
    name: "artefacts",
    about: "The tasks.json of an artefacts project",
    syntax: Syntax::Json,
    place: UsualPlace::ProjectFolder {
        below: ".artefacts",
        file: "tasks.json",
    },
    named: None,
    own_lists: &[],
    list: TASKS,
    project_mark: Some("project_name"),
    marks_task: |tree, name, value| match name {
        "dependencies" => true,
        "status" => tree.text(value) == "pending",
        // No task may be pending any more; the flag still tells.
        "blocked" => matches!(tree.kind(value), Kind::True | Kind::False),
        _ => false,
    },
    status_fields: &[
        Field::Status,
        Field::State,
        Field::Skipped,
        Field::Failed,
        Field::Blocked,
    ],
    words: &["pending", "in_progress", "completed", "blocked"],
    word,
    open_word: None,
    lenient: false,
    read_status,
    write_status,
    new_status,
    members: &[
        (Field::Id, "id"),
        (Field::Title, "title"),
        (Field::Description, "description"),
        (Field::Acceptance, "acceptance"),
        (Field::Verify, "verify"),
        (Field::Labels, "labels"),
        (Field::Priority, "priority"),
        (Field::Status, "status"),
        (Field::Dependencies, "dependencies"),
        (Field::Attempts, "attempts"),
        (Field::Blocked, "blocked"),
    ],
    max_attempts: "max_attempts",
    required: &[
        Field::Title,
        Field::Description,
        Field::Dependencies,
        Field::Attempts,
    ],
    records: &[],
};

/// Returns the format's word; a status that it has no word for is blocked, with a flag beside it.
fn word(status: Status) -> &'static str {
    match status {
        Status::Open => "pending",
        Status::InProgress => "in_progress",
        Status::Completed => "completed",
        Status::Blocked | Status::Failed | Status::Skipped => "blocked",
    }
}

fn read_status(said: &StatusMembers<'_, '_>) -> FormatResult<Status> {
    let is = |field| said.flag(field).map(|flag| flag.unwrap_or(false));
    let (blocked, failed) = (is(Field::Blocked)?, is(Field::Failed)?);
    let skipped = is(Field::Skipped)?;
    Ok(match said.word.unwrap_or(Status::Open) {
        Status::Completed => Status::Completed,
        Status::Failed => Status::Failed,
        Status::Skipped => Status::Skipped,
        other if other == Status::Blocked || blocked => match (failed, skipped) {
            (true, _) => Status::Failed,
            (false, true) => Status::Skipped,
            (false, false) => Status::Blocked,
        },
        other => other,
    })
}

fn write_status(
    said: &StatusMembers<'_, '_>,
    to: Status,
    words: &FileWords<'_>,
) -> FormatResult<Vec<Put>> {
    let mut puts = Vec::new();
    let coarse = if to.is_stuck() { Status::Blocked } else { to };
    if said.word.unwrap_or(Status::Open) != coarse {
        puts.push(said.word_put(coarse, words));
    }
    puts.extend(said.named_flag_put(Field::Blocked, "blocked", to.is_stuck())?);
    puts.extend(said.named_flag_put(Field::Failed, "failed", to == Status::Failed)?);
    puts.extend(said.named_flag_put(Field::Skipped, "skipped", to == Status::Skipped)?);
    Ok(puts)
}

fn new_status(status: Status) -> Vec<(&'static str, Value)> {
    let mut said = vec![
        ("status", Value::text(word(status))),
        ("blocked", Value::Bool(status.is_stuck())),
    ];
    match status {
        Status::Failed => said.push(("failed", Value::Bool(true))),
        Status::Skipped => said.push(("skipped", Value::Bool(true))),
        Status::Open | Status::InProgress | Status::Completed | Status::Blocked => {}
    }
    said
}
