//! The rules that secrets are found by: one table for each kind of vendor, made from the formats that the vendors
//! publish.
//!
//! Data alone. A value is looked for only where a keyword stands, so that a rule costs nothing where it does not.

mod ai;
mod apps;
mod cloud;
mod code;
mod data;
mod keys;
mod messages;
mod money;
mod monitoring;

use super::Certainty;

/// One format of a secret.
///
/// Patterns are regular expressions over bytes, matched right behind the keyword. `<hex>`, `<alnum>`, `<lower>`,
/// `<upper>`, `<word>`, `<base64>` and `<uuid>` stand for the usual alphabets.
pub(super) struct SecretRule {
    /// For people, unique.
    pub(super) name: &'static str,
    pub(super) keywords: &'static [&'static str],
    pub(super) shape: KeywordPart,
    pub(super) pattern: &'static str,
    /// The least entropy of the value, in bits for each of its characters.
    pub(super) entropy: f32,
    pub(super) certainty: Certainty,
}

/// The part that a keyword has in its rule.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum KeywordPart {
    /// The value begins with the keyword, and with a word of its own.
    Prefix,
    /// So many letters, digits and marks of the value stand before the keyword.
    Infix { before: usize },
    /// The keyword is part of a name, such as that of a variable, and the value is given to it.
    Name,
    /// The keyword stands before the value, which is the first group of the pattern.
    Lead,
}

const fn rule(
    name: &'static str,
    keywords: &'static [&'static str],
    shape: KeywordPart,
    pattern: &'static str,
) -> SecretRule {
    SecretRule {
        name,
        keywords,
        shape,
        pattern,
        entropy: 0.0,
        certainty: Certainty::Secret,
    }
}

/// A token that says by its beginning what it is.
const fn token(
    name: &'static str,
    keywords: &'static [&'static str],
    rest: &'static str,
) -> SecretRule {
    rule(name, keywords, KeywordPart::Prefix, rest)
}

/// A token that has its mark in its middle.
const fn marked(
    name: &'static str,
    keywords: &'static [&'static str],
    before: usize,
    rest: &'static str,
) -> SecretRule {
    rule(name, keywords, KeywordPart::Infix { before }, rest)
}

/// A value without a mark, told by the name that it is given to.
const fn named(
    name: &'static str,
    keywords: &'static [&'static str],
    value: &'static str,
) -> SecretRule {
    SecretRule {
        entropy: 2.8,
        ..rule(name, keywords, KeywordPart::Name, value)
    }
}

/// A value that stands behind something fixed.
const fn behind(
    name: &'static str,
    keywords: &'static [&'static str],
    pattern: &'static str,
) -> SecretRule {
    rule(name, keywords, KeywordPart::Lead, pattern)
}

impl SecretRule {
    /// Often a sample, or not secret alone.
    const fn resembles(self) -> Self {
        Self {
            certainty: Certainty::Resembles,
            ..self
        }
    }

    const fn entropy(self, entropy: f32) -> Self {
        Self { entropy, ..self }
    }

    /// The regular expression, anchored right behind the keyword.
    pub(super) fn regex(&self) -> String {
        let pattern = expanded(self.pattern);
        match self.shape {
            KeywordPart::Prefix | KeywordPart::Infix { .. } | KeywordPart::Lead => {
                format!("(?-u)^(?:{pattern})")
            }
            KeywordPart::Name => {
                let words = SECRET_WORDS.join("|");
                format!(
                    "(?-u)^(?i:[a-z0-9_.-]{{0,30}}?(?:{words})[a-z0-9_.-]{{0,{MOST_AFTER_SECRET_WORD}}}){SIGN}({pattern})"
                )
            }
        }
    }
}

/// The words in the rest of a name that say that a secret is meant.
pub(super) const SECRET_WORDS: [&str; 8] = [
    "key",
    "token",
    "secret",
    "passw",
    "auth",
    "credential",
    "pat",
    "pwd",
];

/// The most characters of a name behind its secret word.
pub(super) const MOST_AFTER_SECRET_WORD: usize = 20;

/// An optional type, and the sign between name and value.
const SIGN: &str = concat!(
    r#"(?:\\?["'`\]]){0,3}"#,
    r"(?:[ \t]{0,2}:[ \t]{0,2}&?(?:'static )?(?:str|String|string)\b)?",
    r"[ \t]{0,20}(?::=|=>|==?|:|,|>)[ \t]{0,20}",
    r#"(?:\\?["'`]){0,3}"#,
);

const ALPHABETS: &[(&str, &str)] = &[
    ("<hex>", "[0-9a-f]"),
    ("<alnum>", "[A-Za-z0-9]"),
    ("<lower>", "[a-z0-9]"),
    ("<upper>", "[A-Z0-9]"),
    ("<word>", "[A-Za-z0-9_-]"),
    ("<base64>", "[A-Za-z0-9+/]"),
    (
        "<uuid>",
        "[0-9a-fA-F]{8}-[0-9a-fA-F]{4}-[0-9a-fA-F]{4}-[0-9a-fA-F]{4}-[0-9a-fA-F]{12}",
    ),
];

fn expanded(pattern: &str) -> String {
    let mut text = pattern.to_owned();
    for (name, class) in ALPHABETS {
        text = text.replace(name, class);
    }
    text
}

/// All tables. Where two rules find the same value, the first one names it.
pub(super) const TABLES: [&[SecretRule]; 9] = [
    keys::RULES,
    ai::RULES,
    code::RULES,
    cloud::RULES,
    data::RULES,
    money::RULES,
    messages::RULES,
    monitoring::RULES,
    apps::RULES,
];
