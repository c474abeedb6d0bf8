//! What agents used outside of any loop: for a plan, in an interview.
//!
//! It counts for the repository and for everything. In the lists by task and by loop it stands under
//! the name of its command, so that all lists come to the same.

use jiff::Timestamp;
use ralph_core::economics::TokenRecord;
use sqlx::Connection as _;

use super::{Accounts, Journal, JournalError, RepositoryId, Sums, failed, grow, unreadable};

/// What an agent was run for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SideWork {
    Plan,
    Interview,
}

impl SideWork {
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Plan => "plan",
            Self::Interview => "interview",
        }
    }

    /// Its name among tasks and loops: no id holds a blank.
    pub fn key(self) -> &'static str {
        match self {
            Self::Plan => "ralph plan",
            Self::Interview => "ralph interview",
        }
    }
}

/// One run of an agent outside of any loop.
#[derive(Debug, Clone, PartialEq)]
pub struct SideRun {
    pub work: SideWork,
    pub at: Timestamp,
    pub accounts: Accounts,
}

impl Journal {
    /// Writes what a run used and adds it to the sums, in one transaction.
    pub async fn record_side_run(
        &mut self,
        repository: &RepositoryId,
        run: &SideRun,
    ) -> Result<(), JournalError> {
        let calls = serde_json::to_string(&run.accounts.records);
        let calls = calls.map_err(unreadable("a call to a model"))?;
        let begin = self.db.begin_with("BEGIN IMMEDIATE");
        let mut transaction = begin.await.map_err(failed("begin a transaction"))?;
        sqlx::query("INSERT INTO side_run (id, repository_id, work, at, tool_calls, calls) VALUES (?, ?, ?, ?, ?, ?)")
            .bind(uuid::Uuid::now_v7().to_string())
            .bind(&repository.0)
            .bind(run.work.as_str())
            .bind(run.at.to_string())
            .bind(i64::try_from(run.accounts.tool_calls).unwrap_or(i64::MAX))
            .bind(calls)
            .execute(&mut *transaction)
            .await
            .map_err(failed("record a run outside of loops"))?;
        let mut sums = Sums::of(repository, run.at, &run.accounts);
        let all = run.accounts.totals();
        sums.add(("task", run.work.key()), all);
        sums.add(("loop", run.work.key()), all);
        grow(&mut transaction, sums).await?;
        let done = transaction.commit().await;
        done.map_err(failed("record a run outside of loops"))
    }

    /// The calls of all runs outside of loops, oldest run first, with what they were for.
    pub async fn side_records(
        &mut self,
        repository: &RepositoryId,
    ) -> Result<Vec<(String, TokenRecord)>, JournalError> {
        let rows: Vec<(String, String)> =
            sqlx::query_as("SELECT work, calls FROM side_run WHERE repository_id = ? ORDER BY id")
                .bind(&repository.0)
                .fetch_all(&mut self.db)
                .await
                .map_err(failed("read runs outside of loops"))?;
        let mut records = Vec::new();
        for (work, calls) in rows {
            let calls: Vec<TokenRecord> =
                serde_json::from_str(&calls).map_err(unreadable("a call to a model"))?;
            records.extend(calls.into_iter().map(|call| (work.clone(), call)));
        }
        Ok(records)
    }
}
