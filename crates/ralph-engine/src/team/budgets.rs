//! The part that a machine may spend of a team's budgets: asked for at the server while that can be reached, and never more
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
    /// The rest that is not granted to any machine.
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

/// The spendings of a team's budgets, as they are judged and as they are told.
#[derive(Debug, Clone, Default)]
pub(crate) struct TeamSpendings {
    /// Decide, by what this machine may still spend.
    pub(crate) own: Vec<Spending>,
    /// Tell what the team has spent.
    pub(crate) told: Vec<Spending>,
}

/// The part of a budget that is asked for at once, so that most iterations ask no server: one in ten.
const PART: u64 = 10;
/// Iterations that are asked for at once.
const AHEAD: u64 = 3;
/// The part of the rest that is asked for where it is not known what an iteration costs: half of it. What turns out to
/// be too much is given back.
const UNKNOWN: u64 = 2;

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
            let need = need.map(|Reserve(need)| need);
            if let Some(keep) = need.map(|need| spent.plus(comfortable(&share, need)))
                && share.kept.granted > keep.plus(keep.without(spent))
            {
                self.give_back_but(&holder.name, &mut share, keep).await;
            }
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
        let shares = self.server.budgets(&holder.name, now).await;
        for mut share in shares.unwrap_or_default() {
            let spent = spent(journal, repository, share.kept.per, now).await?;
            let keep = spent.plus(part(share.kept.cap));
            if share.kept.granted > keep {
                self.give_back_but(&holder.name, &mut share, keep).await;
                journal.keep_budget_share(&share.kept, now).await?;
            }
        }
        Ok(())
    }

    async fn give_back_but(&mut self, holder: &str, share: &mut TeamShare, keep: Dollars) {
        self.server.give_back(holder, share, keep).await;
        share.rest = share.rest.plus(share.kept.granted.without(keep));
        share.kept.granted = keep;
    }
}

/// The amounts to ask for, in this order until something is granted; nothing where enough is granted already.
fn wanted(share: &TeamShare, spent: Dollars, need: Option<Dollars>) -> Vec<Dollars> {
    let held = share.kept.granted;
    let all = share.rest;
    // An iteration may cost more than those before it: one that reaches what was granted is stopped. A budget that was
    // set after something had been spent begins with that.
    let need_at_most = need.unwrap_or_default().millionths().saturating_mul(3) / 2;
    let least = spent.plus(Dollars::from_millionths(need_at_most.max(1)));
    if held >= least {
        return Vec::new();
    }
    let goal = match need {
        Some(need) => spent.plus(comfortable(share, need)),
        None => spent.plus(Dollars::from_millionths(all.millionths() / UNKNOWN)),
    };
    let mut amounts: Vec<Dollars> = [goal, least]
        .map(|goal| goal.without(held))
        .into_iter()
        .chain([all])
        .filter(|more| *more > Dollars::NOTHING && *more <= all)
        .collect();
    amounts.dedup();
    amounts
}

/// An amount that a machine can go on with for a while.
fn comfortable(share: &TeamShare, need: Dollars) -> Dollars {
    let ahead = Dollars::from_millionths(need.millionths().saturating_mul(AHEAD));
    ahead.max(part(share.kept.cap))
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

/// The sum that all loops of this journal have spent in the period.
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
