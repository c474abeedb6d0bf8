//! The words that people use for the order of items: "(depends on: ST-001)", "blocked by T001-T003", "after 1.2".

use std::collections::HashMap;

use super::super::ids;

/// Something that an item says to wait for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct WaitsFor {
    /// The names, as they are written.
    pub(super) names: String,
    /// The words are also used for other things, so names that no task has mean nothing.
    pub(super) is_vague: bool,
    /// The offset for a warning.
    pub(super) offset: usize,
}

/// Words before the names, and if they are also used for other things.
const WORDS: [(&str, bool); 9] = [
    ("depends on", false),
    ("depends upon", false),
    ("dependencies", false),
    ("blocked by", false),
    ("deps", false),
    ("depends", false),
    ("after", true),
    ("requires", true),
    ("needs", true),
];

/// Takes what stands in brackets out of a text: the text without it, and what it said.
pub(super) fn in_brackets(text: &str) -> Option<(String, String, bool)> {
    for (open, close) in [('(', ')'), ('[', ']'), ('{', '}')] {
        for (at, _) in text.match_indices(open) {
            let inner = &text[at + 1..];
            let Some(end) = inner.find(close) else {
                continue;
            };
            let said = inner[..end].trim_matches(['*', '_', ' ']);
            let Some((names, is_vague)) = behind_word(said) else {
                continue;
            };
            let before = text[..at]
                .trim_end()
                .trim_end_matches(['*', '_'])
                .trim_end();
            let after = inner[end + 1..].trim_start_matches(['*', '_']);
            let whole = format!("{before}{after}");
            return Some((whole.trim().to_owned(), names.to_owned(), is_vague));
        }
    }
    None
}

/// The names behind one of the words at the beginning of a text.
fn behind_word(said: &str) -> Option<(&str, bool)> {
    let lower = said.to_ascii_lowercase();
    let (word, is_vague) = WORDS.iter().find(|(word, _)| {
        lower
            .strip_prefix(word)
            .is_some_and(|rest| rest.starts_with([':', ' ']))
    })?;
    let rest = said[word.len()..].trim_start_matches([':', ' ', '*', '_']);
    Some((rest, *is_vague))
}

/// The names behind "depends on" or "blocked by" further on in a sentence.
pub(super) fn in_sentence(text: &str) -> Option<&str> {
    let lower = text.to_ascii_lowercase();
    let (at, word) = ["depends on", "blocked by"]
        .iter()
        .find_map(|word| lower.find(word).map(|at| (at, word)))?;
    let rest = text[at + word.len()..].trim_start_matches([':', ' ', '*', '_']);
    let end = rest.find([')', ';']).unwrap_or(rest.len());
    let end = rest.find(". ").map_or(end, |stop| stop.min(end));
    Some(rest[..end].trim())
}

/// The names of tasks, by what people call them.
#[derive(Debug, Default)]
pub(super) struct TaskNames {
    by_name: HashMap<String, Vec<usize>>,
    /// The ids as they are written, for ranges: letters, number, task.
    numbered: Vec<(String, Vec<u64>, usize)>,
}

impl TaskNames {
    pub(super) fn add(&mut self, name: &str, task: usize) {
        let lower = name.to_lowercase();
        let tasks = self.by_name.entry(lower).or_default();
        if !tasks.contains(&task) {
            tasks.push(task);
        }
    }

    pub(super) fn has(&self, name: &str) -> bool {
        self.by_name.contains_key(name)
    }

    pub(super) fn add_numbered(&mut self, id: &str, task: usize) {
        if let Some((letters, number)) = numbered(id) {
            self.numbered.push((letters, number, task));
        }
    }

