//! Calls to models and the totals that every question about spending is answered by.

use async_trait::async_trait;
use jiff::Timestamp;
use ralph_core::{
    dollars::Dollars,
    economics::{Caller, CostByKind, Per, PriceBasis, TokenRecord, Tokens, Totals},
    id::{IterationId, LoopId},
    record::IterationRecord,
};
use serde_json::{Value, json};
use std::collections::{BTreeMap, HashMap, HashSet};

use super::{
    SqlJournal, WriteTransaction,
    statement::{Columns, FromColumns, Statement, columns, json as stored, sql, unreadable},
    transaction,
};
use crate::{
    BudgetHolder, CostRow, CostStore, KeptShare, LoopModelCost, RepositoryId, Result, SideRun,
    SpendingScope, SumBy, TokenUsage, day_of,
};

/// Stands between the parts of a key; no part holds it.
const BETWEEN: char = '\u{1f}';

/// The columns of [`Totals`], in the order in which they are written and read.
const COLUMNS: [&str; 17] = [
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
    "estimated_tokens",
    "unknown_tokens",
    "estimated",
];

#[async_trait]
impl CostStore for SqlJournal {
    async fn token_records(&mut self, iteration: &IterationId) -> Result<Vec<TokenRecord>> {
        self.all(sql!(
            "read calls to models",
            "SELECT run, agent, model, caller, input, output, cache_read, cache_write, cost_input,
                    cost_output, cost_cache_read, cost_cache_write, told, basis
             FROM token_record WHERE iteration_id = ? ORDER BY seq",
            iteration,
        ))
        .await
    }

