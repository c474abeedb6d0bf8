//! Sums that the database keeps up by itself, and the views of a team over several journals.

#![allow(clippy::print_stdout, reason = "what was measured is said")]

use super::*;

const A: &str = "00000000-0000-0000-0000-00000000000a";

/// A store whose tenant A is known by its id.
async fn store() -> Database {
    let store = Store::new().await;
    store.database.sql(&format!(
        "INSERT INTO ralph.tenant (id, name) VALUES ('{A}', 'known')"
    ));
    store.database
}

/// Runs statements as tenant A, by the names of the SQLite journal.
fn journal(database: &Database, text: &str) -> String {
    app(
        database,
        &format!("SET search_path = ralph_journal, pg_catalog; {text}"),
    )
}

fn app(database: &Database, text: &str) -> String {
    database.sql(&format!(
        "SET ROLE ralph_app; SET ralph.tenant = '{A}'; {text}"
    ))
}

const LOOP: &str =
    "(id, repository_id, worktree, source, branch, base_commit, agent, config, started_at)";

#[tokio::test]
async fn the_statements_of_the_sqlite_journal_work_through_the_views() {
    let database = store().await;
    let made = journal(
        &database,
        &format!("INSERT INTO repository (id, common_dir, created_at) VALUES ('R', '/r', 't');
         INSERT INTO loop {LOOP} VALUES ('L', 'R', 'w', 's', 'b', 'c', 'a', '{{}}', 't');
         UPDATE repository SET next_iteration = next_iteration + 1 WHERE id = 'R' RETURNING next_iteration - 1;
         INSERT INTO iteration (id, repository_id, loop_id, n, task_id, attempt, base_commit, start, started_at)
         VALUES ('I', 'R', 'L', 1, 'T', 1, 'b', '{{}}', 't'), ('J', 'R', 'L', 2, 'T', 2, 'b', '{{}}', 't');
         UPDATE iteration SET ended_at = 'e', verdict = 'verified', record = '{{\"usage\":{{\"costUsd\":0.1234567,\"inputTokens\":10,\"outputTokens\":3}},\"said\":\"a \\u0000\"}}' WHERE id = 'I';
         UPDATE iteration SET ended_at = 'e', verdict = 'failed' WHERE id = 'J';
         INSERT INTO command (repository_id, worktree, who, at, body) VALUES ('R', 'w', 'x', 't', '{{}}') RETURNING id;
         INSERT INTO checkpoint (id, repository_id, loop_id, n, phase, at, body, hash, tip_commit) VALUES ('C', 'R', 'L', 4, 'x', 't', '{{}}', 'h', 'c');
         INSERT INTO suggestion (repository_id, iteration, title, description) VALUES ('R', 1, 'x', 'y'), ('R', 1, 'x', 'z') ON CONFLICT DO NOTHING;
         SELECT iterations, verified, cost_millionths, input_tokens, output_tokens, checkpoints FROM loop;
         UPDATE iteration SET reverted_by = 'W' WHERE id = 'I';
         SELECT verified FROM loop;
         SELECT count(*) FROM suggestion;
         SELECT json_valid('{{}}'), json_valid('{{'), json_extract('{{\"a\":{{\"b\":7}}}}', '$.a.b');
         INSERT INTO task_state (repository_id, source, task_id, state) VALUES ('R', 's', 'T', '{{\"question\":\"?\"}}');
         DELETE FROM task_state WHERE task_id = 'T' RETURNING json_extract(state, '$.question')"),
    );
    let expected = ["1", "1", "2|1|123457|10|3|4", "0", "1", "t|f|7", "?"];
    assert_eq!(made.lines().collect::<Vec<_>>(), expected);
    let totals = "INSERT INTO token_total (repository_id, dimension, key, day, calls, tool_calls, input, output, cache_read, cache_write,
             cost_input, cost_output, cost_cache_read, cost_cache_write, unpriced_tokens, told, told_by_table, spent)
         VALUES ('R', 'task', 'T', '2026-01-02', 1, 0, 1, 1, 0, 0, 1, 1, 0, 0, 0, 0, 0, 7)
         ON CONFLICT (tenant, origin, repository_id, dimension, key, day) DO UPDATE SET spent = token_total.spent + excluded.spent;";
    let months = journal(
        &database,
        &format!("{totals} {totals} SELECT month, key, spent FROM token_month"),
    );
    assert_eq!(months, "2026-01|T|14");
    // A row of another journal is not one of these, and can't be made one.
    let refused = database.try_sql(&format!(
        "SET ROLE ralph_app; SET ralph.tenant = '{A}'; INSERT INTO ralph_journal.repository (origin, id, common_dir, created_at) VALUES ('o', 'R', '/r', 't')"
    ));
    assert!(refused.unwrap_err().contains("check option"));
}

