//! Repositories: each is known by an id that is minted into its git folder, which tells a move from a copy.

use super::Result;
use async_trait::async_trait;
use std::path::Path;

/// Repositories, each known by an id that is minted into its git folder.
#[async_trait]
pub trait RepositoryStore: Send {
    /// Finds or makes the row of the repository whose common git folder is `common_dir`.
    ///
    /// `minted` is the id found in that folder, if any. The caller writes the id that comes back.
    async fn repository(
        &mut self,
        common_dir: &Path,
        minted: Option<&str>,
        now: jiff::Timestamp,
    ) -> Result<(RepositoryId, RepositoryMove)>;

    /// Returns whether there is a row for this id.
    async fn has_repository(&mut self, id: &str) -> Result<bool>;

    /// The task source that a person chose for the repository, by its name from the top.
    async fn chosen_source(&mut self, repository: &RepositoryId) -> Result<Option<String>>;

    /// Keeps the choice of a person, or forgets it.
    async fn choose_source(
        &mut self,
        repository: &RepositoryId,
        source: Option<&str>,
    ) -> Result<()>;
}

#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct RepositoryId(pub String);

/// The move of a repository, by what the journal knew of its place.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum RepositoryMove {
    /// Here before, or never seen.
    Stayed,
    /// It was at another place, which is gone.
    From(String),
    /// It carries the id of another repository that is still there: it got its own.
    CopyOf(String),
}
