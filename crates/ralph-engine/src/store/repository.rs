//! Which repository this is: its git folder, and an id minted into it that tells a move from a copy.

use std::path::Path;

use uuid::Uuid;

use super::{Journal, JournalError, failed, held::unwritten};

#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct RepositoryId(pub String);

/// What the journal knew of a repository's place.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Moved {
    /// Here before, or never seen.
    No,
    /// It was at another place, which is gone.
    From(String),
    /// It carries the id of another repository that is still there: it got its own.
    CopyOf(String),
}

impl Journal {
    /// Finds or makes the row of the repository whose common git folder is `common_dir`.
    ///
    /// `minted` is the id found in that folder, if any. The caller writes the id that comes back.
    pub async fn repository(
        &mut self,
        common_dir: &Path,
        minted: Option<&str>,
        now: jiff::Timestamp,
    ) -> Result<(RepositoryId, Moved), JournalError> {
        let here = common_dir.to_string_lossy().into_owned();
        let known: Option<(String, String)> =
            sqlx::query_as("SELECT id, common_dir FROM repository WHERE id = ?")
                .bind(minted)
                .fetch_optional(&mut self.db)
                .await
                .map_err(failed("look up the repository"))?;
        match known {
            Some((id, place)) if place == here => Ok((RepositoryId(id), Moved::No)),
            Some((id, place)) if !Path::new(&place).exists() => {
                sqlx::query("UPDATE repository SET common_dir = ? WHERE id = ?")
                    .bind(&here)
                    .bind(&id)
                    .execute(&mut self.db)
                    .await
                    .map_err(unwritten(&self.path, "note that the repository moved"))?;
                Ok((RepositoryId(id), Moved::From(place)))
            }
            Some((_, place)) => Ok((self.mint(&here, None, now).await?, Moved::CopyOf(place))),
            // A minted id that this journal does not know: another data folder; keep the id.
            None => Ok((self.mint(&here, minted, now).await?, Moved::No)),
        }
    }

    /// Whether the journal has a row for this id.
    pub async fn known(&mut self, id: &str) -> Result<bool, JournalError> {
        let row: Option<(i64,)> = sqlx::query_as("SELECT 1 FROM repository WHERE id = ?")
            .bind(id)
            .fetch_optional(&mut self.db)
            .await
            .map_err(failed("look up the repository"))?;
        Ok(row.is_some())
    }

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
