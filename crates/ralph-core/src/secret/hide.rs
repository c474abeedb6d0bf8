//! Takes secrets out of texts, and out of whole values before they are written.

use std::{borrow::Cow, collections::BTreeSet};

use serde::{Serialize, de::DeserializeOwned};
use serde_json::Value;

use super::Redaction;

/// The replacement for a secret.
pub const REDACTED: &str = "[redacted]";

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

    /// Returns the rules that find something in a text.
    pub fn rules_in(&self, text: &str) -> BTreeSet<String> {
        let found = self.find(text.as_bytes()).into_iter();
        found.map(|finding| finding.rule).collect()
    }

    /// Takes secrets out of every text in a value. Returns it as it was where there is none.
    pub fn hide_in<T: Serialize + DeserializeOwned>(&self, value: T) -> T {
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
        serde_json::from_value(json).unwrap_or(value)
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
