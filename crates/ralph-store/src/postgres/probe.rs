//! Tries to get at another tenant's rows, on the live database, in a transaction that is taken back.
//!
//! Nothing of it stays: the two tenants are new, and no statement waits for what others hold.

use sqlx::{AssertSqlSafe, PgConnection};
use uuid::Uuid;

use super::{
    Scope, StoreConnection, StoreError, StoreTransaction,
    catalog::TABLES,
    check::Check,
    connect::{code, plain},
    schema::run as run_sql,
};

/// A row of each table that can be inserted, as the statement behind `INSERT INTO ralph.`. Seals and ends of chains come
/// with the rows of the trail.
pub(super) const ROWS: [(&str, &str); 28] = [
    (
        "repository",
        "(id, common_dir, created_at) VALUES ('R', '/r', 't')",
    ),
    (
        "loop",
        "(id, repository_id, worktree, source, branch, base_commit, agent, config, started_at) VALUES ('L', 'R', 'w', 's', 'b', 'c', 'a', '{}', 't')",
    ),
    (
        "iteration",
        "(id, repository_id, loop_id, n, task_id, attempt, base_commit, start, started_at) VALUES ('I', 'R', 'L', 1, 'T', 1, 'b', '{}', 't')",
    ),
    (
        "step",
        "(iteration_id, seq, at, kind, body) VALUES ('I', 1, 't', 'intent', 'x')",
    ),
    (
        "task_state",
        "(repository_id, source, task_id, state) VALUES ('R', 's', 'T', '{}')",
    ),
    (
        "task_list",
        "(repository_id, source, ids) VALUES ('R', 's', '[]')",
    ),
    (
        "suggestion",
        "(id, repository_id, iteration, title, description) VALUES (1, 'R', 1, 'x', 'x')",
    ),
    (
        "command",
        "(id, repository_id, worktree, who, at, body) VALUES (1, 'R', 'w', 'x', 't', '{}')",
    ),
    (
        "guidance",
        "(id, repository_id, source, text, who, at) VALUES (1, 'R', 's', 'x', 'x', 't')",
    ),
    (
        "escalation",
        "(id, repository_id, source, task_id, iteration, asked_by, question, asked_at) VALUES (1, 'R', 's', 'T', 1, 'agent', 'x', 't')",
    ),
    (
        "rewrite",
        "(id, repository_id, worktree, kind, branch, from_commit, to_commit, body, started_at) VALUES ('W', 'R', 'w', 'revert', 'b', 'c', 'd', '{}', 't')",
    ),
    (
        "checkpoint",
        "(id, repository_id, loop_id, n, phase, at, body, hash, tip_commit) VALUES ('C', 'R', 'L', 1, 'x', 't', '{}', 'h', 'c')",
    ),
    (
        "token_record",
        "(iteration_id, seq, run, agent, caller, input, output, cache_read, cache_write, spent) VALUES ('I', 1, 1, 'a', 'agent', 1, 1, 1, 1, 1)",
    ),
    (
        "token_total",
        "(repository_id, dimension, key, day, calls, tool_calls, input, output, cache_read, cache_write, cost_input, cost_output, cost_cache_read, cost_cache_write, unpriced_tokens, told, told_by_table, spent) VALUES ('R', 'total', '', '', 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1)",
    ),
    (
        "token_month",
        "(repository_id, dimension, month, key, spent) VALUES ('R', 'task', '2026-01', 'T', 1)",
    ),
    (
        "side_run",
        "(id, repository_id, work, at, tool_calls, calls) VALUES ('S', 'R', 'plan', 't', 1, '[]')",
    ),
    (
        "loop_note",
        "(id, loop_id, worktree, kind, sentence, at) VALUES (1, 'L', 'w', 'x', 'x', 't')",
    ),
    (
        "loop_event",
        "(id, loop_id, at, kind, body) VALUES (1, 'L', 't', 'x', '{}')",
    ),
    (
        "session_loop",
        "(id, repository_id, worktree, agent, session, prompt, max_iterations, started_at) VALUES ('S', 'R', 'w', 'a', 's', 'p', 1, 't')",
    ),
    (
        "session_iteration",
        "(loop_id, n, started_at, ended_at, outcome, tool_calls, calls) VALUES ('S', 1, 't', 't', 'ok', 1, '[]')",
    ),
    ("machine", "(origin, name) VALUES ('', 'm')"),
    (
        "sync_batch",
        "(origin, from_seq, to_seq, prev_hash, hash, rows) VALUES ('', 1, 1, '', 'h', 1)",
    ),
    (
        "team_command",
        "(id, origin, repository_id, worktree, source, who, body) VALUES ('00000000-0000-0000-0000-000000000001', '', 'R', 'w', 's', 'x', '{}')",
    ),
    (
        "iteration_log",
        "(origin, iteration_id, kind, body) VALUES ('', 'I', 'log', 'x')",
    ),
    ("budget", "(per, usd, set_by) VALUES ('day', 1, 'x')"),
    (
        "budget_period",
        "(per, period, taken) VALUES ('day', '2026-01-01', 1)",
    ),
    (
        "budget_share",
        "(origin, per, period, granted) VALUES ('', 'day', '2026-01-01', 1)",
    ),
    (
        "audit",
        "(n, at, actor_kind, actor, machine, action) VALUES (1, 't', 'person', 'x', 'm', 'x')",
    ),
];

