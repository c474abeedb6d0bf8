//! A long past on a server: a hundred tenants with ten thousand iterations each, of a hundred loops, with their calls
//! to models, all sums of them and their checkpoints.
//!
//! Made from one real iteration of one tenant, so that the rows are as ralph writes them; the other tenants have the
//! same rows. Old records and checkpoints are cut to what a list shows, as those of a long past in SQLite are.

use ralph_testkit::postgres::Database;

use super::TENANT;
use crate::BenchResult;

const TENANTS: u64 = 100;
const ITERATIONS: u64 = 10_000;
const LOOPS: u64 = 100;
const A_LOOP: u64 = ITERATIONS / LOOPS;
const TASKS: u64 = 100;
const DAYS: u64 = 200;

/// All tables that a loop fills, parents first.
const TABLES: [&str; 9] = [
    "repository",
    "loop",
    "iteration",
    "step",
    "task_state",
    "checkpoint",
    "token_record",
    "token_total",
    "token_month",
];

pub(super) fn lengthen(database: &Database) -> BenchResult<()> {
    let mut all = vec![
        // Nothing is counted up row by row, and no key is looked for: all of it is made here.
        "SET session_replication_role = replica".to_owned(),
        format!(
            "SELECT set_config('ralph.tenant', id::text, false) FROM ralph.tenant WHERE name = '{TENANT}'"
        ),
        loops(),
        iterations(),
        checkpoints(),
        calls(),
    ];
    all.extend(sums());
    all.push(months());
    all.push(format!(
        "UPDATE ralph.repository SET next_iteration = {ITERATIONS} + 1"
    ));
    all.push(other_tenants());
    all.push("ANALYZE".to_owned());
    database
        .try_sql(&all.join(";\n"))
        .map_err(|said| format!("the past can't be made: {said}"))?;
    Ok(())
}

/// When iteration `i` was.
fn time_of(i: &str) -> String {
    format!(
        "to_char(now() AT TIME ZONE 'UTC' - ({ITERATIONS} - ({i})) * interval '1 second' * ({DAYS} * 86400 / {ITERATIONS}), 'YYYY-MM-DD\"T\"HH24:MI:SS\"Z\"')"
    )
}

/// The id of the loop that iteration `i` is of; the last is the one that really ran.
fn loop_of(i: &str) -> String {
    format!(
        "CASE WHEN {i} > {ITERATIONS} - {A_LOOP} THEN (SELECT id FROM ralph.loop WHERE id NOT LIKE '00000000-%')
              ELSE '00000000-' || lpad((({i} - 1) / {A_LOOP} + 2)::text, 8, '0') END"
    )
}

fn loops() -> String {
    let columns =
        "tenant, repository_id, worktree, source, goal, branch, base_commit, agent, config, stop";
    let (from, to) = (
        time_of(&format!("(i - 2) * {A_LOOP}")),
        time_of(&format!("(i - 1) * {A_LOOP}")),
    );
    format!(
        "INSERT INTO ralph.loop (id, {columns}, started_at, ended_at, iterations, verified, cost_millionths,
                input_tokens, output_tokens)
         SELECT '00000000-' || lpad(i::text, 8, '0'), {columns}, {from}, {to}, {A_LOOP}, {A_LOOP} / 2,
                {A_LOOP} * 50000, {A_LOOP} * 2000, {A_LOOP} * 100
         FROM ralph.loop, generate_series(2, {LOOPS}) i"
    )
}

fn iterations() -> String {
    format!(
        "INSERT INTO ralph.iteration (tenant, id, repository_id, loop_id, n, task_id, attempt, base_commit, start,
                started_at, ended_at, verdict, outcome, result_commit, record)
         SELECT tenant, id || '-' || i, repository_id, {}, i, 'US-' || lpad((i / 5 % {TASKS} + 1)::text, 6, '0'), attempt,
                base_commit, start, {time}, {time}, CASE WHEN i % 2 = 1 THEN verdict ELSE 'failed' END,
                CASE WHEN i % 2 = 1 THEN outcome ELSE 'failed' END, result_commit,
                CASE WHEN i > {ITERATIONS} - {A_LOOP} THEN record
                     ELSE json_build_object('title', record::json ->> 'title')::text END
         FROM ralph.iteration, generate_series(2, {ITERATIONS}) i WHERE n = 1",
        loop_of("i"),
        time = time_of("i"),
    )
}

