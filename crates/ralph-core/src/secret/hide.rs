//! Takes secrets out of texts, and out of whole values before they are written.

use std::{
    borrow::Cow,
    collections::{BTreeSet, HashSet},
    fmt::Debug,
};

use serde::{Serialize, de::DeserializeOwned};
use serde_json::Value;

use super::Redaction;

/// The replacement for a secret.
pub const REDACTED: &str = "[redacted]";

/// Returns what to say of a file in which secrets of these rules were hidden.
pub fn hidden_flag(name: &str, rules: &BTreeSet<String>) -> String {
    let rules: Vec<&str> = rules.iter().map(String::as_str).collect();
    format!(
        "{name} held what looks like a secret ({}); it is hidden",
        rules.join(", ")
    )
}

impl Redaction {
    /// The text without secrets. Nothing is passed because it is marked.
    pub fn hide<'t>(&self, text: &'t str) -> Cow<'t, str> {
        match self.hide_bytes(text.as_bytes()) {
            Cow::Borrowed(_) => Cow::Borrowed(text),
            Cow::Owned(bytes) => Cow::Owned(String::from_utf8_lossy(&bytes).into_owned()),
        }
    }

    /// The same for bytes.
    pub fn hide_bytes<'t>(&self, text: &'t [u8]) -> Cow<'t, [u8]> {
        let found = self.find(text);
        if found.is_empty() {
            return Cow::Borrowed(text);
        }
        let mut hidden = Vec::with_capacity(text.len());
        let mut at = 0;
        for finding in found {
            hidden.extend_from_slice(&text[at..finding.at.start]);
            hidden.extend_from_slice(REDACTED.as_bytes());
            at = finding.at.end;
        }
        hidden.extend_from_slice(&text[at..]);
        Cow::Owned(hidden)
    }

    /// The same for lines that mean something each by itself: no secret reaches from one into the next.
    pub fn hide_lines<'t>(&self, text: &'t [u8]) -> Cow<'t, [u8]> {
        if self.find(text).is_empty() {
            return Cow::Borrowed(text);
        }
        let lines = text.split_inclusive(|byte| *byte == b'\n');
        let hidden = lines.map(|line| self.hide_bytes(line));
        Cow::Owned(hidden.collect::<Vec<_>>().concat())
    }

    /// Hides the secrets that a text has and its earlier version had not; returns their rules with it.
    pub fn hide_added(&self, before: &[u8], now: &[u8]) -> Option<(Vec<u8>, BTreeSet<String>)> {
        let found = self.find(now);
        if found.is_empty() {
            return None;
        }
        let known = self.find(before);
        let known: HashSet<&[u8]> = known.into_iter().map(|old| &before[old.at]).collect();
        let (mut hidden, mut at, mut rules) = (Vec::new(), 0, BTreeSet::new());
        for finding in found {
            if known.contains(&now[finding.at.clone()]) {
                continue;
            }
            hidden.extend_from_slice(&now[at..finding.at.start]);
            hidden.extend_from_slice(REDACTED.as_bytes());
            at = finding.at.end;
            rules.insert(finding.rule);
        }
        hidden.extend_from_slice(&now[at..]);
        (!rules.is_empty()).then_some((hidden, rules))
    }

    /// Takes secrets out of every text in a value. Returns it as it was where there is none.
    pub fn hide_in<T: Serialize + DeserializeOwned + Debug>(&self, value: T) -> T {
        let Ok(text) = serde_json::to_vec(&value) else {
            return value;
        };
        if self.find(&text).is_empty() {
            return value;
        }
        let Ok(mut json) = serde_json::to_value(&value) else {
            return value;
        };
        self.hide_in_json(&mut json);
        let hidden = serde_json::from_value(json);
        debug_assert!(hidden.is_ok(), "what is written can be read: {hidden:?}");
        hidden.unwrap_or(value)
    }

    /// Takes secrets out of every text in a JSON value; names of fields stay.
    pub fn hide_in_json(&self, json: &mut Value) {
        match json {
            Value::String(text) => {
                if let Cow::Owned(hidden) = self.hide(text) {
                    *text = hidden;
                }
            }
            Value::Array(all) => all.iter_mut().for_each(|one| self.hide_in_json(one)),
            Value::Object(all) => all.values_mut().for_each(|one| self.hide_in_json(one)),
            Value::Null | Value::Bool(_) | Value::Number(_) => {}
        }
    }
}
