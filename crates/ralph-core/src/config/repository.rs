//! Where work happens: the repository, its tasks, what is remembered, what commits look like.
//!
//! Paths are kept as written; the engine makes them absolute.

use std::collections::BTreeMap;
use std::num::NonZeroU64;
use std::path::PathBuf;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::value::BranchPrefix;

/// The repository and the branch that ralph works on.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct RepoConfig {
    /// The repository's folder, relative to the folder of the file that says so.
    #[schemars(length(min = 1))]
    pub root: PathBuf,
    /// What the name of ralph's branch begins with.
    pub branch_prefix: BranchPrefix,
}

impl Default for RepoConfig {
    fn default() -> Self {
        Self {
            root: ".".into(),
            branch_prefix: BranchPrefix::default(),
        }
    }
}

/// Where the tasks come from.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct TasksConfig {
    /// The kind of task store.
    pub backend: Backend,
    /// A task file or folder to use instead of looking for one.
    #[schemars(length(min = 1))]
    pub source: Option<PathBuf>,
    /// The folder of the local task store.
    #[schemars(length(min = 1))]
    pub path: PathBuf,
    /// The file that holds the id of the parent task.
    #[schemars(length(min = 1))]
    pub parent_id_file: PathBuf,
}

impl Default for TasksConfig {
    fn default() -> Self {
        Self {
            backend: Backend::Local,
            source: None,
            path: ".ralph/tasks".into(),
            parent_id_file: ".ralph/parent-task-id".into(),
        }
    }
}

/// Kinds of task store.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Backend {
    Local,
}

/// What is kept from one iteration to the next, in files.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct MemoryConfig {
    /// The progress file: codebase patterns, then an entry for each iteration.
    #[schemars(length(min = 1))]
    pub progress_file: PathBuf,
    /// Where the progress of earlier features goes.
    #[schemars(length(min = 1))]
    pub archive_dir: PathBuf,
    /// The size at which the oldest entries of the progress file are dropped.
    pub max_bytes: NonZeroU64,
}

impl Default for MemoryConfig {
    fn default() -> Self {
        Self {
            progress_file: ".ralph/progress.md".into(),
            archive_dir: ".ralph/archive".into(),
            max_bytes: const { NonZeroU64::new(32_768).expect("not zero") },
        }
    }
}

/// What ralph's commits look like.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct GitConfig {
    /// Which label of a task gives its commit which type; without a match it is `feat`.
    pub commit_types: BTreeMap<String, CommitType>,
    /// True if commits get a `Signed-off-by` line.
    pub sign_off: bool,
}

impl Default for GitConfig {
    fn default() -> Self {
        let types = [
            ("bug", CommitType::Fix),
            ("fix", CommitType::Fix),
            ("chore", CommitType::Chore),
            ("docs", CommitType::Chore),
            ("deps", CommitType::Chore),
        ];
        Self {
            commit_types: types
                .into_iter()
                .map(|(label, kind)| (label.to_owned(), kind))
                .collect(),
            sign_off: false,
        }
    }
}

named! {
    /// The type that a commit's subject begins with.
    #[derive(JsonSchema)]
    pub enum CommitType {
        Feat = "feat",
        Fix = "fix",
        Chore = "chore",
    }
}
