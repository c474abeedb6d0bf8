//! `ralph status` in a project with a long past, and `ralph --version`.

use std::{
    path::Path,
    process::{Command, Stdio},
};

use ralph_testkit::TestRepo;

use crate::{
    BenchResult,
    figures::{median_time, milliseconds},
    fixture::{Programs, project},
    floor,
    iteration::ralph_run,
    table::{Row, Table, Target},
};

const MANY: u64 = 100_000;

pub(crate) fn measure(programs: &Programs, repeats: usize, table: &mut Table) -> BenchResult<()> {
    let repo = project(usize::try_from(MANY)?);
    // One real iteration, so that the past is made of rows as ralph writes them.
    let output = ralph_run(&repo, programs).arg("--once").output()?;
    if !output.status.success() {
        let said = String::from_utf8_lossy(&output.stderr).into_owned();
        return Err(format!("ralph run --once ended with {}: {said}", output.status).into());
    }
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()?;
    runtime.block_on(lengthen(&repo.data_dir().join("ralph.db"), MANY))?;
    // Nothing is remembered from one look to the next, so each of them is a first one.
    let time = median_time(repeats.max(11), || ask(&repo, programs, &["status"]))?;
    table.add(&Row {
        what: "ralph status, 100,000 tasks and iterations",
        value: milliseconds(time),
        unit: "ms",
        target: Target::AtMost(500.0),
    });
    Ok(())
}

pub(crate) fn measure_version(
    programs: &Programs,
    repeats: usize,
    table: &mut Table,
) -> BenchResult<()> {
    let repo = TestRepo::new();
    let time = median_time(repeats.max(51), || ask(&repo, programs, &["--version"]))?;
    table.add(&Row {
        what: "ralph --version",
        value: milliseconds(time),
        unit: "ms",
        target: Target::AtMost(10.0),
    });
    Ok(())
}

pub(crate) fn ask(repo: &TestRepo, programs: &Programs, args: &[&str]) -> BenchResult<()> {
    let mut command = repo.command(&programs.ralph);
    command.args(args);
    answers(command)
}

/// Runs a command that must say something.
pub(crate) fn answers(mut command: Command) -> BenchResult<()> {
    let output = command
        .stdin(Stdio::null())
        .stderr(Stdio::piped())
        .output()?;
    if output.status.success() && !output.stdout.is_empty() {
        return Ok(());
    }
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    Err(format!("{command:?} ended with {} and: {said}", output.status).into())
}

/// Repeats the one iteration, its steps and its task's history until there are so many of each, all
/// in one loop: the longest past that one can have.
pub(crate) async fn lengthen(journal: &Path, many: u64) -> BenchResult<()> {
    use sqlx::Connection as _;
    let mut database = floor::connect(journal).await?;
    let mut transaction = database.begin().await?;
    let numbers =
        format!("WITH RECURSIVE k(i) AS (SELECT 2 UNION ALL SELECT i + 1 FROM k WHERE i < {many})");
    let inserts = [
        format!(
            "{numbers} INSERT INTO iteration (id, repository_id, loop_id, n, task_id, attempt,
                    base_commit, start, started_at, ended_at, verdict, outcome, result_commit, record)
             SELECT printf('%s-%d', id, i), repository_id, loop_id, i, printf('US-%06d', i), attempt,
                    base_commit, start, started_at, ended_at, verdict, outcome, result_commit, record
             FROM iteration, k WHERE n = 1"
        ),
        format!(
            "{numbers} INSERT INTO step
             SELECT printf('%s-%d', iteration_id, i), seq, at, kind, body FROM step, k"
        ),
        format!(
            "{numbers} INSERT INTO task_state
             SELECT repository_id, source, printf('US-%06d', i), state FROM task_state, k"
        ),
        format!("UPDATE repository SET next_iteration = {many} + 1"),
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
