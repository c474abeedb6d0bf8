//! The scanner: one pass for all keywords and values, and a rule only where one of its keywords stands.

use std::{
    ops::Range,
    sync::{
        Arc, LazyLock, OnceLock,
        atomic::{AtomicUsize, Ordering},
    },
};

use aho_corasick::{AhoCorasick, AhoCorasickKind, MatchKind};
use regex::bytes::Regex;
use serde::{Deserialize, Serialize};

use super::{
    rules::{KeywordPart, SecretRule, TABLES},
    sample::{entropy, is_sample},
    values::NamedValue,
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

/// The one automaton of all keywords and values: made quickly for the first texts, and made quick for what follows.
struct Matcher {
    words: AhoCorasick,
    fast: OnceLock<AhoCorasick>,
    /// Bytes that were looked at.
    seen: AtomicUsize,
    /// For each word, where it comes from.
    sources: Vec<WordSource>,
}

/// From so many bytes on it pays to have the larger automaton, which takes milliseconds to make.
const MANY_BYTES: usize = 1024 * 1024;

#[derive(Clone)]
enum WordSource {
    Keyword { rule: usize, keyword: &'static str },
    Value { value: usize, form: Vec<u8> },
}

impl Matcher {
    fn new(values: &[NamedValue]) -> Self {
        let mut sources = Vec::new();
        for (rule, (found, _)) in RULES.iter().enumerate() {
            let keywords = found.keywords.iter();
            sources.extend(keywords.map(|keyword| WordSource::Keyword { rule, keyword }));
        }
        for (value, named) in values.iter().enumerate() {
            let forms = named.forms().into_iter();
            sources.extend(forms.map(|form| WordSource::Value { value, form }));
        }
        Self {
            words: automaton(&sources, AhoCorasickKind::NoncontiguousNFA),
            fast: OnceLock::new(),
            seen: AtomicUsize::new(0),
            sources,
        }
    }

    fn words_for(&self, text: &[u8]) -> &AhoCorasick {
        let seen = self.seen.fetch_add(text.len(), Ordering::Relaxed);
        if seen.saturating_add(text.len()) < MANY_BYTES {
            return &self.words;
        }
        let make = || automaton(&self.sources, AhoCorasickKind::DFA);
        self.fast.get_or_init(make)
    }

    fn find(&self, text: &[u8], values: &[NamedValue]) -> Vec<SecretFinding> {
        let mut found = Vec::new();
        for hit in self.words_for(text).find_overlapping_iter(text) {
            let word = &text[hit.span().range()];
            match &self.sources[hit.pattern().as_usize()] {
                WordSource::Value { value, form } if word == form.as_slice() => {
                    found.push(SecretFinding {
                        rule: format!("value of {}", values[*value].name),
                        certainty: Certainty::Secret,
                        at: hit.span().range(),
                    });
                }
                WordSource::Value { .. } => {}
                WordSource::Keyword { rule, keyword } => {
                    found.extend(apply(*rule, keyword, text, hit.span().range()));
                }
            }
        }
        found
    }
}

fn automaton(sources: &[WordSource], kind: AhoCorasickKind) -> AhoCorasick {
    let words = sources.iter().map(|source| match source {
        WordSource::Keyword { keyword, .. } => keyword.as_bytes(),
        WordSource::Value { form, .. } => form,
    });
    AhoCorasick::builder()
        .ascii_case_insensitive(true)
        .match_kind(MatchKind::Standard)
        .kind(Some(kind))
        .build(words)
        .expect("the words fit in an automaton")
}

/// Looks whether a rule holds where one of its keywords stands.
fn apply(index: usize, keyword: &str, text: &[u8], at: Range<usize>) -> Option<SecretFinding> {
    let (rule, regex) = &RULES[index];
    let is_exact = &text[at.clone()] == keyword.as_bytes();
    let start = match rule.shape {
        KeywordPart::Name => at.start,
        KeywordPart::Lead if is_exact => at.start,
        KeywordPart::Prefix if is_exact && begins_word(text, at.start) => at.start,
        KeywordPart::Infix { before } if is_exact => start_of_infix(text, at.start, before)?,
        KeywordPart::Lead | KeywordPart::Prefix | KeywordPart::Infix { .. } => return None,
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
