//! What calls to models came to, in the journal: each of them, and sums that are kept up with each
//! iteration. The sums grow in the transaction that ends the iteration, never by themselves.

use std::collections::BTreeMap;

use jiff::Timestamp;
use ralph_core::{
    dollars::Dollars,
    economics::{CostByKind, TokenRecord, Tokens, Totals},
    id::{IterationId, LoopId},
    record::IterationRecord,
};
use serde_json::{Value, json};

use super::{Journal, JournalError, RepositoryId, failed, unreadable};

mod ask;
mod foreseen;
mod side;
mod since;

pub use ask::{Grouped, LoopPart, SumBy, Whose, first_day};
pub use side::{SideRun, SideWork};

/// What an iteration used.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Accounts {
    pub records: Vec<TokenRecord>,
    pub tool_calls: u64,
}

impl Accounts {
    fn totals(&self) -> Totals {
        Totals {
            tool_calls: self.tool_calls,
            ..Totals::sum(&self.records)
        }
    }
}

/// Stands between the parts of a key; no part holds it.
const BETWEEN: char = '\u{1f}';

/// The columns of [`Totals`], in the order in which they are written and read.
const COLUMNS: [&str; 14] = [
    "calls",
    "tool_calls",
    "input",
    "output",
    "cache_read",
    "cache_write",
    "cost_input",
    "cost_output",
    "cost_cache_read",
    "cost_cache_write",
    "unpriced_tokens",
    "told",
    "told_by_table",
    "spent",
];

/// The day on which something counts: that of UTC.
pub fn day_of(at: Timestamp) -> String {
    at.strftime("%Y-%m-%d").to_string()
}

/// Writes an iteration's calls and adds them to all sums; within the transaction of its end.
pub(super) async fn insert(
    db: &mut sqlx::SqliteConnection,
    repository: &RepositoryId,
    record: &IterationRecord,
    accounts: &Accounts,
) -> Result<(), JournalError> {
    if accounts.records.is_empty() && accounts.tool_calls == 0 {
        return Ok(());
    }
    let rows: Vec<Value> = accounts.records.iter().map(record_row).collect();
    let rows = serde_json::to_string(&rows).map_err(unreadable("a call to a model"))?;
    sqlx::query(
        "INSERT INTO token_record
         SELECT ?1, key + 1, value ->> 0, value ->> 1, value ->> 2, value ->> 3, value ->> 4,
                value ->> 5, value ->> 6, value ->> 7, value ->> 8, value ->> 9, value ->> 10,
                value ->> 11, value ->> 12, value ->> 13
         FROM json_each(?2)",
    )
    .bind(record.iteration_id.as_str())
    .bind(rows)
    .execute(&mut *db)
    .await
    .map_err(failed("record calls to models"))?;
    let mut sums = Sums::of(repository, record.ended_at, accounts);
    let (of_loop, task) = (&record.loop_id, &record.task_id);
    sums.add_loop(of_loop, task, accounts);
    grow(db, sums).await
}

async fn grow(db: &mut sqlx::SqliteConnection, sums: Sums) -> Result<(), JournalError> {
    let sums = serde_json::to_string(&sums.rows()).map_err(unreadable("a sum of tokens"))?;
    sqlx::query(sqlx::AssertSqlSafe(upsert()))
        .bind(sums)
        .execute(db)
        .await
        .map_err(failed("add up tokens"))?;
    Ok(())
}

fn upsert() -> String {
    let columns = COLUMNS.join(", ");
    let values: Vec<String> = (0..COLUMNS.len())
        .map(|at| format!("value ->> {}", at + 4))
        .collect();
    let grow: Vec<String> = COLUMNS
        .iter()
        .map(|name| format!("{name} = {name} + excluded.{name}"))
        .collect();
    format!(
        "INSERT INTO token_total (repository_id, dimension, key, day, {columns})
         SELECT value ->> 0, value ->> 1, value ->> 2, value ->> 3, {}
         FROM json_each(?) WHERE true
         ON CONFLICT (repository_id, dimension, key, day) DO UPDATE SET {}",
        values.join(", "),
        grow.join(", ")
    )
}

