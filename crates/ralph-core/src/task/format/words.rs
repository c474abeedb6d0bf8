//! The words that people write for a status, and which word a file would use for one that it has not
//! used yet.

use super::Format;
use super::fields::Fields;
use super::layout::Layout;
use super::status::has_word;
use super::tree::{Kind, Tree};
use crate::task::Status;

/// Defines what people write in PRD files, separators and case aside.
const SYNONYMS: [(Status, &[&str]); 6] = [
    (
        Status::Open,
        &[
            "open",
            "pending",
            "todo",
            "to_do",
            "not_started",
            "notstarted",
            "new",
            "ready",
            "planned",
            "backlog",
            "queued",
            "draft",
            "incomplete",
            "unstarted",
        ],
    ),
    (
        Status::InProgress,
        &[
            "in_progress",
            "inprogress",
            "started",
            "doing",
            "active",
            "wip",
            "working",
            "ongoing",
            "in_review",
            "review",
        ],
    ),
    (
        Status::Completed,
        &[
            "completed",
            "complete",
            "done",
            "passed",
            "passes",
            "passing",
            "pass",
            "finished",
            "closed",
            "implemented",
            "verified",
            "success",
            "merged",
        ],
    ),
    (
        Status::Blocked,
        &[
            "blocked",
            "on_hold",
            "waiting",
            "stuck",
            "paused",
            "escalated",
        ],
    ),
    (Status::Failed, &["failed", "fail", "failing", "error"]),
    (
        Status::Skipped,
        &[
            "skipped",
            "skip",
            "cancelled",
            "canceled",
            "wontfix",
            "wont_fix",
            "deferred",
            "abandoned",
        ],
    ),
];

/// The status that a word means to people.
pub(super) fn synonym(word: &str) -> Option<Status> {
    let word = word.trim().to_lowercase().replace(['-', ' '], "_");
    SYNONYMS
        .iter()
        .find(|(_, words)| words.contains(&word.as_str()))
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
