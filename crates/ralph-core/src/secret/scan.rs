//! The scanner: one pass for all keywords and values, and a rule only where one of its keywords stands.
//!
//! Names of vendors are words of every text, so they are looked for only in names that say "key", "token" or the
//! like and have a sign behind them.

use std::{
    ops::Range,
    sync::{Arc, LazyLock, OnceLock},
};

use regex::bytes::Regex;
use serde::{Deserialize, Serialize};

use super::{
    rules::{KeywordPart, MOST_AFTER_SECRET_WORD, SECRET_WORDS, SecretRule, TABLES},
    sample::{entropy, is_sample},
    values::NamedValue,
    words::{SearchWord, Words},
};

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum Certainty {
    /// Of a shape that only a secret has.
    Secret,
    /// Often a sample: worth showing, not worth refusing.
    Resembles,
}

/// A secret in a text: by which rule, and where. Never its value.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SecretFinding {
    /// For people: `GitHub token`, or `value of GITHUB_TOKEN`.
    pub rule: String,
    pub certainty: Certainty,
    /// The bytes of the value.
    pub at: Range<usize>,
}

/// Finds and hides secrets: those of known formats, and the values that it was given.
///
/// Cheap to clone, and to make: nothing is compiled before the first text is looked at. Never shows a value that
/// it holds.
#[derive(Clone, Default)]
pub struct Redaction {
    parts: Arc<RedactionParts>,
}

#[derive(Default)]
struct RedactionParts {
    values: Vec<NamedValue>,
    matcher: OnceLock<Matcher>,
}

/// The longest value that a rule finds.
const LONGEST: usize = 4 * 1024;
/// The longest of a value that has lines.
const LONGEST_OF_LINES: usize = 16 * 1024;

static RULES: LazyLock<Vec<(&'static SecretRule, OnceLock<Regex>)>> = LazyLock::new(|| {
    let rules = TABLES.iter().flat_map(|table| table.iter());
    rules.map(|rule| (rule, OnceLock::new())).collect()
});

/// The matcher of all who have no values of their own.
static WITHOUT_VALUES: LazyLock<Matcher> = LazyLock::new(|| Matcher::new(&[]));

impl Redaction {
    /// Values that would be found in honest texts are left out.
    pub fn new(values: impl IntoIterator<Item = NamedValue>) -> Self {
        let mut values: Vec<NamedValue> = values
            .into_iter()
            .filter(|value| value.weakness().is_none())
            .collect();
        values.sort();
        values.dedup_by(|one, other| one.value == other.value);
        let parts = RedactionParts {
            values,
            matcher: OnceLock::new(),
        };
        Self {
            parts: Arc::new(parts),
        }
    }

    /// The same with further values.
    #[must_use]
    pub fn with(&self, values: impl IntoIterator<Item = NamedValue>) -> Self {
        Self::new(self.parts.values.iter().cloned().chain(values))
    }

    /// Returns the secrets in a text in their order; none is within another.
    pub fn find(&self, text: &[u8]) -> Vec<SecretFinding> {
        let found = self.matcher().find(text, &self.parts.values);
        without_overlaps(found)
    }

    fn matcher(&self) -> &Matcher {
        if self.parts.values.is_empty() {
            return &WITHOUT_VALUES;
        }
        let make = || Matcher::new(&self.parts.values);
        self.parts.matcher.get_or_init(make)
    }
}

impl std::fmt::Debug for Redaction {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Redaction({} values)", self.parts.values.len())
    }
}

/// The longest of those that begin together stays, and of the same the first.
fn without_overlaps(mut found: Vec<SecretFinding>) -> Vec<SecretFinding> {
    found.sort_by_key(|finding| (finding.at.start, std::cmp::Reverse(finding.at.end)));
    let mut kept: Vec<SecretFinding> = Vec::with_capacity(found.len());
    for finding in found {
        match kept.last_mut() {
            Some(last) if finding.at.end <= last.at.end => {
                if finding.certainty == Certainty::Secret {
                    last.certainty = Certainty::Secret;
                }
            }
            Some(last) if finding.at.start < last.at.end => last.at.end = finding.at.end,
            _ => kept.push(finding),
        }
    }
    kept
}

/// The words that a secret is found by.
struct Matcher {
    words: Words,
    /// For each word, where it comes from.
    sources: Vec<WordSource>,
}

#[derive(Clone, Copy)]
enum WordSource {
    Keyword(Keyword),
    /// A word of a name to which a secret is given.
    SecretWord {
        bytes: usize,
    },
    Value {
        value: usize,
        bytes: usize,
    },
}

#[derive(Clone, Copy)]
struct Keyword {
    rule: usize,
    text: &'static str,
}

/// The keywords that are parts of names.
static NAMES: LazyLock<(Words, Vec<Keyword>)> = LazyLock::new(|| {
    let keywords: Vec<Keyword> = keywords(|shape| shape == KeywordPart::Name).collect();
    let lower = |keyword: &Keyword| SearchWord {
        bytes: keyword.text.to_ascii_lowercase().into_bytes(),
        any_case: false,
    };
    (Words::new(keywords.iter().map(lower).collect()), keywords)
});

/// The longest part of a name that is looked at before its secret word.
const LONGEST_NAME: usize = 96;

