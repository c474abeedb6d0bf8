//! The name of a git object.
//!
//! Checked once at the edge, so that nothing that is not hexadecimal ever becomes an argument.

use std::fmt;

use serde::{Deserialize, Serialize};

/// A full object name, SHA-1 or SHA-256, in lower case.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct Oid(String);

#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("'{0}' is not a full git object name")]
pub struct BadOid(pub String);

impl Oid {
    pub fn parse(text: &str) -> Result<Self, BadOid> {
        let text = text.trim_end_matches('\n');
        let hex = text
            .bytes()
            .all(|byte| matches!(byte, b'0'..=b'9' | b'a'..=b'f'));
        if hex && matches!(text.len(), 40 | 64) {
            Ok(Self(text.to_owned()))
        } else {
            Err(BadOid(text.chars().take(80).collect()))
        }
    }

    pub(super) fn from_bytes(bytes: &[u8]) -> Self {
        Self(bytes.iter().map(|byte| format!("{byte:02x}")).collect())
    }

    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// Enough of it for people.
    pub fn short(&self) -> &str {
        &self.0[..10]
    }

    /// Returns what git takes for "does not exist yet" in a compare-and-swap.
    pub(super) fn zero_like(&self) -> String {
        "0".repeat(self.0.len())
    }
}

impl fmt::Display for Oid {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl TryFrom<String> for Oid {
    type Error = BadOid;
    fn try_from(text: String) -> Result<Self, BadOid> {
        Self::parse(&text)
    }
}

impl From<Oid> for String {
    fn from(oid: Oid) -> Self {
        oid.0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn takes_full_names_alone() {
        let sha1 = "0123456789abcdef0123456789abcdef01234567";
        assert_eq!(Oid::parse(&format!("{sha1}\n")).unwrap().as_str(), sha1);
        assert_eq!(Oid::parse(&"a".repeat(64)).unwrap().short(), "aaaaaaaaaa");
        for wrong in [
            "",
            "abc",
            "--upload-pack=x",
            &sha1.to_uppercase(),
            &"g".repeat(40),
        ] {
            assert!(Oid::parse(wrong).is_err(), "{wrong}");
        }
    }
}
