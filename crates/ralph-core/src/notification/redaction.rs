//! Takes secrets out of a text: what has the shape of one, and values that are known to be one.
//!
//! Never shows a value that it holds.

use crate::change::redact_secrets;

/// The replacement for a secret.
const REDACTED: &str = "[redacted]";

/// Shorter values are words that stand in honest texts; a secret is longer.
const SHORTEST: usize = 6;

/// Values that must not be in a message.
#[derive(Clone, Default)]
pub struct Redaction {
    /// Longest first, so that one which begins with another leaves no rest.
    values: Vec<String>,
}

impl Redaction {
    pub fn new(values: impl IntoIterator<Item = String>) -> Self {
        let mut values: Vec<String> = values
            .into_iter()
            .map(|value| value.trim().to_owned())
            .filter(|value| value.chars().count() >= SHORTEST)
            .collect();
        values.sort_by_key(|value| std::cmp::Reverse(value.len()));
        values.dedup();
        Self { values }
    }

    /// The text without secrets.
    pub fn hide(&self, text: &str) -> String {
        let mut text = text.to_owned();
        for value in &self.values {
            if text.contains(value) {
                text = text.replace(value, REDACTED);
            }
        }
        redact_secrets(&text)
    }
}

impl std::fmt::Debug for Redaction {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Redaction({} values)", self.values.len())
    }
}
