//! Ids that people write before the text of an item: `T001`, `ST-002:`, `**TASK-3**`, `1.1`, `[ID]`, `#12`,
//! `Task 4:`.
//!
//! Words such as `UTF-8` look the same. What is not set off by a colon or brackets counts only where other items
//! begin with the same letters and another number.

use std::collections::{BTreeMap, BTreeSet};

/// Words that make an id together with a number.
const KINDS: [&str; 16] = [
    "task",
    "story",
    "user story",
    "step",
    "phase",
    "iteration",
    "milestone",
    "feature",
    "epic",
    "ticket",
    "issue",
    "sprint",
    "part",
    "stage",
    "bug",
    "week",
];

/// An id at the beginning of a text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct WrittenId<'a> {
    pub(super) id: String,
    /// The text behind it.
    pub(super) rest: &'a str,
    /// It is a word and a number, such as `Phase 1`.
    pub(super) is_named: bool,
}

/// The beginnings of all items of a file, by which an id is told from a word.
#[derive(Debug, Default)]
pub(super) struct IdEvidence(BTreeMap<String, BTreeSet<String>>);

impl IdEvidence {
    pub(super) fn of<'t>(texts: impl Iterator<Item = &'t str>) -> Self {
        let mut found: BTreeMap<String, BTreeSet<String>> = BTreeMap::new();
        for text in texts {
            if let Some(token) = IdToken::at_start(text) {
                let number = token.number.to_owned();
                found.entry(token.family()).or_default().insert(number);
            }
        }
        Self(found)
    }

    fn count(&self, token: &IdToken<'_>) -> usize {
        self.0.get(&token.family()).map_or(0, BTreeSet::len)
    }
}

/// A word that looks like an id at the beginning of a text.
struct IdToken<'a> {
    text: &'a str,
    letters: &'a str,
    number: &'a str,
    /// The text behind it.
    rest: &'a str,
    /// Brackets, emphasis or code around it.
    is_wrapped: bool,
    /// A colon, a bracket or a dash follows.
    separator: Option<char>,
}

impl<'a> IdToken<'a> {
    fn at_start(text: &'a str) -> Option<Self> {
        let wrappers = ["**", "__", "[", "`", "("];
        let wrapper = wrappers.iter().find(|wrapper| text.starts_with(**wrapper));
        let begin = wrapper.map_or(0, |wrapper| wrapper.len());
        let inner = &text[begin..];
        let length = inner
            .find(|c: char| !(c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '.' | '#')))
            .unwrap_or(inner.len());
        let token = inner[..length].trim_end_matches(['.', '-', '_']);
        if token.is_empty() || !token.ends_with(|c: char| c.is_ascii_alphanumeric()) {
            return None;
        }
        let digit = token.find(|c: char| c.is_ascii_digit())?;
        let (letters, number) = token.split_at(digit);
        let is_number = number
            .chars()
            .all(|c| c.is_ascii_digit() || matches!(c, '.' | '-'))
            || (number[..number.len() - 1]
                .chars()
                .all(|c| c.is_ascii_digit() || c == '.')
                && number.ends_with(|c: char| c.is_ascii_lowercase())
                && number.len() > 1);
        let is_letters = letters == "#"
            || letters
                .chars()
                .all(|c| c.is_ascii_alphabetic() || matches!(c, '-' | '_'))
                && !letters.starts_with(['-', '_'])
                && letters.len() <= 24;
        if !is_number || !is_letters {
            return None;
        }
        let mut rest = &inner[token.len()..];
        let mut separator = None;
        let mut is_closed = wrapper.is_none();
        let closing = match wrapper {
            Some(&"[") => "]",
            Some(&"(") => ")",
            Some(other) => other,
            None => "",
        };
        loop {
            let trimmed = rest.trim_start();
            if !is_closed && trimmed.starts_with(closing) {
                is_closed = true;
                rest = &trimmed[closing.len()..];
            } else if separator.is_none()
                && let Some(mark) = trimmed.chars().next().filter(|c| ":.)]|".contains(*c))
                && (rest.len() == trimmed.len())
            {
                separator = Some(mark);
                rest = &trimmed[mark.len_utf8()..];
            } else if separator.is_none()
                && let Some(mark) = trimmed.chars().next().filter(|c| "-–—".contains(*c))
                && rest.len() != trimmed.len()
                && trimmed[mark.len_utf8()..].starts_with(' ')
            {
                separator = Some(mark);
                rest = &trimmed[mark.len_utf8()..];
            } else {
                break;
            }
        }
        let is_end =
            rest.is_empty() || rest.starts_with(char::is_whitespace) || separator.is_some();
        is_end.then_some(Self {
            text: token,
            letters,
            number,
            rest: rest.trim_start(),
            is_wrapped: wrapper.is_some() && is_closed,
            separator,
        })
    }

    fn family(&self) -> String {
        let dotted = if self.number.contains('.') { "." } else { "" };
        format!("{}{dotted}", self.letters)
    }

    fn is_id(&self, evidence: &IdEvidence) -> bool {
        let alike = evidence.count(self);
        let digits = self.number.chars().filter(char::is_ascii_digit).count();
        let is_joined = self.letters.ends_with(['-', '_']);
        let is_upper = self.letters.chars().all(|c| !c.is_ascii_lowercase());
        let is_set_off = self.separator.is_some() || self.is_wrapped;
        match self.letters {
            "" if self.number.contains(['.', '-']) => {
                self.number.chars().all(|c| c.is_ascii_digit() || c == '.')
                    && (is_set_off || alike >= 2)
            }
            "" => {
                let set_off = matches!(self.separator, Some('.' | ')' | ':')) || self.is_wrapped;
                set_off && digits <= 3 && self.number.chars().all(|c| c.is_ascii_digit())
            }
            "#" => true,
            // A priority: `P0`, `P1`.
            "P" | "p" if digits == 1 => false,
            "HUMAN-" => true,
            "T" => true,
            _ if is_joined => is_set_off || (is_upper && alike >= 2),
            _ if is_set_off => is_upper && (digits >= 2 || alike >= 2),
            _ => {
                is_upper
                    && self.letters.len() <= 4
                    && (digits >= 3 || (self.letters.len() == 1 && alike >= 3))
            }
        }
    }
}

