//! The marks of checkboxes: `[ ]`, `[x]`, and the others that people use.
//!
//! A legend in the file says what its marks mean; otherwise the usual meaning counts, with a warning where there
//! are several.

use std::collections::BTreeMap;

use super::super::status::synonym;
use crate::task::Status;

/// Where a mark stands in its line: the bytes between the brackets, or the picture itself.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct MarkAt {
    pub(super) start: usize,
    pub(super) end: usize,
    /// The mark without space; empty for an empty box.
    pub(super) mark: String,
}

/// ChecklistMarks that mean done beside `x`.
const DONE: [char; 5] = ['✓', '✔', '✅', '☑', '🗹'];
/// Letters that look like `x`.
const LIKE_X: [char; 3] = ['х', 'Х', '×'];

/// ChecklistMarks with several meanings, and the one that is taken.
const OTHER: [(char, Status); 18] = [
    ('~', Status::InProgress),
    ('/', Status::InProgress),
    ('.', Status::InProgress),
    ('*', Status::InProgress),
    ('=', Status::InProgress),
    ('-', Status::Skipped),
    ('>', Status::Skipped),
    ('<', Status::Open),
    ('!', Status::Blocked),
    ('?', Status::Open),
    ('+', Status::InProgress),
    ('🚧', Status::InProgress),
    ('⏳', Status::InProgress),
    ('🔄', Status::InProgress),
    ('⬜', Status::Open),
    ('❌', Status::Open),
    ('🚫', Status::Blocked),
    ('⛔', Status::Blocked),
];

/// Pictures at the beginning of an item that say how it stands.
const PICTURES: [(char, Status); 21] = [
    ('✅', Status::Completed),
    ('✔', Status::Completed),
    ('☑', Status::Completed),
    ('🗹', Status::Completed),
    ('🟢', Status::Completed),
    ('⬜', Status::Open),
    ('☐', Status::Open),
    ('🔲', Status::Open),
    ('◻', Status::Open),
    ('□', Status::Open),
    ('⚪', Status::Open),
    ('❌', Status::Open),
    ('🔴', Status::Open),
    ('🚧', Status::InProgress),
    ('⏳', Status::InProgress),
    ('🔄', Status::InProgress),
    ('🟡', Status::InProgress),
    ('🚫', Status::Blocked),
    ('⛔', Status::Blocked),
    ('⏭', Status::Skipped),
    ('⏸', Status::Blocked),
];

/// A mark in brackets at an offset of a line.
pub(super) fn in_brackets(text: &str, at: usize) -> Option<MarkAt> {
    let inner = text.get(at..)?.strip_prefix('[')?;
    let length = inner.find(']')?;
    let mark = inner[..length].trim().trim_end_matches('\u{fe0f}');
    let behind = inner[length + 1..].chars().next();
    let is_other_thing = matches!(behind, Some('(' | '[' | ':'));
    let mut chars = mark.chars();
    let is_mark = match (chars.next(), chars.next()) {
        (None, _) => true,
        (Some('x' | 'X'), None) => true,
        (Some(c), None) => meaning_of(c).is_some(),
        (Some(_), Some(_)) => false,
    };
    (is_mark && !is_other_thing).then(|| MarkAt {
        start: at + 1,
        end: at + 1 + length,
        mark: mark.to_owned(),
    })
}

/// A picture at an offset of a line, with space behind it.
pub(super) fn picture(text: &str, at: usize) -> Option<MarkAt> {
    let rest = text.get(at..)?;
    let first = rest.chars().next()?;
    PICTURES.iter().find(|(known, _)| *known == first)?;
    let behind = rest[first.len_utf8()..].trim_start_matches('\u{fe0f}');
    behind.starts_with([' ', '\t']).then(|| MarkAt {
        start: at,
        end: text.len() - behind.len(),
        mark: first.to_string(),
    })
}

/// The usual meaning of a mark that is neither a space nor `x`.
fn meaning_of(mark: char) -> Option<Status> {
    if DONE.contains(&mark) || LIKE_X.contains(&mark) {
        return Some(Status::Completed);
    }
    let found = OTHER.iter().find(|(known, _)| *known == mark);
    found.map(|(_, status)| *status)
}

/// Describes what stands for a mark in a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum MarkKind {
    Brackets,
    Pictures,
}

/// The marks of a file: what they mean, and which of them it uses.
#[derive(Debug)]
pub(super) struct ChecklistMarks {
    pub(super) kind: MarkKind,
    legend: BTreeMap<String, Status>,
    /// The marks that it uses, in the order of the file.
    used: Vec<String>,
    /// In the files of Kiro `[-]` is a task that was begun.
    is_kiro: bool,
}

/// The meaning of a mark, and if others may read it in another way.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum MarkSays {
    Plainly(Status),
    Probably(Status),
}

impl MarkSays {
    pub(super) fn status(self) -> Status {
        match self {
            Self::Plainly(status) | Self::Probably(status) => status,
        }
    }
}