    async fn costs(
        &mut self,
        repository: &RepositoryId,
        by: SumBy,
        since: Option<&str>,
        most: u32,
    ) -> Result<Vec<CostRow>> {
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
        let text = match (by, since) {
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
        let since = since.unwrap_or_default();
        let what = "sum up what was spent";
        self.all(sql!(what, text, repository, dimension, since, most))
            .await
    }

    async fn spending(
        &mut self,
        repository: &RepositoryId,
        whose: SpendingScope<'_>,
        since: Option<&str>,
    ) -> Result<Totals> {
        let (repository, dimension, key) = match whose {
            SpendingScope::All => ("", "total", ""),
            SpendingScope::Repository => (repository.0.as_str(), "total", ""),
            SpendingScope::Task(task) => (repository.0.as_str(), "task", task),
            SpendingScope::Loop(id) => (repository.0.as_str(), "loop", id.as_str()),
        };
        let summed = COLUMNS
            .map(|name| format!("CAST(COALESCE(SUM({name}), 0) AS BIGINT)"))
            .join(", ");
        let days = match since {
            None => "day = ?4",
            Some(_) => "day >= ?4",
        };
        let text = format!(
            "SELECT {summed} FROM token_total
             WHERE repository_id = ?1 AND dimension = ?2 AND key = ?3 AND {days}"
        );
        let since = since.unwrap_or_default();
        let what = "look up what was spent";
        self.one(sql!(what, text, repository, dimension, key, since))
            .await
    }

    async fn costs_by_repository(&mut self, since: Option<&str>) -> Result<Vec<CostRow>> {
        let summed = COLUMNS
            .map(|name| format!("CAST(SUM(t.{name}) AS BIGINT) AS {name}"))
            .join(", ");
        let days = match since {
            None => "t.day = ?1",
            Some(_) => "t.day >= ?1",
        };
        let text = format!(
            "SELECT r.common_dir, {summed} FROM repository r JOIN token_total t ON t.repository_id = r.id
             WHERE t.dimension = 'total' AND t.key = '' AND {days}
             GROUP BY r.id, r.common_dir ORDER BY SUM(t.spent) DESC, r.common_dir"
        );
        let since = since.unwrap_or_default();
        self.all(sql!("sum up what repositories spent", text, since))
            .await
    }

    async fn model_costs(
        &mut self,
        repository: &RepositoryId,
        loop_id: &LoopId,
    ) -> Result<Vec<LoopModelCost>> {
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
    ) -> Result<Vec<(String, Dollars)>> {
        let verified: Vec<String> = self
            .all(sql!(
                "look for finished tasks",
                "SELECT DISTINCT task_id FROM iteration
             WHERE loop_id = ? AND verdict IN ('verified', 'unverified') AND reverted_by IS NULL",
                loop_id,
            ))
            .await?;
        let verified: HashSet<String> = verified.into_iter().collect();
        let rows = self.below(repository, "loop_task", loop_id).await?;
        let task = |key: &str| key.split(BETWEEN).nth(1).unwrap_or_default().to_owned();
        Ok(rows
            .iter()
            .map(|row| (task(&row.key), row.totals.spent))
            .filter(|(task, _)| verified.contains(task))
            .collect())
    }

    async fn last_costs(&mut self, repository: &RepositoryId, most: u32) -> Result<Vec<Dollars>> {
        let mut costs: Vec<Dollars> = self
            .all(sql!(
            "look up what the last iterations cost",
            "SELECT (SELECT CAST(COALESCE(SUM(spent), 0) AS BIGINT) FROM token_record WHERE iteration_id = i.id)
             FROM (SELECT id, n FROM iteration WHERE repository_id = ? ORDER BY n DESC LIMIT ?) i
             ORDER BY i.n DESC",
            repository,
            most,
        ))
            .await?;
        costs.retain(|cost| *cost > Dollars::NOTHING);
        Ok(costs)
    }

    async fn spent_by_iteration(
        &mut self,
        loop_id: &LoopId,
    ) -> Result<HashMap<IterationId, Dollars>> {
        let rows: Vec<(IterationId, Dollars)> = self
            .all(sql!(
            "look up what iterations cost",
            "SELECT i.id, CAST(SUM(t.spent) AS BIGINT) FROM iteration i JOIN token_record t ON t.iteration_id = i.id
             WHERE i.loop_id = ? GROUP BY i.id HAVING SUM(t.spent) > 0",
            loop_id,
        ))
            .await?;
        Ok(rows.into_iter().collect())
    }

    async fn budget_holder(&mut self) -> Result<Option<BudgetHolder>> {
        if self.is_on_server() {
            return Ok(Some(BudgetHolder {
                name: String::new(),
                shares: Vec::new(),
            }));
        }
        let what = "look up the shares of a team's budgets";
        let origin = "SELECT origin FROM sync_state WHERE enabled = 1 AND origin IS NOT NULL";
        let Some(name) = self.first(sql!(what, origin)).await? else {
            return Ok(None);
        };
        let shares = "SELECT per, period, granted, cap FROM budget_share ORDER BY per, period";
        let shares = self.all(sql!(what, shares)).await?;
        Ok(Some(BudgetHolder { name, shares }))
    }

    async fn keep_budget_share(&mut self, share: &KeptShare, at: Timestamp) -> Result<()> {
        if self.is_on_server() {
            return Ok(());
        }
        self.write(sql!(
            "keep a share of a team's budget",
            "INSERT INTO budget_share (per, period, granted, cap, updated_at) VALUES (?, ?, ?, ?, ?)
             ON CONFLICT (per, period) DO UPDATE SET granted = excluded.granted, cap = excluded.cap,
                updated_at = excluded.updated_at",
            share.per.as_str(),
            &share.period,
            share.granted.millionths(),
            share.cap.millionths(),
            at,
        ))
        .await
    }

    async fn record_side_run(&mut self, repository: &RepositoryId, run: &SideRun) -> Result<()> {
        let what = "record a run outside of loops";
        let insert = sql!(
            what,
            "INSERT INTO side_run (id, repository_id, work, at, tool_calls, calls) VALUES (?, ?, ?, ?, ?, ?)",
            uuid::Uuid::now_v7().to_string(),
            repository,
            run.work.as_str(),
            run.at,
            run.accounts.tool_calls,
            stored(&run.accounts.records)?,
        );
        let mut sums = Sums::of(repository, run.at, &run.accounts);
        let all = run.accounts.totals();
        sums.add(("task", run.work.key()), all);
        sums.add(("loop", run.work.key()), all);
        let insert = insert.then(growth(sums)?);
        transaction!(self, what, |tx| {
            insert.run(&mut tx).await?;
            Ok(())
        })
    }

    async fn side_records(
        &mut self,
        repository: &RepositoryId,
    ) -> Result<Vec<(String, TokenRecord)>> {
        let text = "SELECT work, calls FROM side_run WHERE repository_id = ? ORDER BY id";
        let found = sql!("read runs outside of loops", text, repository);
        let runs: Vec<(String, Vec<TokenRecord>)> = self.all(found).await?;
        let calls = |(work, calls): (String, Vec<TokenRecord>)| {
            calls.into_iter().map(move |call| (work.clone(), call))
        };
        Ok(runs.into_iter().flat_map(calls).collect())
    }
}

impl SqlJournal {
    /// The sums of all days whose key is of a loop.
    async fn below(
        &mut self,
        repository: &RepositoryId,
        dimension: &str,
        loop_id: &LoopId,
    ) -> Result<Vec<CostRow>> {
        let text = format!(
            "SELECT key, {} FROM token_total
             WHERE repository_id = ?1 AND dimension = ?2 AND key >= ?3 AND key < ?4 AND day = ''",
            COLUMNS.join(", ")
        );
        let from = format!("{loop_id}{BETWEEN}");
        // The next character: all keys of the loop, and of no other.
        let to = format!("{loop_id} ");
        let what = "look up the sums of a loop";
        self.all(sql!(what, text, repository, dimension, from, to))
            .await
    }

