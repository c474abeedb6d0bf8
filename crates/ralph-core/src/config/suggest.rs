//! "Did you mean …?": the key or word that a misspelt one most likely stands for.

use super::key::{self, KeyPath};

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
pub(super) fn key(unknown: &KeyPath, children: &[&str]) -> Option<String> {
    let keys: Vec<KeyPath> = key::all_keys().into_iter().map(|key| key.path).collect();
    let sections = key::all_sections();
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
pub fn word<'a>(unknown: &str, words: &[&'a str]) -> Option<&'a str> {
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