/// The id that a text begins with.
pub(super) fn split<'a>(text: &'a str, evidence: &IdEvidence) -> Option<WrittenId<'a>> {
    if let Some(named) = named(text) {
        return Some(named);
    }
    if let Some(rest) = text.strip_prefix(crate::task::FOR_PERSON) {
        let length = rest.find(": ")?;
        let id = format!("{}{}", crate::task::FOR_PERSON, &rest[..length]);
        let is_id = crate::task::TaskId::parse(&id).is_ok() && !rest[..length].contains(' ');
        return is_id.then(|| WrittenId {
            id,
            rest: rest[length + 2..].trim_start(),
            is_named: false,
        });
    }
    let token = IdToken::at_start(text)?;
    token.is_id(evidence).then(|| WrittenId {
        id: token.text.to_owned(),
        rest: token.rest,
        is_named: false,
    })
}

/// A word and a number, set off from what follows: `Task 4: …`.
fn named(text: &str) -> Option<WrittenId<'_>> {
    let inner = text.trim_start_matches(['*', '_', '[']);
    let lower = inner.to_ascii_lowercase();
    let kind = KINDS.iter().find(|kind| {
        let behind = lower.strip_prefix(**kind);
        behind.is_some_and(|rest| {
            rest.trim_start().starts_with(|c: char| c.is_ascii_digit())
                && rest.starts_with([' ', '-', '#'])
        })
    });
    let kind = kind?;
    let behind = inner[kind.len()..].trim_start_matches([' ', '-', '#']);
    let length = behind
        .find(|c: char| !(c.is_ascii_digit() || c == '.'))
        .unwrap_or(behind.len());
    let number = behind[..length].trim_end_matches('.');
    let rest = behind[number.len()..].trim_start_matches(['*', '_', ']']);
    let after = rest.trim_start();
    let mark = after.chars().next();
    let is_set_off = mark.is_none_or(|c| ":.)]-–—|(".contains(c));
    if number.is_empty() || !is_set_off {
        return None;
    }
    let skipped = after.trim_start_matches([':', '.', ')', ']', '-', '–', '—', '|', '*', '_', ' ']);
    let word = kind.replace(' ', "-");
    Some(WrittenId {
        id: format!("{word}-{number}"),
        rest: skipped,
        is_named: true,
    })
}