    /// The sums of a dimension since a day, the dearest first.
    async fn costs_since(
        &mut self,
        repository: &RepositoryId,
        dimension: &str,
        since: &str,
        most: u32,
    ) -> Result<Vec<CostRow>> {
        let keys = self.dearest(repository, dimension, since, most).await?;
        let keys = serde_json::to_string(&keys).map_err(unreadable("a key of a sum"))?;
        let summed = COLUMNS
            .map(|name| format!("CAST(SUM({name}) AS BIGINT) AS {name}"))
            .join(", ");
        let text = format!(
            "SELECT key, {summed} FROM token_total
             WHERE repository_id = ?1 AND dimension = ?2 AND day >= ?3
               AND key IN json_texts(?4)
             GROUP BY key ORDER BY SUM(spent) DESC, key"
        );
        let what = "sum up what was spent";
        self.all(sql!(what, text, repository, dimension, since, keys))
            .await
    }

    /// Returns whether a day is behind the first on which anything was spent.
    async fn is_after_the_first(&mut self, repository: &RepositoryId, since: &str) -> Result<bool> {
        let first: Option<String> = self
            .one(sql!(
                "look up the first day",
                "SELECT MIN(day) FROM token_total
             WHERE repository_id = ? AND dimension = 'total' AND key = '' AND day > ''",
                repository,
            ))
            .await?;
        Ok(first.is_some_and(|first| since > first.as_str()))
    }

    async fn dearest(
        &mut self,
        repository: &RepositoryId,
        dimension: &str,
        since: &str,
        most: u32,
    ) -> Result<Vec<String>> {
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
        let text = format!(
            "SELECT key FROM ({parts}) AS parts GROUP BY key ORDER BY SUM(spent) DESC, key LIMIT ?4"
        );
        let what = "look for what was spent most on";
        self.all(sql!(what, text, repository, dimension, since, most))
            .await
    }
}

/// Writes an iteration's calls and adds them to all sums; within the transaction of its end.
pub(crate) async fn insert(
    db: &mut WriteTransaction<'_>,
    repository: &RepositoryId,
    record: &IterationRecord,
    accounts: &TokenUsage,
) -> Result<()> {
    if accounts.records.is_empty() && accounts.tool_calls == 0 {
        return Ok(());
    }
    let rows: Vec<Value> = accounts.records.iter().map(record_row).collect();
    let insert = sql!(
        "record calls to models",
        "INSERT INTO token_record (iteration_id, seq, run, agent, model, caller, input, output,
                cache_read, cache_write, cost_input, cost_output, cost_cache_read, cost_cache_write,
                told, spent, basis)
         SELECT ?1, key + 1, CAST(value ->> 0 AS BIGINT), value ->> 1, value ->> 2, value ->> 3,
                CAST(value ->> 4 AS BIGINT), CAST(value ->> 5 AS BIGINT), CAST(value ->> 6 AS BIGINT),
                CAST(value ->> 7 AS BIGINT), CAST(value ->> 8 AS BIGINT), CAST(value ->> 9 AS BIGINT),
                CAST(value ->> 10 AS BIGINT), CAST(value ->> 11 AS BIGINT), CAST(value ->> 12 AS BIGINT),
                CAST(value ->> 13 AS BIGINT), value ->> 14
         FROM json_each(?2)",
        &record.iteration_id,
        serde_json::to_string(&rows).map_err(unreadable("a call to a model"))?,
    );
    let mut sums = Sums::of(repository, record.ended_at, accounts);
    sums.add_loop(&record.loop_id, &record.task_id, accounts);
    insert.then(growth(sums)?).run(db).await?;
    Ok(())
}

