//! ralph's own format: every status has its word, under `status`.

use super::Syntax;
use super::error::FormatResult;
use super::fields::Field;
use super::layout::TASKS;
use super::render::Value;
use super::rules::{FormatRules, UsualPlace};
use super::status::{FileWords, Put, StatusMembers};
use crate::task::Status;

pub(super) const RULES: FormatRules = FormatRules {
    name: "native",
    about: "ralph's own, in .ralph/tasks/",
    syntax: Syntax::Yaml,
    place: UsualPlace::TaskFolder,
    named: None,
    own_lists: &[],
    list: TASKS,
    project_mark: None,
    marks_task: |_, _, _| false,
    status_fields: &[Field::Status, Field::State],
    words: Status::WORDS,
    word: Status::as_str,
    open_word: Some("open"),
    lenient: false,
    read_status: |said| Ok(said.word.unwrap_or(Status::Open)),
    write_status,
    new_status: |status| vec![("status", Value::text(status.as_str()))],
    members: &[
        (Field::Id, "id"),
        (Field::Title, "title"),
        (Field::Description, "description"),
        (Field::Status, "status"),
        (Field::Priority, "priority"),
        (Field::DependsOn, "dependsOn"),
        (Field::Acceptance, "acceptance"),
        (Field::Verify, "verify"),
        (Field::Labels, "labels"),
    ],
    max_attempts: "maxAttempts",
    required: &[],
    records: &[],
};

fn write_status(
    said: &StatusMembers<'_, '_>,
    to: Status,
    words: &FileWords<'_>,
) -> FormatResult<Vec<Put>> {
    let differs = said.word.unwrap_or(Status::Open) != to;
    Ok(differs
        .then(|| said.word_put(to, words))
        .into_iter()
        .collect())
}
