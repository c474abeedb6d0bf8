//! The name of a task, checked once at the edge so that it is safe everywhere behind it: as a file
//! name, as an argument, in a trailer, on a terminal.

use std::sync::Arc;

/// Longest id in bytes: it stands in file names and in commit trailers.
const MAX_BYTES: usize = 120;

/// Ids up to this length stand in the value itself: there are many, and nearly all are short.
const SHORT: usize = 22;

#[derive(Clone)]
pub struct TaskId(Text);

#[derive(Clone)]
enum Text {
    Short { len: u8, bytes: [u8; SHORT] },
    Long(Arc<str>),
}

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
        if is_plain(text) {
            return Ok(Self(Text::of(text)));
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
        Ok(Self(Text::of(text)))
    }

    pub fn as_str(&self) -> &str {
        match &self.0 {
            Text::Short { .. } => str::from_utf8(self.as_bytes()).unwrap_or_default(),
            Text::Long(text) => text,
        }
    }

    /// The same, for whoever only compares.
    pub(crate) fn as_bytes(&self) -> &[u8] {
        match &self.0 {
            Text::Short { len, bytes } => &bytes[..usize::from(*len)],
            Text::Long(text) => text.as_bytes(),
        }
    }
}

impl Text {
    fn of(text: &str) -> Self {
        let mut bytes = [0; SHORT];
        match (bytes.get_mut(..text.len()), u8::try_from(text.len())) {
            (Some(slot), Ok(len)) => {
                slot.copy_from_slice(text.as_bytes());
                Self::Short { len, bytes }
            }
            (_, _) => Self::Long(text.into()),
        }
    }
}

// Bytes compare as the text that they are.

impl PartialEq for TaskId {
    fn eq(&self, other: &Self) -> bool {
        self.as_bytes() == other.as_bytes()
    }
}

impl Eq for TaskId {}

impl PartialOrd for TaskId {
    fn partial_cmp(&self, other: &Self) -> Option<std::cmp::Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for TaskId {
    fn cmp(&self, other: &Self) -> std::cmp::Ordering {
        self.as_bytes().cmp(other.as_bytes())
    }
}

impl std::hash::Hash for TaskId {
    fn hash<H: std::hash::Hasher>(&self, state: &mut H) {
        self.as_bytes().hash(state);
    }
}

impl std::fmt::Debug for TaskId {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_tuple("TaskId").field(&self.as_str()).finish()
    }
}

/// Whether an id is of the usual kind, of which nothing has to be asked any more.
fn is_plain(text: &str) -> bool {
    let bytes = text.as_bytes();
    let letter = |b: &u8| b.is_ascii_alphanumeric();
    bytes.first().is_some_and(letter) && bytes.iter().all(|b| letter(b) || matches!(b, b'-' | b'_'))
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
    fn ids_of_any_length_compare_by_their_text() {
        let id = |text: &str| TaskId::parse(text).unwrap();
        let (short, long) = ("x".repeat(SHORT), "x".repeat(SHORT + 1));
        assert_eq!((id(&short).as_str(), id(&long).as_str()), (&*short, &*long));
        assert_eq!(id(&long), id(&long));
        assert_ne!(id(&short), id(&long));
        assert!(id(&short) < id(&long));
        assert!(id(&long) < id("y"));
        assert_eq!(format!("{:?}", id("a-1")), "TaskId(\"a-1\")");
        let longest_in_letters_of_two = "é".repeat(SHORT / 2 + 1);
        assert_eq!(
            id(&longest_in_letters_of_two).as_str(),
            longest_in_letters_of_two
        );
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