    /// The tasks that a text of names means, and the names that no task has. `near` chooses among several.
    pub(super) fn resolve(
        &self,
        names: &str,
        near: &dyn Fn(&[usize]) -> Option<usize>,
    ) -> (Vec<usize>, Vec<String>) {
        let (mut found, mut unknown) = (Vec::new(), Vec::new());
        let joined = names
            .replace(" and ", ",")
            .replace(" & ", ",")
            .replace(" + ", ",");
        for part in joined.split([',', ';']) {
            let part = cleaned(part);
            if part.is_empty() || is_nothing(&part) {
                continue;
            }
            let one = self.one(&part, near);
            let several = || self.range(&part, near);
            match one.map(|one| vec![one]).or_else(several) {
                Some(tasks) => {
                    for task in tasks {
                        if !found.contains(&task) {
                            found.push(task);
                        }
                    }
                }
                None => unknown.push(part),
            }
        }
        (found, unknown)
    }

    fn one(&self, name: &str, near: &dyn Fn(&[usize]) -> Option<usize>) -> Option<usize> {
        let lower = name.to_lowercase();
        let without_kind = [
            "tasks ", "task ", "stories ", "story ", "steps ", "step ", "items ", "item ", "id ",
        ]
        .iter()
        .find_map(|kind| lower.strip_prefix(kind));
        let names = [Some(lower.as_str()), without_kind, lower.strip_prefix('#')];
        let slug = ids::slug(name);
        let all = names.into_iter().flatten().chain([slug.as_str()]);
        let mut known = all.filter_map(|name| self.by_name.get(name));
        known.find_map(|tasks| near(tasks))
    }

    /// The tasks from one to another, such as `T001-T003`.
    fn range(&self, text: &str, near: &dyn Fn(&[usize]) -> Option<usize>) -> Option<Vec<usize>> {
        let joints = [" to ", " through ", "..", "–", "—", "…", " - ", "-"];
        for joint in joints {
            for (at, _) in text.match_indices(joint) {
                let (from, to) = (text[..at].trim(), text[at + joint.len()..].trim());
                let Some((letters, low)) = self.one(from, near).and_then(|_| numbered(from)) else {
                    continue;
                };
                let whole = if to.starts_with(|c: char| c.is_ascii_digit()) {
                    format!("{letters}{to}")
                } else {
                    to.to_owned()
                };
                let Some((same, high)) = numbered(&whole) else {
                    continue;
                };
                if same != letters || low.len() != high.len() || low > high {
                    continue;
                }
                let inside = self.numbered.iter().filter(|(own, number, _)| {
                    *own == letters
                        && number.len() == low.len()
                        && *number >= low
                        && *number <= high
                });
                let tasks: Vec<usize> = inside.map(|(.., task)| *task).collect();
                let has_end = self
                    .numbered
                    .iter()
                    .any(|(own, number, _)| *own == letters && *number == high);
                if tasks.len() >= 2 && has_end {
                    return Some(tasks);
                }
            }
        }
        None
    }
}

/// The letters and numbers of an id.
fn numbered(id: &str) -> Option<(String, Vec<u64>)> {
    let digit = id.find(|c: char| c.is_ascii_digit())?;
    let (letters, numbers) = id.split_at(digit);
    let numbers = numbers.split('.').map(str::parse::<u64>);
    let numbers: Vec<u64> = numbers.collect::<Result<_, _>>().ok()?;
    Some((letters.to_lowercase(), numbers))
}

fn cleaned(part: &str) -> String {
    let part = part
        .trim()
        .trim_matches(['*', '_', '`', '[', ']', '(', ')', '"', '\'', ' ']);
    let part = part.strip_suffix('.').unwrap_or(part);
    part.trim().to_owned()
}

fn is_nothing(part: &str) -> bool {
    let words = part.to_lowercase();
    let first = words
        .split(|c: char| !(c.is_alphanumeric() || c == '/'))
        .next();
    let has_words = words.contains(char::is_alphanumeric);
    !has_words
        || matches!(
            first,
            Some("none" | "n/a" | "na" | "nothing" | "no" | "null")
        )
}
