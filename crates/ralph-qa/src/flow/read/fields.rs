//! Reads the keys of a map: each by its name, and a mistake for each that is not known.

use ralph_core::{config::did_you_mean, sanitize::one_line};

use super::{
    mistakes::MistakeList,
    yaml::{YamlEntry, YamlKind, YamlNode},
};

/// The entries of a map whose keys are all known.
pub(super) struct MapFields<'n> {
    /// The action or key that the map belongs to; empty for the flow itself.
    pub(super) owner: String,
    pub(super) line: usize,
    entries: &'n [YamlEntry],
    /// True if there was an unknown key: then what is missing was probably meant by it.
    pub(super) has_unknown: bool,
}

impl<'n> MapFields<'n> {
    /// Looks at the keys of a map. `None` if it is none; the caller says what it expects.
    pub(super) fn of(
        node: &'n YamlNode,
        owner: &str,
        known: &[&[&'static str]],
        mistakes: &mut MistakeList,
    ) -> Option<Self> {
        let YamlKind::Map(entries) = &node.kind else {
            return None;
        };
        let known: Vec<&'static str> = known.iter().flat_map(|keys| keys.iter().copied()).collect();
        let mut has_unknown = false;
        for entry in entries {
            if known.contains(&entry.key.as_str()) {
                continue;
            }
            has_unknown = true;
            unknown_key(entry, "key", owner, &known, mistakes);
        }
        Some(Self {
            owner: owner.to_owned(),
            line: node.line,
            entries,
            has_unknown,
        })
    }

    pub(super) fn get(&self, key: &str) -> Option<&'n YamlNode> {
        let entry = self.entries.iter().find(|entry| entry.key == key)?;
        Some(&entry.value)
    }

    /// The keys of `among` that are there.
    pub(super) fn present(&self, among: &[&'static str]) -> Vec<&'static str> {
        let is_there = |key: &&&str| self.entries.iter().any(|entry| entry.key == **key);
        among.iter().filter(is_there).copied().collect()
    }

    /// The name of a key of this map in messages.
    pub(super) fn name(&self, key: &str) -> String {
        format!("{}.{key}", self.owner)
    }
}

/// Says that a key is not known. `word`: what the keys of this map are.
pub(super) fn unknown_key(
    entry: &YamlEntry,
    word: &str,
    owner: &str,
    known: &[&'static str],
    mistakes: &mut MistakeList,
) {
    let place = if owner.is_empty() {
        String::new()
    } else {
        format!("`{owner}`: ")
    };
    let message = format!("{place}unknown {word} `{}`", one_line(&entry.key, 60));
    mistakes.hinted(entry.line, message, unknown_hint(entry, word, known));
}

fn unknown_hint(entry: &YamlEntry, word: &str, known: &[&'static str]) -> String {
    if let Some(meant) = meant_by(&entry.key, known) {
        return format!("did you mean `{meant}`?");
    }
    // `{text: Hello, Ada}`: the comma ends the text, and `Ada` becomes a key without a value.
    if entry.value.is_null() && entry.key.len() > 1 {
        return "put a text with a comma in quotes".to_owned();
    }
    format!("there are the {word}s {}", listed(known))
}

/// Words of other tools, and the words that stand for them here.
const OTHER_WORDS: [(&str, &str); 96] = [
    ("goto", "navigate"),
    ("visit", "navigate"),
    ("open", "navigate"),
    ("go", "navigate"),
    ("load", "navigate"),
    ("tap", "click"),
    ("dblclick", "click"),
    ("doubleclick", "click"),
    ("fill", "type"),
    ("input", "type"),
    ("enter", "type"),
    ("write", "type"),
    ("keypress", "press"),
    ("keyboard", "press"),
    ("key", "press"),
    ("choose", "select"),
    ("attach", "upload"),
    ("setinputfiles", "upload"),
    ("sleep", "wait"),
    ("pause", "wait"),
    ("delay", "wait"),
    ("waitfor", "wait"),
    ("assert", "verify"),
    ("expect", "verify"),
    ("check", "verify"),
    ("should", "verify"),
    ("see", "verify"),
    ("viewport", "resize"),
    ("size", "resize"),
    ("snapshot", "screenshot"),
    ("shot", "screenshot"),
    ("picture", "screenshot"),
    ("capture", "screenshot"),
    ("run", "fixture"),
    ("exec", "fixture"),
    ("command", "fixture"),
    ("shell", "fixture"),
    ("sh", "fixture"),
    ("selector", "css"),
    ("locator", "css"),
    ("query", "css"),
    ("id", "css"),
    ("class", "css"),
    ("testid", "testid"),
    ("datatestid", "testid"),
    ("contains", "text"),
    ("content", "text"),
    ("accessiblename", "name"),
    ("parent", "within"),
    ("inside", "within"),
    ("in", "within"),
    ("scope", "within"),
    ("index", "nth"),
    ("number", "nth"),
    ("visible", "element"),
    ("exists", "element"),
    ("present", "element"),
    ("hidden", "no_element"),
    ("absent", "no_element"),
    ("missing", "no_element"),
    ("notvisible", "no_element"),
    ("gone", "no_element"),
    ("nottext", "no_text"),
    ("withouttext", "no_text"),
    ("selected", "checked"),
    ("notchecked", "unchecked"),
    ("equals", "is"),
    ("exactly", "is"),
    ("expected", "is"),
    ("value", "is"),
    ("to", "is"),
    ("min", "least"),
    ("minimum", "least"),
    ("max", "most"),
    ("maximum", "most"),
    ("path", "url"),
    ("address", "url"),
    ("href", "url"),
    ("a11y", "accessible"),
    ("axe", "accessible"),
    ("accessibility", "accessible"),
    ("console", "no_console_errors"),
    ("consoleerrors", "no_console_errors"),
    ("request", "network"),
    ("response", "network"),
    ("brokenlinks", "no_broken_links"),
    ("brokenimages", "no_broken_images"),
    ("colorscheme", "scheme"),
    ("theme", "scheme"),
    ("seed", "random"),
    ("clock", "time"),
    ("baseurl", "url"),
    ("env", "secret"),
    ("variable", "secret"),
    ("comment", "note"),
    ("title", "name"),
];

/// The word among `known` that an unknown one most likely stands for.
pub(super) fn meant_by(unknown: &str, known: &[&'static str]) -> Option<&'static str> {
    let flat: String = unknown
        .chars()
        .filter(|c| c.is_alphanumeric())
        .flat_map(char::to_lowercase)
        .collect();
    let other = OTHER_WORDS
        .iter()
        .find(|(word, here)| *word == flat && known.contains(here));
    match other {
        Some((_, here)) => Some(here),
        None => did_you_mean(unknown, known),
    }
}

/// Words in a sentence: "`a`, `b` and `c`".
pub(super) fn listed(words: &[&str]) -> String {
    let quoted: Vec<String> = words.iter().map(|word| format!("`{word}`")).collect();
    match quoted.as_slice() {
        [] => String::new(),
        [one] => one.clone(),
        [rest @ .., last] => format!("{} and {last}", rest.join(", ")),
    }
}
