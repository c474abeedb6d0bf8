//! The store of a team: where it is, what is done with it, and sync beside a loop.
//!
//! A build without the feature `team` refuses here, by name. Everything else of ralph knows the types of
//! this module alone, and no server.

mod address;
mod admin;
mod beside;
mod budgets;
mod direct;
#[cfg(feature = "team")]
mod server;
#[cfg(feature = "team")]
mod sync;
mod syncing;
mod view;

pub use address::{StoreAddress, UrlPlace, store_passwords};
pub use admin::{
    AuditChain, AuditEntry, BudgetStanding, CheckedGroup, GoneTenant, NewTeamBudget, SchemaChange,
    ServerFacts, StoreAdmin, TenantEntry, TenantRows, open_admin,
};
pub use beside::{SyncBeside, SyncNotice, sync_beside};
pub(crate) use budgets::TeamSpendings;
pub use budgets::{BudgetServer, TeamBudgets, TeamShare};
pub use direct::{journal_on_server, open_budgets};
pub use syncing::{
    SyncPlan, SyncRound, SyncStanding, Syncing, WouldSync, open_sync, sync_standing,
};
pub use view::{TeamView, open_view};

use crate::store::JournalError;

/// True if this build of ralph has the store of a team.
pub const HAS_TEAM: bool = cfg!(feature = "team");

/// The name of this machine, for people.
pub fn machine_name() -> String {
    let system = rustix::system::uname();
    system.nodename().to_string_lossy().into_owned()
}

/// Why something about the store of a team can't be done. One line each.
#[derive(Debug, thiserror::Error)]
pub enum TeamError {
    #[error("this build of ralph has no store for teams; one with `--features team` has")]
    NotBuilt,
    #[error("no server is named")]
    NoServer,
    #[error("no tenant is named")]
    NoTenant,
    /// The request makes no sense, or a person has to set something right first.
    #[error("{line}")]
    Users { line: String, hint: Option<String> },
    /// The server, or the way to it, failed.
    #[error("{line}")]
    Server { line: String, hint: Option<String> },
    /// Another process syncs this data folder.
    #[error("{line}")]
    Busy { line: String },
    #[error(transparent)]
    Journal(#[from] JournalError),
}

impl TeamError {
    /// A way out, where there is one.
    pub fn hint(&self) -> Option<String> {
        match self {
            Self::NotBuilt | Self::Busy { .. } => None,
            Self::NoServer => Some("set `store.url` in ralph.yaml or RALPH_STORE_URL".to_owned()),
            Self::NoTenant => {
                Some("set `store.tenant` in ralph.yaml or RALPH_STORE_TENANT".to_owned())
            }
            Self::Users { hint, .. } | Self::Server { hint, .. } => hint.clone(),
            Self::Journal(error) => error.hint().map(str::to_owned),
        }
    }

    /// Tells if it is for a person to set right.
    pub fn is_users(&self) -> bool {
        match self {
            Self::NotBuilt | Self::NoServer | Self::NoTenant | Self::Users { .. } => true,
            Self::Server { .. } | Self::Busy { .. } | Self::Journal(_) => false,
        }
    }
}

/// The error with its causes, in one line.
#[cfg(feature = "team")]
fn in_one_line(error: &(dyn std::error::Error + 'static)) -> String {
    let mut line = error.to_string();
    let mut cause = error.source();
    while let Some(error) = cause {
        let said = error.to_string();
        if !line.contains(&said) {
            line = format!("{line}: {said}");
        }
        cause = error.source();
    }
    line.replace('\n', " ")
}
