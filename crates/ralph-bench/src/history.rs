//! What people ask of a journal with a million iterations in a thousand loops: it must take as long as
//! what is shown, not as what is stored.

mod past;

use crate::{
    BenchResult,
    figures::{median_time, milliseconds},
    fixture::{Programs, project},
    iteration::ralph_run,
    status::ask,
    table::{Row, Table, Target},
};

/// Few tasks are in the file: what a long list of them costs is measured elsewhere.
const TASKS: usize = 100;

const QUESTIONS: [&[&str]; 20] = [
    &["status"],
    &["loops"],
    &["loops", "--all"],
    &["cost"],
    &["cost", "--by", "model"],
    &["cost", "--by", "day"],
    &["cost", "--by", "loop"],
    &["cost", "--since", "30d"],
    &["cost", "--since", "30d", "--by", "loop"],
    &["cost", "--since", "30d", "--by", "model"],
    &["cost", "--since", "400d", "--by", "task"],
    &["cost", "--since", "400d", "--by", "loop"],
    &["cost", "--since", "2020-01-01", "--by", "task"],
    &["cost", "--since", "2020-01-01", "--by", "day"],
    &["cost", "--forecast"],
    &["tokens"],
    &["report"],
    &["logs", "--json"],
    &["checkpoint", "list"],
    &["escalations"],
];

pub(crate) fn measure(programs: &Programs, repeats: usize, table: &mut Table) -> BenchResult<()> {
    let repo = project(TASKS);
    let output = ralph_run(&repo, programs).arg("--once").output()?;
    if !output.status.success() {
        let said = String::from_utf8_lossy(&output.stderr).into_owned();
        return Err(format!("ralph run --once ended with {}: {said}", output.status).into());
    }
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()?;
    runtime.block_on(past::lengthen(&repo.data_dir().join("ralph.db")))?;
    for args in QUESTIONS {
        let time = median_time(repeats.max(11), || ask(&repo, programs, args))?;
        table.add(&Row {
            what: &format!("ralph {}, 1,000,000 iterations", args.join(" ")),
            value: milliseconds(time),
            unit: "ms",
            target: Target::AtMost(100.0),
        });
    }
    Ok(())
}
