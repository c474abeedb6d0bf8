//! The lag of the server behind 64 loops on one machine that share a journal: the longest that a change of it waited.
//! Agents take their time, far less than real ones: without any, the loops alone would keep all processors busy.

use std::{
    path::Path,
    process::{Child, Stdio},
    time::{Duration, Instant},
};

use ralph_testkit::TestRepo;
use sqlx::{ConnectOptions as _, SqliteConnection, sqlite::SqliteConnectOptions};

use super::TeamServer;
use crate::{
    BenchResult,
    figures::percentile,
    fixture::{Programs, project},
    iteration::ralph_run,
    table::{Row, Table, Target},
};

const LOOPS: usize = 64;
const TASKS: usize = 5;
/// The time that an agent takes, in milliseconds.
const WORK: &str = "4000";
const LOOK_AGAIN: Duration = Duration::from_millis(50);

pub(super) fn measure(programs: &Programs, table: &mut Table) -> BenchResult<()> {
    let server = TeamServer::start(programs)?;
    let shared = TestRepo::bare_folder();
    let projects: Vec<TestRepo> = (0..LOOPS).map(|_| project(TASKS)).collect();
    let start = |repo: &TestRepo| {
        let mut command = ralph_run(repo, programs);
        command
            .env("RALPH_DATA_DIR", shared.data_dir())
            .env("RALPH_VERIFICATION_CLEAN_CHECK", "off")
            .env("STUB_WORK_MS", WORK);
        server.used_by(&mut command, "sync");
        command.stdout(Stdio::null()).stderr(Stdio::null()).spawn()
    };
    let mut running = projects.iter().map(start).collect::<Result<Vec<_>, _>>()?;
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()?;
    let watched = runtime.block_on(watch(&shared.data_dir().join("ralph.db"), &mut running));
    for child in &mut running {
        // Of an error: nothing goes on behind it.
        let _ = child.kill();
        if !child.wait()?.success() && watched.is_ok() {
            return Err("one of the loops failed".into());
        }
    }
    let waits = watched?;
    let seconds = |percent| {
        let wait = percentile(&waits, percent).ok_or("nothing was measured")?;
        Ok::<_, &str>(wait.as_secs_f64())
    };
    let what = format!("lag beside {LOOPS} loops of {TASKS} tasks");
    table.add(&Row {
        what: &format!("{what}, median"),
        value: seconds(50)?,
        unit: "s",
        target: Target::None,
    });
    table.add(&Row {
        what: &format!("{what}, longest"),
        value: seconds(100)?,
        unit: "s",
        target: Target::AtMost(3.0),
    });
    Ok(())
}

/// Looks at the journal until all loops are over. Returns how long the oldest change that was not sent had waited, at
/// each look.
async fn watch(journal: &Path, running: &mut [Child]) -> BenchResult<Vec<Duration>> {
    let mut waits = Vec::new();
    // The changes that there were at each look, as far as they were not sent at the last one.
    let mut seen: Vec<(i64, Instant)> = Vec::new();
    let mut database = None;
    loop {
        let mut alive = false;
        for child in &mut *running {
            alive |= child.try_wait()?.is_none();
        }
        if !alive {
            return Ok(waits);
        }
        tokio::time::sleep(LOOK_AGAIN).await;
        if database.is_none() {
            database = connect(journal).await;
        }
        // Until one of the loops has made it there is nothing to see.
        let Some(db) = &mut database else { continue };
        let Some((sent, last)) = standing(db).await else {
            continue;
        };
        let now = Instant::now();
        if seen.last().is_none_or(|(known, _)| *known < last) {
            seen.push((last, now));
        }
        seen.retain(|(change, _)| *change > sent);
        waits.push(
            seen.first()
                .map_or(Duration::ZERO, |(_, since)| now.duration_since(*since)),
        );
    }
}

async fn connect(journal: &Path) -> Option<SqliteConnection> {
    let options = SqliteConnectOptions::new().filename(journal);
    options.read_only(true).connect().await.ok()
}

/// The last change that was sent, and the last that there is. Nothing while the journal is made.
async fn standing(db: &mut SqliteConnection) -> Option<(i64, i64)> {
    let asked = "SELECT COALESCE(acked_seq, 0), COALESCE((SELECT seq FROM sqlite_sequence WHERE name = 'sync_change'), 0)
                 FROM sync_state WHERE enabled";
    sqlx::query_as(asked).fetch_optional(db).await.ok()?
}
