//! What each format says about where a task stands, and which of its members say so after a
//! change. Both ways lose nothing: what is written reads back as what was meant.
//!
//! Decides which members get which value; writes no text.

use super::Format;
use super::error::{Fault, Outcome, shorten};
use super::fields::{Field, Fields};
use super::read;
use super::render::Value;
use super::tree::{At, Kind, Tree};
use super::words;
use crate::task::Status;

/// A member that is to have a value.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Put {
    pub(super) field: Field,
    /// Its name, where it has to be added.
    pub(super) name: String,
    pub(super) value: Value,
}

pub(super) fn parse(tree: &Tree<'_>, format: Format, fields: &Fields) -> Outcome<Status> {
    let word = word(tree, format, fields)?;
    Ok(match format {
        Format::Native => word.unwrap_or(Status::Open),
        Format::Prd => {
            let passes = flag(tree, fields, Field::Passes)?;
            let skipped = flag(tree, fields, Field::Skipped)?;
            match (passes, skipped, word) {
                (Some(true), _, _) => Status::Completed,
                (_, Some(true), _) => Status::Skipped,
                // `passes` is what the format is about: it wins over a word that disagrees.
                (Some(false), _, Some(Status::Completed)) => Status::Open,
                (_, Some(false), Some(Status::Skipped)) => Status::Open,
                (_, _, word) => word.unwrap_or(Status::Open),
            }
        }
        Format::Artefacts => {
            let blocked = flag(tree, fields, Field::Blocked)?.unwrap_or(false);
            let failed = flag(tree, fields, Field::Failed)?.unwrap_or(false);
            let skipped = flag(tree, fields, Field::Skipped)?.unwrap_or(false);
            match word.unwrap_or(Status::Open) {
                Status::Completed => Status::Completed,
                Status::Failed => Status::Failed,
                Status::Skipped => Status::Skipped,
                other if other == Status::Blocked || blocked => match (failed, skipped) {
                    (true, _) => Status::Failed,
                    (false, true) => Status::Skipped,
                    (false, false) => Status::Blocked,
                },
                other => other,
            }
        }
    })
}

fn flag(tree: &Tree<'_>, fields: &Fields, field: Field) -> Outcome<Option<bool>> {
    let at = fields.get(tree, field);
    at.map(|at| read::boolean(tree, at)).transpose()
}

fn word(tree: &Tree<'_>, format: Format, fields: &Fields) -> Outcome<Option<Status>> {
    let Some(at) = fields.get(tree, Field::Status) else {
        return Ok(None);
    };
    let text = read::text(tree, at, "a status word")?;
    match words::meaning(format, &text) {
        Some(status) => Ok(Some(status)),
        None => Err(unknown_word(tree, format, at, &text)),
    }
}

fn unknown_word(tree: &Tree<'_>, format: Format, at: At, text: &str) -> Box<Fault> {
    let allowed = words::allowed(format);
    let mut message = format!(
        "expected a status ({}), found \"{}\"",
        allowed.join(", "),
        shorten(text, 40)
    );
    if let Some(near) = words::nearest(format, text) {
        message.push_str(&format!("; did you mean \"{near}\"?"));
    }
    Fault::at(tree.start(at), message)
}

/// The members to set so that the task reads as `to`. Empty where it does already and nothing in
/// it disagrees.
pub(super) fn puts<'w>(
    tree: &Tree<'_>,
    format: Format,
    fields: &Fields,
    to: Status,
    vocabulary: impl Fn() -> &'w words::Vocabulary,
) -> Outcome<Vec<Put>> {
    let said = word(tree, format, fields)?;
    let mut puts = Vec::new();
    let mut set_flag = |field: Field, name: &str, want: bool| -> Outcome<()> {
        let is = flag(tree, fields, field)?;
        // False is only written over a true: an absent flag says the same.
        let differs = if want {
            is != Some(true)
        } else {
            is == Some(true)
        };
        if differs {
            puts.push(put(field, name, Value::Bool(want)));
        }
        Ok(())
    };
    match format {
        Format::Native => {
            if said.unwrap_or(Status::Open) != to {
                puts.push(status_put(to.as_str()));
            }
        }
        Format::Prd => {
            set_flag(Field::Passes, "passes", to == Status::Completed)?;
            set_flag(Field::Skipped, "skipped", to == Status::Skipped)?;
            let by_word = matches!(to, Status::InProgress | Status::Blocked | Status::Failed);
            if said.map_or(by_word, |said| said != to) {
                puts.push(status_put(&vocabulary().word(to)));
            }
        }
        Format::Artefacts => {
            let stuck = matches!(to, Status::Blocked | Status::Failed | Status::Skipped);
            set_flag(Field::Blocked, "blocked", stuck)?;
            set_flag(Field::Failed, "failed", to == Status::Failed)?;
            set_flag(Field::Skipped, "skipped", to == Status::Skipped)?;
            let coarse = if stuck { Status::Blocked } else { to };
            if said.unwrap_or(Status::Open) != coarse {
                puts.insert(0, status_put(words::artefacts_word(coarse)));
            }
        }
    }
    Ok(puts)
}

fn status_put(word: &str) -> Put {
    put(Field::Status, "status", Value::Text(word.to_owned()))
}

pub(super) fn put(field: Field, name: &str, value: Value) -> Put {
    Put {
        field,
        name: name.to_owned(),
        value,
    }
}

/// Whether a status member holds a word at all.
pub(super) fn has_word(tree: &Tree<'_>, fields: &Fields) -> Option<At> {
    fields
        .get(tree, Field::Status)
        .filter(|at| tree.kind(*at) == Kind::Text)
}
