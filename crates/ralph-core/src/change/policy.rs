//! Describes what a change may contain, as configured, and its globs compiled once.
//!
//! Reads no configuration itself; a wrong glob is an error, never a rule that is silently dropped.

use std::path::Path;

use globset::{GlobBuilder, GlobSet, GlobSetBuilder};
use serde::{Deserialize, Serialize};

/// Larger files belong in other stores than a repository.
pub const DEFAULT_MAX_FILE_BYTES: u64 = 50 * 1024 * 1024;

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default, deny_unknown_fields)]
pub struct ChangePolicy {
    /// Paths that an agent may neither change nor delete nor add to. A glob without a slash holds
    /// at any depth; one that names a folder holds for all below it.
    pub protected: Vec<String>,
    pub max_file_bytes: u64,
    /// Files in which secrets are expected, such as test fixtures.
    pub secret_allowlist: Vec<String>,
}

impl Default for ChangePolicy {
    fn default() -> Self {
        Self {
            protected: Vec::new(),
            max_file_bytes: DEFAULT_MAX_FILE_BYTES,
            secret_allowlist: Vec::new(),
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
    pub max_file_bytes: u64,
}

impl ChangePolicy {
    pub fn compile(&self) -> Result<CompiledPolicy, BadGlob> {
        Ok(CompiledPolicy {
            protected: compile_globs(&self.protected)?,
            secret_allowlist: compile_globs(&self.secret_allowlist)?,
            max_file_bytes: self.max_file_bytes,
        })
    }
}

impl CompiledPolicy {
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
