//! Lists of user stories, as many tools write them: `passes` says that a story is done, and a status
//! may stand beside it, in whatever words.

use super::Syntax;
use super::error::FormatResult;
use super::fields::Field;
use super::render::Value;
use super::rules::{FormatRules, UsualPlace};
use super::status::synonym;
use super::status::{Put, StatusMembers, status_put};
use crate::task::Status;

pub(super) const RULES: FormatRules = FormatRules {
    name: "prd",
    about: "A list of user stories: PRD.json",
    syntax: Syntax::Json,
    place: UsualPlace::File("PRD.json"),
    own_lists: &["userStories", "user_stories", "stories", "features"],
    list: "userStories",
    project_mark: None,
    marks_task: |_, name, _| name == "passes",
    status_fields: &[Field::Status, Field::Passes, Field::Skipped],
    words: Status::WORDS,
    meaning: synonym,
    word: Status::as_str,
    follows_words: true,
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
};

fn read_status(said: &StatusMembers<'_, '_>) -> FormatResult<Status> {
    let passes = said.flag(Field::Passes)?;
    let skipped = said.flag(Field::Skipped)?;
    Ok(match (passes, skipped, said.word) {
        (Some(true), _, _) => Status::Completed,
        (_, Some(true), _) => Status::Skipped,
        // `passes` is what the format is about: it wins over a word that disagrees.
        (Some(false), _, Some(Status::Completed)) => Status::Open,
        (_, Some(false), Some(Status::Skipped)) => Status::Open,
        (_, _, word) => word.unwrap_or(Status::Open),
    })
}

fn write_status(
    said: &StatusMembers<'_, '_>,
    to: Status,
    word: &dyn Fn(Status) -> String,
) -> FormatResult<Vec<Put>> {
    let mut puts = Vec::new();
    puts.extend(said.flag_put(Field::Passes, "passes", to == Status::Completed)?);
    puts.extend(said.flag_put(Field::Skipped, "skipped", to == Status::Skipped)?);
    let by_word = matches!(to, Status::InProgress | Status::Blocked | Status::Failed);
    if said.word.map_or(by_word, |said| said != to) {
        puts.push(status_put(&word(to)));
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