/// Foreign keys of a row: the table, and what its parent is.
const PARENTS: [(&str, &str); 15] = [
    ("loop", "repository"),
    ("iteration", "loop"),
    ("step", "iteration"),
    ("task_state", "repository"),
    ("task_list", "repository"),
    ("suggestion", "repository"),
    ("command", "repository"),
    ("guidance", "repository"),
    ("escalation", "repository"),
    ("rewrite", "repository"),
    ("checkpoint", "loop"),
    ("token_record", "iteration"),
    ("side_run", "repository"),
    ("loop_note", "loop"),
    ("session_iteration", "session_loop"),
];

/// Probes the store, or says why that can't be.
pub(super) async fn run(connection: &mut StoreConnection) -> Result<Vec<Check>, StoreError> {
    let what = "be probed";
    let mut tx = connection.begin(what, &Scope::default()).await?;
    let mut checks = probe(&mut tx).await?;
    tx.rollback().await?;
    checks.push(settings_end(connection).await?);
    Ok(checks)
}

/// All that is tried in one transaction.
pub(super) async fn probe(tx: &mut StoreTransaction<'_>) -> Result<Vec<Check>, StoreError> {
    if let Err(error) = begin(tx.db()).await {
        return Ok(vec![Check::not_proven(
            "rows of one tenant are out of reach of another",
            format!(
                "this role can't become ralph_owner and ralph_app, to try it ({})",
                plain(error)
            ),
        )]);
    }
    let mut checks = tables(tx).await?;
    checks.push(foreign_keys(tx).await?);
    checks.push(same_keys(tx).await?);
    checks.push(truncate(tx).await?);
    checks.push(without_tenant(tx).await?);
    checks.push(owner(tx).await?);
    checks.push(bound_role(tx).await?);
    Ok(checks)
}

const A: Uuid = Uuid::from_u128(0x7a1f_5a11_0000_7000_8000_0000_0000_000a);
const B: Uuid = Uuid::from_u128(0x7a1f_5a11_0000_7000_8000_0000_0000_000b);

/// Two tenants that no one else sees, and a row of the first one in each table.
async fn begin(db: &mut PgConnection) -> Result<(), sqlx::Error> {
    run_sql(db, "SET LOCAL ROLE ralph_owner").await?;
    let add = format!(
        "INSERT INTO ralph.tenant (id, name) VALUES ('{A}', 'probe {A}'), ('{B}', 'probe {B}')"
    );
    run_sql(db, &add).await?;
    run_sql(db, "SET LOCAL ROLE ralph_app").await
}

async fn become_tenant(tx: &mut StoreTransaction<'_>, id: &str) -> Result<(), StoreError> {
    let set = format!("SELECT set_config('ralph.tenant', '{id}', true)");
    let set = run_sql(tx.db(), &set).await;
    tx.fail("be probed", set)
}

/// The result of a statement.
enum Tried {
    Rows(u64),
    /// The code of the error.
    Refused(String),
}

/// Runs a statement and takes back whatever it did.
async fn attempt(tx: &mut StoreTransaction<'_>, sql: &str) -> Result<Tried, StoreError> {
    let tried = attempt_inner(tx.db(), sql).await;
    tx.fail("be probed", tried)
}

async fn attempt_inner(db: &mut PgConnection, sql: &str) -> Result<Tried, sqlx::Error> {
    run_sql(db, "SAVEPOINT attempt").await?;
    let statement = sqlx::query(AssertSqlSafe(sql.to_owned())).persistent(false);
    let tried = match statement.execute(&mut *db).await {
        Ok(done) => Tried::Rows(done.rows_affected()),
        Err(error) => match code(&error) {
            Some(code) => Tried::Refused(code),
            None => return Err(error),
        },
    };
    run_sql(
        db,
        "ROLLBACK TO SAVEPOINT attempt; RELEASE SAVEPOINT attempt",
    )
    .await?;
    Ok(tried)
}

