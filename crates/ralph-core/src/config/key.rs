//! The path of a key, such as `loop.gutter.max_same_failure`, and the table of all keys there are.
//!
//! The table is read off the schema, so that it cannot fall behind the structs.

use serde_json::Value;

use super::schema;

/// The path of a key, or of an element below one: `verification.commands[1]`.
#[derive(Debug, Clone, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct KeyPath(Vec<Step>);

#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
enum Step {
    Key(String),
    Index(usize),
}

impl KeyPath {
    /// A path from its dotted form; only for paths without indices and without dots in a name.
    pub fn dotted(text: &str) -> Self {
        Self(text.split('.').map(|s| Step::Key(s.to_owned())).collect())
    }

    pub(super) fn child(&self, name: &str) -> Self {
        let mut steps = self.0.clone();
        steps.push(Step::Key(name.to_owned()));
        Self(steps)
    }

    pub(super) fn element(&self, index: usize) -> Self {
        let mut steps = self.0.clone();
        steps.push(Step::Index(index));
        Self(steps)
    }

    /// The names along the path; indices are left out.
    pub fn names(&self) -> impl DoubleEndedIterator<Item = &str> {
        self.0.iter().filter_map(|step| match step {
            Step::Key(name) => Some(name.as_str()),
            Step::Index(_) => None,
        })
    }

    /// Tells whether its value may be a secret: a variable of any agent's environment, the address of a
    /// webhook.
    pub(super) fn is_secret(&self) -> bool {
        let is_env_of_section = self.names().nth(1) == Some("env");
        is_env_of_section
            || ["limits.fallback_agent.env", "notify.webhook"]
                .iter()
                .any(|parent| self.is_within(&Self::dotted(parent)))
    }

    /// Returns true if this path is `parent` or lies below it.
    pub fn is_within(&self, parent: &Self) -> bool {
        self.0.starts_with(&parent.0)
    }

    /// Puts a value at this path of an object, making the objects on the way.
    pub(super) fn put(&self, root: &mut Value, value: Value) {
        let mut target = root;
        for name in self.names() {
            if !target.is_object() {
                *target = Value::Object(serde_json::Map::new());
            }
            target = &mut target[name];
        }
        *target = value;
    }
}

impl std::fmt::Display for KeyPath {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        for (i, step) in self.0.iter().enumerate() {
            match step {
                Step::Key(name) if i == 0 => f.write_str(name)?,
                Step::Key(name) => write!(f, ".{name}")?,
                Step::Index(index) => write!(f, "[{index}]")?,
            }
        }
        Ok(())
    }
}

/// A key that can be set: not a section, and not an entry below a map.
pub(super) struct Key {
    pub(super) path: KeyPath,
    pub(super) schema: &'static Value,
}

/// Every key there is, in the order of the structs.
pub(super) fn all_keys() -> Vec<Key> {
    let mut keys = Vec::new();
    collect(schema::root(), &KeyPath::default(), &mut keys);
    keys
}

fn collect(schema: &'static Value, path: &KeyPath, keys: &mut Vec<Key>) {
    for (name, property) in schema::properties(schema) {
        let path = path.child(name);
        if schema::is_section(property) {
            collect(property, &path, keys);
        } else {
            keys.push(Key {
                path,
                schema: property,
            });
        }
    }
}

/// The names of all sections, as paths: `loop`, `loop.gutter`.
pub(super) fn all_sections() -> Vec<KeyPath> {
    fn walk(schema: &'static Value, path: &KeyPath, sections: &mut Vec<KeyPath>) {
        for (name, property) in schema::properties(schema) {
            if schema::is_section(property) {
                let path = path.child(name);
                sections.push(path.clone());
                walk(property, &path, sections);
            }
        }
    }
    let mut sections = Vec::new();
    walk(schema::root(), &KeyPath::default(), &mut sections);
    sections
}

