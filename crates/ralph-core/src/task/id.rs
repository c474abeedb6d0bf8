//! The name of a task, checked once at the edge so that it is safe everywhere behind it: as a file
//! name, as an argument, in a trailer, on a terminal.

use std::sync::Arc;

/// Longest id in bytes: it stands in file names and in commit trailers.
const MAX_BYTES: usize = 120;

#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct TaskId(Arc<str>);

/// Why a text can't be the id of a task.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum BadTaskId {
    #[error("a task id can't be empty")]
    Empty,
    #[error("a task id can have at most {MAX_BYTES} bytes, this one has {0}")]
    TooLong(usize),
    #[error("a task id can't contain {0:?}")]
    Character(char),
    #[error("a task id can't start with {0:?}")]
    Start(char),
    #[error("a task id can't start or end with white space")]
    Space,
}

impl TaskId {
    pub fn parse(text: &str) -> Result<Self, BadTaskId> {
        if text.len() > MAX_BYTES {
            return Err(BadTaskId::TooLong(text.len()));
        }
        if text.trim() != text {
            return Err(BadTaskId::Space);
        }
        let first = text.chars().next().ok_or(BadTaskId::Empty)?;
        if matches!(first, '-' | '.' | '~') {
            return Err(BadTaskId::Start(first));
        }
        if let Some(bad) = text.chars().find(|c| !is_safe(*c)) {
            return Err(BadTaskId::Character(bad));
        }
        Ok(Self(text.into()))
    }

    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl std::fmt::Debug for TaskId {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_tuple("TaskId").field(&self.as_str()).finish()
    }
}

/// Letters, digits and a few marks. What a path, a shell, git or a terminal gives a meaning to is
/// out, and so are characters that can't be seen.
fn is_safe(c: char) -> bool {
    c.is_alphanumeric() || matches!(c, '-' | '_' | '.' | ':' | '#' | '+' | '@' | ' ' | '(' | ')')
}

impl std::fmt::Display for TaskId {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(self.as_str())
    }
}

impl std::str::FromStr for TaskId {
    type Err = BadTaskId;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        Self::parse(text)
    }
}

impl serde::Serialize for TaskId {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(self.as_str())
    }
}

impl<'de> serde::Deserialize<'de> for TaskId {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = std::borrow::Cow::<'de, str>::deserialize(deserializer)?;
        Self::parse(&text).map_err(serde::de::Error::custom)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ids_as_people_write_them_are_taken() {
        for id in [
            "US-001",
            "1",
            "T1",
            "auth.login",
            "área-1",
            "Story 1",
            "a:b#2",
        ] {
            assert_eq!(TaskId::parse(id).unwrap().as_str(), id);
        }
    }

    #[test]
    fn ids_that_could_do_harm_are_refused() {
        use BadTaskId::{Character, Empty, Space, Start, TooLong};
        let long = "x".repeat(10_000);
        for (id, why) in [
            ("", Empty),
            ("../../x", Start('.')),
            ("a/b", Character('/')),
            ("--upload-pack=x", Start('-')),
            ("a\nb", Character('\n')),
            (" a", Space),
            ("a\u{200b}b", Character('\u{200b}')),
            ("a\u{1b}[31m", Character('\u{1b}')),
            ("$(x)", Character('$')),
            (long.as_str(), TooLong(10_000)),
        ] {
            assert_eq!(TaskId::parse(id), Err(why), "{id:?}");
        }
    }
}
