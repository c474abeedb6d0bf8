//! The floor: what the steps of an iteration cost without any decisions, records or guards.
//!
//! The same stub agent, `true`, `git add -A`, a durable `git commit`, one durable SQLite commit.

use std::{
    io::Write as _,
    path::Path,
    process::{Command, Stdio},
    time::{Duration, Instant},
};

use ralph_engine::{
    process::{CommandSpec, Stdin},
    sandbox::Sandbox,
};
use ralph_testkit::TestRepo;
use sqlx::{
    ConnectOptions as _, Connection as _, SqliteConnection,
    sqlite::{SqliteConnectOptions, SqliteJournalMode, SqliteSynchronous},
};
use tokio::runtime::Runtime;

use crate::{
    BenchResult,
    fixture::{Programs, commits, task_id},
    layer::LayerGround,
};

/// About what a prompt of ralph's for such a task has.
const PROMPT_BYTES: usize = 3_000;

/// How agent and verify command are started.
#[derive(Clone, Copy)]
pub(crate) enum Start {
    Plainly,
    /// In namespaces, as ralph starts them in the user's own folder.
    InNamespaces,
    /// Each in a layer of its own, as ralph starts them there.
    InLayers,
    /// The same in a sandbox.
    InWalls,
}

/// Runs `rounds` rounds of the floor in a fresh repository and gives the time of one.
pub(crate) fn measure(programs: &Programs, rounds: usize, start: Start) -> BenchResult<Duration> {
    let repo = TestRepo::new();
    let ground = LayerGround::of(&repo)?;
    let sandbox = ground.sandbox(&repo)?;
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()?;
    let mut database = runtime.block_on(open(&repo.outside().join("floor.db")))?;
    let before = commits(&repo)?;
    let began = Instant::now();
    for n in 1..=rounds {
        match start {
            Start::Plainly => {
                run_stub(&repo, programs, n)?;
                succeed(&mut repo.command("true"))?;
            }
            Start::InNamespaces => {
                runtime.block_on(ground.run(None, stub(&repo, programs, n)))?;
                runtime.block_on(ground.run(None, check(&repo)))?;
            }
            Start::InLayers => run_in_layers(&repo, programs, &ground, None, &runtime, n)?,
            Start::InWalls => {
                run_in_layers(&repo, programs, &ground, Some(&sandbox), &runtime, n)?;
            }
        }
        succeed(repo.command("git").args(["add", "-A"]))?;
        let message = format!("feat: round {n}");
        let commit = ["-c", "core.fsync=committed", "commit", "-q", "-m", &message];
        succeed(repo.command("git").args(commit))?;
        runtime.block_on(write_row(&mut database, n))?;
    }
    let took = began.elapsed();
    runtime.block_on(database.close())?;
    if commits(&repo)? != before + rounds {
        return Err("the floor did not commit what it should".into());
    }
    Ok(took / u32::try_from(rounds)?)
}

fn run_in_layers(
    repo: &TestRepo,
    programs: &Programs,
    ground: &LayerGround,
    sandbox: Option<&Sandbox>,
    runtime: &Runtime,
    n: usize,
) -> BenchResult<()> {
    let layer = ground.layer(repo.root())?;
    runtime.block_on(ground.run_in(Some(&layer), sandbox, stub(repo, programs, n)))?;
    let name = format!("{}.txt", task_id(n));
    let upper = &layer.folders()[0].upper;
    std::fs::copy(upper.join(&name), repo.path(&name))?;
    let fresh = ground.layer(repo.root())?;
    runtime.block_on(ground.run_in(Some(&fresh), sandbox, check(repo)))?;
    Ok(())
}

fn stub(repo: &TestRepo, programs: &Programs, n: usize) -> CommandSpec {
    CommandSpec::new(&programs.stub, repo.root())
        .env("RALPH_TASK_ID", task_id(n))
        .stdin(Stdin::Bytes(vec![b'p'; PROMPT_BYTES]))
}

fn check(repo: &TestRepo) -> CommandSpec {
    CommandSpec::new("/bin/true", repo.root())
}

fn run_stub(repo: &TestRepo, programs: &Programs, n: usize) -> BenchResult<()> {
    let mut child = repo
        .command(&programs.stub)
        .env("RALPH_TASK_ID", task_id(n))
        .stdin(Stdio::piped())
        .stdout(Stdio::null())
        .spawn()?;
    if let Some(mut stdin) = child.stdin.take() {
        stdin.write_all(&[b'p'; PROMPT_BYTES])?;
    }
    if child.wait()?.success() {
        Ok(())
    } else {
        Err("the stub agent failed".into())
    }
}

/// Runs a command, which must not fail.
pub(crate) fn succeed(command: &mut Command) -> BenchResult<()> {
    let status = command.stdin(Stdio::null()).status()?;
    if status.success() {
        Ok(())
    } else {
        Err(format!("{command:?} failed: {status}").into())
    }
}

async fn open(path: &Path) -> BenchResult<SqliteConnection> {
    let mut database = connect(path).await?;
    sqlx::query("CREATE TABLE round (n INTEGER PRIMARY KEY, text TEXT NOT NULL) STRICT")
        .execute(&mut database)
        .await?;
    Ok(database)
}

/// A connection as durable as the journal's.
pub(crate) async fn connect(path: &Path) -> BenchResult<SqliteConnection> {
    let options = SqliteConnectOptions::new()
        .filename(path)
        .create_if_missing(true)
        .journal_mode(SqliteJournalMode::Wal)
        .synchronous(SqliteSynchronous::Full);
    Ok(options.connect().await?)
}

async fn write_row(database: &mut SqliteConnection, n: usize) -> BenchResult<()> {
    sqlx::query("INSERT INTO round (n, text) VALUES (?, ?)")
        .bind(i64::try_from(n)?)
        .bind("x".repeat(1_000))
        .execute(database)
        .await?;
    Ok(())
}
