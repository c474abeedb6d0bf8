//! The JSON Schema of `ralph.yaml`, and how ralph itself reads it.
//!
//! One schema serves editors and ralph's own checks, so that the two cannot disagree.

use std::sync::OnceLock;

use schemars::generate::SchemaSettings;
use serde_json::Value;

use super::Config;

/// The JSON Schema of `ralph.yaml`: for an editor, with descriptions and defaults.
pub fn schema() -> Value {
    root().clone()
}

pub(super) fn root() -> &'static Value {
    static SCHEMA: OnceLock<Value> = OnceLock::new();
    SCHEMA.get_or_init(|| {
        // Inlined: anyone who follows a key finds its type there, without looking up references.
        SchemaSettings::draft2020_12()
            .with(|settings| settings.inline_subschemas = true)
            .into_generator()
            .into_root_schema_for::<Config>()
            .to_value()
    })
}

pub(super) fn properties(schema: &Value) -> impl Iterator<Item = (&str, &Value)> {
    schema
        .get("properties")
        .and_then(Value::as_object)
        .into_iter()
        .flatten()
        .map(|(name, property)| (name.as_str(), property))
}

/// A section has keys of its own that are known by name.
pub(super) fn is_section(schema: &Value) -> bool {
    schema.get("properties").is_some()
}

/// The schema of the entries, if this is a map whose keys are the user's.
pub(super) fn map_entries(schema: &Value) -> Option<&Value> {
    if is_section(schema) {
        return None;
    }
    schema
        .get("additionalProperties")
        .filter(|entries| entries.is_object())
}

/// The branches of a schema that is one of several.
pub(super) fn branches(schema: &Value) -> Option<&Vec<Value>> {
    schema.get("anyOf").and_then(Value::as_array)
}

/// The words to choose from, if there is a choice.
pub(super) fn choices(schema: &Value) -> Option<Vec<&str>> {
    if let Some(words) = schema.get("enum").and_then(Value::as_array) {
        return Some(words.iter().filter_map(Value::as_str).collect());
    }
    let variants = schema.get("oneOf").and_then(Value::as_array)?;
    let mut words = Vec::new();
    for variant in variants {
        match variant.get("const").and_then(Value::as_str) {
            Some(word) => words.push(word),
            // Undocumented variants are gathered in one `enum` among the others.
            None => words.extend(choices(variant).unwrap_or_default()),
        }
    }
    Some(words)
}

pub(super) fn has_type(schema: &Value, name: &str) -> bool {
    match schema.get("type") {
        Some(Value::String(one)) => one == name,
        Some(Value::Array(several)) => several.iter().any(|one| one == name),
        _ => false,
    }
}

/// Returns true if a value may be a bare text, so that one from the environment is taken as it stands.
pub(super) fn takes_text(schema: &Value) -> bool {
    has_type(schema, "string")
        || choices(schema).is_some()
        || branches(schema).is_some_and(|all| all.iter().any(takes_text))
}

pub(super) fn takes_null(schema: &Value) -> bool {
    has_type(schema, "null") || branches(schema).is_some_and(|all| all.iter().any(takes_null))
}

/// Returns what a value must be, in words.
pub(super) fn expected(schema: &Value) -> String {
    if let Some(words) = choices(schema) {
        let quoted: Vec<String> = words.iter().map(|word| format!("`{word}`")).collect();
        return match quoted.as_slice() {
            [only] => only.clone(),
            several => format!("one of {}", several.join(", ")),
        };
    }
    if let Some(all) = branches(schema) {
        let words: Vec<String> = all.iter().map(expected).collect();
        return words.join(" or ");
    }
    let bound = |name: &str| schema.get(name).and_then(Value::as_f64);
    let mut text = if has_type(schema, "integer") {
        "a whole number".to_owned()
    } else if has_type(schema, "number") {
        "a number".to_owned()
    } else if has_type(schema, "boolean") {
        "`true` or `false`".to_owned()
    } else if has_type(schema, "array") {
        let items = schema.get("items").map_or("values".into(), expected_items);
        format!("a list of {items}")
    } else if has_type(schema, "object") {
        let required = schema.get("required").and_then(Value::as_array);
        match required.and_then(|names| names.first()?.as_str()) {
            Some(name) => format!("a map with `{name}`"),
            None => "a map".to_owned(),
        }
    } else if has_type(schema, "string") {
        "a text".to_owned()
    } else {
        return "nothing".to_owned();
    };
    if let Some(least) = bound("minimum") {
        text.push_str(&format!(" of at least {least}"));
    } else if let Some(above) = bound("exclusiveMinimum") {
        text.push_str(&format!(" greater than {above}"));
    }
    if let Some(most) = schema.get("maximum").and_then(Value::as_f64) {
        text.push_str(&format!(" and at most {most}"));
    }
    if bound("minLength").is_some() || bound("minItems").is_some() {
        text.push_str(" that is not empty");
    }
    if has_type(schema, "null") {
        text.push_str(" or nothing");
    }
    text
}

/// The largest number that a schema admits; that of a 32-bit number is only in its format.
pub(super) fn maximum(schema: &Value) -> Option<f64> {
    let narrow = schema.get("format").and_then(Value::as_str) == Some("uint32");
    schema
        .get("maximum")
        .and_then(Value::as_f64)
        .or_else(|| narrow.then_some(f64::from(u32::MAX)))
}

fn expected_items(items: &Value) -> String {
    if branches(items).is_some() {
        // The only list whose elements are of two kinds is one of commands.
        return "commands, each a list of words or a line for the shell".to_owned();
    }
    if has_type(items, "string") {
        return "texts".to_owned();
    }
    if has_type(items, "object") {
        return "maps".to_owned();
    }
    "values".to_owned()
}

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
            || [
                "limits.fallback_agent.env",
                "notify.webhook",
                "qa.server.env",
            ]
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
///
/// Read off the schema, so that it cannot fall behind the structs.
pub(super) fn all_keys() -> Vec<Key> {
    let mut keys = Vec::new();
    collect(root(), &KeyPath::default(), &mut keys);
    keys
}

fn collect(schema: &'static Value, path: &KeyPath, keys: &mut Vec<Key>) {
    for (name, property) in properties(schema) {
        let path = path.child(name);
        if is_section(property) {
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
        for (name, property) in properties(schema) {
            if is_section(property) {
                let path = path.child(name);
                sections.push(path.clone());
                walk(property, &path, sections);
            }
        }
    }
    let mut sections = Vec::new();
    walk(root(), &KeyPath::default(), &mut sections);
    sections
}

/// The likeness: how alike two names must be before one is suggested for the other.
const ALIKE: f64 = 0.65;
/// The likeness: how alike a section must be before the keys below it need not be asked.
const SURE: f64 = 0.75;
/// Defines what a name loses by standing in another section.
const ELSEWHERE: f64 = 0.25;

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
