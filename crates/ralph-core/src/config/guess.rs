//! Guesses the commands that verify a project, from the files at its root.
//!
//! Only proposes: every guess says what it rests on, and a person decides. Reads no file itself.

mod cargo;
mod go;
mod make;
mod node;
mod python;

use std::collections::{BTreeMap, BTreeSet};

use crate::task::VerifyCommand;

/// The files at the root of a project, as far as guessing needs them.
#[derive(Debug, Clone, Default)]
pub struct ProjectFiles {
    /// The names of everything at the root.
    pub names: BTreeSet<String>,
    /// The contents of those files of [`ProjectFiles::READ`] that are there.
    pub texts: BTreeMap<String, String>,
}

impl ProjectFiles {
    /// The files whose text is looked at.
    pub const READ: [&'static str; 9] = [
        "Cargo.toml",
        "GNUmakefile",
        "Makefile",
        "go.mod",
        "makefile",
        "package.json",
        "pyproject.toml",
        "setup.cfg",
        "tox.ini",
    ];

    fn has(&self, name: &str) -> bool {
        self.names.contains(name) || self.texts.contains_key(name)
    }

    /// The first of these names that is there.
    fn first_of<'a>(&self, names: &[&'a str]) -> Option<&'a str> {
        names.iter().copied().find(|name| self.has(name))
    }

    fn text(&self, name: &str) -> Option<&str> {
        self.texts.get(name).map(String::as_str)
    }
}

/// A command that probably verifies the project.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Guess {
    pub command: VerifyCommand,
    pub kind: GuessKind,
    /// Tells what the guess rests on, as part of a sentence: "package.json has the script `test`".
    pub why: String,
}

/// Describes what a command verifies.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum GuessKind {
    Build,
    Lint,
    Test,
}

/// The commands that probably verify a project, in the order in which they are worth running.
pub fn guess_verify(files: &ProjectFiles) -> Vec<Guess> {
    let mut guesses = cargo::guess(files);
    guesses.extend(node::guess(files));
    guesses.extend(go::guess(files));
    guesses.extend(python::guess(files));
    // A Makefile mostly wraps the tools above; it adds only what they leave open.
    let open: Vec<Guess> = make::guess(files)
        .into_iter()
        .filter(|one| !guesses.iter().any(|other| other.kind == one.kind))
        .collect();
    guesses.extend(open);
    guesses
}

fn argv(kind: GuessKind, words: &[&str], why: impl Into<String>) -> Guess {
    Guess {
        command: VerifyCommand::Argv(words.iter().map(|&word| word.to_owned()).collect()),
        kind,
        why: why.into(),
    }
}

/// Returns true if a TOML or INI text has a table whose name begins so. Enough for a guess: no parser of
/// the format is needed to see that a tool is configured.
fn has_table(text: &str, start: &str) -> bool {
    text.lines().any(|line| {
        line.trim_start()
            .trim_start_matches('[')
            .strip_prefix(start)
            .is_some_and(|rest| line.trim_start().starts_with('[') && rest.starts_with([']', '.']))
    })
}