/// The likeness: how alike two names must be before one is suggested for the other.
const ALIKE: f64 = 0.65;
/// The likeness: how alike a section must be before the keys below it need not be asked.
const SURE: f64 = 0.75;
/// Defines what a name loses by standing in another section.
const ELSEWHERE: f64 = 0.05;

/// The key that an unknown one most likely stands for, wherever it is nested.
///
/// `children` are the names below the unknown key, which may tell more than its own name does:
/// `verify: {commands: …}` means `verification.commands`.
pub(super) fn suggest_key(unknown: &KeyPath, children: &[&str]) -> Option<String> {
    let keys: Vec<KeyPath> = all_keys().into_iter().map(|key| key.path).collect();
    let sections = all_sections();
    if children.is_empty() {
        return best(unknown, keys.iter().chain(&sections)).map(|(name, _)| name);
    }
    // Something with keys below it can only stand for a section, or be one too many.
    let section = best(unknown, sections.iter());
    let child = children
        .iter()
        .find_map(|child| best(&unknown.child(child), keys.iter()));
    match (section, child) {
        (Some((name, _)), None) => Some(name),
        (Some((name, alike)), Some(_)) if alike >= SURE => Some(name),
        (_, Some((name, _))) => Some(name),
        (None, None) => None,
    }
}

/// The word among `words` that `unknown` most likely stands for.
pub fn did_you_mean<'a>(unknown: &str, words: &[&'a str]) -> Option<&'a str> {
    words
        .iter()
        .map(|word| (*word, alike(unknown, word)))
        .filter(|(_, score)| *score >= ALIKE)
        .max_by(|a, b| a.1.total_cmp(&b.1))
        .map(|(word, _)| word)
}

fn best<'a>(unknown: &KeyPath, known: impl Iterator<Item = &'a KeyPath>) -> Option<(String, f64)> {
    let mut found: Option<(String, f64, f64)> = None;
    let unknown_text = unknown.to_string();
    for candidate in known {
        let text = candidate.to_string();
        let whole = alike(&unknown_text, &text);
        let last = match (unknown.names().next_back(), candidate.names().next_back()) {
            (Some(a), Some(b)) => alike(a, b),
            _ => 0.0,
        };
        let same_parent = parent(&unknown_text) == parent(&text);
        let last = if same_parent { last } else { last - ELSEWHERE };
        let score = whole.max(last);
        // Among names that are equally alike, the one whose whole path is nearest wins.
        let better = match &found {
            None => true,
            Some((_, best, best_whole)) => {
                score > *best || ((score - *best).abs() < f64::EPSILON && whole > *best_whole)
            }
        };
        if score >= ALIKE && better {
            found = Some((text, score, whole));
        }
    }
    found.map(|(text, score, _)| (text, score))
}

fn parent(path: &str) -> &str {
    path.rsplit_once('.').map_or("", |(parent, _)| parent)
}

/// From 0 to 1: how likely one name was meant as the other, whatever its case and separators.
fn alike(a: &str, b: &str) -> f64 {
    let (flat_a, flat_b) = (flat(a), flat(b));
    if flat_a == flat_b {
        return 1.0;
    }
    let edits = strsim::normalized_damerau_levenshtein(&flat_a, &flat_b);
    // A common beginning says something too, though less: `verify` for `verification`.
    let beginning = strsim::jaro_winkler(&flat_a, &flat_b) - 0.2;
    let words = if all_words_in(a, b) { 0.8 } else { 0.0 };
    edits.max(beginning).max(words)
}

/// Returns true if every word of `a` is a word of `b`: `timeout` in `timeout_minutes`.
fn all_words_in(a: &str, b: &str) -> bool {
    let words = |text: &str| -> Vec<String> {
        text.split(['_', '-', '.'])
            .map(str::to_ascii_lowercase)
            .collect()
    };
    let b = words(b);
    words(a)
        .iter()
        .all(|word| word.len() > 2 && b.contains(word))
}

fn flat(name: &str) -> String {
    name.chars()
        .filter(|c| c.is_alphanumeric() || *c == '.')
        .flat_map(char::to_lowercase)
        .collect()
}
