//! Sync of the journal in a data folder with the store of a team: one round, or how it stands.

use std::path::{Path, PathBuf};

use async_trait::async_trait;
use jiff::Timestamp;
use ralph_core::{config::SyncPart, secret::Redaction};

use super::{StoreAddress, TeamError};

/// The settings of the sync of a data folder.
#[derive(Debug, Clone)]
pub struct SyncPlan {
    pub data_dir: PathBuf,
    pub address: StoreAddress,
    pub tenant: String,
    /// The name of this machine, for people.
    pub machine: String,
    pub include: Vec<SyncPart>,
    /// Hides secrets in every text that leaves the machine.
    pub redaction: Redaction,
}

/// Sync of one data folder, which no other process syncs meanwhile.
#[async_trait(?Send)]
pub trait Syncing {
    /// Sends what changed here, and takes what came for this machine. After an error it can be called again.
    async fn round(&mut self) -> Result<SyncRound, TeamError>;

    /// Returns when the next round is due.
    async fn wait(&mut self);

    /// Ends the connections in order.
    async fn close(self: Box<Self>);
}

/// The result of a round.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct SyncRound {
    /// Rows that were sent, by kind.
    pub sent: Vec<(String, u64)>,
    /// Results of commands that were sent.
    pub results: u64,
    /// Logs and prompts that were sent.
    pub logs: u64,
    /// Working trees whose loops got a command, a tree for each command.
    pub commands: Vec<PathBuf>,
    /// Changes that wait still, and for how long the oldest of them does.
    pub waiting: u64,
    pub waiting_seconds: u64,
    pub server_ahead_ms: i64,
    /// Things that a person may want to know, one line each.
    pub findings: Vec<String>,
    /// There is more to send at once.
    pub more: bool,
}

/// Rows that a round would send.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct WouldSync {
    /// Rows, by kind.
    pub rows: Vec<(String, u64)>,
    /// Some of them as they would be sent, with their kind.
    pub samples: Vec<(String, String)>,
}

/// The state of sync, by what is known on this machine.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SyncStanding {
    /// The name of this journal on the server.
    pub origin: String,
    pub server: String,
    pub tenant: String,
    pub waiting: u64,
    pub waiting_seconds: u64,
    pub last_ok_at: Option<Timestamp>,
    pub last_error: Option<String>,
    pub last_error_at: Option<Timestamp>,
    pub server_ahead_ms: i64,
}

/// Locks the data folder for sync, and turns sync on for its journal. The server is asked nothing yet.
#[cfg(feature = "team")]
pub async fn open_sync(plan: &SyncPlan) -> Result<Box<dyn Syncing>, TeamError> {
    super::sync::open(plan).await
}

/// Refuses, because it is not part of this build.
#[cfg(not(feature = "team"))]
#[expect(clippy::unused_async, reason = "the same as with the feature")]
pub async fn open_sync(_plan: &SyncPlan) -> Result<Box<dyn Syncing>, TeamError> {
    Err(TeamError::NotBuilt)
}

impl SyncPlan {
    /// Looks what a round would send. Sends nothing, changes nothing.
    #[cfg(feature = "team")]
    pub async fn preview(&self, samples: u32) -> Result<WouldSync, TeamError> {
        super::sync::preview(self, samples).await
    }

    /// Refuses, because it is not part of this build.
    #[cfg(not(feature = "team"))]
    #[expect(clippy::unused_async, reason = "the same as with the feature")]
    pub async fn preview(&self, _samples: u32) -> Result<WouldSync, TeamError> {
        Err(TeamError::NotBuilt)
    }

    /// Gives the journal a new name on the server, under which everything is sent. Returns it.
    #[cfg(feature = "team")]
    pub async fn take_new_identity(&self) -> Result<String, TeamError> {
        super::sync::take_new_identity(self).await
    }

    /// Refuses, because it is not part of this build.
    #[cfg(not(feature = "team"))]
    #[expect(clippy::unused_async, reason = "the same as with the feature")]
    pub async fn take_new_identity(&self) -> Result<String, TeamError> {
        Err(TeamError::NotBuilt)
    }
}

/// Reads how sync stands from the data folder alone. `None` where it was never turned on.
#[cfg(feature = "team")]
pub async fn sync_standing(
    data_dir: &Path,
    now: Timestamp,
) -> Result<Option<SyncStanding>, TeamError> {
    super::sync::standing(data_dir, now).await
}

/// Finds none: it is not part of this build.
#[cfg(not(feature = "team"))]
#[expect(clippy::unused_async, reason = "the same as with the feature")]
pub async fn sync_standing(
    _data_dir: &Path,
    _now: Timestamp,
) -> Result<Option<SyncStanding>, TeamError> {
    Ok(None)
}
