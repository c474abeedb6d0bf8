//! A long past in a journal: a million iterations of two years, with their calls to models, all sums of
//! them and their checkpoints.
//!
//! Made from one real iteration, so that the rows are as ralph writes them. Old records and checkpoints
//! are cut to what a list shows, or the journal would be some gigabytes; no command reads them.

use std::path::Path;

use sqlx::Connection as _;

use crate::{BenchResult, floor};

const ITERATIONS: u64 = 1_000_000;
const LOOPS: u64 = 1_000;
/// Each is worked at five times in a row, and again some weeks later.
const TASKS: u64 = 5_000;
const DAYS: u64 = 730;
/// Those of the last loop are whole: a report reads them.
const WHOLE: u64 = ITERATIONS / LOOPS;

pub(super) async fn lengthen(journal: &Path) -> BenchResult<()> {
    let mut database = floor::connect(journal).await?;
    let mut transaction = database.begin().await?;
    let mut all = vec![loops(), iterations(), checkpoints(), calls(), states()];
    all.extend(sums());
    all.push(format!(
        "UPDATE repository SET next_iteration = {ITERATIONS} + 1"
    ));
    for sql in all {
        sqlx::query(sqlx::AssertSqlSafe(sql))
            .execute(&mut *transaction)
            .await?;
    }
    transaction.commit().await?;
    database.close().await?;
    Ok(())
}

fn numbers(last: u64) -> String {
    format!("WITH RECURSIVE k(i) AS (SELECT 2 UNION ALL SELECT i + 1 FROM k WHERE i < {last})")
}

/// When iteration `i` was.
fn time_of(i: &str) -> String {
    format!(
        "strftime('%Y-%m-%dT%H:%M:%SZ', 'now', printf('-%d seconds', ({ITERATIONS} - {i}) * {DAYS} * 86400 / {ITERATIONS}))"
    )
}

/// The id of the loop that iteration `i` is of: each has a thousand of them, and the last is the one that
/// really ran.
fn loop_of(i: &str) -> String {
    let a_loop = ITERATIONS / LOOPS;
    format!(
        "CASE WHEN {i} > {ITERATIONS} - {a_loop} THEN (SELECT id FROM loop WHERE id NOT LIKE '00000000-%')
              ELSE printf('00000000-%08d', ({i} - 1) / {a_loop} + 2) END"
    )
}

fn loops() -> String {
    let columns = "repository_id, worktree, source, goal, branch, base_commit, agent, config, stop";
    let a_loop = ITERATIONS / LOOPS;
    let (from, to) = (
        time_of(&format!("(i - 2) * {a_loop}")),
        time_of(&format!("(i - 1) * {a_loop}")),
    );
    format!(
        "{} INSERT INTO loop (id, {columns}, started_at, ended_at, iterations, verified,
                cost_millionths, input_tokens, output_tokens)
         SELECT printf('00000000-%08d', i), {columns}, {from}, {to}, {a_loop}, {a_loop} / 2,
                {a_loop} * 50000, {a_loop} * 2000, {a_loop} * 100
         FROM loop, k WHERE loop.id NOT LIKE '00000000-%'",
        numbers(LOOPS)
    )
}

fn iterations() -> String {
    format!(
        "{} INSERT INTO iteration (id, repository_id, loop_id, n, task_id, attempt, base_commit,
                start, started_at, ended_at, verdict, outcome, result_commit, record)
         SELECT printf('%s-%d', id, i), repository_id, {}, i,
                printf('US-%06d', (i / 5) % {TASKS} + 1), attempt, base_commit, start, {time}, {time},
                CASE WHEN i % 2 THEN verdict ELSE 'failed' END,
                CASE WHEN i % 2 THEN outcome ELSE 'failed' END, result_commit,
                CASE WHEN i > {ITERATIONS} - {WHOLE} THEN record
                     ELSE json_object('title', json_extract(record, '$.title')) END
         FROM iteration, k WHERE n = 1",
        numbers(ITERATIONS),
        loop_of("i"),
        time = time_of("i"),
    )
}

fn checkpoints() -> String {
    format!(
        "INSERT INTO checkpoint (id, repository_id, loop_id, n, iteration, phase, at, body, hash,
                prev_hash, tip_commit)
         SELECT printf('00000000-%08d', i.n), i.repository_id, i.loop_id, i.n + 10, i.n, c.phase,
                i.ended_at, CASE WHEN i.n > {ITERATIONS} - {WHOLE} THEN c.body ELSE '{{}}' END,
                c.hash, c.prev_hash, c.tip_commit
         FROM iteration i, (SELECT * FROM checkpoint ORDER BY id LIMIT 1) c WHERE i.n > 1"
    )
}

/// One call for each iteration, of four models in turn.
fn calls() -> String {
    "INSERT INTO token_record
     SELECT id, 1, 1, 'claude', printf('model-%d', n / 100 % 4), 'agent', 2000, 100, 50000, 500,
            3000, 2000, 4000, 1000, NULL, 10000 + n * 7919 % 90000
     FROM iteration WHERE n > 1"
        .to_owned()
}

fn states() -> String {
    format!(
        "{} INSERT OR IGNORE INTO task_state
         SELECT repository_id, source, printf('US-%06d', i), state FROM task_state, k
         WHERE task_id = 'US-000001'",
        numbers(TASKS)
    )
}

/// All sums that ralph keeps, each for every day and for all of them.
fn sums() -> Vec<String> {
    let dimensions = [
        ("total", "''", "''"),
        ("total", "i.repository_id", "''"),
        ("model", "i.repository_id", "t.model"),
        ("loop", "i.repository_id", "i.loop_id"),
        ("task", "i.repository_id", "i.task_id"),
        (
            "loop_task",
            "i.repository_id",
            "i.loop_id || char(31) || i.task_id",
        ),
        (
            "loop_part",
            "i.repository_id",
            "i.loop_id || char(31) || t.model || char(31) || t.agent || char(31) || t.caller",
        ),
    ];
    let mut all = Vec::new();
    for (dimension, repository, key) in dimensions {
        for day in ["''", "substr(i.ended_at, 1, 10)"] {
            all.push(format!(
                "INSERT INTO token_total (repository_id, dimension, key, day, calls, tool_calls,
                    input, output, cache_read, cache_write, cost_input, cost_output,
                    cost_cache_read, cost_cache_write, unpriced_tokens, told, told_by_table, spent)
                 SELECT {repository}, '{dimension}', {key}, {day}, COUNT(*), COUNT(*) * 3,
                    SUM(t.input), SUM(t.output), SUM(t.cache_read), SUM(t.cache_write),
                    SUM(t.cost_input), SUM(t.cost_output), SUM(t.cost_cache_read),
                    SUM(t.cost_cache_write), 0, 0, 0, SUM(t.spent)
                 FROM token_record t JOIN iteration i ON i.id = t.iteration_id
                 GROUP BY 1, 3, 4"
            ));
        }
    }
    all
}
