//! `ralph status` and `ralph loops` over a journal with a million iterations in a thousand loops: they
//! must take as long as what they show, not as what is stored.

use std::path::Path;

use crate::{
    Outcome,
    figures::{median_time, milliseconds},
    floor,
    landing::ralph_run,
    parts::{Parts, project},
    standing::ask,
    table::{Row, Table, Target},
};

const ITERATIONS: u64 = 1_000_000;
const LOOPS: u64 = 1_000;
/// Few tasks: what a long list of them costs is measured elsewhere.
const TASKS: usize = 100;

pub(crate) fn measure(parts: &Parts, repeats: usize, table: &mut Table) -> Outcome<()> {
    let repo = project(TASKS);
    let output = ralph_run(&repo, parts).arg("--once").output()?;
    if !output.status.success() {
        let said = String::from_utf8_lossy(&output.stderr).into_owned();
        return Err(format!("ralph run --once ended with {}: {said}", output.status).into());
    }
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()?;
    runtime.block_on(lengthen(&repo.data_dir().join("ralph.db")))?;
    for (what, args) in [
        ("ralph status, 1,000,000 iterations", &["status"][..]),
        ("ralph loops, 1,000,000 iterations", &["loops"][..]),
        (
            "ralph loops --all, 1,000 loops of them",
            &["loops", "--all"][..],
        ),
    ] {
        let time = median_time(repeats.max(11), || ask(&repo, parts, args))?;
        table.add(&Row {
            what,
            value: milliseconds(time),
            unit: "ms",
            target: Target::AtMost(100.0),
        });
    }
    Ok(())
}

/// Repeats the one loop, and its iteration until there are as many as wanted. Old records are cut to
/// what a list shows, or the journal would be some gigabytes; neither command reads them.
async fn lengthen(journal: &Path) -> Outcome<()> {
    use sqlx::Connection as _;
    let mut database = floor::connect(journal).await?;
    let mut transaction = database.begin().await?;
    let columns = "repository_id, worktree, source, goal, branch, base_commit, agent, config, \
                   started_at, ended_at, stop";
    let inserts = [
        format!(
            "WITH RECURSIVE k(i) AS (SELECT 2 UNION ALL SELECT i + 1 FROM k WHERE i < {LOOPS})
             INSERT INTO loop (id, {columns}, iterations, verified)
             SELECT printf('00000000-%08d', i), {columns}, {ITERATIONS} / {LOOPS}, 1 FROM loop, k"
        ),
        format!(
            "WITH RECURSIVE k(i) AS (SELECT 2 UNION ALL SELECT i + 1 FROM k WHERE i < {ITERATIONS})
             INSERT INTO iteration (id, repository_id, loop_id, n, task_id, attempt, base_commit,
                    start, started_at, ended_at, verdict, outcome, result_commit, record)
             SELECT printf('%s-%d', id, i), repository_id,
                    CASE WHEN i % {LOOPS} < 2 THEN loop_id
                         ELSE printf('00000000-%08d', i % {LOOPS}) END,
                    i, task_id, attempt, base_commit, start, started_at, ended_at, verdict, outcome,
                    result_commit,
                    CASE WHEN i > {ITERATIONS} - 100 THEN record
                         ELSE json_object('title', json_extract(record, '$.title')) END
             FROM iteration, k WHERE n = 1"
        ),
        format!("UPDATE repository SET next_iteration = {ITERATIONS} + 1"),
    ];
    for insert in inserts {
        sqlx::query(sqlx::AssertSqlSafe(insert))
            .execute(&mut *transaction)
            .await?;
    }
    transaction.commit().await?;
    database.close().await?;
    Ok(())
}
