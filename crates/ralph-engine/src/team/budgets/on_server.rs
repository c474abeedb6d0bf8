//! The budgets of a team on its PostgreSQL server.
//!
//! A server that does not answer soon counts as away: no iteration waits for it for long, and what this machine was
//! granted holds without it.

use std::time::Duration;

use async_trait::async_trait;
use jiff::Timestamp;
use ralph_core::dollars::Dollars;
use uuid::Uuid;

use super::{BudgetServer, TeamShare};
use crate::store::{
    KeptShare,
    postgres::{
        StoreConnection, StoreError, StoreUrl,
        shares::{TeamBudget, reserve_share, return_share, team_budgets},
    },
};

/// The longest that an iteration waits for an answer.
const PATIENCE: Duration = Duration::from_secs(5);
/// Attempts at what another transaction was in the way of.
const ATTEMPTS: u32 = 5;

/// A server, connected when it is asked first.
pub(crate) struct BudgetsOnServer {
    url: StoreUrl,
    tenant: String,
    connection: Option<(StoreConnection, Uuid)>,
}

impl BudgetsOnServer {
    pub(crate) fn new(url: StoreUrl, tenant: String) -> Self {
        Self {
            url,
            tenant,
            connection: None,
        }
    }

    /// Asks, in time or not at all. A connection that failed is not used again.
    async fn ask<T>(
        &mut self,
        question: impl AsyncFn(&mut StoreConnection, Uuid) -> Result<T, StoreError>,
    ) -> Option<T> {
        let mut connection = self.connection.take();
        let asked = async {
            let (mut connection, tenant) = match connection.take() {
                Some(connected) => connected,
                None => {
                    let mut connection = StoreConnection::open(&self.url).await?;
                    let tenant = connection.tenant(&self.tenant).await?;
                    (connection, tenant)
                }
            };
            let mut attempts = 1;
            loop {
                match question(&mut connection, tenant).await {
                    Err(error) if error.is_conflict() && attempts < ATTEMPTS => attempts += 1,
                    answer => return answer.map(|answer| (answer, (connection, tenant))),
                }
            }
        };
        let asked: Result<_, StoreError> = tokio::time::timeout(PATIENCE, asked).await.ok()?;
        let (answer, connection) = asked.ok()?;
        self.connection = Some(connection);
        Some(answer)
    }
}

#[async_trait(?Send)]
impl BudgetServer for BudgetsOnServer {
    async fn budgets(&mut self, holder: &str, now: Timestamp) -> Option<Vec<TeamShare>> {
        let budgets = self
            .ask(async |db, tenant| team_budgets(db, tenant, holder, now).await)
            .await?;
        let share = |budget: TeamBudget| TeamShare {
            rest: budget.rest(),
            kept: KeptShare {
                per: budget.per,
                period: budget.period,
                granted: budget.granted,
                cap: budget.cap,
            },
        };
        Some(budgets.into_iter().map(share).collect())
    }

    async fn reserve(&mut self, holder: &str, of: &TeamShare, more: Dollars) -> bool {
        let of = budget(of);
        self.ask(async |db, tenant| reserve_share(db, tenant, holder, &of, more).await)
            .await
            .unwrap_or(false)
    }

    async fn give_back(&mut self, holder: &str, of: &TeamShare, keep: Dollars) {
        let of = budget(of);
        let _ = self
            .ask(async |db, tenant| return_share(db, tenant, holder, &of, keep).await)
            .await;
    }
}

fn budget(share: &TeamShare) -> TeamBudget {
    TeamBudget {
        per: share.kept.per,
        period: share.kept.period.clone(),
        cap: share.kept.cap,
        granted: share.kept.granted,
        taken: share.kept.cap.without(share.rest),
    }
}