impl ChecklistMarks {
    pub(super) fn new(kind: MarkKind, legend: BTreeMap<String, Status>, is_kiro: bool) -> Self {
        Self {
            kind,
            legend,
            used: Vec::new(),
            is_kiro,
        }
    }

    pub(super) fn note(&mut self, mark: &str) {
        if !self.used.iter().any(|known| known == mark) {
            self.used.push(mark.to_owned());
        }
    }

    pub(super) fn read(&self, mark: &str) -> MarkSays {
        if let Some(status) = self.legend.get(mark) {
            return MarkSays::Plainly(*status);
        }
        let Some(first) = mark.chars().next() else {
            return MarkSays::Plainly(Status::Open);
        };
        match self.kind {
            MarkKind::Brackets => match first {
                'x' | 'X' => MarkSays::Plainly(Status::Completed),
                _ if DONE.contains(&first) => MarkSays::Plainly(Status::Completed),
                '-' if self.is_kiro => MarkSays::Plainly(Status::InProgress),
                _ => MarkSays::Probably(meaning_of(first).unwrap_or(Status::Open)),
            },
            MarkKind::Pictures => {
                let found = PICTURES.iter().find(|(known, _)| *known == first);
                match found.map(|(_, status)| *status) {
                    Some(status @ Status::Completed) => MarkSays::Plainly(status),
                    Some(status) if matches!(first, '⬜' | '☐' | '🔲' | '◻' | '□') => {
                        MarkSays::Plainly(status)
                    }
                    Some(status) => MarkSays::Probably(status),
                    None => MarkSays::Probably(Status::Open),
                }
            }
        }
    }

    /// The mark to write for a status: one that the file uses, else the usual one. `None` where there is none.
    pub(super) fn write(&self, status: Status) -> Option<String> {
        let same = |mark: &&String| self.read(mark).status() == status;
        let used: Vec<&String> = self.used.iter().filter(same).collect();
        let usual: &[&str] = match (self.kind, status) {
            (MarkKind::Brackets, Status::Open) => &[" "],
            (MarkKind::Brackets, Status::Completed) => &["x", "X", "✓"],
            (MarkKind::Brackets, Status::InProgress) => &["~", "/", "-"],
            (MarkKind::Brackets, Status::Blocked) => &["!", "⛔"],
            (MarkKind::Brackets, Status::Skipped) => &["-", ">"],
            (MarkKind::Pictures, Status::Open) => &["⬜"],
            (MarkKind::Pictures, Status::Completed) => &["✅"],
            (MarkKind::Pictures, Status::InProgress) => &["🚧"],
            (MarkKind::Pictures, Status::Blocked) => &["⛔"],
            (MarkKind::Pictures, Status::Skipped) => &["⏭"],
            (_, Status::Failed) => &[],
        };
        // An empty box is written with a space in it, whatever others look like.
        let is_open_box = self.kind == MarkKind::Brackets && status == Status::Open;
        let usual_first = usual
            .first()
            .is_some_and(|usual| used.iter().any(|mark| mark == usual));
        match used.first() {
            Some(first) if !is_open_box && !usual_first => Some((*first).clone()),
            _ => {
                let mut usual = usual.iter();
                let fits = usual.find(|mark| self.read(mark.trim()).status() == status);
                fits.map(|mark| (*mark).to_owned())
            }
        }
    }

    /// Shows how the file says done.
    pub(super) fn shown_done(&self) -> String {
        let mark = self.write(Status::Completed).unwrap_or_default();
        self.shown(&mark)
    }

    pub(super) fn shown(&self, mark: &str) -> String {
        match self.kind {
            MarkKind::Brackets if mark.is_empty() => "`[ ]`".to_owned(),
            MarkKind::Brackets => format!("`[{mark}]`"),
            MarkKind::Pictures => format!("`{mark}`"),
        }
    }
}

/// The marks that a line of prose explains, such as "`[~]` in progress, `[-]` = cancelled".
pub(super) fn legend_in(text: &str) -> Vec<(String, Status)> {
    let mut found = Vec::new();
    for (at, _) in text.match_indices('[') {
        let inner = &text[at + 1..];
        let Some(end) = inner.find(']').filter(|end| *end <= 8) else {
            continue;
        };
        let mark = inner[..end].trim().trim_end_matches('\u{fe0f}');
        if mark.chars().count() > 1 {
            continue;
        }
        let behind =
            inner[end + 1..].trim_start_matches(|c: char| !c.is_alphanumeric() && c != '[');
        let words: Vec<&str> = behind
            .split(|c: char| !(c.is_alphanumeric() || matches!(c, '-' | '_' | '\'' | '’' | ' ')))
            .next()
            .unwrap_or_default()
            .split_whitespace()
            .collect();
        // The longest beginning that is a status: "in progress", then "in".
        let status = (1..=words.len().min(3)).rev().find_map(|count| {
            let words = words[..count].join(" ").replace(['\'', '’'], "");
            synonym(&words)
        });
        found.extend(status.map(|status| (mark.to_owned(), status)));
    }
    found
}
