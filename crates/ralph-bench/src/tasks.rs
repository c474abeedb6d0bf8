//! Task files of 1,000, 10,000 and 100,000 tasks: read, linked, checked, and the next one chosen.

use std::path::Path;

use ralph_core::{board::Board, task::graph::Graph};
use ralph_engine::source::Source;

use crate::{
    BenchResult,
    figures::{median_time, milliseconds},
    fixture::{Programs, task_file, task_id},
    table::{Row, Table, Target},
};

pub(crate) fn measure(_parts: &Programs, repeats: usize, table: &mut Table) -> BenchResult<()> {
    let mut times = Vec::new();
    for (count, target) in [
        (1_000, Target::None),
        (10_000, Target::None),
        (100_000, Target::AtMost(1000.0)),
    ] {
        let folder = tempfile::tempdir()?;
        let path = folder.path().join("prd.json");
        std::fs::write(&path, task_file(count))?;
        let time = milliseconds(median_time(repeats, || choose(&path, folder.path()))?);
        table.add(&Row {
            what: &format!("{count} tasks: load, check, choose the next"),
            value: time,
            unit: "ms",
            target,
        });
        times.push(time);
    }
    if let [small, _, large] = times.as_slice() {
        table.add(&Row {
            what: "    100 times the tasks take",
            value: large / small,
            unit: "x",
            // Linear, with room for caches that no longer hold it all.
            target: Target::AtMost(200.0),
        });
    }
    Ok(())
}

fn choose(path: &Path, root: &Path) -> BenchResult<()> {
    let (_source, tasks) = Source::read(path, root)?;
    let (graph, problems) = Graph::build(tasks);
    if let Some(problem) = problems.first() {
        return Err(problem.to_string().into());
    }
    match Board::of_all(graph).next() {
        Some(id) if id.as_str() == task_id(1) => Ok(()),
        other => Err(format!("the wrong task was chosen: {other:?}").into()),
    }
}