#[tokio::test]
async fn synced_rows_bring_their_sums_with_them() {
    let database = store().await;
    let sums = app(
        &database,
        &format!("INSERT INTO ralph.repository (origin, id, common_dir, created_at) VALUES ('o', 'R', '/r', 't');
         INSERT INTO ralph.loop (origin, iterations, verified, {}) VALUES ('o', 5, 4, 'L', 'R', 'w', 's', 'b', 'c', 'a', '{{}}', 't');
         INSERT INTO ralph.iteration (origin, id, repository_id, loop_id, n, task_id, attempt, base_commit, start, started_at)
         VALUES ('o', 'I', 'R', 'L', 1, 'T', 1, 'b', '{{}}', 't');
         UPDATE ralph.iteration SET ended_at = 'e', verdict = 'verified' WHERE id = 'I';
         UPDATE ralph.iteration SET reverted_by = 'W' WHERE id = 'I';
         INSERT INTO ralph.checkpoint (origin, id, repository_id, loop_id, n, phase, at, body, hash, tip_commit)
         VALUES ('o', 'C', 'R', 'L', 4, 'x', 't', '{{}}', 'h', 'c');
         SELECT iterations, verified, checkpoints FROM ralph.loop; SELECT count(*) FROM ralph_journal.loop", &LOOP[1..LOOP.len() - 1]),
    );
    assert_eq!(sums, "5|4|0\n0");
}

/// A data folder that was copied: both journals hold the same loop.
#[tokio::test]
async fn a_loop_that_two_journals_hold_is_shown_once() {
    let database = store().await;
    let columns = &LOOP[1..LOOP.len() - 1];
    let with = |origin: &str, id: &str, iterations: u32, ended: &str| {
        format!("INSERT INTO ralph.loop (origin, iterations, ended_at, {columns}) VALUES ('{origin}', {iterations}, {ended}, '{id}', 'R', 'w', 's', 'b', 'c', 'a', '{{}}', '2026-01-01');
             INSERT INTO ralph.token_total (origin, repository_id, dimension, key, day, calls, tool_calls, input, output, cache_read, cache_write,
                 cost_input, cost_output, cost_cache_read, cost_cache_write, unpriced_tokens, told, told_by_table, spent)
             VALUES ('{origin}', 'R', 'loop', '{id}', '', 1, 0, 1, 1, 0, 0, 1, 1, 0, 0, 0, 0, 0, {iterations}00),
                    ('{origin}', 'R', 'loop_part', '{id}' || E'\\x1f' || 'opus', '', 1, 0, 1, 1, 0, 0, 1, 1, 0, 0, 0, 0, 0, {iterations}00);")
    };
    let mut text = String::new();
    for (origin, machine) in [("o1", "laptop"), ("o2", "copy")] {
        text += &format!(
            "INSERT INTO ralph.machine (origin, name) VALUES ('{origin}', '{machine}');
             INSERT INTO ralph.repository (origin, id, common_dir, created_at) VALUES ('{origin}', 'R', '/{machine}', 't');"
        );
    }
    for (origin, id, iterations, ended) in [
        ("o1", "more", 3, "NULL"),
        ("o2", "more", 5, "NULL"),
        ("o1", "later", 3, "'2026-01-03'"),
        ("o2", "later", 3, "'2026-01-02'"),
        ("o1", "same", 3, "NULL"),
        ("o2", "same", 3, "NULL"),
        ("o2", "alone", 1, "NULL"),
    ] {
        text += &with(origin, id, iterations, ended);
    }
    app(&database, &text);
    let shown = app(
        &database,
        "SELECT id, machine, common_dir, iterations, spent FROM ralph_team.loop ORDER BY id",
    );
    let expected = [
        "alone|copy|/copy|1|100",
        "later|laptop|/laptop|3|300",
        "more|copy|/copy|5|500",
        "same|laptop|/laptop|3|300",
    ];
    assert_eq!(shown.lines().collect::<Vec<_>>(), expected);
    let costs = app(
        &database,
        "SELECT dimension, count(*), sum(spent) FROM ralph_team.cost GROUP BY 1 ORDER BY 1",
    );
    assert_eq!(costs, "loop|4|1200\nloop_part|4|1200");
    // Runs outside of loops have no loop, and are each machine's own.
    app(&database, "INSERT INTO ralph.token_total (origin, repository_id, dimension, key, day, calls, tool_calls, input, output, cache_read, cache_write,
                 cost_input, cost_output, cost_cache_read, cost_cache_write, unpriced_tokens, told, told_by_table, spent)
             SELECT o, 'R', 'loop', '(plan)', '', 1, 0, 1, 1, 0, 0, 1, 1, 0, 0, 0, 0, 0, 7 FROM unnest(ARRAY['o1', 'o2']) o");
    assert_eq!(
        app(
            &database,
            "SELECT sum(spent) FROM ralph_team.cost WHERE loop_id = '(plan)'"
        ),
        "14"
    );
    // A question that was answered on one of them.
    app(&database, "INSERT INTO ralph.escalation (origin, id, repository_id, source, task_id, iteration, asked_by, question, asked_at, answer, answered_at)
             VALUES ('o1', 1, 'R', 's', 'T', 1, 'agent', 'which?', 't1', NULL, NULL), ('o2', 1, 'R', 's', 'T', 1, 'agent', 'which?', 't1', 'that', 't3'),
                    ('o1', 2, 'R', 's', 'T', 1, 'agent', 'when?', 't2', NULL, NULL), ('o2', 2, 'R', 's', 'U', 1, 'agent', 'other?', 't5', NULL, NULL);
             INSERT INTO ralph.checkpoint (origin, id, repository_id, loop_id, n, phase, at, body, hash, tip_commit)
             VALUES ('o1', 'C', 'R', 'same', 1, 'x', 't', '{}', 'h', 'c'), ('o2', 'C', 'R', 'same', 1, 'x', 't', '{}', 'h', 'c')");
    let questions = app(
        &database,
        "SELECT question, machine, answer FROM ralph_team.question ORDER BY asked_at",
    );
    assert_eq!(questions, "which?|copy|that\nwhen?|laptop|\nother?|copy|");
    assert_eq!(
        app(&database, "SELECT id, machine FROM ralph_team.checkpoint"),
        "C|laptop"
    );
    assert_eq!(
        app(
            &database,
            "SELECT name, seq FROM ralph_team.machine ORDER BY 1"
        ),
        "copy|0\nlaptop|0"
    );
    // And another tenant sees none of it.
    let other = database.sql("SET ROLE ralph_app; SET ralph.tenant = '00000000-0000-0000-0000-00000000000b'; SELECT count(*) FROM ralph_team.loop, ralph_team.machine");
    assert_eq!(other, "0");
}

/// Questions of a tenant are answered at once, however much other tenants have. `RALPH_STORM_ITERATIONS` is their number.
#[tokio::test]
async fn a_tenant_among_a_hundred_is_answered_at_once() {
    let all: u64 = std::env::var("RALPH_STORM_ITERATIONS")
        .ok()
        .map_or(20_000, |text| text.parse().unwrap());
    let cluster = Cluster::start();
    let store = Store::on(&cluster).await;
    let database = &store.database;
    fill(database, all / 100);
    let tenant = database.sql("SELECT id FROM ralph.tenant WHERE name = 'team 50'");
    let (role, password) = store.role("any", None).await;
    let app = url(&database.url_of(&role, &password));
    let mut connection = StoreConnection::open(&app).await.unwrap();
    let id: uuid::Uuid = tenant.parse().unwrap();
    for (what, text) in [
        (
            "the loops of a team",
            "SELECT * FROM ralph_team.loop ORDER BY started_at DESC, id DESC LIMIT 20",
        ),
        (
            "the open loops of a team",
            "SELECT * FROM ralph_team.loop WHERE ended_at IS NULL ORDER BY started_at DESC LIMIT 20",
        ),
        (
            "what a team spent",
            "SELECT sum(spent) FROM ralph_team.cost WHERE dimension = 'loop' AND day = ''",
        ),
        (
            "what a team spent since a day",
            "SELECT day, sum(spent) FROM ralph_team.cost WHERE dimension = 'loop' AND day >= '2026-01-20' GROUP BY day ORDER BY day DESC LIMIT 20",
        ),
        (
            "the dearest loops of a team",
            "SELECT loop_id, spent FROM ralph_team.cost WHERE dimension = 'loop' AND day = '' ORDER BY spent DESC LIMIT 20",
        ),
        (
            "open questions of a team",
            "SELECT * FROM ralph_team.question WHERE answered_at IS NULL ORDER BY asked_at LIMIT 20",
        ),
        (
            "checkpoints of a team",
            "SELECT * FROM ralph_team.checkpoint ORDER BY id DESC LIMIT 20",
        ),
        (
            "the last iterations of a repository",
            "SELECT n, verdict FROM ralph.iteration WHERE origin = 'o1' AND repository_id = 'R' ORDER BY n DESC LIMIT 20",
        ),
        (
            "what a repository spent by task",
            "SELECT key, spent FROM ralph.token_total WHERE origin = 'o1' AND repository_id = 'R' AND dimension = 'task' AND day = '' ORDER BY spent DESC LIMIT 20",
        ),
        (
            "an iteration without an end",
            "SELECT n FROM ralph.iteration WHERE origin = 'o1' AND loop_id = 'team 50-1' AND ended_at IS NULL ORDER BY n DESC LIMIT 1",
        ),
    ] {
        let mut best = std::time::Duration::MAX;
        for _ in 0..3 {
            let began = std::time::Instant::now();
            let mut tx = connection.begin("test", &Scope::of(id)).await.unwrap();
            let asked = sqlx::query(text).persistent(false);
            asked
                .fetch_all(tx.db())
                .await
                .unwrap_or_else(|error| panic!("{error}: {text}"));
            tx.commit("test").await.unwrap();
            best = best.min(began.elapsed());
        }
        println!("{:7.2} ms  {what}", best.as_secs_f64() * 1e3);
        assert!(
            best < std::time::Duration::from_millis(100),
            "{what} took {best:?}"
        );
    }
}

/// A hundred tenants, each with one journal, that many iterations, and a loop for ten of them.
fn fill(database: &Database, iterations: u64) {
    database.sql(&format!(
        "SET session_replication_role = replica;
         INSERT INTO ralph.tenant (id, name) SELECT gen_random_uuid(), 'team ' || n FROM generate_series(1, 100) n;
         CREATE TEMP TABLE t AS SELECT id AS tenant, name FROM ralph.tenant WHERE name LIKE 'team %';
         INSERT INTO ralph.machine (tenant, origin, name) SELECT tenant, 'o1', name FROM t;
         INSERT INTO ralph.repository (tenant, origin, id, common_dir, created_at) SELECT tenant, 'o1', 'R', '/r', 't' FROM t;
         INSERT INTO ralph.loop (tenant, origin, id, repository_id, worktree, source, branch, base_commit, agent, config, started_at, ended_at, iterations)
         SELECT tenant, 'o1', name || '-' || n, 'R', 'w', 's', 'b', 'c', 'a', '{{}}', '2026-01-' || lpad((1 + n % 28)::text, 2, '0') || 'T' || lpad(n::text, 8, '0'),
                CASE WHEN n % 50 <> 1 THEN '2026-01-30' END, 10 FROM t, generate_series(1, {loops}) n;
         INSERT INTO ralph.iteration (tenant, origin, id, repository_id, loop_id, n, task_id, attempt, base_commit, start, started_at, ended_at, verdict, record)
         SELECT tenant, 'o1', name || '-' || n, 'R', name || '-' || (1 + n / 10), n, 'T' || n % 200, 1, 'b', '{{}}', 't', CASE WHEN n % 997 <> 0 THEN 't' END, 'verified', repeat('x', 300)
         FROM t, generate_series(1, {iterations}) n;
         INSERT INTO ralph.checkpoint (tenant, origin, id, repository_id, loop_id, n, phase, at, body, hash, tip_commit)
         SELECT tenant, 'o1', name || '-' || lpad(n::text, 8, '0'), 'R', name || '-' || (1 + n / 10), n, 'x', 't', '{{}}', 'h', 'c' FROM t, generate_series(1, {iterations}) n;
         INSERT INTO ralph.escalation (tenant, origin, id, repository_id, source, task_id, iteration, asked_by, question, asked_at, answered_at)
         SELECT tenant, 'o1', n, 'R', 's', 'T', n, 'agent', 'x', lpad(n::text, 8, '0'), CASE WHEN n % 20 <> 0 THEN 't' END FROM t, generate_series(1, {loops}) n;
         INSERT INTO ralph.token_total (tenant, origin, repository_id, dimension, key, day, calls, tool_calls, input, output, cache_read, cache_write,
                 cost_input, cost_output, cost_cache_read, cost_cache_write, unpriced_tokens, told, told_by_table, spent)
         SELECT tenant, 'o1', 'R', 'loop', name || '-' || n, d, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, n
         FROM t, generate_series(1, {loops}) n, LATERAL (VALUES (''), ('2026-01-' || lpad((1 + n % 28)::text, 2, '0'))) v (d)
         UNION ALL SELECT tenant, 'o1', 'R', 'task', 'T' || n, '', 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, n FROM t, generate_series(1, 200) n;
         ANALYZE ralph.loop, ralph.iteration, ralph.checkpoint, ralph.escalation, ralph.token_total, ralph.machine, ralph.repository;",
        loops = iterations / 10 + 1,
    ));
}
