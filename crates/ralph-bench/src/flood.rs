//! An agent that floods: how much memory ralph takes, and how fast it takes the flood in.

use std::{
    io::Read as _,
    process::{Child, Stdio},
    time::{Duration, Instant},
};

use ralph_testkit::TestRepo;

use crate::{
    BenchResult,
    figures::gigabytes_per_second,
    fixture::{Programs, project},
    iteration::ralph_run,
    table::{Row, Table, Target},
};

const GB: u64 = 1_000_000_000;

/// The number of times the peak is looked up. It only grows, so only the end of a run can be missed.
const LOOK: Duration = Duration::from_millis(5);
/// The unit in which Linux tells times of a process.
const TICK_MS: u64 = 10;

struct FloodShape {
    name: &'static str,
    bytes: u64,
    /// Bytes of a line; 0 for one without an end.
    line: usize,
}

const SHAPES: [FloodShape; 3] = [
    FloodShape {
        name: "10 GB in lines of 4 kB",
        bytes: 10 * GB,
        line: 4096,
    },
    FloodShape {
        name: "10 GB in one line",
        bytes: 10 * GB,
        line: 0,
    },
    FloodShape {
        name: "2 GB in lines of 80 bytes",
        bytes: 2 * GB,
        line: 80,
    },
];

/// Each flood is long enough to be measured once.
pub(crate) fn measure(programs: &Programs, _repeats: usize, table: &mut Table) -> BenchResult<()> {
    for shape in &SHAPES {
        let floor = drain_plainly(programs, shape)?;
        let flooded = flood_ralph(programs, shape)?;
        let mut add = |what: &str, value, unit, target| {
            table.add(&Row {
                what: &format!("agent floods {}: {what}", shape.name),
                value,
                unit,
                target,
            });
        };
        add("peak memory", flooded.peak_mb, "MB", Target::AtMost(64.0));
        let rate = gigabytes_per_second(shape.bytes, flooded.took);
        add("drained", rate, "GB/s", Target::AtLeast(1.0));
        let plain = gigabytes_per_second(shape.bytes, floor);
        add("by a plain read", plain, "GB/s", Target::None);
    }
    Ok(())
}

struct FloodResult {
    peak_mb: f64,
    took: Duration,
}

fn flood_ralph(programs: &Programs, shape: &FloodShape) -> BenchResult<FloodResult> {
    let repo = project(1);
    let began = Instant::now();
    let mut child = ralph_run(&repo, programs)
        .envs(flood_vars(shape))
        .stdout(Stdio::null())
        .spawn()?;
    let peak_mb = watch(&mut child)?.peak_mb;
    let took = began.elapsed();
    let status = child.wait()?;
    if !status.success() {
        return Err(format!("ralph run under a flood ended with {status}").into());
    }
    Ok(FloodResult { peak_mb, took })
}

/// The figures that the kernel noted of a process until it ended.
pub(crate) struct ProcessFigures {
    /// The highest resident size.
    pub(crate) peak_mb: f64,
    /// The time that it had a processor for itself, without its children.
    pub(crate) worked: Duration,
}

pub(crate) fn watch(child: &mut Child) -> BenchResult<ProcessFigures> {
    let (status, stat) = (
        format!("/proc/{}/status", child.id()),
        format!("/proc/{}/stat", child.id()),
    );
    let (mut peak_kb, mut ticks) = (0, 0);
    while child.try_wait()?.is_none() {
        let text = std::fs::read_to_string(&status).unwrap_or_default();
        let line = text.lines().find(|l| l.starts_with("VmHWM:"));
        let kb = line.and_then(|l| l.split_whitespace().nth(1)?.parse::<u64>().ok());
        peak_kb = peak_kb.max(kb.unwrap_or(0));
        let text = std::fs::read_to_string(&stat).unwrap_or_default();
        // The name before them may hold spaces.
        let fields = text.rsplit(") ").next().unwrap_or_default();
        let used = fields.split(' ').skip(11).take(2);
        ticks = ticks.max(used.filter_map(|n| n.parse::<u64>().ok()).sum());
        std::thread::sleep(LOOK);
    }
    Ok(ProcessFigures {
        peak_mb: peak_kb as f64 * 1024.0 / 1e6,
        worked: Duration::from_millis(ticks * TICK_MS),
    })
}

/// The same flood, read and thrown away.
fn drain_plainly(programs: &Programs, shape: &FloodShape) -> BenchResult<Duration> {
    let repo = TestRepo::new();
    let began = Instant::now();
    let mut child = repo
        .command(&programs.stub)
        .envs(flood_vars(shape))
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .spawn()?;
    if let Some(mut pipe) = child.stdout.take() {
        let mut buffer = vec![0; 256 * 1024];
        while pipe.read(&mut buffer)? > 0 {}
    }
    child.wait()?;
    Ok(began.elapsed())
}

fn flood_vars(shape: &FloodShape) -> [(&'static str, String); 2] {
    [
        ("STUB_FLOOD_BYTES", shape.bytes.to_string()),
        ("STUB_FLOOD_LINE", shape.line.to_string()),
    ]
}
