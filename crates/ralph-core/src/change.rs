//! Describes what an agent changed, and what of it may land.
//!
//! Judges paths, sizes and contents that the engine hands in. Never reads a file itself, and never
//! holds or prints the value of a secret: a finding is a rule, a path and a line.

mod inspect;
mod policy;
mod secret;
#[cfg(test)]
mod tests;

pub use inspect::{Contents, Flag, FlagKind, Inspection, Refusal, RefusalReason, inspect};
pub use policy::{BadGlob, ChangePolicy, CompiledPolicy, DEFAULT_MAX_FILE_BYTES};
pub use secret::{ALLOW_MARK, Certainty, SecretHit, redact_secrets, scan_secrets};

use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

/// Everything that differs between the recorded base and the tree as it will be committed.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ChangeSet {
    pub changes: Vec<Changed>,
}

impl ChangeSet {
    pub fn is_empty(&self) -> bool {
        self.changes.is_empty()
    }

    pub fn get(&self, path: &Path) -> Option<&Changed> {
        self.changes.iter().find(|changed| changed.path == path)
    }
}

/// One path that differs. A rename is a deletion and an addition: guessing which belongs to which
/// could hide a protected file that went away.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Changed {
    /// Relative to the top of the working tree. Bytes, not text: written lossily where JSON needs it.
    #[serde(serialize_with = "serialize_path_lossily")]
    pub path: PathBuf,
    pub kind: ChangeKind,
    pub entry: EntryKind,
    /// Bytes of the file as it is now; 0 if it is gone.
    pub size: u64,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum ChangeKind {
    Added,
    /// Contents, mode or both.
    Modified,
    Deleted,
    /// A file became a symlink, a submodule a file, and so on.
    TypeChanged,
}

/// Describes what stands at the path now.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum EntryKind {
    File,
    Executable,
    Symlink {
        #[serde(serialize_with = "serialize_path_lossily")]
        target: PathBuf,
    },
    /// Another repository: a submodule if `.gitmodules` names it, else a nested one.
    Repository,
    /// A pipe, socket or device, which no tree can hold.
    Special,
    Gone,
}

/// A path for people: control characters, which could drive a terminal, are escaped.
pub fn shown(path: &Path) -> String {
    path.to_string_lossy()
        .chars()
        .flat_map(|c| {
            let escaped: Vec<char> = if c.is_control() {
                c.escape_default().collect()
            } else {
                vec![c]
            };
            escaped
        })
        .collect()
}

fn serialize_path_lossily<S: serde::Serializer>(path: &Path, to: S) -> Result<S::Ok, S::Error> {
    to.serialize_str(&path.to_string_lossy())
}
