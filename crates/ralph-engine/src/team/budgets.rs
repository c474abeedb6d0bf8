//! What a machine may spend of a team's budgets: asked for at the server while that can be reached, and never more
//! than it was granted.
//!
//! Decides how much to ask for. What follows from what is left is decided in the core, as for any budget.

#[cfg(feature = "team")]
mod on_server;

use async_trait::async_trait;
use jiff::Timestamp;
use ralph_core::{
    dollars::Dollars,
    economics::{Budget, BudgetPolicy, Per, Reserve, Scope, Spending},
};

#[cfg(feature = "team")]
pub(super) use on_server::BudgetsOnServer;

use crate::store::{
    Journal, JournalError, KeptShare, RepositoryId, SpendingScope, first_day, period_of,
};

/// A budget of a team as it stands, with what this machine was granted of it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TeamShare {
    pub kept: KeptShare,
    /// What is not granted to any machine.
    pub rest: Dollars,
}

/// The server that holds the budgets of a team.
#[async_trait(?Send)]
pub trait BudgetServer {
    /// The budgets as they stand for a holder; `None` where the server can't be reached.
    async fn budgets(&mut self, holder: &str, now: Timestamp) -> Option<Vec<TeamShare>>;

    /// Asks for more of one: all of it or nothing. Returns whether it was granted.
    async fn reserve(&mut self, holder: &str, of: &TeamShare, more: Dollars) -> bool;

    /// Gives back all but this of one. What can't be given back now stays granted.
    async fn give_back(&mut self, holder: &str, of: &TeamShare, keep: Dollars);
}

/// The budgets of a team, as the loops of this machine ask them.
pub struct TeamBudgets {
    server: Box<dyn BudgetServer>,
}

/// What the budgets of a team come to.
#[derive(Debug, Clone, Default)]
pub(crate) struct TeamSpendings {
    /// What this machine may still spend decides.
    pub(crate) own: Vec<Spending>,
    /// What the team has spent is told.
    pub(crate) told: Vec<Spending>,
}

/// The part of a budget that is asked for at once, so that most iterations ask nobody: one in ten.
const PART: u64 = 10;
/// Iterations that are asked for at once.
const AHEAD: u64 = 3;

impl TeamBudgets {
    pub fn new(server: Box<dyn BudgetServer>) -> Self {
        Self { server }
    }

    /// Makes sure that what another iteration needs is granted, as far as it can be had.
    pub(crate) async fn ask(
        &mut self,
        journal: &mut dyn Journal,
        repository: &RepositoryId,
        need: Option<Reserve>,
        now: Timestamp,
    ) -> Result<TeamSpendings, JournalError> {
        let mut spendings = TeamSpendings::default();
        let Some(holder) = journal.budget_holder().await? else {
            return Ok(spendings);
        };
        let need = need.map_or(Dollars::NOTHING, |Reserve(need)| need);
        let Some(shares) = self.server.budgets(&holder.name, now).await else {
            for kept in &holder.shares {
                if kept.period == period_of(kept.per, now) {
                    let spent = spent(journal, repository, kept.per, now).await?;
                    spendings.own.push(Spending {
                        budget: budget(kept.per, kept.granted),
                        spent,
                        share_of: Some(kept.cap),
                    });
                }
            }
            return Ok(spendings);
        };
        for mut share in shares {
            let spent = spent(journal, repository, share.kept.per, now).await?;
            for more in wanted(&share, spent, need) {
                if self.server.reserve(&holder.name, &share, more).await {
                    share.kept.granted = share.kept.granted.plus(more);
                    share.rest = share.rest.without(more);
                    break;
                }
            }
            journal.keep_budget_share(&share.kept, now).await?;
            let cap = share.kept.cap;
            let left = share.kept.granted.without(spent);
            let budget = budget(share.kept.per, cap);
            let of_team = |left| Spending {
                budget,
                spent: cap.without(left),
                share_of: None,
            };
            spendings.own.push(of_team(left));
            spendings.told.push(of_team(left.plus(share.rest)));
        }
        Ok(spendings)
    }

    /// Gives back what was granted beyond what is spent, but for a part to go on with: other machines may need it.
    pub(crate) async fn give_back(
        &mut self,
        journal: &mut dyn Journal,
        repository: &RepositoryId,
        now: Timestamp,
    ) -> Result<(), JournalError> {
        let Some(holder) = journal.budget_holder().await? else {
            return Ok(());
        };
        for mut share in self
            .server
            .budgets(&holder.name, now)
            .await
            .unwrap_or_default()
        {
            let spent = spent(journal, repository, share.kept.per, now).await?;
            let keep = spent.plus(part(share.kept.cap));
            if share.kept.granted > keep {
                self.server.give_back(&holder.name, &share, keep).await;
                share.kept.granted = keep;
                journal.keep_budget_share(&share.kept, now).await?;
            }
        }
        Ok(())
    }
}

/// What to ask for, in this order until something is granted; nothing where enough is granted already.
fn wanted(share: &TeamShare, spent: Dollars, need: Dollars) -> Vec<Dollars> {
    let held = share.kept.granted;
    // A budget that was set after something had been spent begins with that.
    let least = spent.plus(need.max(Dollars::from_millionths(1)));
    if held >= least {
        return Vec::new();
    }
    let ahead = Dollars::from_millionths(need.millionths().saturating_mul(AHEAD));
    let comfortable = spent.plus(ahead.max(part(share.kept.cap)));
    let all = share.rest;
    let mut amounts: Vec<Dollars> = [comfortable, least]
        .map(|goal| goal.without(held))
        .into_iter()
        .chain([all])
        .filter(|more| *more > Dollars::NOTHING && *more <= all)
        .collect();
    amounts.dedup();
    amounts
}

fn part(cap: Dollars) -> Dollars {
    Dollars::from_millionths(cap.millionths() / PART)
}

fn budget(per: Per, usd: Dollars) -> Budget {
    Budget {
        scope: Scope::Organisation,
        per,
        usd,
        action: BudgetPolicy::Deny,
    }
}

/// What all loops of this journal have spent in the period.
async fn spent(
    journal: &mut dyn Journal,
    repository: &RepositoryId,
    per: Per,
    now: Timestamp,
) -> Result<Dollars, JournalError> {
    let since = first_day(per, now);
    let all = journal.spending(repository, SpendingScope::All, since.as_deref());
    Ok(all.await?.spent)
}

#[cfg(test)]
mod tests;
