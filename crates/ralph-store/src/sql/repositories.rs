//! Repositories.

use async_trait::async_trait;
use std::path::Path;
use uuid::Uuid;

use super::{SqlJournal, statement::sql};
use crate::{RepositoryId, RepositoryMove, RepositoryStore, Result};

#[async_trait]
impl RepositoryStore for SqlJournal {
    async fn repository(
        &mut self,
        common_dir: &Path,
        minted: Option<&str>,
        now: jiff::Timestamp,
    ) -> Result<(RepositoryId, RepositoryMove)> {
        let here = common_dir.to_string_lossy().into_owned();
        let known: Option<(String, String)> = self
            .first(sql!(
                "look up the repository",
                "SELECT id, common_dir FROM repository WHERE id = ?",
                minted,
            ))
            .await?;
        match known {
            Some((id, place)) if place == here => Ok((RepositoryId(id), RepositoryMove::Stayed)),
            Some((id, place)) if !Path::new(&place).exists() => {
                let moved = "UPDATE repository SET common_dir = ? WHERE id = ?";
                self.write(sql!("note that the repository moved", moved, &here, &id))
                    .await?;
                Ok((RepositoryId(id), RepositoryMove::From(place)))
            }
            Some((_, place)) => Ok((
                self.mint(&here, None, now).await?,
                RepositoryMove::CopyOf(place),
            )),
            // A minted id that this journal does not know: another data folder; keep the id.
            None => Ok((self.mint(&here, minted, now).await?, RepositoryMove::Stayed)),
        }
    }

    async fn has_repository(&mut self, id: &str) -> Result<bool> {
        let count = "SELECT EXISTS (SELECT 1 FROM repository WHERE id = ?)";
        self.one(sql!("look up the repository", count, id)).await
    }

    async fn chosen_source(&mut self, repository: &RepositoryId) -> Result<Option<String>> {
        let chosen = "SELECT task_source FROM repository WHERE id = ? AND task_source IS NOT NULL";
        self.first(sql!("look up the chosen tasks", chosen, repository))
            .await
    }

    async fn choose_source(
        &mut self,
        repository: &RepositoryId,
        source: Option<&str>,
    ) -> Result<()> {
        let chosen = "UPDATE repository SET task_source = ? WHERE id = ?";
        self.write(sql!("keep the choice of tasks", chosen, source, repository))
            .await
    }
}

impl SqlJournal {
    async fn mint(
        &mut self,
        here: &str,
        id: Option<&str>,
        now: jiff::Timestamp,
    ) -> Result<RepositoryId> {
        let id = id.map_or_else(|| Uuid::now_v7().to_string(), str::to_owned);
        let insert = "INSERT INTO repository (id, common_dir, created_at) VALUES (?, ?, ?)
             ON CONFLICT (id) DO NOTHING";
        self.write(sql!("register the repository", insert, &id, here, now))
            .await?;
        Ok(RepositoryId(id))
    }
}
