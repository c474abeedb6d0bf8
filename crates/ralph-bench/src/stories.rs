//! The cost of an iteration by the number of tasks, beside what git needs to store the file that changes.

use std::{
    process::Stdio,
    time::{Duration, Instant},
};

use ralph_testkit::TestRepo;

use crate::{
    BenchResult,
    figures::{median, milliseconds},
    fixture::{Programs, command_agent, commits, project, task_file, task_id},
    floor::succeed,
    iteration::ralph_run,
    table::{Row, Table, Target},
};

const FEW: usize = 20;
const COUNTS: [usize; 2] = [5_000, 20_000];
/// Iterations that are measured, beyond those of a run that is taken off.
const ROUNDS: usize = 8;

/// The way the tasks are written down.
#[derive(Clone, Copy)]
enum TaskForm {
    /// All in one file.
    Prd,
    /// All in one file of an artefacts project.
    Artefacts,
    /// A file for each.
    Native,
}

/// The task file of the artefacts project.
const PROJECT_TASKS: &str = ".artefacts/bench/tasks.json";

pub(crate) fn measure(programs: &Programs, repeats: usize, table: &mut Table) -> BenchResult<()> {
    for (form, name) in [
        (TaskForm::Prd, "in one file"),
        (TaskForm::Artefacts, "in a project"),
        (TaskForm::Native, "a file each"),
    ] {
        let few = Measured::of(programs, form, FEW, repeats)?;
        for count in COUNTS {
            let many = Measured::of(programs, form, count, repeats)?;
            let (ralph, git) = (many.iteration - few.iteration, many.git - few.git);
            let mut add = |what: &str, value, unit, target| {
                table.add(&Row {
                    what: &format!("{count} tasks, {name}: {what}"),
                    value,
                    unit,
                    target,
                });
            };
            add("an iteration", many.iteration, "ms", Target::None);
            add("more than with 20", ralph, "ms", Target::None);
            add(
                "git add and commit, more than with 20",
                git,
                "ms",
                Target::None,
            );
            add("ralph / git", ralph / git, "x", Target::AtMost(1.5));
        }
    }
    Ok(())
}

/// In milliseconds.
struct Measured {
    iteration: f64,
    git: f64,
}

impl Measured {
    fn of(programs: &Programs, form: TaskForm, count: usize, repeats: usize) -> BenchResult<Self> {
        let (mut iterations, mut gits) = (Vec::new(), Vec::new());
        for _ in 0..repeats {
            let (start, all) = (
                run(programs, form, count, 1)?,
                run(programs, form, count, 1 + ROUNDS)?,
            );
            let rounds = u32::try_from(ROUNDS)?;
            iterations.push(milliseconds(all.saturating_sub(start) / rounds));
            gits.push(milliseconds(store_plainly(form, count)?));
        }
        let middle = |values: &[f64]| median(values).ok_or("nothing was measured");
        Ok(Self {
            iteration: middle(&iterations)?,
            git: middle(&gits)?,
        })
    }
}

fn with_tasks(form: TaskForm, count: usize) -> TestRepo {
    match form {
        TaskForm::Prd => project(count),
        TaskForm::Artefacts => {
            let repo = project(1);
            repo.git(["rm", "-q", "prd.json"]);
            repo.file(PROJECT_TASKS, project_tasks(count));
            repo.file(".artefacts/bench/spec.md", "Files.\n");
            repo.commit("a project");
            repo
        }
        TaskForm::Native => {
            let repo = project(1);
            // So many loose objects have git pack them in the background, beside what is measured.
            repo.git(["config", "gc.auto", "0"]);
            repo.git(["rm", "-q", "prd.json"]);
            for n in 1..=count {
                repo.file(task_path(n), native_task(n, "open"));
            }
            repo.commit("a file for each task");
            repo
        }
    }
}

fn project_tasks(count: usize) -> String {
    let tasks: Vec<String> = (1..=count)
        .map(|n| {
            let id = task_id(n);
            format!(
                "    {{\n      \"id\": \"{id}\",\n      \"title\": \"Write file number {n}\",\n      \
                 \"description\": \"As a user I want the file {id}.txt so that there is one.\",\n      \
                 \"status\": \"pending\",\n      \"dependencies\": [],\n      \"attempts\": 0,\n      \
                 \"max_attempts\": 3,\n      \"blocked\": false\n    }}"
            )
        })
        .collect();
    let tasks = tasks.join(",\n");
    format!(
        "{{\n  \"project_name\": \"bench\",\n  \"version\": 1,\n  \"tasks\": [\n{tasks}\n  ]\n}}\n"
    )
}

fn task_path(n: usize) -> String {
    format!(".ralph/tasks/{}.json", task_id(n))
}

fn native_task(n: usize, status: &str) -> String {
    let id = task_id(n);
    format!(
        "{{\n  \"id\": \"{id}\",\n  \"title\": \"Write file number {n}\",\n  \"status\": \"{status}\",\n  \
         \"description\": \"As a user I want the file {id}.txt so that there is one.\"\n}}\n"
    )
}

fn run(programs: &Programs, form: TaskForm, count: usize, rounds: usize) -> BenchResult<Duration> {
    let repo = with_tasks(form, count);
    let before = commits(&repo)?;
    let mut command = match form {
        TaskForm::Prd => ralph_run(&repo, programs),
        TaskForm::Artefacts | TaskForm::Native => {
            let (subcommand, tasks) = match form {
                TaskForm::Artefacts => ("execute", "bench"),
                TaskForm::Prd | TaskForm::Native => ("run", ".ralph/tasks"),
            };
            let mut command = repo.command(&programs.ralph);
            let agent = command_agent(&programs.stub);
            command.args([subcommand, tasks, "--agent", &agent]);
            command
        }
    };
    let began = Instant::now();
    let output = command
        .args(["--max-iterations", &rounds.to_string()])
        .env("RALPH_WORKSPACE_MODE", "in_place")
        .env("RALPH_VERIFICATION_CLEAN_CHECK", "off")
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .output()?;
    let took = began.elapsed();
    if commits(&repo)? != before + rounds {
        let said = String::from_utf8_lossy(&output.stderr).into_owned();
        return Err(format!("ralph run ended with {}: {said}", output.status).into());
    }
    Ok(took)
}

/// One value of the tasks is changed, added and committed: what git needs for it.
fn store_plainly(form: TaskForm, count: usize) -> BenchResult<Duration> {
    let repo = with_tasks(form, count);
    let mut text = match form {
        TaskForm::Prd => task_file(count),
        TaskForm::Artefacts => project_tasks(count),
        TaskForm::Native => String::new(),
    };
    let mut took = Duration::ZERO;
    for n in 1..=ROUNDS {
        let path = match form {
            TaskForm::Prd => {
                text = text.replacen("\"passes\": false", "\"passes\": true", 1);
                repo.file("prd.json", &text);
                "prd.json".to_owned()
            }
            TaskForm::Artefacts => {
                text = text.replacen("\"pending\"", "\"completed\"", 1);
                repo.file(PROJECT_TASKS, &text);
                PROJECT_TASKS.to_owned()
            }
            TaskForm::Native => {
                repo.file(task_path(n), native_task(n, "completed"));
                task_path(n)
            }
        };
        let began = Instant::now();
        succeed(repo.command("git").args(["add", "--", &path]))?;
        succeed(repo.command("git").args(["commit", "-q", "-m", "one task"]))?;
        took += began.elapsed();
    }
    Ok(took / u32::try_from(ROUNDS)?)
}
