//! A scratch repository opened as ralph opens it, and short words for what tests do often.

use std::collections::HashSet;
use std::ffi::OsString;
use std::path::{Path, PathBuf};

use ralph_core::change::{ChangeKind, DEFAULT_MAX_FILE_BYTES};
use ralph_engine::git::{
    GitEnvironment, GitError, LandError, LandRequest, Oid, Repo, ResetSpec, StageSpec, Staged,
};
use ralph_testkit::TestRepo;

pub(crate) const BRANCH: &str = "main";

fn environment(test: &TestRepo) -> GitEnvironment {
    GitEnvironment::from_vars(test.environment())
}

pub(crate) async fn open_at(test: &TestRepo, start: &Path) -> Result<Repo, GitError> {
    Repo::open(start, &test.data_dir().join("state"), &environment(test)).await
}

pub(crate) async fn open(test: &TestRepo) -> Repo {
    open_at(test, test.root()).await.unwrap()
}

/// Opens it by programs of a folder before those of the path.
pub(crate) async fn open_with(test: &TestRepo, programs: &Path) -> Repo {
    let vars = test.environment().into_iter().map(|(name, value)| {
        if name != "PATH" {
            return (name, value);
        }
        let mut path = OsString::from(programs);
        path.push(":");
        path.push(value);
        (name, path)
    });
    let environment = GitEnvironment::from_vars(vars);
    let state_dir = test.data_dir().join("state");
    let opened = Repo::open(test.root(), &state_dir, &environment).await;
    opened.unwrap()
}

pub(crate) fn head(test: &TestRepo) -> Oid {
    Oid::parse(&test.head()).unwrap()
}

pub(crate) fn paths(names: &[&str]) -> HashSet<PathBuf> {
    names.iter().map(PathBuf::from).collect()
}

pub(crate) fn spec<'a>(base: &'a Oid, before: &'a HashSet<PathBuf>) -> StageSpec<'a> {
    StageSpec {
        base,
        branch: BRANCH,
        untracked_before: before,
        own_paths: &[],
        max_file_bytes: DEFAULT_MAX_FILE_BYTES,
    }
}

pub(crate) async fn stage(repo: &Repo, base: &Oid) -> Staged {
    repo.stage(&spec(base, &HashSet::new())).await.unwrap()
}

pub(crate) async fn land(repo: &Repo, base: &Oid, staged: &Staged) -> Result<Oid, LandError> {
    repo.land(&LandRequest {
        changed_index: ralph_engine::git::ChangedIndex::Agents,
        own: &[],
        branch: BRANCH,
        tree: &staged.tree,
        parent: base,
        tip: staged.tip.as_ref().unwrap(),
        message: "feat: landed\n\nRalph-Iteration: 0190-a\n",
        also: &[],
    })
    .await
}

pub(crate) async fn reset(repo: &Repo, base: &Oid, keep: &HashSet<PathBuf>) {
    let spec = ResetSpec {
        branch: BRANCH,
        base,
        keep_untracked: keep,
        own_paths: &[],
    };
    repo.reset_to(&spec).await.unwrap();
}

/// `+ path`, `~ path`, `- path` or `t path`, sorted.
pub(crate) fn told(staged: &Staged) -> Vec<String> {
    let mut told: Vec<String> = staged
        .change
        .changes
        .iter()
        .map(|changed| {
            let sign = match changed.kind {
                ChangeKind::Added => '+',
                ChangeKind::Modified => '~',
                ChangeKind::Deleted => '-',
                ChangeKind::TypeChanged => 't',
            };
            format!("{sign} {}", changed.path.display())
        })
        .collect();
    told.sort();
    told
}
