//! Lists of work as many tools and people write them: `passes` or another flag says that an item is done,
//! or a status in whatever words, or both.

use super::Syntax;
use super::error::FormatResult;
use super::fields::Field;
use super::layout::has_no_parts;
use super::render::Value;
use super::rules::{FormatRules, UsualPlace};
use super::status::{FileWords, Put, StatusMembers, put, says_done_or_not};
use crate::task::Status;

pub(super) const RULES: FormatRules = FormatRules {
    name: "prd",
    about: "A list of user stories or other work: PRD.json",
    syntax: Syntax::Json,
    place: UsualPlace::File("PRD.json"),
    named: None,
    own_lists: &["userStories", "user_stories", "stories", "features"],
    list: "userStories",
    project_mark: None,
    marks_task: |tree, name, value| match Field::of(name) {
        Some(Field::Passes) => true,
        Some(Field::Done) => says_done_or_not(tree, value),
        Some(_) => false,
        None => has_no_parts(tree, name, value),
    },
    status_fields: &[
        Field::Status,
        Field::State,
        Field::Passes,
        Field::Done,
        Field::CompletedAt,
        Field::Progress,
        Field::Skipped,
        Field::Blocked,
    ],
    words: Status::WORDS,
    word: Status::as_str,
    open_word: Some("pending"),
    lenient: true,
    read_status,
    write_status,
    new_status,
    members: &[
        (Field::Id, "id"),
        (Field::Title, "title"),
        (Field::Description, "description"),
        (Field::Acceptance, "acceptanceCriteria"),
        (Field::Verify, "verify"),
        (Field::DependsOn, "dependsOn"),
        (Field::Labels, "labels"),
        (Field::Priority, "priority"),
        (Field::Passes, "passes"),
    ],
    max_attempts: "maxAttempts",
    required: &[Field::Title],
    records: &[],
};

fn read_status(said: &StatusMembers<'_, '_>) -> FormatResult<Status> {
    let passes = match said.flag(Field::Passes)? {
        None => said.flag(Field::Done)?,
        passes => passes,
    };
    let skipped = said.flag(Field::Skipped)?;
    let blocked = said.flag(Field::Blocked)? == Some(true);
    let word = said.word_in_flag().or(said.word);
    said.warn_of_contradictions(passes)?;
    Ok(match (passes, skipped, word) {
        (Some(true), _, _) => Status::Completed,
        (_, Some(true), _) => Status::Skipped,
        (None, _, Some(Status::Completed)) => Status::Completed,
        (_, _, _) if blocked => Status::Blocked,
        // The flag is what the format is about: it wins over a word that disagrees.
        (Some(false), _, Some(Status::Completed)) => Status::Open,
        (_, Some(false), Some(Status::Skipped)) => Status::Open,
        (Some(false), _, None) => Status::Open,
        (_, _, Some(word)) => word,
        (None, _, None) => said.measured().unwrap_or(Status::Open),
    })
}

fn write_status(
    said: &StatusMembers<'_, '_>,
    to: Status,
    words: &FileWords<'_>,
) -> FormatResult<Vec<Put>> {
    let mut puts = Vec::new();
    let done = to == Status::Completed;
    for field in [Field::Passes, Field::Done] {
        puts.extend(said.flag_put(field, done)?);
    }
    let by_flag = said.has(Field::Passes) || said.has(Field::Done);
    if said.has(Field::Skipped) {
        puts.extend(said.flag_put(Field::Skipped, to == Status::Skipped)?);
    }
    if said.has(Field::Blocked) {
        puts.extend(said.flag_put(Field::Blocked, to == Status::Blocked)?);
    }
    if said.has_word() {
        if to == Status::Skipped && by_flag && !said.has(Field::Skipped) {
            puts.push(put(Field::Skipped, "skipped", Value::Bool(true)));
        }
        // A word that is not known counts as open.
        if said.word.unwrap_or(Status::Open) != to {
            puts.push(said.word_put(to, words));
        }
        return Ok(puts);
    }
    if !by_flag && matches!(to, Status::Open | Status::Completed) {
        puts.extend(said.measure_puts(to));
    }
    match to {
        Status::Open => {}
        Status::Completed if by_flag || said.can_measure_done() => {}
        Status::Completed => puts.push(words.done_put()),
        Status::Skipped if said.has(Field::Skipped) => {}
        Status::Skipped => puts.push(put(Field::Skipped, "skipped", Value::Bool(true))),
        Status::Blocked if said.has(Field::Blocked) => {}
        Status::InProgress | Status::Blocked | Status::Failed => {
            puts.push(said.word_put(to, words));
        }
    }
    Ok(puts)
}

fn new_status(status: Status) -> Vec<(&'static str, Value)> {
    let mut said = vec![("passes", Value::Bool(status == Status::Completed))];
    match status {
        Status::Open | Status::Completed => {}
        Status::Skipped => said.push(("skipped", Value::Bool(true))),
        Status::InProgress | Status::Blocked | Status::Failed => {
            said.push(("status", Value::text(status.as_str())));
        }
    }
    said
}
