//! Rows that `ralph sync` sends in a second: a journal that was never sent, as it is when a store is set up.

use std::time::Instant;

use serde_json::Value;
use sqlx::Connection as _;

use super::TeamServer;
use crate::{
    BenchResult,
    figures::median,
    fixture::{Programs, project},
    floor,
    iteration::ralph_run,
    status,
    table::{Row, Table, Target},
};

const ITERATIONS: u64 = 20_000;

pub(super) fn measure(programs: &Programs, repeats: usize, table: &mut Table) -> BenchResult<()> {
    let repo = project(100);
    floor::succeed(
        ralph_run(&repo, programs)
            .arg("--once")
            .stdout(std::process::Stdio::null()),
    )?;
    let journal = repo.data_dir().join("ralph.db");
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()?;
    runtime.block_on(async {
        status::lengthen(&journal, ITERATIONS).await?;
        add_what_iterations_leave(&journal).await
    })?;
    let mut rates = Vec::new();
    let mut rows = 0;
    for round in 0..repeats {
        // To another server each time, that knows nothing of it.
        let server = TeamServer::start(programs)?;
        let mut command = repo.command(&programs.ralph);
        server.used_by(command.args(["sync", "--json"]), "sync");
        let began = Instant::now();
        let output = command.output()?;
        let took = began.elapsed();
        if !output.status.success() {
            let said = String::from_utf8_lossy(&output.stderr).into_owned();
            return Err(format!("ralph sync ended with {}: {said}", output.status).into());
        }
        let told: Value = serde_json::from_slice(&output.stdout)?;
        let kinds = told["sent"].as_array().ok_or("ralph sync told no rows")?;
        rows = kinds.iter().filter_map(|kind| kind["rows"].as_u64()).sum();
        if rows < 5 * ITERATIONS {
            return Err(format!("round {round} sent {rows} rows").into());
        }
        rates.push(rows as f64 / took.as_secs_f64());
    }
    table.add(&Row {
        what: &format!("ralph sync of {rows} rows"),
        value: median(&rates).ok_or("nothing was measured")?,
        unit: "rows/s",
        target: Target::AtLeast(20_000.0),
    });
    Ok(())
}

/// A call to a model, a checkpoint and an entry of the audit trail for each iteration.
async fn add_what_iterations_leave(journal: &std::path::Path) -> BenchResult<()> {
    let mut database = floor::connect(journal).await?;
    let mut transaction = database.begin().await?;
    for insert in [
        "INSERT OR IGNORE INTO token_record (iteration_id, seq, run, agent, model, caller, input, output, cache_read,
                cache_write, told, spent)
         SELECT id, 1, 1, 'claude', 'a-model', 'agent', 2000, 100, 50000, 500, 25000, 25000 FROM iteration",
        "INSERT INTO checkpoint (id, repository_id, loop_id, n, iteration, phase, at, body, hash, prev_hash, tip_commit)
         SELECT printf('00000000-%08d', i.n), i.repository_id, i.loop_id, i.n + 10, i.n, c.phase, i.ended_at, c.body,
                c.hash, c.prev_hash, c.tip_commit
         FROM iteration i, (SELECT * FROM checkpoint ORDER BY id LIMIT 1) c WHERE i.n > 1",
        "INSERT INTO audit (at, actor_kind, actor, machine, action, repository_id, loop_id, subject, detail)
         SELECT ended_at, 'ralph', 'ralph', 'laptop', 'health', repository_id, loop_id, 'iteration ' || n, '{}'
         FROM iteration",
    ] {
        sqlx::query(insert).execute(&mut *transaction).await?;
    }
    transaction.commit().await?;
    database.close().await?;
    Ok(())
}
