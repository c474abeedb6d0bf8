//! The view that a team has of all its machines, and what it tells their loops.
//!
//! Asks the server alone: nothing of this machine is read or written.

use async_trait::async_trait;

use super::{StoreAddress, TeamError};
use crate::store::{
    OrderId, OrderStanding, TeamCheckpoint, TeamCheckpoints, TeamCosts, TeamLoop, TeamLoops,
    TeamMachine, TeamOrder, TeamQuestion, TeamQuestions, TeamSums,
};

/// The store of a team, as one tenant sees it.
#[async_trait(?Send)]
pub trait TeamView {
    /// The machines that ever sent something, the one that was heard of last first, with what each spent since a day.
    async fn machines(&mut self, since: &str) -> Result<Vec<TeamMachine>, TeamError>;

    /// Loops, newest first.
    async fn loops(&mut self, which: &TeamLoops) -> Result<Vec<TeamLoop>, TeamError>;

    /// Sums of what was spent, the highest first; days from the newest on.
    async fn costs(&mut self, which: &TeamCosts) -> Result<TeamSums, TeamError>;

    /// Questions, newest first.
    async fn questions(&mut self, which: &TeamQuestions) -> Result<Vec<TeamQuestion>, TeamError>;

    /// Checkpoints, newest first.
    async fn checkpoints(
        &mut self,
        which: &TeamCheckpoints,
    ) -> Result<Vec<TeamCheckpoint>, TeamError>;

    /// Puts a command down for the machine that has the loop.
    async fn tell(&mut self, order: &TeamOrder) -> Result<OrderId, TeamError>;

    /// Looks what became of a command.
    async fn standing_of(&mut self, order: &OrderId) -> Result<OrderStanding, TeamError>;

    /// Ends the connection in order.
    async fn close(self: Box<Self>);
}

/// Connects to the store of a team.
#[cfg(feature = "team")]
pub async fn open_view(
    address: &StoreAddress,
    tenant: &str,
) -> Result<Box<dyn TeamView>, TeamError> {
    super::server::open_view(address, tenant).await
}

/// Refuses, because it is not part of this build.
#[cfg(not(feature = "team"))]
#[expect(clippy::unused_async, reason = "the same as with the feature")]
pub async fn open_view(
    _address: &StoreAddress,
    _tenant: &str,
) -> Result<Box<dyn TeamView>, TeamError> {
    Err(TeamError::NotBuilt)
}