const NO_RIGHT: &str = "42501";

async fn tables(tx: &mut StoreTransaction<'_>) -> Result<Vec<Check>, StoreError> {
    become_tenant(tx, &A.to_string()).await?;
    let mut unwritten = Vec::new();
    for (table, row) in ROWS {
        run_guarded(
            tx,
            &format!("INSERT INTO ralph.{table} {row}"),
            &mut unwritten,
        )
        .await?;
    }
    become_tenant(tx, &B.to_string()).await?;
    let mut checks = vec![Check::of(
        "a role of the app can write what it has to",
        &unwritten,
    )];
    for table in TABLES {
        let mut leaks = Vec::new();
        for (sql, leak) in [
            (format!("SELECT FROM ralph.{table}"), "sees"),
            (
                format!("SELECT FROM ralph.{table} WHERE tenant = '{A}'"),
                "sees",
            ),
            (
                format!("UPDATE ralph.{table} SET tenant = tenant WHERE tenant = '{A}'"),
                "changes",
            ),
            (
                format!("UPDATE ralph.{table} SET tenant = '{B}' WHERE tenant = '{A}'"),
                "takes over",
            ),
            (format!("DELETE FROM ralph.{table}"), "deletes"),
        ] {
            if let Tried::Rows(1..) = attempt(tx, &sql).await? {
                leaks.push(format!("another tenant {leak} rows"));
            }
        }
        if let Some((_, row)) = ROWS.iter().find(|(name, _)| *name == table) {
            let foreign = row.replacen('(', "(tenant, ", 1).replacen(
                "VALUES (",
                &format!("VALUES ('{A}', "),
                1,
            );
            // Were its key the reason, the policy was not asked: it is asked before.
            match attempt(tx, &format!("INSERT INTO ralph.{table} {foreign}")).await? {
                Tried::Refused(code) if code == NO_RIGHT => {}
                Tried::Refused(_) | Tried::Rows(_) => {
                    leaks.push("another tenant writes rows into it".to_owned());
                }
            }
        }
        leaks.dedup();
        checks.push(Check::of(
            format!("rows of one tenant in ralph.{table} are out of reach of another"),
            &leaks,
        ));
    }
    checks.push(views(tx).await?);
    Ok(checks)
}

/// As the tenant that has no rows yet.
async fn views(tx: &mut StoreTransaction<'_>) -> Result<Check, StoreError> {
    let text = "SELECT format('%I.%I', n.nspname, c.relname) FROM pg_catalog.pg_class c
         JOIN pg_catalog.pg_namespace n ON n.oid = c.relnamespace
         WHERE n.nspname IN ('ralph_journal', 'ralph_team') AND c.relkind IN ('v', 'm') ORDER BY 1";
    let asked = sqlx::query_scalar(text).persistent(false);
    let names = asked.fetch_all(tx.db()).await;
    let names: Vec<String> = tx.fail("be probed", names)?;
    let mut shown = Vec::new();
    for name in names {
        if let Tried::Rows(1..) = attempt(tx, &format!("SELECT FROM {name}")).await? {
            shown.push(name);
        }
    }
    Ok(Check::of("no view shows rows of another tenant", &shown))
}

/// Runs a statement that should go well, and notes where it does not.
async fn run_guarded(
    tx: &mut StoreTransaction<'_>,
    sql: &str,
    failed: &mut Vec<String>,
) -> Result<(), StoreError> {
    let begun = run_sql(tx.db(), "SAVEPOINT guarded").await;
    tx.fail("be probed", begun)?;
    let end = match run_sql(tx.db(), sql).await {
        Ok(()) => "RELEASE SAVEPOINT guarded",
        Err(error) => {
            failed.push(format!("{error}"));
            "ROLLBACK TO SAVEPOINT guarded; RELEASE SAVEPOINT guarded"
        }
    };
    let ended = run_sql(tx.db(), end).await;
    tx.fail("be probed", ended)
}

/// A row that names a parent which another tenant alone has.
async fn foreign_keys(tx: &mut StoreTransaction<'_>) -> Result<Check, StoreError> {
    let mut accepted = Vec::new();
    for (table, parent) in PARENTS {
        let Some((_, row)) = ROWS.iter().find(|(name, _)| *name == table) else {
            continue;
        };
        if let Tried::Rows(_) = attempt(tx, &format!("INSERT INTO ralph.{table} {row}")).await? {
            accepted.push(format!("ralph.{table} takes a {parent} of another tenant"));
        }
    }
    Ok(Check::of(
        "no foreign key reaches into another tenant",
        &accepted,
    ))
}

