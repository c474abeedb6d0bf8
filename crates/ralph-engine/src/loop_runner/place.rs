//! Where a loop stands: its folders, the repository and its row in the journal.

use std::path::{Path, PathBuf};

use jiff::Timestamp;

use super::LoopError;
use crate::{
    git::{Oid, Repo},
    identity,
    lock::Lock,
    store::{Journal, RepositoryId, RepositoryMove},
};

/// The repository and the journal of a loop, opened.
pub(super) struct OpenedRepository {
    pub(super) state_dir: PathBuf,
    pub(super) repo: Repo,
    pub(super) journal: Box<dyn Journal>,
    pub(super) repository: RepositoryId,
    pub(super) base: Oid,
    pub(super) lock: Option<Lock>,
}

/// The repository's row in the journal, and its id in its git folder.
pub(super) async fn register(
    repo: &Repo,
    journal: &mut dyn Journal,
    now: Timestamp,
) -> Result<(RepositoryId, RepositoryMove), LoopError> {
    let minted = identity::read_id(repo.common_dir());
    let (repository, moved) = journal
        .repository(repo.common_dir(), minted.as_deref(), now)
        .await?;
    if minted.as_deref() != Some(&repository.0) {
        let file = |source| LoopError::File {
            what: "write",
            path: repo.common_dir().join("ralph/id"),
            source,
        };
        identity::write_id(repo.common_dir(), &repository.0).map_err(file)?;
    }
    Ok((repository, moved))
}

/// Where this worktree's own git folder and other state live: outside of what an agent can write.
pub(super) fn state_dir(root: &Path, data_dir: &Path) -> Result<PathBuf, LoopError> {
    let name = identity::worktree_name(root);
    let path = data_dir.join("worktrees").join(name);
    std::fs::create_dir_all(&path).map_err(|source| LoopError::File {
        what: "make",
        path: path.clone(),
        source,
    })?;
    Ok(path)
}
