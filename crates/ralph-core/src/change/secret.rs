//! Finds secrets in text by a small table of shapes.
//!
//! Reports the rule and the line, never the value: what is found here ends up in logs, prompts and
//! reports. Shapes alone are looked for; entropy guesses would refuse honest work.

use std::sync::LazyLock;

use regex::bytes::Regex;
use serde::{Deserialize, Serialize};

/// A line that holds this is passed, as a person has looked at it.
pub const ALLOW_MARK: &str = "ralph:allow-secret";

/// A line that looks like a secret.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct SecretHit {
    pub rule: String,
    /// Counted from 1.
    pub line: usize,
    pub certainty: Certainty,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum Certainty {
    /// Of a shape that only a secret has.
    Secret,
    /// Often a sample: worth showing, not worth refusing.
    Resembles,
}

struct SecretRule {
    name: &'static str,
    pattern: &'static str,
    certainty: Certainty,
}

const fn secret(name: &'static str, pattern: &'static str) -> SecretRule {
    SecretRule {
        name,
        pattern,
        certainty: Certainty::Secret,
    }
}

const RULES: &[SecretRule] = &[
    secret(
        "private key",
        r"-----BEGIN (?:[A-Z0-9]+ )*PRIVATE KEY(?: BLOCK)?-----",
    ),
    secret("AWS access key id", r"\b(?:AKIA|ASIA)[0-9A-Z]{16}\b"),
    secret("GitHub token", r"\bgh[pousr]_[A-Za-z0-9]{36,}"),
    secret(
        "GitHub fine-grained token",
        r"\bgithub_pat_[A-Za-z0-9_]{40,}",
    ),
    secret("GitLab token", r"\bglpat-[A-Za-z0-9_-]{20,}"),
    secret("Slack token", r"\bxox[abeoprs]-[A-Za-z0-9-]{20,}"),
    secret("Anthropic key", r"\bsk-ant-[A-Za-z0-9_-]{20,}"),
    secret(
        "OpenAI key",
        r"\bsk-(?:(?:proj|svcacct|admin)-[A-Za-z0-9_-]{40,}|[A-Za-z0-9]{40,}\b)",
    ),
    secret("Google API key", r"\bAIza[0-9A-Za-z_-]{35}"),
    secret("Stripe live key", r"\b[sr]k_live_[0-9A-Za-z]{20,}"),
    secret("npm token", r"\bnpm_[A-Za-z0-9]{36}\b"),
    SecretRule {
        name: "JSON web token",
        pattern: r"\beyJ[A-Za-z0-9_-]{10,}\.eyJ[A-Za-z0-9_-]{10,}\.[A-Za-z0-9_-]{10,}",
        certainty: Certainty::Resembles,
    },
];

static COMPILED: LazyLock<Vec<(&'static SecretRule, Regex)>> = LazyLock::new(|| {
    RULES
        .iter()
        .map(|rule| {
            let pattern = format!("(?-u){}", rule.pattern);
            (
                rule,
                Regex::new(&pattern).expect("the rules are constants and tested"),
            )
        })
        .collect()
});

/// The same shapes, with all that belongs to what they begin.
static WHOLE: LazyLock<Vec<Regex>> = LazyLock::new(|| {
    let whole = |rule: &SecretRule| {
        let rest = match rule.name {
            "private key" => r"(?s:.*?)(?:-----END [^-]*-----|\z)",
            _ => "",
        };
        let pattern = format!("(?-u){}{rest}", rule.pattern);
        Regex::new(&pattern).expect("the rules are constants and tested")
    };
    RULES.iter().map(whole).collect()
});

/// The text without what looks like a secret, for anyone who is not to have it. Nothing is passed
/// because it is marked or a sample: here a secret too few costs nothing.
pub fn redact_secrets(text: &str) -> String {
    let mut bytes = text.as_bytes().to_vec();
    for regex in WHOLE.iter() {
        if regex.is_match(&bytes) {
            bytes = regex.replace_all(&bytes, b"[redacted]").into_owned();
        }
    }
    String::from_utf8_lossy(&bytes).into_owned()
}

/// Returns what looks like a secret in `text`, one hit a rule and line, in the order of lines.
pub fn scan_secrets(text: &[u8]) -> Vec<SecretHit> {
    let mut hits: Vec<SecretHit> = Vec::new();
    for (rule, regex) in COMPILED.iter() {
        for found in regex.find_iter(text) {
            if is_documentation_sample(found.as_bytes()) {
                continue;
            }
            let (line, content) = line_at(text, found.start());
            if memchr::memmem::find(content, ALLOW_MARK.as_bytes()).is_some() {
                continue;
            }
            let hit = SecretHit {
                rule: rule.name.to_owned(),
                line,
                certainty: rule.certainty,
            };
            if !hits.contains(&hit) {
                hits.push(hit);
            }
        }
    }
    hits.sort_by_key(|hit| hit.line);
    hits
}

/// Vendors' own manuals use keys with this word in them.
fn is_documentation_sample(value: &[u8]) -> bool {
    memchr::memmem::find(value, b"EXAMPLE").is_some()
}

/// Number and content of the line that holds the byte at `offset`.
pub(super) fn line_at(text: &[u8], offset: usize) -> (usize, &[u8]) {
    let start = memchr::memrchr(b'\n', &text[..offset]).map_or(0, |at| at + 1);
    let end = memchr::memchr(b'\n', &text[offset..]).map_or(text.len(), |at| offset + at);
    let number = memchr::memchr_iter(b'\n', &text[..start]).count() + 1;
    (number, &text[start..end])
}

/// The content of line `number`, counted from 1.
pub(super) fn line(text: &[u8], number: usize) -> &[u8] {
    text.split(|byte| *byte == b'\n')
        .nth(number.saturating_sub(1))
        .unwrap_or_default()
}
