//! Repositories in SQLite.

use async_trait::async_trait;
use std::path::Path;
use uuid::Uuid;

use super::{JournalError, SqliteJournal, failed, lock::unwritten};
use crate::store::{RepositoryId, RepositoryMove, RepositoryStore};

#[async_trait]
impl RepositoryStore for SqliteJournal {
    async fn repository(
        &mut self,
        common_dir: &Path,
        minted: Option<&str>,
        now: jiff::Timestamp,
    ) -> Result<(RepositoryId, RepositoryMove), JournalError> {
        let here = common_dir.to_string_lossy().into_owned();
        let known: Option<(String, String)> =
            sqlx::query_as("SELECT id, common_dir FROM repository WHERE id = ?")
                .bind(minted)
                .fetch_optional(&mut self.db)
                .await
                .map_err(failed("look up the repository"))?;
        match known {
            Some((id, place)) if place == here => Ok((RepositoryId(id), RepositoryMove::Stayed)),
            Some((id, place)) if !Path::new(&place).exists() => {
                sqlx::query("UPDATE repository SET common_dir = ? WHERE id = ?")
                    .bind(&here)
                    .bind(&id)
                    .execute(&mut self.db)
                    .await
                    .map_err(unwritten(&self.path, "note that the repository moved"))?;
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

    async fn has_repository(&mut self, id: &str) -> Result<bool, JournalError> {
        let row: Option<(i64,)> = sqlx::query_as("SELECT 1 FROM repository WHERE id = ?")
            .bind(id)
            .fetch_optional(&mut self.db)
            .await
            .map_err(failed("look up the repository"))?;
        Ok(row.is_some())
    }
}

impl SqliteJournal {
    async fn mint(
        &mut self,
        here: &str,
        id: Option<&str>,
        now: jiff::Timestamp,
    ) -> Result<RepositoryId, JournalError> {
        let id = id.map_or_else(|| Uuid::now_v7().to_string(), str::to_owned);
        sqlx::query(
            "INSERT INTO repository (id, common_dir, created_at) VALUES (?, ?, ?)
             ON CONFLICT (id) DO NOTHING",
        )
        .bind(&id)
        .bind(here)
        .bind(now.to_string())
        .execute(&mut self.db)
        .await
        .map_err(unwritten(&self.path, "register the repository"))?;
        Ok(RepositoryId(id))
    }
}
