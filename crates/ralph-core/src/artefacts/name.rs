//! The name of an artefacts project, checked once at the edge: it is a folder's name, an argument,
//! and a word in prompts and on terminals.

/// Longest name in bytes.
const MAX_BYTES: usize = 64;

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
