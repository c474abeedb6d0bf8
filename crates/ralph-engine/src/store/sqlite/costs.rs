//! Calls to models in SQLite, and the totals that every question about spending is answered by.

use async_trait::async_trait;
use jiff::Timestamp;
use ralph_core::{
    dollars::Dollars,
    economics::{Caller, CostByKind, TokenRecord, Tokens, Totals},
    id::{IterationId, LoopId},
    record::IterationRecord,
};
use serde_json::{Value, json};
use sqlx::{Row as _, SqliteConnection, sqlite::SqliteRow};
use std::collections::{BTreeMap, HashMap, HashSet};

use super::{JournalError, SqliteJournal, failed, from_row, lock, signed, unreadable, unsigned};
use crate::store::{
    CostRow, CostStore, LoopModelCost, RepositoryId, SideRun, SpendingScope, SumBy, TokenUsage,
    day_of,
};

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

#[async_trait]
impl CostStore for SqliteJournal {
    async fn token_records(
        &mut self,
        iteration: &IterationId,
    ) -> Result<Vec<TokenRecord>, JournalError> {
        let rows: Vec<RecordRow> = sqlx::query_as(
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

    async fn costs(
        &mut self,
        repository: &RepositoryId,
        by: SumBy,
        since: Option<&str>,
        most: u32,
    ) -> Result<Vec<CostRow>, JournalError> {
        let (dimension, key) = match by {
            SumBy::Task => ("task", "key"),
            SumBy::Model => ("model", "key"),
            SumBy::Loop => ("loop", "key"),
            SumBy::Day => ("total", "day"),
        };
        // Since before anything was spent, and of all time, are the same.
        let since = match since {
            Some(day) if self.is_after_the_first(repository, day).await? => Some(day),
            Some(_) | None => None,
        };
        let plain = COLUMNS.join(", ");
        let sql = match (by, since) {
            (SumBy::Day, _) => format!(
                "SELECT {key} AS key, {plain} FROM token_total
                 WHERE repository_id = ?1 AND dimension = ?2 AND key = '' AND day >= ?3 AND day > ''
                 ORDER BY day DESC LIMIT ?4"
            ),
            // The index has them in this order: only what is shown is read.
            (_, None) => format!(
                "SELECT key, {plain} FROM token_total
                 WHERE repository_id = ?1 AND dimension = ?2 AND day = ?3
                 ORDER BY spent DESC LIMIT ?4"
            ),
            (_, Some(day)) => return self.costs_since(repository, dimension, day, most).await,
        };
        let rows = sqlx::query(sqlx::AssertSqlSafe(sql))
            .bind(&repository.0)
            .bind(dimension)
            .bind(since.unwrap_or_default())
            .bind(most)
            .fetch_all(&mut self.db)
            .await
            .map_err(failed("sum up what was spent"))?;
        rows.iter().map(cost_row).collect()
    }

    async fn spending(
        &mut self,
        repository: &RepositoryId,
        whose: SpendingScope<'_>,
        since: Option<&str>,
    ) -> Result<Totals, JournalError> {
        let (repository, dimension, key) = match whose {
            SpendingScope::All => ("", "total", ""),
            SpendingScope::Repository => (repository.0.as_str(), "total", ""),
            SpendingScope::Task(task) => (repository.0.as_str(), "task", task),
            SpendingScope::Loop(id) => (repository.0.as_str(), "loop", id.as_str()),
        };
        let summed = COLUMNS
            .map(|name| format!("COALESCE(SUM({name}), 0)"))
            .join(", ");
        let days = match since {
            None => "day = ?4",
            Some(_) => "day >= ?4",
        };
        let sql = format!(
            "SELECT {summed} FROM token_total
             WHERE repository_id = ?1 AND dimension = ?2 AND key = ?3 AND {days}"
        );
        let row = sqlx::query(sqlx::AssertSqlSafe(sql))
            .bind(repository)
            .bind(dimension)
            .bind(key)
            .bind(since.unwrap_or_default())
            .fetch_one(&mut self.db)
            .await
            .map_err(failed("look up what was spent"))?;
        totals(&row, 0)
    }

    async fn model_costs(
        &mut self,
        repository: &RepositoryId,
        loop_id: &LoopId,
    ) -> Result<Vec<LoopModelCost>, JournalError> {
        let rows = self.below(repository, "loop_part", loop_id).await?;
        let mut parts: Vec<LoopModelCost> = rows
            .into_iter()
            .map(|CostRow { key, totals }| {
                let mut words = key.split(BETWEEN).skip(1);
                let mut word = || words.next().unwrap_or_default().to_owned();
                LoopModelCost {
                    model: Some(word()).filter(|name| !name.is_empty()),
                    agent: word(),
                    caller: Caller::from_word(&word()).unwrap_or(Caller::Rest),
                    totals,
                }
            })
            .collect();
        parts
            .sort_by_key(|part| std::cmp::Reverse((part.totals.spent, part.totals.tokens.total())));
        Ok(parts)
    }

    async fn finished_costs(
        &mut self,
        repository: &RepositoryId,
        loop_id: &LoopId,
    ) -> Result<Vec<(String, Dollars)>, JournalError> {
        let verified: Vec<(String,)> = sqlx::query_as(
            "SELECT DISTINCT task_id FROM iteration
             WHERE loop_id = ? AND verdict = 'verified' AND reverted_by IS NULL",
        )
        .bind(loop_id.as_str())
        .fetch_all(&mut self.db)
        .await
        .map_err(failed("look for finished tasks"))?;
        let verified: HashSet<String> = verified.into_iter().map(|(task,)| task).collect();
        let rows = self.below(repository, "loop_task", loop_id).await?;
        let task = |key: &str| key.split(BETWEEN).nth(1).unwrap_or_default().to_owned();
        Ok(rows
            .iter()
            .map(|row| (task(&row.key), row.totals.spent))
            .filter(|(task, _)| verified.contains(task))
            .collect())
    }

    async fn last_costs(
        &mut self,
        repository: &RepositoryId,
        most: u32,
    ) -> Result<Vec<Dollars>, JournalError> {
        let rows: Vec<(i64,)> = sqlx::query_as(
            "SELECT (SELECT COALESCE(SUM(spent), 0) FROM token_record WHERE iteration_id = i.id)
             FROM (SELECT id, n FROM iteration WHERE repository_id = ? ORDER BY n DESC LIMIT ?) i
             ORDER BY i.n DESC",
        )
        .bind(&repository.0)
        .bind(most)
        .fetch_all(&mut self.db)
        .await
        .map_err(failed("look up what the last iterations cost"))?;
        Ok(rows
            .into_iter()
            .map(|(n,)| dollars(n))
            .filter(|cost| *cost > Dollars::NOTHING)
            .collect())
    }

    async fn spent_by_iteration(
        &mut self,
        loop_id: &LoopId,
    ) -> Result<HashMap<IterationId, Dollars>, JournalError> {
        let rows: Vec<(String, i64)> = sqlx::query_as(
            "SELECT i.id, SUM(t.spent) FROM iteration i JOIN token_record t ON t.iteration_id = i.id
             WHERE i.loop_id = ? GROUP BY i.id HAVING SUM(t.spent) > 0",
        )
        .bind(loop_id.as_str())
        .fetch_all(&mut self.db)
        .await
        .map_err(failed("look up what iterations cost"))?;
        Ok(rows
            .into_iter()
            .map(|(id, n)| (id.into(), dollars(n)))
            .collect())
    }

    async fn record_side_run(
        &mut self,
        repository: &RepositoryId,
        run: &SideRun,
    ) -> Result<(), JournalError> {
        let calls = serde_json::to_string(&run.accounts.records);
        let calls = calls.map_err(unreadable("a call to a model"))?;
        let what = "record a run outside of loops";
        let mut transaction = lock::begin(&mut self.db, &self.path, what).await?;
        sqlx::query("INSERT INTO side_run (id, repository_id, work, at, tool_calls, calls) VALUES (?, ?, ?, ?, ?, ?)")
            .bind(uuid::Uuid::now_v7().to_string())
            .bind(&repository.0)
            .bind(run.work.as_str())
            .bind(run.at.to_string())
            .bind(signed(run.accounts.tool_calls))
            .bind(calls)
            .execute(&mut *transaction)
            .await
            .map_err(failed(what))?;
        let mut sums = Sums::of(repository, run.at, &run.accounts);
        let all = run.accounts.totals();
        sums.add(("task", run.work.key()), all);
        sums.add(("loop", run.work.key()), all);
        grow(&mut transaction, sums).await?;
        let done = transaction.commit().await;
        done.map_err(failed(what))
    }

    async fn side_records(
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

impl SqliteJournal {
    /// The sums of all days whose key is of a loop.
    async fn below(
        &mut self,
        repository: &RepositoryId,
        dimension: &str,
        loop_id: &LoopId,
    ) -> Result<Vec<CostRow>, JournalError> {
        let sql = format!(
            "SELECT key, {} FROM token_total
             WHERE repository_id = ?1 AND dimension = ?2 AND key >= ?3 AND key < ?4 AND day = ''",
            COLUMNS.join(", ")
        );
        let rows = sqlx::query(sqlx::AssertSqlSafe(sql))
            .bind(&repository.0)
            .bind(dimension)
            .bind(format!("{loop_id}{BETWEEN}"))
            // The next character: all keys of the loop, and of no other.
            .bind(format!("{loop_id} "))
            .fetch_all(&mut self.db)
            .await
            .map_err(failed("look up the sums of a loop"))?;
        rows.iter().map(cost_row).collect()
    }

    /// The sums of a dimension since a day, the dearest first.
    async fn costs_since(
        &mut self,
        repository: &RepositoryId,
        dimension: &str,
        since: &str,
        most: u32,
    ) -> Result<Vec<CostRow>, JournalError> {
        let keys = self.dearest(repository, dimension, since, most).await?;
        let keys = serde_json::to_string(&keys).map_err(unreadable("a key of a sum"))?;
        let summed = COLUMNS
            .map(|name| format!("SUM({name}) AS {name}"))
            .join(", ");
        let sql = format!(
            "SELECT key, {summed} FROM token_total
             WHERE repository_id = ?1 AND dimension = ?2 AND day >= ?3
               AND key IN (SELECT value FROM json_each(?4))
             GROUP BY key ORDER BY SUM(spent) DESC, key"
        );
        let rows = sqlx::query(sqlx::AssertSqlSafe(sql))
            .bind(&repository.0)
            .bind(dimension)
            .bind(since)
            .bind(keys)
            .fetch_all(&mut self.db)
            .await
            .map_err(failed("sum up what was spent"))?;
        rows.iter().map(cost_row).collect()
    }

    /// Returns whether a day is behind the first on which anything was spent.
    async fn is_after_the_first(
        &mut self,
        repository: &RepositoryId,
        since: &str,
    ) -> Result<bool, JournalError> {
        let first: Option<String> = sqlx::query_scalar(
            "SELECT MIN(day) FROM token_total
             WHERE repository_id = ? AND dimension = 'total' AND key = '' AND day > ''",
        )
        .bind(&repository.0)
        .fetch_one(&mut self.db)
        .await
        .map_err(failed("look up the first day"))?;
        Ok(first.is_some_and(|first| since > first.as_str()))
    }

    async fn dearest(
        &mut self,
        repository: &RepositoryId,
        dimension: &str,
        since: &str,
        most: u32,
    ) -> Result<Vec<String>, JournalError> {
        let by_day = "SELECT key, spent FROM token_total INDEXED BY token_total_by_spent
             WHERE repository_id = ?1 AND dimension = ?2 AND day >= ?3";
        let parts = match (dimension, first_whole_month(since)) {
            ("task" | "loop", Some(month)) => format!(
                "{by_day} AND day < '{month}'
                 UNION ALL
                 SELECT key, spent FROM token_month
                 WHERE repository_id = ?1 AND dimension = ?2 AND month >= '{month}'"
            ),
            _ => by_day.to_owned(),
        };
        let sql = format!(
            "SELECT key FROM ({parts}) GROUP BY key ORDER BY SUM(spent) DESC, key LIMIT ?4"
        );
        sqlx::query_scalar(sqlx::AssertSqlSafe(sql))
            .bind(&repository.0)
            .bind(dimension)
            .bind(since)
            .bind(most)
            .fetch_all(&mut self.db)
            .await
            .map_err(failed("look for what was spent most on"))
    }
}

/// Writes an iteration's calls and adds them to all sums; within the transaction of its end.
pub(super) async fn insert(
    db: &mut SqliteConnection,
    repository: &RepositoryId,
    record: &IterationRecord,
    accounts: &TokenUsage,
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

async fn grow(db: &mut SqliteConnection, sums: Sums) -> Result<(), JournalError> {
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
    /// CheckpointFilter everything, of the repository, and of each model in it.
    fn of(repository: &RepositoryId, at: Timestamp, accounts: &TokenUsage) -> Self {
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

    fn add_loop(&mut self, of_loop: &LoopId, task: &str, accounts: &TokenUsage) {
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

struct RecordRow {
    run: i64,
    agent: String,
    model: Option<String>,
    caller: String,
    input: i64,
    output: i64,
    cache_read: i64,
    cache_write: i64,
    cost_input: Option<i64>,
    cost_output: Option<i64>,
    cost_cache_read: Option<i64>,
    cost_cache_write: Option<i64>,
    told: Option<i64>,
}

from_row!(RecordRow {} [run, agent, model, caller, input, output, cache_read, cache_write, cost_input, cost_output, cost_cache_read, cost_cache_write, told]);

impl From<RecordRow> for TokenRecord {
    fn from(row: RecordRow) -> Self {
        let cost = |n: Option<i64>| dollars(n.unwrap_or_default());
        Self {
            run: u32::try_from(row.run).unwrap_or_default(),
            agent: row.agent,
            model: row.model,
            caller: Caller::from_word(&row.caller).unwrap_or(Caller::Rest),
            tokens: Tokens {
                input: unsigned(row.input),
                output: unsigned(row.output),
                cache_read: unsigned(row.cache_read),
                cache_write: unsigned(row.cache_write),
            },
            cost: row.cost_input.map(|_| CostByKind {
                input: cost(row.cost_input),
                output: cost(row.cost_output),
                cache_read: cost(row.cost_cache_read),
                cache_write: cost(row.cost_cache_write),
            }),
            told: row.told.map(dollars),
        }
    }
}

/// A row of a key and its sums.
fn cost_row(row: &SqliteRow) -> Result<CostRow, JournalError> {
    Ok(CostRow {
        key: row.try_get(0).map_err(failed("read a sum"))?,
        totals: totals(row, 1)?,
    })
}

fn totals(row: &SqliteRow, from: usize) -> Result<Totals, JournalError> {
    let mut figures = [0_i64; COLUMNS.len()];
    for (at, figure) in figures.iter_mut().enumerate() {
        *figure = row.try_get(from + at).map_err(failed("read a sum"))?;
    }
    let [
        calls,
        tool_calls,
        input,
        output,
        cache_read,
        cache_write,
        cost_input,
        cost_output,
        cost_cache_read,
        cost_cache_write,
        unpriced_tokens,
        told,
        told_by_table,
        spent,
    ] = figures;
    Ok(Totals {
        calls: unsigned(calls),
        tool_calls: unsigned(tool_calls),
        tokens: Tokens {
            input: unsigned(input),
            output: unsigned(output),
            cache_read: unsigned(cache_read),
            cache_write: unsigned(cache_write),
        },
        cost: CostByKind {
            input: dollars(cost_input),
            output: dollars(cost_output),
            cache_read: dollars(cost_cache_read),
            cache_write: dollars(cost_cache_write),
        },
        unpriced_tokens: unsigned(unpriced_tokens),
        told: dollars(told),
        told_by_table: dollars(told_by_table),
        spent: dollars(spent),
    })
}

fn dollars(n: i64) -> Dollars {
    Dollars::from_millionths(unsigned(n))
}

/// The first month of which every day counts, as in `2026-02`; none where `since` is no day.
fn first_whole_month(since: &str) -> Option<String> {
    let day: jiff::civil::Date = since.parse().ok()?;
    let first = match day.day() {
        1 => day,
        _ => day.last_of_month().tomorrow().ok()?,
    };
    Some(first.strftime("%Y-%m").to_string())
}
