//! Checkpoints, each durable by itself: how long one takes, and how long the slowest do.

use std::time::Instant;

use ralph_engine::{
    clock::{Clock as _, SystemClock},
    loop_runner::{CheckpointRequest, create_checkpoint},
    store::NewLoop,
};
use ralph_testkit::TestRepo;

use crate::{
    BenchResult,
    figures::{milliseconds, percentile},
    fixture::Programs,
    table::{Row, Table, Target},
};

const WRITES: usize = 1_000;

pub(crate) fn measure(_: &Programs, _: usize, table: &mut Table) -> BenchResult<()> {
    let repo = TestRepo::new();
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()?;
    let times = runtime.block_on(write(&repo))?;
    for (what, percent, target) in [
        ("a durable checkpoint, median of 1,000", 50, Target::None),
        (
            "a durable checkpoint, 99th percentile",
            99,
            Target::AtMost(20.0),
        ),
    ] {
        let value = percentile(&times, percent).ok_or("nothing was measured")?;
        table.add(&Row {
            what,
            value,
            unit: "ms",
            target,
        });
    }
    Ok(())
}

/// Writes them through the journal as `ralph checkpoint create` does; gives milliseconds.
async fn write(repo: &TestRepo) -> BenchResult<Vec<f64>> {
    let mut journal = ralph_engine::store::open(&repo.data_dir()).await?;
    let now = SystemClock.now();
    let (repository, _) = journal.repository(repo.root(), None, now).await?;
    let new = NewLoop {
        goal: "",
        id: &"bench".into(),
        repository: &repository,
        worktree: "bench",
        source: "prd.json",
        branch: "ralph/bench",
        base_commit: "0123456789abcdef0123456789abcdef01234567",
        agent: "script",
        config: "{}",
        at: now,
    };
    journal.begin_loop(&new).await?;
    let row = journal.last_loop(&repository, "bench").await?;
    let row = row.ok_or("the loop is not in the journal")?;
    // Some kilobytes each, as they have in the middle of a feature.
    let note = "what was decided, and what comes next. ".repeat(25);
    let mut times = Vec::with_capacity(WRITES);
    for _ in 0..WRITES {
        let asked = CheckpointRequest {
            who: String::new(),
            note: Some(note.clone()),
            commit: row.base_commit.clone(),
            at: SystemClock.now(),
        };
        let began = Instant::now();
        create_checkpoint(&mut *journal, &repository, &row, asked).await?;
        times.push(milliseconds(began.elapsed()));
    }
    Ok(times)
}
