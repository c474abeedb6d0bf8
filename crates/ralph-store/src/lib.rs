//! The journal: everything that ralph remembers, in the data folder, outside the repository that agents can write.
//!
//! A trait for each aggregate over plain data; [`Journal`] is all of them. Every write is one transaction and durable
//! when it returns. Knows rows, not what they mean: folding them into a state is the loop's. No SQL outside of
//! `sqlite`; what any implementation must do is in `contract`.

mod checkpoints;
mod commands;
#[cfg(test)]
mod contract;
mod costs;
mod data_dir;
pub mod failpoint;
mod iterations;
mod loops;
#[cfg(feature = "postgres")]
pub mod postgres;
mod repositories;
mod rewrites;
mod sessions;
mod sql;
mod sqlite;
#[cfg(feature = "postgres")]
pub mod sync;
mod tasks;
mod team;

pub use checkpoints::{CheckpointFilter, CheckpointStore};
pub use commands::{
    CommandEffects, CommandEnd, CommandRow, CommandStore, NewGuidance, NewQuestion, QuestionStore,
};
pub use costs::{
    BudgetHolder, CostRow, CostStore, KeptShare, LoopModelCost, SideRun, SideWork, SpendingScope,
    SumBy, TokenUsage, day_of, first_day, period_of,
};
pub use data_dir::DataDir;
pub use iterations::{
    IterationEnd, IterationRow, IterationStart, IterationStore, LandingRow, Step,
    UnfinishedIteration,
};
pub use loops::{ListedLoop, LoopNote, LoopRow, LoopStore, NewLoop, NoteKind, NoteStore};
pub use ralph_core::board::TaskHistory;
pub use repositories::{RepositoryId, RepositoryMove, RepositoryStore};
pub use rewrites::{NewRewrite, ReopenedTask, RewriteBody, RewriteKind, RewriteRow, RewriteStore};
pub use sessions::{NewSessionLoop, SessionIteration, SessionLoopRow, SessionStore};
#[cfg(feature = "postgres")]
pub use sql::server::{JournalServer, Notice};
pub use tasks::{Suggestion, TaskStore};
pub use team::{
    OrderId, OrderStanding, TeamBudgetRow, TeamCheckpoint, TeamCheckpoints, TeamCostBy, TeamCosts,
    TeamLoop, TeamLoops, TeamMachine, TeamOrder, TeamQuestion, TeamQuestions, TeamSum, TeamSums,
};

use std::path::{Path, PathBuf};

use async_trait::async_trait;
use ralph_core::id::LoopId;

/// Everything that ralph remembers.
#[async_trait]
pub trait Journal:
    RepositoryStore
    + LoopStore
    + NoteStore
    + IterationStore
    + TaskStore
    + CommandStore
    + QuestionStore
    + CheckpointStore
    + CostStore
    + RewriteStore
    + SessionStore
{
    /// Ends the connection in order.
    async fn close(self: Box<Self>) -> Result<()>;
}

/// Makes an id for a loop: later ones sort behind earlier ones.
pub fn new_loop_id() -> LoopId {
    LoopId::new(uuid::Uuid::now_v7())
}

/// Opens the journal in a folder, making it where there is none.
pub async fn open(data_dir: &Path) -> Result<Box<dyn Journal>> {
    DataDir::from(data_dir.to_owned()).open_journal().await
}

/// Looks whether the journal in `data_dir` is there and whole. Changes nothing, whatever it finds.
pub async fn look(data_dir: &Path) -> JournalLook {
    sqlite::look(data_dir).await
}

/// The condition of a journal.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum JournalLook {
    Absent,
    /// It holds no loop: it is new, or took the place of one that was lost.
    Empty,
    Whole,
    /// A newer ralph wrote it.
    Newer(String),
    /// It can't be read, or not all of it.
    Damaged(String),
}

/// Returns a path in `folder` where nothing is: by this name, or with a number behind it.
pub fn free_name(folder: &Path, name: &std::ffi::OsStr) -> std::path::PathBuf {
    let mut nth = 1_u32;
    loop {
        let mut free = name.to_owned();
        if nth > 1 {
            free.push(format!("-{nth}"));
        }
        let path = folder.join(free);
        if path.symlink_metadata().is_err() {
            return path;
        }
        nth += 1;
    }
}

/// The result of anything that is asked of a journal.
pub type Result<T, E = JournalError> = std::result::Result<T, E>;

type BoxedError = Box<dyn std::error::Error + Send + Sync>;

#[derive(Debug, thiserror::Error)]
pub enum JournalError {
    #[error("can't open the journal {path}")]
    Open { path: PathBuf, source: BoxedError },
    #[error(
        "the journal {} was written by a newer ralph (schema {found}, this one knows {known}): \
         use that one, or another data folder by RALPH_DATA_DIR", path.display()
    )]
    Newer {
        path: PathBuf,
        found: i64,
        known: i64,
    },
    #[error(
        "the journal {} was written by an older ralph, and can't be brought forward here: it is read-only", path.display()
    )]
    Older { path: PathBuf },
    #[error("can't back the journal up to {} before it is changed", path.display())]
    Backup { path: PathBuf, source: BoxedError },
    #[error("the journal {} can't {what}: {holder}", path.display())]
    Busy {
        path: PathBuf,
        what: &'static str,
        /// The process that holds it, and the way out.
        holder: String,
    },
    #[error("the server of the journal ({server}) was not to be reached for {} minutes", waited.as_secs().div_ceil(60))]
    Lost {
        /// The server as a person knows it.
        server: String,
        waited: std::time::Duration,
        source: BoxedError,
    },
    #[cfg(feature = "postgres")]
    #[error(transparent)]
    Store(#[from] postgres::StoreError),
    #[error("the journal can't {what}")]
    Query {
        what: &'static str,
        source: BoxedError,
    },
    #[error("the journal holds a row that can't be read ({what})")]
    Row {
        what: &'static str,
        source: serde_json::Error,
    },
}

impl JournalError {
    /// Tells if it is for a person to set right, before anything is done.
    pub fn is_users(&self) -> bool {
        match self {
            #[cfg(feature = "postgres")]
            Self::Store(error) => error.is_users(),
            Self::Open { .. }
            | Self::Newer { .. }
            | Self::Older { .. }
            | Self::Backup { .. }
            | Self::Busy { .. }
            | Self::Lost { .. }
            | Self::Query { .. }
            | Self::Row { .. } => false,
        }
    }

    /// A way out, where there is one.
    pub fn hint(&self) -> Option<&'static str> {
        match self {
            Self::Open { .. } | Self::Query { .. } | Self::Row { .. } => {
                Some("`ralph doctor` looks whether the journal is whole, and says what to do")
            }
            #[cfg(feature = "postgres")]
            Self::Store(error) => error.hint(),
            Self::Lost { .. } => Some(
                "nothing is lost: once the server is there again, `ralph run` goes on where it stopped",
            ),
            // They say it themselves.
            Self::Newer { .. } | Self::Older { .. } | Self::Backup { .. } | Self::Busy { .. } => {
                None
            }
        }
    }
}
