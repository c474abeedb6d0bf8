//! Small value types of the configuration that cannot hold a bad value.
//!
//! Each checks itself when it is read, so that the rest of ralph never meets a zero limit, a broken
//! glob or an empty command line.

use std::time::Duration;

use serde::{Deserialize, Serialize};

/// A length of time that is written in minutes; fractions are allowed, zero is not.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(try_from = "f64", into = "serde_json::Number")]
pub struct Minutes {
    // Whole milliseconds, so that two equal settings compare equal.
    millis: u64,
}

impl Minutes {
    /// The longest length that is taken: a year. Longer is a mistake in the unit.
    const MAX: f64 = 366.0 * 24.0 * 60.0;

    /// Whole minutes; zero is made one millisecond, which no caller asks for.
    pub const fn whole(minutes: u32) -> Self {
        let millis = minutes as u64 * 60_000;
        Self {
            millis: if millis == 0 { 1 } else { millis },
        }
    }

    /// To the millisecond.
    pub(super) fn of(time: Duration) -> Self {
        let millis = u64::try_from(time.as_millis()).unwrap_or(u64::MAX);
        Self {
            millis: millis.max(1),
        }
    }

    pub const fn duration(self) -> Duration {
        Duration::from_millis(self.millis)
    }
}

impl TryFrom<f64> for Minutes {
    type Error = String;

    fn try_from(minutes: f64) -> Result<Self, String> {
        if !(minutes > 0.0 && minutes <= Self::MAX) {
            return Err(format!(
                "expected a number of minutes greater than 0 and at most {}, found {minutes}",
                Self::MAX
            ));
        }
        // In range by the check above; at least one millisecond, so that it never becomes zero.
        let millis = (minutes * 60_000.0).round().max(1.0) as u64;
        Ok(Self { millis })
    }
}

impl From<Minutes> for serde_json::Number {
    fn from(minutes: Minutes) -> Self {
        if minutes.millis.is_multiple_of(60_000) {
            return Self::from(minutes.millis / 60_000);
        }
        Self::from_f64(minutes.millis as f64 / 60_000.0).unwrap_or_else(|| Self::from(1))
    }
}

impl std::fmt::Display for Minutes {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{} min", serde_json::Number::from(*self))
    }
}

/// An amount of space that is written in gigabytes; fractions are allowed, zero is not.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(try_from = "f64", into = "serde_json::Number")]
pub struct Gigabytes {
    bytes: u64,
}

impl Gigabytes {
    const ONE: f64 = 1024.0 * 1024.0 * 1024.0;
    /// More than any disk has: a mistake in the unit.
    const MAX: f64 = 1_000_000.0;

    pub const fn bytes(self) -> u64 {
        self.bytes
    }
}

impl TryFrom<f64> for Gigabytes {
    type Error = String;

    fn try_from(gigabytes: f64) -> Result<Self, String> {
        if !(gigabytes > 0.0 && gigabytes <= Self::MAX) {
            return Err(format!(
                "expected a number of gigabytes greater than 0 and at most {}, found {gigabytes}",
                Self::MAX
            ));
        }
        // In range by the check above.
        let bytes = (gigabytes * Self::ONE).round().max(1.0) as u64;
        Ok(Self { bytes })
    }
}

impl From<Gigabytes> for serde_json::Number {
    fn from(gigabytes: Gigabytes) -> Self {
        let whole = 1024 * 1024 * 1024;
        if gigabytes.bytes.is_multiple_of(whole) {
            return Self::from(gigabytes.bytes / whole);
        }
        Self::from_f64(gigabytes.bytes as f64 / Gigabytes::ONE).unwrap_or_else(|| Self::from(1))
    }
}

schema_of!(Gigabytes, { "type": "number", "exclusiveMinimum": 0, "maximum": Self::MAX as u64 });
schema_of!(Minutes, { "type": "number", "exclusiveMinimum": 0, "maximum": Self::MAX as u64 });

/// A command line: a program and its arguments, never empty.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "Vec<String>", into = "Vec<String>")]
pub struct Argv(Vec<String>);

impl Argv {
    /// A program without arguments.
    pub fn one(program: &str) -> Self {
        Self(vec![program.to_owned()])
    }

    pub fn program(&self) -> &str {
        self.0.first().map_or("", String::as_str)
    }

    pub fn args(&self) -> &[String] {
        self.0.get(1..).unwrap_or_default()
    }

    pub fn as_slice(&self) -> &[String] {
        &self.0
    }
}

impl TryFrom<Vec<String>> for Argv {
    type Error = String;

    fn try_from(words: Vec<String>) -> Result<Self, String> {
        match words.first() {
            None => Err("expected a program and its arguments, found an empty list".into()),
            Some(program) if program.trim().is_empty() => {
                Err("expected the name of a program first, found an empty word".into())
            }
            Some(_) => Ok(Self(words)),
        }
    }
}

impl From<Argv> for Vec<String> {
    fn from(argv: Argv) -> Self {
        argv.0
    }
}

schema_of!(Argv, { "type": "array", "items": { "type": "string" }, "minItems": 1 });

checked_text! {
    /// A pattern over paths within the repository, such as `migrations/**`.
    pub struct GlobPattern;
    { "type": "string", "minLength": 1 }
}

impl TryFrom<String> for GlobPattern {
    type Error = String;

    fn try_from(pattern: String) -> Result<Self, String> {
        if pattern.trim().is_empty() {
            return Err("expected a glob pattern, found an empty text".into());
        }
        match globset::Glob::new(&pattern) {
            Ok(_) => Ok(Self(pattern)),
            Err(error) => Err(format!("bad glob pattern `{pattern}`: {}", error.kind())),
        }
    }
}

checked_text! {
    /// What the names of ralph's branches begin with; a name that git would refuse cannot be held.
    pub struct BranchPrefix;
    { "type": "string" }
}

impl Default for BranchPrefix {
    fn default() -> Self {
        Self("ralph/".into())
    }
}

impl TryFrom<String> for BranchPrefix {
    type Error = String;

    fn try_from(prefix: String) -> Result<Self, String> {
        let bad_char = |c: char| c.is_whitespace() || c.is_control() || "~^:?*[\\".contains(c);
        let bad_part = |part: &str| part.starts_with('.') || part.ends_with(".lock");
        // git's own rules for names of references, applied to the part that comes before the slug.
        let bad = prefix.contains(bad_char)
            || prefix.starts_with(['-', '/'])
            || prefix.contains("..")
            || prefix.contains("//")
            || prefix.contains("@{")
            || prefix.split('/').any(bad_part);
        if bad {
            return Err(format!(
                "`{prefix}` cannot begin the name of a git branch; `ralph/` can"
            ));
        }
        Ok(Self(prefix))
    }
}