impl Matcher {
    fn new(values: &[NamedValue]) -> Self {
        let (mut words, mut sources) = (Vec::new(), Vec::new());
        let mut add = |bytes: &[u8], any_case, source| {
            let bytes = bytes.to_vec();
            words.push(SearchWord { bytes, any_case });
            sources.push(source);
        };
        for keyword in keywords(|shape| shape != KeywordPart::Name) {
            let bytes = keyword.text.as_bytes();
            add(bytes, false, WordSource::Keyword(keyword));
        }
        for word in SECRET_WORDS {
            let bytes = word.len();
            add(word.as_bytes(), true, WordSource::SecretWord { bytes });
        }
        for (value, named) in values.iter().enumerate() {
            for form in named.forms() {
                let bytes = form.len();
                add(&form, false, WordSource::Value { value, bytes });
            }
        }
        Self {
            words: Words::new(words),
            sources,
        }
    }

    fn find(&self, text: &[u8], values: &[NamedValue]) -> Vec<SecretFinding> {
        let mut found = Vec::new();
        self.words.each(text, |word, at| match self.sources[word] {
            WordSource::Keyword(keyword) => found.extend(apply(keyword, text, at)),
            WordSource::SecretWord { bytes } => look_in_name(text, at..at + bytes, &mut found),
            WordSource::Value { value, bytes } => found.push(SecretFinding {
                rule: format!("value of {}", values[value].name),
                certainty: Certainty::Secret,
                at: at..at + bytes,
            }),
        });
        found
    }
}

fn keywords(is_meant: impl Fn(KeywordPart) -> bool) -> impl Iterator<Item = Keyword> {
    let rules = RULES.iter().enumerate();
    rules
        .filter(move |(_, (rule, _))| is_meant(rule.shape))
        .flat_map(|(rule, (found, _))| {
            let keywords = found.keywords.iter();
            keywords.map(move |text| Keyword { rule, text })
        })
}

/// Looks for keywords in a name up to its secret word, where a sign follows the name.
fn look_in_name(text: &[u8], secret_word: Range<usize>, found: &mut Vec<SecretFinding>) {
    let is_of_name = |byte: &&u8| byte.is_ascii_alphanumeric() || b"_.-".contains(byte);
    let after = text[secret_word.end..].iter().take_while(is_of_name);
    let after = after.take(MOST_AFTER_SECRET_WORD + 1).count();
    let sign = text.get(secret_word.end + after);
    if !sign.is_some_and(|byte| b"\\\"'`] \t:=,>".contains(byte)) {
        return;
    }
    let before = text[..secret_word.start].iter().rev();
    let before = before.take(LONGEST_NAME).take_while(is_of_name).count();
    let start = secret_word.start - before;
    let mut name = [0; LONGEST_NAME];
    let name = &mut name[..before];
    name.copy_from_slice(&text[start..secret_word.start]);
    name.make_ascii_lowercase();
    let (words, keywords) = &*NAMES;
    words.each(name, |word, at| {
        found.extend(apply(keywords[word], text, start + at));
    });
}

/// Looks whether a rule holds where one of its keywords stands.
fn apply(keyword: Keyword, text: &[u8], at: usize) -> Option<SecretFinding> {
    let (rule, regex) = &RULES[keyword.rule];
    let keyword = keyword.text;
    let at = at..at + keyword.len();
    let start = match rule.shape {
        KeywordPart::Name | KeywordPart::Lead => at.start,
        KeywordPart::Prefix if begins_word(text, at.start) => at.start,
        KeywordPart::Prefix => return None,
        KeywordPart::Infix { before } => start_of_infix(text, at.start, before)?,
    };
    let most = if keyword.starts_with("-----") || keyword.starts_with("Private-Lines") {
        LONGEST_OF_LINES
    } else {
        LONGEST
    };
    let rest = &text[at.end..text.len().min(at.end + most)];
    let regex = regex
        .get_or_init(|| Regex::new(&rule.regex()).expect("the rules are constants and tested"));
    let value = match rule.shape {
        KeywordPart::Prefix | KeywordPart::Infix { .. } => start..at.end + regex.find(rest)?.end(),
        KeywordPart::Name | KeywordPart::Lead => {
            let group = regex.captures(rest)?.get(1)?;
            at.end + group.start()..at.end + group.end()
        }
    };
    let bytes = &text[value.clone()];
    let is_whole = !text.get(value.end).is_some_and(u8::is_ascii_alphanumeric);
    let is_kept = is_whole && entropy(bytes) >= rule.entropy && !is_sample(bytes);
    is_kept.then(|| SecretFinding {
        rule: rule.name.to_owned(),
        certainty: rule.certainty,
        at: value,
    })
}

/// Tells whether a word begins at a place: nothing of a word stands before it, but for what an escape ends with.
fn begins_word(text: &[u8], at: usize) -> bool {
    let before = &text[..at];
    let Some(last) = before.last() else {
        return true;
    };
    if !(last.is_ascii_alphanumeric() || *last == b'_') {
        return true;
    }
    match before {
        [.., b'\\', b'n' | b'r' | b't'] => true,
        [.., b'%', high, low] => high.is_ascii_hexdigit() && low.is_ascii_hexdigit(),
        // The end of a colour.
        [.., b'm'] => {
            let near = &before[before.len().saturating_sub(16)..];
            let digits = near[..near.len() - 1]
                .iter()
                .rev()
                .take_while(|byte| byte.is_ascii_digit() || **byte == b';');
            let bracket = near.len() - 1 - digits.count();
            bracket > 0 && near[bracket - 1] == b'['
        }
        _ => false,
    }
}

/// The place where a value begins that has so many characters before its mark.
fn start_of_infix(text: &[u8], mark: usize, before: usize) -> Option<usize> {
    let is_part = |byte: &u8| {
        byte.is_ascii_alphanumeric() || matches!(byte, b'+' | b'/' | b'_' | b'-' | b'~' | b'.')
    };
    let start = mark.checked_sub(before)?;
    text[start..mark].iter().all(is_part).then_some(start)
}
