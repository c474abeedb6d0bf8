//! The cost of an iteration: `ralph run` over 100 tasks, everything on that is on by default, beside
//! the floor.

use std::{
    process::{Command, Stdio},
    time::{Duration, Instant},
};

use ralph_testkit::TestRepo;

use crate::{
    BenchResult,
    figures::{median, milliseconds},
    fixture::{Programs, command_agent, commits, project},
    floor::{self, Start},
    table::{Row, Table, Target},
};

const TASKS: usize = 100;

/// Whether git knows the task file.
#[derive(Clone, Copy)]
enum TaskFile {
    Tracked,
    Ignored,
}

pub(crate) fn measure(programs: &Programs, repeats: usize, table: &mut Table) -> BenchResult<()> {
    let mut floors: [Vec<f64>; 4] = Default::default();
    let mut tracked = Vec::new();
    let mut ignored = Vec::new();
    let mut layered = Vec::new();
    let mut walled = Vec::new();
    for _ in 0..repeats {
        let starts = [
            Start::Plainly,
            Start::InNamespaces,
            Start::InLayers,
            Start::InWalls,
        ];
        for (floor, start) in floors.iter_mut().zip(starts) {
            floor.push(milliseconds(floor::measure(programs, TASKS, start)?));
        }
        let run_with = |file, mode, sandbox| {
            let took = run_tasks(programs, |repo, command| {
                if let TaskFile::Ignored = file {
                    repo.git(["rm", "-q", "--cached", "prd.json"]);
                    repo.file(".gitignore", "/prd.json\n")
                        .commit("ignore tasks");
                }
                command
                    .env("RALPH_WORKSPACE_MODE", mode)
                    .env("RALPH_SAFETY_SANDBOX", sandbox);
            })?;
            Ok::<_, Box<dyn std::error::Error>>(milliseconds(took))
        };
        let run = |file, mode| run_with(file, mode, "off");
        tracked.push(run(TaskFile::Tracked, "in_place")?);
        ignored.push(run(TaskFile::Ignored, "in_place")?);
        layered.push(run(TaskFile::Tracked, "overlay")?);
        walled.push(run_with(TaskFile::Tracked, "overlay", "auto")?);
    }
    let middle = |values: &[f64]| median(values).ok_or("nothing was measured");
    let [plain, in_namespaces, in_layers, in_walls] = floors;
    let (plain, in_namespaces) = (middle(&plain)?, middle(&in_namespaces)?);
    let (tracked, ignored) = (middle(&tracked)?, middle(&ignored)?);
    let (in_layers, layered) = (middle(&in_layers)?, middle(&layered)?);
    let (in_walls, walled) = (middle(&in_walls)?, middle(&walled)?);
    let target = Target::AtMost(1.5);
    for (what, value, unit, target) in [
        ("(a) floor of an iteration", plain, "ms", Target::None),
        (
            "(b) the same in namespaces",
            in_namespaces,
            "ms",
            Target::None,
        ),
        ("(c) the same in layers", in_layers, "ms", Target::None),
        (
            "(d) iteration of ralph run, in place",
            tracked,
            "ms",
            Target::None,
        ),
        ("(d) / (a)", tracked / plain, "x", Target::None),
        ("(d) / (b)", tracked / in_namespaces, "x", target),
        (
            "    the same with a task file that git ignores",
            ignored / in_namespaces,
            "x",
            Target::None,
        ),
        (
            "(e) iteration of ralph run, in a layer",
            layered,
            "ms",
            Target::None,
        ),
        ("(e) / (c)", layered / in_layers, "x", target),
        (
            "(f) floor in layers and a sandbox",
            in_walls,
            "ms",
            Target::None,
        ),
        (
            "(g) iteration of ralph run, in a layer and a sandbox",
            walled,
            "ms",
            Target::None,
        ),
        ("(g) / (f)", walled / in_walls, "x", target),
    ] {
        table.add(&Row {
            what,
            value,
            unit,
            target,
        });
    }
    Ok(())
}

/// Runs all tasks of a new project, and returns what each of them took.
pub(crate) fn run_tasks(
    programs: &Programs,
    prepare: impl FnOnce(&TestRepo, &mut Command),
) -> BenchResult<Duration> {
    let repo = project(TASKS);
    let mut command = ralph_run(&repo, programs);
    prepare(&repo, &mut command);
    let before = commits(&repo)?;
    let began = Instant::now();
    let output = command
        .args(["--max-iterations", "1000"])
        .env("RALPH_VERIFICATION_CLEAN_CHECK", "off")
        .stdout(Stdio::null())
        .output()?;
    let took = began.elapsed();
    if !output.status.success() || commits(&repo)? != before + TASKS {
        let said = String::from_utf8_lossy(&output.stderr).into_owned();
        return Err(format!("ralph run ended with {}: {said}", output.status).into());
    }
    Ok(took / u32::try_from(TASKS)?)
}

/// `ralph run` with the stub agent, in a scratch project.
pub(crate) fn ralph_run(repo: &TestRepo, programs: &Programs) -> Command {
    let mut command = repo.command(&programs.ralph);
    command
        .args(["run", "prd.json", "--agent", &command_agent(&programs.stub)])
        .stdin(Stdio::null());
    command
}
