//! Rules about what a task says. What words they look for is in `words`.

use std::collections::HashMap;

use super::words::{hidden_context, names_a_file, vague};
use super::{Finding, Rule};
use crate::task::{Task, TaskText};

/// As much as a commit's subject is shown of.
const MAX_TITLE_CHARS: usize = 72;
/// Shorter than both, a description can't stand alone.
const MIN_DESCRIPTION_WORDS: usize = 5;
const MIN_DESCRIPTION_BYTES: usize = 40;
/// With as many criteria as this a short description is enough.
const CRITERIA_THAT_EXPLAIN: usize = 2;
const MAX_CRITERIA: usize = 10;
const MAX_DESCRIPTION_BYTES: usize = 8 * 1024;
/// A title with so many "and"s is a list of tasks.
const MAX_ANDS: usize = 1;
/// Of a text that a message quotes, as many characters are shown.
const MAX_QUOTE_CHARS: usize = 80;

pub(super) fn task(task: &Task) -> Vec<Finding> {
    let text = &task.text;
    let title = title(text);
    let description = description(text);
    let context = hidden_context(&text.description).map(|words| {
        let words = shortened(words);
        let message = format!("the description points at something it does not contain: {words:?}");
        (Rule::HiddenContext, message)
    });
    title
        .into_iter()
        .chain(description)
        .chain(context)
        .chain(acceptance(text))
        .chain(files(text))
        .chain(size(text))
        .map(|(rule, message)| Finding::new(rule, task, message))
        .collect()
}

/// Titles that several tasks have, at each but the first of them.
pub(super) fn same_titles(tasks: &[&Task]) -> Vec<Finding> {
    let mut first: HashMap<String, &Task> = HashMap::new();
    let mut findings = Vec::new();
    for task in tasks {
        let words: Vec<String> = task
            .text
            .title
            .split_whitespace()
            .map(str::to_lowercase)
            .collect();
        if words.is_empty() {
            continue;
        }
        let earlier = *first.entry(words.join(" ")).or_insert(task);
        if earlier.id != task.id {
            let message = format!("it has the same title as {}", earlier.id);
            findings.push(Finding::new(Rule::DuplicateTitle, task, message));
        }
    }
    findings
}

type RuleMessage = (Rule, String);

fn title(text: &TaskText) -> Option<RuleMessage> {
    let chars = text.title.trim().chars().count();
    if chars == 0 {
        return Some((Rule::TitleMissing, "the title is missing".to_owned()));
    }
    (chars > MAX_TITLE_CHARS).then(|| {
        let message = format!("the title has {chars} characters");
        (Rule::TitleTooLong, message)
    })
}

fn description(text: &TaskText) -> Option<RuleMessage> {
    let description = text.description.trim();
    if description.is_empty() {
        return Some(if criteria(text).next().is_none() {
            let message = "there is neither a description nor acceptance criteria".to_owned();
            (Rule::NothingSaid, message)
        } else {
            let message = "the description is missing".to_owned();
            (Rule::DescriptionMissing, message)
        });
    }
    if criteria(text).count() >= CRITERIA_THAT_EXPLAIN {
        return None;
    }
    if description.eq_ignore_ascii_case(text.title.trim()) {
        let message = "the description only repeats the title".to_owned();
        return Some((Rule::DescriptionTooShort, message));
    }
    let words = description.split_whitespace().count();
    let is_short = words < MIN_DESCRIPTION_WORDS && description.len() < MIN_DESCRIPTION_BYTES;
    is_short.then(|| {
        let message = format!("the description is too short to stand alone: {description:?}");
        (Rule::DescriptionTooShort, message)
    })
}

fn acceptance(text: &TaskText) -> Vec<RuleMessage> {
    if criteria(text).next().is_none() {
        // A task that says nothing at all has been told so already.
        if text.description.trim().is_empty() {
            return Vec::new();
        }
        let message = "there are no acceptance criteria".to_owned();
        return vec![(Rule::AcceptanceMissing, message)];
    }
    criteria(text)
        .filter_map(|criterion| {
            let words = shortened(vague(criterion)?);
            let quote = shortened(criterion);
            let message = format!("no one can check {words:?} in the criterion {quote:?}");
            Some((Rule::AcceptanceVague, message))
        })
        .collect()
}

fn files(text: &TaskText) -> Option<RuleMessage> {
    let is_named = !text.files.is_empty()
        || names_a_file(&text.title)
        || names_a_file(&text.description)
        || text.notes.as_deref().is_some_and(names_a_file)
        || criteria(text).any(names_a_file);
    (!is_named && text.expects_change).then(|| {
        let message = "no file or folder is named".to_owned();
        (Rule::NoFiles, message)
    })
}

fn size(text: &TaskText) -> Vec<RuleMessage> {
    let count = criteria(text).count();
    let ands = text
        .title
        .split_whitespace()
        .filter(|word| word.eq_ignore_ascii_case("and") || matches!(*word, "&" | "+"))
        .count();
    let bytes = text.description.len();
    let reasons = [
        (count > MAX_CRITERIA).then(|| format!("it has {count} acceptance criteria")),
        (bytes > MAX_DESCRIPTION_BYTES).then(|| format!("its description has {bytes} bytes")),
        (ands > MAX_ANDS).then(|| "its title joins several jobs".to_owned()),
    ];
    let said = reasons.into_iter().flatten();
    said.map(|reason| {
        (
            Rule::TooLarge,
            format!("it is large for one task: {reason}"),
        )
    })
    .collect()
}

fn criteria(text: &TaskText) -> impl Iterator<Item = &str> {
    text.acceptance
        .iter()
        .map(|criterion| criterion.trim())
        .filter(|criterion| !criterion.is_empty())
}

fn shortened(text: &str) -> String {
    match text.char_indices().nth(MAX_QUOTE_CHARS) {
        Some((end, _)) => format!("{}…", &text[..end]),
        None => text.to_owned(),
    }
}
