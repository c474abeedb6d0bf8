//! Paths and commits as texts in the journal, and back.

use std::{collections::HashSet, path::PathBuf};

use crate::error::LoopError;
use crate::git::{self, Oid};

/// Untracked paths as the journal keeps them: bytes that are no text are kept too.
pub(crate) fn path_to_text(path: &std::path::Path) -> String {
    use std::os::unix::ffi::OsStrExt as _;
    match path.to_str() {
        Some(text) if !text.starts_with('\u{0}') => text.to_owned(),
        _ => {
            let hex: String = path
                .as_os_str()
                .as_bytes()
                .iter()
                .map(|b| format!("{b:02x}"))
                .collect();
            format!("\u{0}{hex}")
        }
    }
}

pub(crate) fn path_from_text(text: &str) -> PathBuf {
    use std::os::unix::ffi::OsStringExt as _;
    let Some(hex) = text.strip_prefix('\u{0}') else {
        return PathBuf::from(text);
    };
    let bytes = (0..hex.len() / 2)
        .filter_map(|i| u8::from_str_radix(&hex[2 * i..2 * i + 2], 16).ok())
        .collect();
    PathBuf::from(std::ffi::OsString::from_vec(bytes))
}

pub(crate) fn paths_from_text(texts: &[String]) -> HashSet<PathBuf> {
    texts.iter().map(|t| path_from_text(t)).collect()
}

/// The commit that a text from the journal names.
pub(crate) fn oid(text: &str) -> Result<Oid, LoopError> {
    Oid::parse(text).map_err(|bad| {
        LoopError::Git(git::GitError::Unexpected {
            command: "read the journal".into(),
            answer: bad.to_string(),
        })
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_path_that_is_no_text_survives_the_journal() {
        use std::os::unix::ffi::OsStringExt as _;
        let odd = PathBuf::from(std::ffi::OsString::from_vec(vec![b'a', 0xff, b'\n']));
        let plain = PathBuf::from("src/ä b.rs");
        for path in [odd, plain] {
            assert_eq!(path_from_text(&path_to_text(&path)), path);
        }
    }
}
