//! Twenty flows in a browser by `ralph qa run`, beside the same flows written for Playwright: the same server, the same
//! browser, the same number of flows at once, in turns.

use std::{
    fs,
    path::{Path, PathBuf},
    process::{Command, Stdio},
    time::{Duration, Instant},
};

use ralph_testkit::TestRepo;

use crate::{
    BenchResult,
    figures::median,
    fixture::Programs,
    table::{Row, Table, Target},
};

/// The flows of the folder `qa`; each is run `COPIES` times.
const FLOWS: [(&str, &str); 5] = [
    ("repair", include_str!("../qa/repair.yaml")),
    ("tickets", include_str!("../qa/tickets.yaml")),
    ("weather", include_str!("../qa/weather.yaml")),
    ("books", include_str!("../qa/books.yaml")),
    ("ledger", include_str!("../qa/ledger.yaml")),
];
const COPIES: usize = 4;
const AT_ONCE: &str = "2";
/// Nothing waits for the server, so that the time is that of the two programs and the browser.
const SETTINGS: &str = "\
qa:
  server:
    command: [/usr/bin/python3, samples/serve.py]
    ready: /
    env: {SAMPLES_DELAY: '0'}
";
/// The folder in which scripts/bench installed playwright-core.
const PLAYWRIGHT: &str = "RALPH_BENCH_PLAYWRIGHT";

pub(crate) fn measure(programs: &Programs, repeats: usize, table: &mut Table) -> BenchResult<()> {
    let playwright =
        std::env::var_os(PLAYWRIGHT).ok_or("playwright-core is missing: start scripts/bench qa")?;
    let script = Path::new(&playwright).join("playwright.mjs");
    fs::write(&script, include_str!("../qa/playwright.mjs"))?;
    let samples = Path::new(env!("CARGO_MANIFEST_DIR")).join("../ralph-qa/tests/samples");
    let repo = project(&samples)?;
    let pictures = repo.outside().join("pictures");
    fs::create_dir_all(&pictures)?;

    // Both have read their files from the disk once, and ralph has pictures to compare with.
    ralph(&repo, programs, &["qa", "run", "--jobs", AT_ONCE])?;
    ralph(&repo, programs, &["qa", "approve", "--yes"])?;
    by_playwright(&script, &samples, &pictures)?;

    let (mut ours, mut theirs, mut ratios, mut flows) = (vec![], vec![], vec![], vec![]);
    for _ in 0..repeats {
        let our = seconds(|| ralph(&repo, programs, &["qa", "run", "--jobs", AT_ONCE]))?;
        let their = seconds(|| by_playwright(&script, &samples, &pictures))?;
        ours.push(our);
        theirs.push(their);
        ratios.push(our / their);
        ralph(&repo, programs, &["qa", "run", "repair-1"])?;
        flows.push(flow_seconds(&repo)?);
    }
    let none = "nothing was measured";
    let rows = [
        (
            "ralph qa run, 20 flows, 2 at once",
            &ours,
            "s",
            Target::None,
        ),
        (
            "the same flows by Playwright, 2 at once",
            &theirs,
            "s",
            Target::None,
        ),
        ("ralph beside Playwright", &ratios, "x", Target::AtMost(2.0)),
        (
            "a flow of 10 steps, once the browser is up",
            &flows,
            "s",
            Target::AtMost(3.0),
        ),
    ];
    for (what, values, unit, target) in rows {
        let value = median(values).ok_or(none)?;
        table.add(&Row {
            what,
            value,
            unit,
            target,
        });
    }
    Ok(())
}

/// A project with the samples and all flows, under names of their own.
fn project(samples: &Path) -> BenchResult<TestRepo> {
    let repo = TestRepo::new();
    repo.file("ralph.yaml", SETTINGS);
    copy(samples, &repo.path("samples"))?;
    for (name, text) in FLOWS {
        for copy in 1..=COPIES {
            repo.file(format!(".ralph/flows/{name}-{copy}.yaml"), text);
        }
    }
    repo.commit("samples and flows");
    Ok(repo)
}

fn copy(from: &Path, to: &PathBuf) -> BenchResult<()> {
    fs::create_dir_all(to)?;
    for entry in fs::read_dir(from)? {
        let entry = entry?;
        let new = to.join(entry.file_name());
        if entry.file_type()?.is_dir() {
            copy(&entry.path(), &new)?;
        } else {
            fs::copy(entry.path(), new)?;
        }
    }
    Ok(())
}

fn ralph(repo: &TestRepo, programs: &Programs, args: &[&str]) -> BenchResult<()> {
    let mut command = repo.command(&programs.ralph);
    succeed(command.args(args))
}

fn by_playwright(script: &Path, samples: &Path, pictures: &Path) -> BenchResult<()> {
    let mut command = Command::new("node");
    command.arg(script).arg(samples);
    command.arg(COPIES.to_string()).arg(AT_ONCE).arg(pictures);
    command.args(["--no-sandbox", "--disable-gpu"]);
    succeed(command.env("SAMPLES_DELAY", "0"))
}

fn succeed(command: &mut Command) -> BenchResult<()> {
    let output = command.stdin(Stdio::null()).output()?;
    if output.status.success() {
        return Ok(());
    }
    let said = [output.stdout, output.stderr].concat();
    let said = String::from_utf8_lossy(&said);
    Err(format!("{command:?} ended with {} and: {said}", output.status).into())
}

fn seconds(run: impl FnOnce() -> BenchResult<()>) -> BenchResult<f64> {
    let began = Instant::now();
    run()?;
    Ok(Duration::as_secs_f64(&began.elapsed()))
}

/// The time of the one flow in the last report, without the start of server and browser.
fn flow_seconds(repo: &TestRepo) -> BenchResult<f64> {
    let report: serde_json::Value = serde_json::from_str(&repo.read(".ralph/qa/report.json"))?;
    let flow = &report["flows"][0];
    let steps = flow["steps"].as_array().map_or(0, Vec::len);
    match (flow["seconds"].as_f64(), steps) {
        (Some(seconds), 10) => Ok(seconds),
        _ => Err(format!("the report has no flow of 10 steps: {flow}").into()),
    }
}