/// An error about a key that is taken would tell that another tenant has it.
async fn same_keys(tx: &mut StoreTransaction<'_>) -> Result<Check, StoreError> {
    let mut told = Vec::new();
    for (table, row) in ROWS {
        run_guarded(tx, &format!("INSERT INTO ralph.{table} {row}"), &mut told).await?;
    }
    Ok(Check::of("no key tells what another tenant has", &told))
}

async fn truncate(tx: &mut StoreTransaction<'_>) -> Result<Check, StoreError> {
    let mut emptied = Vec::new();
    for table in TABLES {
        match attempt(tx, &format!("TRUNCATE ralph.{table} CASCADE")).await? {
            Tried::Refused(code) if code == NO_RIGHT => {}
            Tried::Refused(_) | Tried::Rows(_) => emptied.push(format!("ralph.{table}")),
        }
    }
    Ok(Check::of(
        "no table can be emptied past its policy",
        &emptied,
    ))
}

async fn without_tenant(tx: &mut StoreTransaction<'_>) -> Result<Check, StoreError> {
    become_tenant(tx, "").await?;
    let mut seen = Vec::new();
    for table in TABLES.into_iter().chain(["tenant"]) {
        match attempt(tx, &format!("SELECT FROM ralph.{table}")).await? {
            Tried::Rows(0) => {}
            Tried::Rows(_) => seen.push(format!("rows of ralph.{table} are seen")),
            Tried::Refused(code) => seen.push(format!("ralph.{table} can't be asked ({code})")),
        }
    }
    Ok(Check::of("without a tenant nothing is seen", &seen))
}

/// The owner is held to the policies too.
async fn owner(tx: &mut StoreTransaction<'_>) -> Result<Check, StoreError> {
    become_tenant(tx, &Uuid::nil().to_string()).await?;
    let owner = run_sql(tx.db(), "SET LOCAL ROLE ralph_owner").await;
    tx.fail("be probed", owner)?;
    let mut seen = Vec::new();
    for table in TABLES {
        if let Tried::Rows(1..) = attempt(tx, &format!("SELECT FROM ralph.{table}")).await? {
            seen.push(format!("ralph.{table}"));
        }
    }
    Ok(Check::of(
        "the owner sees no tenant's rows without its setting",
        &seen,
    ))
}

const BOUND: &str = "a role that is bound to a tenant sees no other";

/// The setting names the other tenant: what the role is bound to counts.
async fn bound_role(tx: &mut StoreTransaction<'_>) -> Result<Check, StoreError> {
    let bind = format!(
        "SET LOCAL ROLE ralph_owner; INSERT INTO ralph.role_tenant (role, tenant) VALUES ('ralph_probe', '{B}');
         RESET ROLE; CREATE ROLE ralph_probe LOGIN IN ROLE ralph_app; SET LOCAL SESSION AUTHORIZATION ralph_probe"
    );
    let mut failed = Vec::new();
    run_guarded(tx, &bind, &mut failed).await?;
    if let Some(why) = failed.first() {
        return Ok(Check::not_proven(
            BOUND,
            format!("only a superuser can try it ({why})"),
        ));
    }
    let mut seen = Vec::new();
    for (id, own) in [(A.to_string(), 0), (B.to_string(), 1), (String::new(), 1)] {
        become_tenant(tx, &id).await?;
        match attempt(tx, "SELECT FROM ralph.repository").await? {
            Tried::Rows(rows) if rows == own => {}
            Tried::Rows(rows) => seen.push(format!(
                "with the setting {id:?} it sees {rows} rows and not {own}"
            )),
            Tried::Refused(code) => seen.push(format!("it can't ask ({code})")),
        }
    }
    Ok(Check::of(BOUND, &seen))
}

/// Behind a pooler the next transaction is another client's.
async fn settings_end(connection: &mut StoreConnection) -> Result<Check, StoreError> {
    let what = "be probed";
    let tx = connection.begin(what, &Scope::of(A)).await?;
    tx.commit(what).await?;
    let text = "SELECT coalesce(current_setting('ralph.tenant', true), '')";
    let asked = sqlx::query_scalar(text).persistent(false);
    let left: Result<String, _> = asked.fetch_one(connection.db()).await;
    let left = left.map_err(|error| connection.failed(what, error))?;
    let name = "settings end with their transaction";
    if left.is_empty() {
        return Ok(Check::ok(name));
    }
    Ok(Check::failed(
        name,
        format!("the tenant {left} is still set"),
    ))
}
