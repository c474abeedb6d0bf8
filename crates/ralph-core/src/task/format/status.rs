//! The members of a task that say its status, and those that say so after a change. Both ways lose
//! nothing: what is written reads back as what was meant.
//!
//! Which members mean what is the format's; this reads them, and names what is wrong with a word.

use super::{
    Format,
    error::{Fault, FormatResult, shorten},
    fields::{Field, Fields},
    layout::Layout,
    read,
    render::Value,
    tree::{At, Kind, Tree},
};
use crate::task::Status;

/// A member that is to have a value.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Put {
    pub(super) field: Field,
    /// Its name, where it has to be added.
    pub(super) name: String,
    pub(super) value: Value,
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
        Ok((is != want).then(|| put(field, name, Value::Bool(want))))
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
    vocabulary: impl Fn() -> &'w Vocabulary,
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
    if let Some(near) = nearest(format, text) {
        message.push_str(&format!("; did you mean \"{near}\"?"));
    }
    Fault::at(tree.start(at), message)
}

pub(super) fn status_put(word: &str) -> Put {
    put(Field::Status, "status", Value::Text(word.to_owned()))
}

pub(super) fn put(field: Field, name: &str, value: Value) -> Put {
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

/// Defines what people write in PRD files, separators and case aside.
const SYNONYMS: [(Status, &str); 6] = [
    (
        Status::Open,
        "open pending todo to_do not_started notstarted new ready planned backlog queued \
         draft incomplete unstarted",
    ),
    (
        Status::InProgress,
        "in_progress inprogress started doing active wip working ongoing in_review review",
    ),
    (
        Status::Completed,
        "completed complete done passed passes passing pass finished closed implemented \
         verified success merged",
    ),
    (
        Status::Blocked,
        "blocked on_hold waiting stuck paused escalated",
    ),
    (Status::Failed, "failed fail failing error"),
    (
        Status::Skipped,
        "skipped skip cancelled canceled wontfix wont_fix deferred abandoned",
    ),
];

/// The status that a word means to people.
pub(super) fn synonym(word: &str) -> Option<Status> {
    let word = word.trim().to_lowercase().replace(['-', ' '], "_");
    SYNONYMS
        .iter()
        .find(|(_, words)| words.split(' ').any(|known| known == word))
        .map(|(status, _)| *status)
}

/// The allowed word that was probably meant.
pub(super) fn nearest(format: Format, word: &str) -> Option<&'static str> {
    let rules = format.rules();
    let meant = synonym(word).map(rules.word);
    let near = || {
        let words = rules.words.iter().copied();
        words
            .map(|known| (strsim::jaro_winkler(known, &word.to_lowercase()), known))
            .filter(|(score, _)| *score > 0.8)
            .max_by(|a, b| a.0.total_cmp(&b.0))
            .map(|(_, known)| known)
    };
    meant.or_else(near)
}

/// The status words that a file uses, each once, in the order of the file.
pub(super) struct Vocabulary {
    seen: Vec<String>,
}

impl Vocabulary {
    pub(super) fn empty() -> Self {
        Self { seen: Vec::new() }
    }

    pub(super) fn of(tree: &Tree<'_>, layout: &Layout) -> Self {
        let mut seen: Vec<String> = Vec::new();
        for task in layout
            .tasks
            .iter()
            .filter(|at| tree.kind(**at) == Kind::Map)
        {
            if let Some(at) = has_word(tree, &Fields::of(tree, *task)) {
                let word = tree.text(at);
                if !seen.iter().any(|known| *known == word) {
                    seen.push(word.into_owned());
                }
            }
        }
        Self { seen }
    }

    /// The word for a status: the file's own, else one in the manner of those it has.
    pub(super) fn word(&self, status: Status) -> String {
        if let Some(own) = self.seen.iter().find(|word| synonym(word) == Some(status)) {
            return own.clone();
        }
        let has = |word: &str| self.seen.iter().any(|seen| seen.eq_ignore_ascii_case(word));
        let plain = match status {
            Status::Open if has("done") => "todo",
            Status::Open if !self.seen.is_empty() => "pending",
            Status::Completed if has("todo") || has("to_do") || has("to-do") => "done",
            Status::Completed if has("incomplete") => "complete",
            other => other.as_str(),
        };
        self.dress(plain)
    }

    /// Case and separator as the file's other words have them.
    fn dress(&self, word: &str) -> String {
        let separated = self.seen.iter().find(|seen| seen.contains(['-', ' ', '_']));
        let word = match separated.and_then(|seen| seen.chars().find(|c| "- _".contains(*c))) {
            Some(separator) => word.replace('_', &separator.to_string()),
            None => word.to_owned(),
        };
        let Some(model) = self.seen.first() else {
            return word;
        };
        let mut letters = model.chars().filter(|c| c.is_alphabetic());
        let first_is_large = letters.next().is_some_and(char::is_uppercase);
        let rest_is_large = letters.next().is_some_and(char::is_uppercase);
        match (first_is_large, rest_is_large) {
            (true, true) => word.to_uppercase(),
            (true, false) => {
                let mut letters = word.chars();
                let first = letters.next().map(|c| c.to_ascii_uppercase());
                first.into_iter().chain(letters).collect()
            }
            (false, _) => word,
        }
    }
}
