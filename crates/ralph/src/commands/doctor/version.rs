//! Versions of programs: read from what a program prints, and held to what ralph needs.
//!
//! Starts nothing.

use std::fmt;

/// Major, minor, patch.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Version(pub(super) u32, pub(super) u32, pub(super) u32);

impl fmt::Display for Version {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.2 {
            0 => write!(f, "{}.{}", self.0, self.1),
            patch => write!(f, "{}.{}.{patch}", self.0, self.1),
        }
    }
}

/// The first thing in a text that is a version: `v22.19.0`, `codex-cli 0.166.0`, `2.1 (Claude Code)`.
pub(super) fn parse_version(text: &str) -> Option<Version> {
    text.split(|c: char| !(c.is_ascii_digit() || c == '.'))
        .find_map(|word| {
            let mut numbers = word.trim_matches('.').split('.');
            let mut next = || numbers.next()?.parse().ok();
            Some(Version(next()?, next()?, next().unwrap_or(0)))
        })
}

/// What a version is good for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Fitness {
    Good,
    /// It may do; why not, and what to do.
    Doubtful(String, &'static str),
    /// It can't do.
    Unfit(String, &'static str),
}

/// The oldest Claude Code that ralph was tried with.
const CLAUDE_KNOWN: Version = Version(2, 1, 0);
/// The first Pi that says when it is done.
const PI_SETTLES: Version = Version(0, 80, 4);
/// The first Pi whose stream has only what is new; before that each word repeats all others.
const PI_DELTAS: Version = Version(0, 84, 0);
/// The last one under Pi's old name.
const PI_OLD_NAME: Version = Version(0, 73, 1);
/// What today's Pi runs on.
const NODE_OF_PI: Version = Version(22, 19, 0);

const GET_PI: &str = "`npm uninstall -g @mariozechner/pi-coding-agent`, then `npm install -g @earendil-works/pi-coding-agent`";

/// Whether ralph can work with this version of an agent.
pub(super) fn judge(kind: &str, version: Version) -> Fitness {
    match kind {
        "claude" if version < CLAUDE_KNOWN => Fitness::Doubtful(
            format!("older than {CLAUDE_KNOWN}, the oldest that ralph was tried with"),
            "`claude update`, or `npm install -g @anthropic-ai/claude-code`",
        ),
        "pi" if version <= PI_OLD_NAME => Fitness::Unfit(
            format!(
                "too old: it never says when it is done, which ralph waits for ({PI_SETTLES} does). The \
                 package @mariozechner/pi-coding-agent stops at {PI_OLD_NAME}; Pi goes on under another \
                 name"
            ),
            GET_PI,
        ),
        "pi" if version < PI_SETTLES => Fitness::Unfit(
            format!(
                "too old: it never says when it is done, which ralph waits for ({PI_SETTLES} does)"
            ),
            GET_PI,
        ),
        "pi" if version < PI_DELTAS => Fitness::Doubtful(
            format!("older than {PI_DELTAS}: it repeats all of a message for each word of it"),
            "`npm install -g @earendil-works/pi-coding-agent`",
        ),
        _ => Fitness::Good,
    }
}

/// Whether Pi runs on this version of Node.
pub(super) fn judge_node(version: Version) -> Fitness {
    if version >= NODE_OF_PI {
        return Fitness::Good;
    }
    Fitness::Unfit(
        format!("too old: Pi needs {NODE_OF_PI} or later"),
        "install a newer Node.js, and put it first on the PATH",
    )
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

    #[test]
    fn each_agent_is_held_to_what_ralph_needs_of_it() {
        let word = |fitness: &Fitness| match fitness {
            Fitness::Good => "good",
            Fitness::Doubtful(..) => "doubtful",
            Fitness::Unfit(..) => "unfit",
        };
        for (kind, version, expected) in [
            ("claude", Version(2, 1, 0), "good"),
            ("claude", Version(2, 0, 99), "doubtful"),
            ("pi", Version(0, 73, 1), "unfit"),
            ("pi", Version(0, 80, 3), "unfit"),
            ("pi", Version(0, 80, 4), "doubtful"),
            ("pi", Version(0, 83, 9), "doubtful"),
            ("pi", Version(0, 84, 0), "good"),
            ("pi", Version(1, 5, 0), "good"),
            ("codex", Version(0, 1, 0), "good"),
        ] {
            assert_eq!(word(&judge(kind, version)), expected, "{kind} {version}");
        }
        assert_eq!(word(&judge_node(Version(22, 18, 9))), "unfit");
        assert_eq!(word(&judge_node(Version(22, 19, 0))), "good");
    }

    #[test]
    fn the_old_name_of_pi_is_named_with_the_new_one() {
        let Fitness::Unfit(why, hint) = judge("pi", Version(0, 73, 1)) else {
            panic!("it is unfit");
        };
        assert!(
            why.contains("@mariozechner/pi-coding-agent stops at 0.73.1"),
            "{why}"
        );
        assert!(hint.contains("@earendil-works/pi-coding-agent"), "{hint}");
    }
}
