//! The shares that machines may spend of a team's budgets: handed out by the server in one conditional statement each, so that
//! all of them together never get more than there is.
//!
//! A machine spends what it was granted and no more, with the server or without it. Knows sums alone: what has been
//! spent is the business of who asks.

use ralph_core::{dollars::Dollars, economics::Per};
use sqlx::Row as _;
use uuid::Uuid;

use super::{Scope, StoreConnection, StoreError, statement};
use crate::period_of;

/// A budget of the team, and how much of it machines hold.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TeamBudget {
    pub per: Per,
    pub period: String,
    pub cap: Dollars,
    /// Handed out to this machine.
    pub granted: Dollars,
    /// Handed out to all.
    pub taken: Dollars,
}

impl TeamBudget {
    /// The amount that could still be handed out.
    pub fn rest(&self) -> Dollars {
        self.cap.without(self.taken)
    }
}

/// The budgets that are set for a tenant, as they stand at a moment for a machine.
pub async fn team_budgets(
    connection: &mut StoreConnection,
    tenant: Uuid,
    origin: &str,
    at: jiff::Timestamp,
) -> Result<Vec<TeamBudget>, StoreError> {
    const WHAT: &str = "read the budgets of the team";
    let mut tx = connection.begin(WHAT, &Scope::of(tenant)).await?;
    let periods = Per::ALL.map(|per| period_of(per, at));
    let [day, month, total] = &periods;
    let text = "SELECT b.per, b.usd, COALESCE(s.granted, 0), COALESCE(p.taken, 0)
        FROM ralph.budget b
        LEFT JOIN ralph.budget_period p ON p.tenant = b.tenant AND p.per = b.per
          AND p.period = CASE b.per WHEN 'day' THEN $2 WHEN 'month' THEN $3 ELSE $4 END
        LEFT JOIN ralph.budget_share s ON s.tenant = b.tenant AND s.per = b.per
          AND s.period = p.period AND s.origin = $1
        ORDER BY b.per";
    let asked = statement(text, arguments([origin, day, month, total]))
        .fetch_all(tx.db())
        .await;
    let rows = tx.fail(WHAT, asked)?;
    tx.commit(WHAT).await?;
    let budget = |row: &sqlx::postgres::PgRow| {
        let word: String = row.try_get(0)?;
        // The table holds these alone.
        let per = Per::from_word(&word).unwrap_or(Per::Total);
        Ok(TeamBudget {
            per,
            period: period_of(per, at),
            cap: dollars(row.try_get(1)?),
            granted: dollars(row.try_get(2)?),
            taken: dollars(row.try_get(3)?),
        })
    };
    let budgets: Result<Vec<_>, sqlx::Error> = rows.iter().map(budget).collect();
    budgets.map_err(|error| connection.failed(WHAT, error))
}

/// Asks for more of a budget: all of `more`, or nothing. Returns whether it was granted.
pub async fn reserve_share(
    connection: &mut StoreConnection,
    tenant: Uuid,
    origin: &str,
    of: &TeamBudget,
    more: Dollars,
) -> Result<bool, StoreError> {
    const WHAT: &str = "reserve a share of the team's budget";
    let mut tx = connection.begin(WHAT, &Scope::of(tenant)).await?;
    let per = of.per.as_str();
    let first = "INSERT INTO ralph.budget_period (per, period, taken) VALUES ($1, $2, 0) ON CONFLICT DO NOTHING";
    let made = statement(first, arguments([per, &of.period]))
        .execute(tx.db())
        .await;
    tx.fail(WHAT, made)?;
    // Another one that reserves at the same time waits for this row, and is judged by what is left then.
    let reserve = "WITH reserved AS (
          UPDATE ralph.budget_period p SET taken = p.taken + $4
          FROM ralph.budget b
          WHERE b.tenant = p.tenant AND b.per = p.per AND p.per = $1 AND p.period = $2
            AND p.taken + $4 <= b.usd
          RETURNING p.tenant)
        INSERT INTO ralph.budget_share AS s (origin, per, period, granted)
        SELECT $3, $1, $2, $4 FROM reserved
        ON CONFLICT (tenant, origin, per, period) DO UPDATE SET granted = s.granted + excluded.granted";
    let mut values = arguments([per, &of.period, origin]);
    add(&mut values, millionths(more));
    let reserved = statement(reserve, values).execute(tx.db()).await;
    let reserved = tx.fail(WHAT, reserved)?;
    tx.commit(WHAT).await?;
    Ok(reserved.rows_affected() > 0)
}

/// Gives back what a machine does not need: all but `keep` of what it was granted.
pub async fn return_share(
    connection: &mut StoreConnection,
    tenant: Uuid,
    origin: &str,
    of: &TeamBudget,
    keep: Dollars,
) -> Result<(), StoreError> {
    const WHAT: &str = "give back a share of the team's budget";
    let mut tx = connection.begin(WHAT, &Scope::of(tenant)).await?;
    let give_back = "WITH held AS (
          SELECT granted - $4 AS spare FROM ralph.budget_share
          WHERE per = $1 AND period = $2 AND origin = $3 AND granted > $4 FOR UPDATE),
        kept AS (
          UPDATE ralph.budget_share SET granted = $4
          WHERE per = $1 AND period = $2 AND origin = $3 AND granted > $4)
        UPDATE ralph.budget_period SET taken = taken - (SELECT spare FROM held)
        WHERE per = $1 AND period = $2 AND EXISTS (SELECT 1 FROM held)";
    let mut values = arguments([of.per.as_str(), &of.period, origin]);
    add(&mut values, millionths(keep));
    let given = statement(give_back, values).execute(tx.db()).await;
    tx.fail(WHAT, given)?;
    tx.commit(WHAT).await
}

fn dollars(millionths: i64) -> Dollars {
    Dollars::from_millionths(u64::try_from(millionths).unwrap_or_default())
}

fn millionths(dollars: Dollars) -> i64 {
    i64::try_from(dollars.millionths()).unwrap_or(i64::MAX)
}

fn arguments<const N: usize>(texts: [&str; N]) -> sqlx::postgres::PgArguments {
    let mut arguments = sqlx::postgres::PgArguments::default();
    for text in texts {
        add(&mut arguments, text.to_owned());
    }
    arguments
}

fn add<T>(arguments: &mut sqlx::postgres::PgArguments, value: T)
where
    T: for<'a> sqlx::Encode<'a, sqlx::Postgres> + sqlx::Type<sqlx::Postgres>,
{
    use sqlx::Arguments as _;
    let added = arguments.add(value);
    debug_assert!(added.is_ok(), "numbers and texts can always be bound");
}
