//! The members of a task that say its status, and those that say so after a change. Both ways lose
//! nothing: what is written reads back as what was meant.
//!
//! Which members mean what is the format's; this reads them, and names what is wrong with a word.

use super::Format;
use super::error::{Fault, FormatResult, shorten};
use super::fields::{Field, Fields};
use super::read;
use super::render::FieldValue;
use super::tree::{At, Kind, Tree};
use super::words;
use crate::task::Status;

/// A member that is to have a value.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Put {
    pub(super) field: Field,
    /// Its name, where it has to be added.
    pub(super) name: String,
    pub(super) value: FieldValue,
}

/// Describes what a task says about its status so far.
pub(super) struct StatusMembers<'t, 'a> {
    tree: &'t Tree<'a>,
    fields: &'t Fields,
    /// Tells what its status word means.
    pub(super) word: Option<Status>,
}

impl<'t, 'a> StatusMembers<'t, 'a> {
    fn of(tree: &'t Tree<'a>, format: Format, fields: &'t Fields) -> FormatResult<Self> {
        Ok(Self {
            tree,
            fields,
            word: word(tree, format, fields)?,
        })
    }

    pub(super) fn flag(&self, field: Field) -> FormatResult<Option<bool>> {
        let at = self.fields.get(self.tree, field);
        at.map(|at| read::boolean(self.tree, at)).transpose()
    }

    /// Returns what is to be written so that a flag is as wanted.
    pub(super) fn flag_put(
        &self,
        field: Field,
        name: &str,
        want: bool,
    ) -> FormatResult<Option<Put>> {
        // False is only written over a true: an absent flag says the same.
        let is = self.flag(field)? == Some(true);
        Ok((is != want).then(|| put(field, name, FieldValue::Bool(want))))
    }
}

pub(super) fn parse(tree: &Tree<'_>, format: Format, fields: &Fields) -> FormatResult<Status> {
    (format.rules().read_status)(&StatusMembers::of(tree, format, fields)?)
}

/// The members to set so that the task reads as `to`. Empty where it does already and nothing in
/// it disagrees.
pub(super) fn puts<'w>(
    tree: &Tree<'_>,
    format: Format,
    fields: &Fields,
    to: Status,
    vocabulary: impl Fn() -> &'w words::Vocabulary,
) -> FormatResult<Vec<Put>> {
    let rules = format.rules();
    let said = StatusMembers::of(tree, format, fields)?;
    let word = |status| {
        if rules.follows_words {
            vocabulary().word(status)
        } else {
            (rules.word)(status).to_owned()
        }
    };
    (rules.write_status)(&said, to, &word)
}

fn word(tree: &Tree<'_>, format: Format, fields: &Fields) -> FormatResult<Option<Status>> {
    let Some(at) = fields.get(tree, Field::Status) else {
        return Ok(None);
    };
    let text = read::text(tree, at, "a status word")?;
    match (format.rules().meaning)(&text) {
        Some(status) => Ok(Some(status)),
        None => Err(unknown_word(tree, format, at, &text)),
    }
}

fn unknown_word(tree: &Tree<'_>, format: Format, at: At, text: &str) -> Box<Fault> {
    let mut message = format!(
        "expected a status ({}), found \"{}\"",
        format.rules().words.join(", "),
        shorten(text, 40)
    );
    if let Some(near) = words::nearest(format, text) {
        message.push_str(&format!("; did you mean \"{near}\"?"));
    }
    Fault::at(tree.start(at), message)
}

pub(super) fn status_put(word: &str) -> Put {
    put(Field::Status, "status", FieldValue::Text(word.to_owned()))
}

pub(super) fn put(field: Field, name: &str, value: FieldValue) -> Put {
    Put {
        field,
        name: name.to_owned(),
        value,
    }
}

/// The status member, if it holds a word at all.
pub(super) fn has_word(tree: &Tree<'_>, fields: &Fields) -> Option<At> {
    fields
        .get(tree, Field::Status)
        .filter(|at| tree.kind(*at) == Kind::Text)
}
