//! Questions about tokens and money. All are answered by the sums: none of them reads every call.

use ralph_core::{
    dollars::Dollars,
    economics::{Caller, CostByKind, Per, TokenRecord, Tokens, Totals},
    id::{IterationId, LoopId},
};
use sqlx::Row as _;

use super::{BETWEEN, COLUMNS, Journal, JournalError, RepositoryId, failed};

/// What sums are made by.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SumBy {
    Task,
    Model,
    Loop,
    Day,
}

/// Whose spending is asked for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Whose<'a> {
    /// All that this journal knows of.
    All,
    Repository,
    Task(&'a str),
    Loop(&'a LoopId),
}

/// One line of a list of sums.
#[derive(Debug, Clone, PartialEq)]
pub struct Grouped {
    pub key: String,
    pub totals: Totals,
}

/// Who asked which model in a loop, and what that came to.
#[derive(Debug, Clone, PartialEq)]
pub struct LoopPart {
    pub model: Option<String>,
    pub agent: String,
    pub caller: Caller,
    pub totals: Totals,
}

#[derive(sqlx::FromRow)]
pub(super) struct RecordRow {
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

impl From<RecordRow> for TokenRecord {
    fn from(row: RecordRow) -> Self {
        let cost = |n: Option<i64>| dollars(n.unwrap_or_default());
        Self {
            run: u32::try_from(row.run).unwrap_or_default(),
            agent: row.agent,
            model: row.model,
            caller: Caller::parse(&row.caller).unwrap_or(Caller::Rest),
            tokens: Tokens {
                input: count(row.input),
                output: count(row.output),
                cache_read: count(row.cache_read),
                cache_write: count(row.cache_write),
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

impl Journal {
    /// The sums of a repository, the dearest first (days: the newest), at most `most` of them; since a
    /// day, or of all time.
    pub async fn costs(
        &mut self,
        repository: &RepositoryId,
        by: SumBy,
        since: Option<&str>,
        most: u32,
    ) -> Result<Vec<Grouped>, JournalError> {
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
        rows.iter().map(grouped).collect()
    }

    /// What somebody has used since a day (`YYYY-MM-DD`), or ever.
    pub async fn spending(
        &mut self,
        repository: &RepositoryId,
        whose: Whose<'_>,
        since: Option<&str>,
    ) -> Result<Totals, JournalError> {
        let (repository, dimension, key) = match whose {
            Whose::All => ("", "total", ""),
            Whose::Repository => (repository.0.as_str(), "total", ""),
            Whose::Task(task) => (repository.0.as_str(), "task", task),
            Whose::Loop(id) => (repository.0.as_str(), "loop", id.as_str()),
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

    /// Who asked which model in a loop, the dearest first.
    pub async fn parts_of_loop(
        &mut self,
        repository: &RepositoryId,
        loop_id: &LoopId,
    ) -> Result<Vec<LoopPart>, JournalError> {
        let rows = self.below(repository, "loop_part", loop_id).await?;
        let mut parts: Vec<LoopPart> = rows
            .into_iter()
            .map(|Grouped { key, totals }| {
                let mut words = key.split(BETWEEN).skip(1);
                let mut word = || words.next().unwrap_or_default().to_owned();
                LoopPart {
                    model: Some(word()).filter(|name| !name.is_empty()),
                    agent: word(),
                    caller: Caller::parse(&word()).unwrap_or(Caller::Rest),
                    totals,
                }
            })
            .collect();
        parts
            .sort_by_key(|part| std::cmp::Reverse((part.totals.spent, part.totals.tokens.total())));
        Ok(parts)
    }

    /// What each task that a loop completed has cost in it, by task.
    pub async fn finished_costs(
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
        let verified: std::collections::HashSet<String> =
            verified.into_iter().map(|(task,)| task).collect();
        let rows = self.below(repository, "loop_task", loop_id).await?;
        let task = |key: &str| key.split(BETWEEN).nth(1).unwrap_or_default().to_owned();
        Ok(rows
            .iter()
            .map(|row| (task(&row.key), row.totals.spent))
            .filter(|(task, _)| verified.contains(task))
            .collect())
    }

    /// What the newest iterations of a repository have cost, newest first; of those that cost anything.
    pub async fn last_costs(
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

    /// What each iteration of a loop has cost, of those that cost anything.
    pub async fn spent_by_iteration(
        &mut self,
        loop_id: &LoopId,
    ) -> Result<std::collections::HashMap<IterationId, Dollars>, JournalError> {
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

    /// The sums of all days whose key is of a loop.
    async fn below(
        &mut self,
        repository: &RepositoryId,
        dimension: &str,
        loop_id: &LoopId,
    ) -> Result<Vec<Grouped>, JournalError> {
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
        rows.iter().map(grouped).collect()
    }
}

/// The first day of the time that a budget is for; nothing where it is for all time.
pub fn first_day(per: Per, now: jiff::Timestamp) -> Option<String> {
    match per {
        Per::Day => Some(super::day_of(now)),
        Per::Month => Some(now.strftime("%Y-%m-01").to_string()),
        Per::Total => None,
    }
}

/// A row of a key and its sums.
pub(super) fn grouped(row: &sqlx::sqlite::SqliteRow) -> Result<Grouped, JournalError> {
    Ok(Grouped {
        key: row.try_get(0).map_err(failed("read a sum"))?,
        totals: totals(row, 1)?,
    })
}

pub(super) fn totals(row: &sqlx::sqlite::SqliteRow, from: usize) -> Result<Totals, JournalError> {
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
        calls: count(calls),
        tool_calls: count(tool_calls),
        tokens: Tokens {
            input: count(input),
            output: count(output),
            cache_read: count(cache_read),
            cache_write: count(cache_write),
        },
        cost: CostByKind {
            input: dollars(cost_input),
            output: dollars(cost_output),
            cache_read: dollars(cost_cache_read),
            cache_write: dollars(cost_cache_write),
        },
        unpriced_tokens: count(unpriced_tokens),
        told: dollars(told),
        told_by_table: dollars(told_by_table),
        spent: dollars(spent),
    })
}

fn count(n: i64) -> u64 {
    u64::try_from(n).unwrap_or_default()
}

fn dollars(n: i64) -> Dollars {
    Dollars::of_millionths(count(n))
}
