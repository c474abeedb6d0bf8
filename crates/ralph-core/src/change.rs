//! Describes what an agent changed, and what of it may land.
//!
//! Judges paths, sizes and contents that the engine hands in. Never reads a file itself, and never
//! holds or prints the value of a secret: a finding is a rule, a path and a line.

mod deciding;
mod flows;
mod inspect;
mod locks;
mod summary;
mod test_files;
#[cfg(test)]
mod tests;

pub use deciding::DecidingFiles;
pub use flows::{BASELINES, FlowFiles};
pub use inspect::{
    Contents, Flag, FlagKind, Inspection, Refusal, RefusalReason, hide_refused, inspect,
    submodule_paths, submodule_urls,
};
pub use locks::{VerifyOutput, is_manifest};
pub use test_files::is_test_file;

use std::path::{Path, PathBuf};

use globset::{GlobBuilder, GlobSet, GlobSetBuilder};
use serde::{Deserialize, Serialize};

use crate::{config::ProtectTests, secret::Redaction};

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
    /// A file that its owner may not read.
    Unreadable,
    /// The beginning of a path that is longer than any that can be checked out.
    TooLong,
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

/// Larger files belong in other stores than a repository.
pub const DEFAULT_MAX_FILE_BYTES: u64 = 50 * 1024 * 1024;

/// The contents that a change may have, as configured. A wrong glob is an error, never a rule that is
/// silently dropped.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default, deny_unknown_fields)]
pub struct ChangePolicy {
    /// Paths that an agent may neither change nor delete nor add to. A glob without a slash holds
    /// at any depth; one that names a folder holds for all below it.
    pub protected: Vec<String>,
    pub max_file_bytes: u64,
    /// Files in which secrets are expected, such as test fixtures.
    pub secret_allowlist: Vec<String>,
    pub protect_tests: ProtectTests,
    /// Files that land although a verify command wrote them.
    pub verify_lands: Vec<String>,
    /// Files that agents read their settings from. They can name programs to run.
    pub agent_settings: Vec<String>,
}

impl Default for ChangePolicy {
    fn default() -> Self {
        Self {
            protected: Vec::new(),
            max_file_bytes: DEFAULT_MAX_FILE_BYTES,
            secret_allowlist: Vec::new(),
            protect_tests: ProtectTests::Flag,
            verify_lands: Vec::new(),
            agent_settings: Vec::new(),
        }
    }
}

#[derive(Debug, thiserror::Error)]
#[error("'{glob}' is not a glob that can be used: {source}")]
pub struct BadGlob {
    pub glob: String,
    pub source: globset::Error,
}

/// A policy that is ready to be asked.
#[derive(Debug, Clone)]
pub struct CompiledPolicy {
    protected: GlobSet,
    secret_allowlist: GlobSet,
    agent_settings: GlobSet,
    pub max_file_bytes: u64,
    pub protect_tests: ProtectTests,
    pub verify_output: VerifyOutput,
    /// Finds secrets, which must not land.
    pub secrets: Redaction,
}

impl ChangePolicy {
    pub fn compile(&self) -> Result<CompiledPolicy, BadGlob> {
        Ok(CompiledPolicy {
            protected: compile_globs(&self.protected)?,
            secret_allowlist: compile_globs(&self.secret_allowlist)?,
            agent_settings: compile_globs(&self.agent_settings)?,
            max_file_bytes: self.max_file_bytes,
            protect_tests: self.protect_tests,
            verify_output: VerifyOutput::new(&self.verify_lands)?,
            secrets: Redaction::default(),
        })
    }
}

impl CompiledPolicy {
    /// Has the values that a redaction knows found as well.
    #[must_use]
    pub fn finding(mut self, secrets: Redaction) -> Self {
        self.secrets = secrets;
        self
    }

    pub fn is_protected(&self, path: &Path) -> bool {
        self.protected.is_match(path)
    }

    pub fn expects_secrets(&self, path: &Path) -> bool {
        self.secret_allowlist.is_match(path)
    }
}

fn compile_globs(globs: &[String]) -> Result<GlobSet, BadGlob> {
    let mut set = GlobSetBuilder::new();
    for glob in globs {
        for pattern in spellings(glob) {
            let compiled = GlobBuilder::new(&pattern)
                .literal_separator(true)
                .backslash_escape(true)
                .build()
                .map_err(|source| BadGlob {
                    glob: glob.clone(),
                    source,
                })?;
            set.add(compiled);
        }
    }
    set.build().map_err(|source| BadGlob {
        glob: globs.join(", "),
        source,
    })
}

/// A person writes `tests`, `tests/` or `tests/**` and means the same.
fn spellings(glob: &str) -> Vec<String> {
    let rooted = glob.trim_start_matches("./");
    let anchored = rooted.trim_start_matches('/');
    let bare = anchored.trim_end_matches('/');
    let anywhere = !bare.contains('/') && anchored.len() == rooted.len();
    let base = if anywhere && bare != "**" {
        format!("**/{bare}")
    } else {
        bare.to_owned()
    };
    vec![format!("{base}/**"), base]
}