/// A row of `token_record` from `run` on.
fn record_row(record: &TokenRecord) -> Value {
    let Tokens {
        input,
        output,
        cache_read,
        cache_write,
    } = record.tokens;
    let cost =
        |kind: fn(&CostByKind) -> Dollars| record.cost.as_ref().map(|c| kind(c).millionths());
    json!([
        record.run,
        record.agent,
        record.model,
        record.caller.as_str(),
        input,
        output,
        cache_read,
        cache_write,
        cost(|c| c.input),
        cost(|c| c.output),
        cost(|c| c.cache_read),
        cost(|c| c.cache_write),
        record.told.map(Dollars::millionths),
        record.spent().millionths(),
    ])
}

/// All sums that some work adds to, each for its day and for all days.
struct Sums {
    repository: String,
    day: String,
    sums: BTreeMap<[String; 4], Totals>,
}

impl Sums {
    /// Of everything, of the repository, and of each model in it.
    fn of(repository: &RepositoryId, at: Timestamp, accounts: &Accounts) -> Self {
        let mut sums = Self {
            repository: repository.0.clone(),
            day: day_of(at),
            sums: BTreeMap::new(),
        };
        let all = accounts.totals();
        sums.add_to("", ("total", ""), all);
        sums.add(("total", ""), all);
        for one in &accounts.records {
            let model = one.model.as_deref().unwrap_or_default();
            sums.add(("model", model), Totals::of(one));
        }
        sums
    }

    fn add_loop(&mut self, of_loop: &LoopId, task: &str, accounts: &Accounts) {
        let all = accounts.totals();
        self.add(("loop", of_loop.as_str()), all);
        self.add(("task", task), all);
        let within = format!("{of_loop}{BETWEEN}{task}");
        self.add(("loop_task", &within), all);
        for one in &accounts.records {
            let model = one.model.as_deref().unwrap_or_default();
            let (agent, caller) = (&one.agent, one.caller.as_str());
            let part = format!("{of_loop}{BETWEEN}{model}{BETWEEN}{agent}{BETWEEN}{caller}");
            self.add(("loop_part", &part), Totals::of(one));
        }
    }

    fn add(&mut self, place: (&str, &str), totals: Totals) {
        let repository = self.repository.clone();
        self.add_to(&repository, place, totals);
    }

    fn add_to(&mut self, repository: &str, (dimension, key): (&str, &str), totals: Totals) {
        for day in ["", &self.day] {
            let place = [repository, dimension, key, day].map(str::to_owned);
            let sum = self.sums.entry(place).or_default();
            *sum = sum.plus(totals);
        }
    }

    fn rows(self) -> Vec<Value> {
        let rows = self.sums.into_iter();
        rows.map(|(place, totals)| total_row(place, totals))
            .collect()
    }
}

fn total_row(place: [String; 4], totals: Totals) -> Value {
    let (tokens, cost) = (totals.tokens, totals.cost);
    let figures = [
        totals.calls,
        totals.tool_calls,
        tokens.input,
        tokens.output,
        tokens.cache_read,
        tokens.cache_write,
        cost.input.millionths(),
        cost.output.millionths(),
        cost.cache_read.millionths(),
        cost.cache_write.millionths(),
        totals.unpriced_tokens,
        totals.told.millionths(),
        totals.told_by_table.millionths(),
        totals.spent.millionths(),
    ];
    let place = place.into_iter().map(Value::from);
    place.chain(figures.map(Value::from)).collect()
}

impl Journal {
    /// The calls of one iteration, as they are kept.
    pub async fn token_records(
        &mut self,
        iteration: &IterationId,
    ) -> Result<Vec<TokenRecord>, JournalError> {
        let rows: Vec<ask::RecordRow> = sqlx::query_as(
            "SELECT run, agent, model, caller, input, output, cache_read, cache_write, cost_input,
                    cost_output, cost_cache_read, cost_cache_write, told
             FROM token_record WHERE iteration_id = ? ORDER BY seq",
        )
        .bind(iteration.as_str())
        .fetch_all(&mut self.db)
        .await
        .map_err(failed("read calls to models"))?;
        Ok(rows.into_iter().map(TokenRecord::from).collect())
    }
}
