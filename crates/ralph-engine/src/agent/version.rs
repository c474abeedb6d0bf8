//! Versions of programs: read from what a program prints, and judged by what ralph needs.
//!
//! Starts nothing. Which versions of an agent will do is said in its own folder.

use std::fmt;

/// Major, minor, patch.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Version(pub u32, pub u32, pub u32);

impl fmt::Display for Version {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.2 {
            0 => write!(f, "{}.{}", self.0, self.1),
            patch => write!(f, "{}.{}.{patch}", self.0, self.1),
        }
    }
}

/// Finds the first version in a text: `v22.19.0`, `some-cli 0.166.0`, `2.1 (Some Agent)`.
pub fn parse_version(text: &str) -> Option<Version> {
    text.split(|c: char| !(c.is_ascii_digit() || c == '.'))
        .find_map(|word| {
            let mut numbers = word.trim_matches('.').split('.');
            let mut next = || numbers.next()?.parse().ok();
            Some(Version(next()?, next()?, next().unwrap_or(0)))
        })
}

/// The judgement of a version.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Fitness {
    Good,
    /// It may work.
    Doubtful(VersionProblem),
    /// It can't work.
    Unfit(VersionProblem),
}

/// A fault of a version.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct VersionProblem {
    /// Completes a sentence: `1.2.3 is …`.
    pub why: String,
    /// The way out.
    pub hint: &'static str,
}

/// A program that has to be there for an agent whose own program is a script of it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Runtime {
    pub program: &'static str,
    pub title: &'static str,
    pub minimum: Version,
    pub hint: &'static str,
}

impl Runtime {
    /// Judges its version on behalf of an agent.
    pub fn judge(&self, agent_title: &str, version: Version) -> Fitness {
        if version >= self.minimum {
            return Fitness::Good;
        }
        Fitness::Unfit(VersionProblem {
            why: format!("too old: {agent_title} needs {} or later", self.minimum),
            hint: self.hint,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_version_is_found_in_what_programs_print() {
        for (text, expected) in [
            ("2.1.197 (Claude Code)", Some(Version(2, 1, 197))),
            ("v22.23.3\n", Some(Version(22, 23, 3))),
            ("codex-cli 0.166.0", Some(Version(0, 166, 0))),
            ("1.5.0-beta.2", Some(Version(1, 5, 0))),
            ("pi 7 of 1.5", Some(Version(1, 5, 0))),
            ("version 3.", None),
            ("99999999999.1.1", None),
            ("unknown", None),
            ("", None),
        ] {
            assert_eq!(parse_version(text), expected, "{text:?}");
        }
    }

    #[test]
    fn versions_are_compared_by_number() {
        assert!(Version(0, 9, 9) < Version(0, 80, 4));
        assert!(Version(2, 1, 10) > Version(2, 1, 9));
        assert_eq!(Version(22, 19, 0).to_string(), "22.19");
        assert_eq!(Version(0, 73, 1).to_string(), "0.73.1");
    }
}