/// The statement that adds to all sums.
pub(crate) fn growth(sums: Sums) -> Result<Statement> {
    let sums = serde_json::to_string(&sums.rows()).map_err(unreadable("a sum of tokens"))?;
    Ok(sql!("add up tokens", upsert(), sums))
}

fn upsert() -> String {
    let columns = COLUMNS.join(", ");
    let values: Vec<String> = (0..COLUMNS.len())
        .map(|at| format!("CAST(value ->> {} AS BIGINT)", at + 4))
        .collect();
    let grow: Vec<String> = COLUMNS
        .iter()
        .map(|name| format!("{name} = token_total.{name} + excluded.{name}"))
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
    let cost =
        |kind: fn(&CostByKind) -> Dollars| record.cost.as_ref().map(|c| kind(c).millionths());
    json!([
        record.run,
        record.agent,
        record.model,
        record.caller.as_str(),
        record.tokens.input,
        record.tokens.output,
        record.tokens.cache_read,
        record.tokens.cache_write,
        cost(|c| c.input),
        cost(|c| c.output),
        cost(|c| c.cache_read),
        cost(|c| c.cache_write),
        record.told.map(Dollars::millionths),
        record.spent().millionths(),
        record.basis.as_str(),
    ])
}

/// All sums that some work adds to, each for its day and for all days.
pub(crate) struct Sums {
    repository: String,
    day: String,
    sums: BTreeMap<[String; 4], Totals>,
}

impl Sums {
    /// Of everything, of the repository, and of each model in it.
    pub(crate) fn of(repository: &RepositoryId, at: Timestamp, accounts: &TokenUsage) -> Self {
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

    pub(crate) fn add_loop(&mut self, of_loop: &LoopId, task: &str, accounts: &TokenUsage) {
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
        totals.estimated_tokens,
        totals.unknown_tokens,
        totals.estimated.millionths(),
    ];
    let place = place.into_iter().map(Value::from);
    place.chain(figures.map(Value::from)).collect()
}

columns!(Tokens: input, output, cache_read, cache_write);
columns!(CostByKind: input, output, cache_read, cache_write);
columns!(
    Totals: calls, tool_calls, tokens, cost, unpriced_tokens, told, told_by_table, spent,
    estimated_tokens, unknown_tokens, estimated
);
columns!(CostRow: key, totals);

impl FromColumns for KeptShare {
    fn from_columns(row: &mut Columns<'_>) -> Result<Self> {
        Ok(Self {
            // The table holds these alone.
            per: Per::from_word(&row.next::<String>()?).unwrap_or(Per::Total),
            period: row.next()?,
            granted: row.next()?,
            cap: row.next()?,
        })
    }
}

impl FromColumns for TokenRecord {
    fn from_columns(row: &mut Columns<'_>) -> Result<Self> {
        Ok(Self {
            run: row.next()?,
            agent: row.next()?,
            model: row.next()?,
            caller: Caller::from_word(&row.next::<String>()?).unwrap_or(Caller::Rest),
            tokens: row.next()?,
            cost: {
                let mut cost = || row.next::<Option<Dollars>>();
                let (input, output, cache_read, cache_write) = (cost()?, cost()?, cost()?, cost()?);
                input.map(|input| CostByKind {
                    input,
                    output: output.unwrap_or_default(),
                    cache_read: cache_read.unwrap_or_default(),
                    cache_write: cache_write.unwrap_or_default(),
                })
            },
            told: row.next()?,
            basis: PriceBasis::from_word(&row.next::<String>()?).unwrap_or_default(),
        })
    }
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
