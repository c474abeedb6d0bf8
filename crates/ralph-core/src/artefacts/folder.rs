//! Where the files of an artefacts project are. Paths alone: whether anything is there is for others
//! to find out.

use std::path::{Path, PathBuf};

/// The folder of all projects, in a repository's root.
const ALL: &str = ".artefacts";

/// The folder of one project.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Folder {
    path: PathBuf,
}

impl Folder {
    /// Below `root`; an empty root gives the paths as a prompt names them.
    pub fn new(root: &Path, name: &ProjectName) -> Self {
        Self {
            path: root.join(ALL).join(name.as_str()),
        }
    }

    /// As people and prompts name it, from the root of the repository.
    pub fn relative(name: &ProjectName) -> Self {
        Self::new(Path::new(""), name)
    }

    pub fn path(&self) -> &Path {
        &self.path
    }

    /// The brief: a person's at first, then amended by interviews.
    pub fn spec(&self) -> PathBuf {
        self.path.join("spec.md")
    }

    pub fn tasks(&self) -> PathBuf {
        self.path.join("tasks.json")
    }

    /// The log of what each iteration did.
    pub fn state(&self) -> PathBuf {
        self.path.join("state.json")
    }

    pub fn obstacles(&self) -> PathBuf {
        self.path.join("obstacles.json")
    }

    pub fn results(&self) -> PathBuf {
        self.path.join("results.md")
    }

    /// By which an agent says that it is done; never there for long.
    pub fn done(&self) -> PathBuf {
        self.path.join("done.md")
    }

    /// Questions of an interview that no one has answered yet.
    pub fn questions(&self) -> PathBuf {
        self.path.join("questions.json")
    }

    /// Returns what interviews keep.
    pub fn history(&self) -> PathBuf {
        self.path.join("history")
    }

    /// The brief as it stood behind this round; 0 is the one before the first.
    pub fn spec_of_round(&self, round: u32) -> PathBuf {
        self.history().join(format!("round-{round}-spec.md"))
    }

    /// Returns how far an interview has come that is not over.
    pub fn interview(&self) -> PathBuf {
        self.history().join("interview.json")
    }
}

/// Longest name in bytes.
const MAX_BYTES: usize = 64;

/// The name of a project, checked once at the edge: it is a folder's name, an argument, and a word
/// in prompts and on terminals.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ProjectName(String);

/// Why a text can't be the name of a project.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum BadProjectName {
    #[error("a project's name can't be empty")]
    Empty,
    #[error("a project's name can have at most {MAX_BYTES} bytes, this one has {0}")]
    TooLong(usize),
    #[error("a project can't be called {name:?}: its name can't contain {character:?}")]
    Character { name: String, character: char },
    #[error("a project can't be called {name:?}: its name can't begin with {character:?}")]
    Start { name: String, character: char },
}

impl BadProjectName {
    /// Defines what a name may be, for a hint.
    pub const ALLOWED: &str = "a name has letters, digits, `-`, `_` and `.`, begins with a letter or a digit, and is at most 64 bytes long";
}

impl ProjectName {
    pub fn parse(text: &str) -> Result<Self, BadProjectName> {
        if text.len() > MAX_BYTES {
            return Err(BadProjectName::TooLong(text.len()));
        }
        let first = text.chars().next().ok_or(BadProjectName::Empty)?;
        let name = || text.to_owned();
        let may_be_inside = |c: char| c.is_alphanumeric() || matches!(c, '-' | '_' | '.');
        // What may stand nowhere is named before what may only not stand first.
        if let Some(character) = text.chars().find(|c| !may_be_inside(*c)) {
            return Err(BadProjectName::Character {
                name: name(),
                character,
            });
        }
        if !first.is_alphanumeric() {
            return Err(BadProjectName::Start {
                name: name(),
                character: first,
            });
        }
        Ok(Self(name()))
    }

    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl std::fmt::Display for ProjectName {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::str::FromStr for ProjectName {
    type Err = BadProjectName;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        Self::parse(text)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_files_are_where_the_workflow_has_them() {
        let name = ProjectName::parse("shop").unwrap();
        let folder = Folder::new(Path::new("/repo"), &name);
        let found = [
            folder.path().to_owned(),
            folder.spec(),
            folder.tasks(),
            folder.state(),
            folder.obstacles(),
            folder.results(),
            folder.done(),
            folder.questions(),
            folder.spec_of_round(2),
            folder.interview(),
        ];
        let below = |rest: &str| PathBuf::from(format!("/repo/.artefacts/shop{rest}"));
        let expected = [
            below(""),
            below("/spec.md"),
            below("/tasks.json"),
            below("/state.json"),
            below("/obstacles.json"),
            below("/results.md"),
            below("/done.md"),
            below("/questions.json"),
            below("/history/round-2-spec.md"),
            below("/history/interview.json"),
        ];
        assert_eq!(found, expected);
        let relative = Folder::relative(&name).spec();
        assert_eq!(relative, Path::new(".artefacts/shop/spec.md"));
    }
}

#[cfg(test)]
mod name_tests {
    use super::*;

    #[test]
    fn names_as_people_write_them_are_taken() {
        for name in [
            "shop",
            "Shop-2",
            "2026_report",
            "api.v2",
            "größe",
            &"x".repeat(64),
        ] {
            assert_eq!(ProjectName::parse(name).unwrap().as_str(), name);
        }
    }

    #[test]
    fn names_that_could_do_harm_are_refused_by_what_is_wrong_with_them() {
        use BadProjectName::{Empty, TooLong};
        let character = |name: &str, character| BadProjectName::Character {
            name: name.to_owned(),
            character,
        };
        let start = |name: &str, character| BadProjectName::Start {
            name: name.to_owned(),
            character,
        };
        let long = "x".repeat(65);
        let cases = [
            ("", Empty),
            (".", start(".", '.')),
            ("..", start("..", '.')),
            (".hidden", start(".hidden", '.')),
            ("-rf", start("-rf", '-')),
            ("_x", start("_x", '_')),
            ("../x", character("../x", '/')),
            ("a/b", character("a/b", '/')),
            ("a\\b", character("a\\b", '\\')),
            ("a b", character("a b", ' ')),
            ("a\nb", character("a\nb", '\n')),
            ("a\u{1b}[31m", character("a\u{1b}[31m", '\u{1b}')),
            ("a\u{202e}b", character("a\u{202e}b", '\u{202e}')),
            (&long, TooLong(65)),
        ];
        for (name, why) in cases {
            assert_eq!(ProjectName::parse(name), Err(why), "{name:?}");
        }
        let said = ProjectName::parse("a\u{1b}b").unwrap_err().to_string();
        assert!(!said.contains('\u{1b}'), "{said}");
    }
}