fn checkpoints() -> String {
    "INSERT INTO ralph.checkpoint (tenant, id, repository_id, loop_id, n, iteration, phase, at, body, hash, prev_hash,
            tip_commit)
     SELECT i.tenant, '00000000-' || lpad(i.n::text, 8, '0'), i.repository_id, i.loop_id, i.n + 10, i.n, c.phase,
            i.ended_at, '{}', c.hash, c.prev_hash, c.tip_commit
     FROM ralph.iteration i, (SELECT * FROM ralph.checkpoint ORDER BY id LIMIT 1) c WHERE i.n > 1"
        .to_owned()
}

/// One call for each iteration, of four models in turn.
fn calls() -> String {
    "INSERT INTO ralph.token_record (tenant, iteration_id, seq, run, agent, model, caller, input, output, cache_read,
            cache_write, cost_input, cost_output, cost_cache_read, cost_cache_write, spent)
     SELECT tenant, id, 1, 1, 'claude', 'model-' || n / 100 % 4, 'agent', 2000, 100, 50000, 500, 3000, 2000, 4000, 1000,
            10000 + n * 7919 % 90000
     FROM ralph.iteration WHERE n > 1"
        .to_owned()
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
            "i.loop_id || chr(31) || i.task_id",
        ),
        (
            "loop_part",
            "i.repository_id",
            "i.loop_id || chr(31) || t.model || chr(31) || t.agent || chr(31) || t.caller",
        ),
    ];
    let mut all = vec!["DELETE FROM ralph.token_total".to_owned()];
    for (dimension, repository, key) in dimensions {
        for day in ["''", "substr(i.ended_at, 1, 10)"] {
            all.push(format!(
                "INSERT INTO ralph.token_total (tenant, repository_id, dimension, key, day, calls, tool_calls, input,
                        output, cache_read, cache_write, cost_input, cost_output, cost_cache_read, cost_cache_write,
                        unpriced_tokens, told, told_by_table, spent)
                 SELECT i.tenant, {repository}, '{dimension}', {key}, {day}, count(*), count(*) * 3, sum(t.input),
                        sum(t.output), sum(t.cache_read), sum(t.cache_write), sum(t.cost_input), sum(t.cost_output),
                        sum(t.cost_cache_read), sum(t.cost_cache_write), 0, 0, 0, sum(t.spent)
                 FROM ralph.token_record t JOIN ralph.iteration i ON i.id = t.iteration_id
                 WHERE t.model IS NOT NULL GROUP BY 1, 2, 4, 5"
            ));
        }
    }
    all
}

fn months() -> String {
    "DELETE FROM ralph.token_month;
     INSERT INTO ralph.token_month (tenant, repository_id, dimension, month, key, spent)
     SELECT tenant, repository_id, dimension, substr(day, 1, 7), key, sum(spent) FROM ralph.token_total
     WHERE dimension IN ('task', 'loop') AND day > '' GROUP BY 1, 2, 3, 4, 5"
        .to_owned()
}

/// Gives the same rows to all other tenants.
fn other_tenants() -> String {
    let names = TABLES.map(|table| format!("'{table}'")).join(", ");
    format!(
        "INSERT INTO ralph.tenant (id, name) SELECT gen_random_uuid(), 'team-' || n FROM generate_series(1, {TENANTS} - 1) n;
         DO $$
         DECLARE
             name text;
             own text;
             others text;
         BEGIN
             FOREACH name IN ARRAY ARRAY[{names}] LOOP
                 SELECT string_agg(quote_ident(column_name), ', '), string_agg('x.' || quote_ident(column_name), ', ')
                 INTO own, others FROM information_schema.columns
                 WHERE table_schema = 'ralph' AND table_name = name AND column_name <> 'tenant';
                 EXECUTE format(
                     'INSERT INTO ralph.%1$I (tenant, %2$s) SELECT t.id, %3$s FROM ralph.tenant t, ralph.%1$I x
                      WHERE t.name <> ''{TENANT}''', name, own, others);
             END LOOP;
         END
         $$"
    )
}
