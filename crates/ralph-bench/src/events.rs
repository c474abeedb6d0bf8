//! Agents that call one tool after the other: how fast ralph takes their events in, and in how much memory.

use std::{
    fs::File,
    io::{BufReader, BufWriter, Read as _},
    os::unix::fs::PermissionsExt as _,
    path::{Path, PathBuf},
    process::{Command, Stdio},
    time::{Duration, Instant},
};

use ralph_testkit::{StreamDialect, TestRepo, ToolStream};

use crate::{
    BenchResult,
    figures::megabytes_per_second,
    fixture::{Programs, project, task_id},
    flood::{ProcessFigures, watch},
    table::{Row, Table, Target},
};

/// Bytes of a stream, about.
const BYTES: u64 = 200_000_000;

struct EventShape {
    dialect: StreamDialect,
    /// Bytes of each tool's answer.
    answer: usize,
}

const SHAPES: [EventShape; 4] = [
    EventShape {
        dialect: StreamDialect::Claude,
        answer: 300,
    },
    EventShape {
        dialect: StreamDialect::Claude,
        answer: 4_000,
    },
    EventShape {
        dialect: StreamDialect::Pi,
        answer: 300,
    },
    EventShape {
        dialect: StreamDialect::Codex,
        answer: 300,
    },
];

/// Each stream is long enough to be measured once; the start and the end of a run are taken off.
pub(crate) fn measure(programs: &Programs, _repeats: usize, table: &mut Table) -> BenchResult<()> {
    for shape in &SHAPES {
        let folder = tempfile::tempdir()?;
        let stream = write_stream(shape, folder.path(), BYTES)?;
        let bytes = std::fs::metadata(&stream)?.len();
        let plainly = read_plainly(&stream)?;
        let short = write_stream(shape, folder.path(), 1)?;
        let without = run(programs, shape, &short)?;
        let with = run(programs, shape, &stream)?;
        let took = with.took.saturating_sub(without.took);
        let (figures, of_short) = (&with.figures, &without.figures);
        let worked = figures.worked.saturating_sub(of_short.worked);
        let name = format!(
            "events of {}, answers of {} bytes",
            shape.dialect.name(),
            shape.answer
        );
        let mut add = |what: &str, value, unit, target| {
            let what = &format!("{name}: {what}");
            table.add(&Row {
                what,
                value,
                unit,
                target,
            });
        };
        let rate = megabytes_per_second(bytes, worked);
        add(
            "taken in, by processor time",
            rate,
            "MB/s",
            Target::AtLeast(200.0),
        );
        let rate = megabytes_per_second(bytes, took);
        add("taken in", rate, "MB/s", Target::None);
        let times = took.as_secs_f64() / plainly.as_secs_f64();
        add(
            "times what a reader of lines takes",
            times,
            "x",
            Target::None,
        );
        add("peak memory", figures.peak_mb, "MB", Target::AtMost(64.0));
        let more = figures.peak_mb - of_short.peak_mb;
        add("more than with one event", more, "MB", Target::AtMost(16.0));
    }
    Ok(())
}

/// A stream of at least so many bytes.
fn write_stream(shape: &EventShape, folder: &Path, bytes: u64) -> BenchResult<PathBuf> {
    let of = |calls| ToolStream {
        dialect: shape.dialect,
        calls,
        answer: shape.answer,
    };
    let claim = format!("Task {} complete", task_id(1));
    let mut some = Vec::new();
    of(100).write(&claim, &mut some)?;
    let calls = usize::try_from(bytes)?.div_ceil(some.len() / 100);
    let path = folder.join(format!("{bytes}.jsonl"));
    let mut file = BufWriter::new(File::create(&path)?);
    of(calls).write(&claim, &mut file)?;
    Ok(path)
}

struct EventRun {
    took: Duration,
    figures: ProcessFigures,
}

fn run(programs: &Programs, shape: &EventShape, stream: &Path) -> BenchResult<EventRun> {
    let repo = project(1);
    let agent = write_agent(&repo, stream)?;
    repo.file(
        "ralph.yaml",
        format!(
            "agent: {{name: bench, command: [{agent:?}], dialect: {}}}\n\
             verification: {{commands: [[\"true\"]], clean_check: \"off\"}}\n",
            shape.dialect.name()
        ),
    );
    repo.commit("agent");
    let began = Instant::now();
    let mut child = repo
        .command(&programs.ralph)
        .args(["run", "prd.json"])
        .env("RALPH_WORKSPACE_MODE", "in_place")
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .spawn()?;
    let figures = watch(&mut child)?;
    let took = began.elapsed();
    let status = child.wait()?;
    if !status.success() {
        return Err(format!("ralph run with many events ended with {status}").into());
    }
    Ok(EventRun { took, figures })
}

fn write_agent(repo: &TestRepo, stream: &Path) -> BenchResult<PathBuf> {
    let path = repo.outside().join("agent.sh");
    let shell = format!(
        "#!/bin/sh\ncat '{}'\necho x > {}.txt\n",
        stream.display(),
        task_id(1)
    );
    std::fs::write(&path, shell)?;
    std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o755))?;
    Ok(path)
}

/// The same stream through the same program, read line by line and thrown away.
fn read_plainly(stream: &Path) -> BenchResult<Duration> {
    let began = Instant::now();
    let mut child = Command::new("cat")
        .arg(stream)
        .stdout(Stdio::piped())
        .spawn()?;
    let mut lines = 0_u64;
    if let Some(pipe) = child.stdout.take() {
        let mut reader = BufReader::with_capacity(256 * 1024, pipe);
        let mut buffer = vec![0; 256 * 1024];
        loop {
            let read = reader.read(&mut buffer)?;
            if read == 0 {
                break;
            }
            lines += buffer[..read].iter().filter(|byte| **byte == b'\n').count() as u64;
        }
    }
    child.wait()?;
    if lines == 0 {
        return Err("the stream has no lines".into());
    }
    Ok(began.elapsed())
}
