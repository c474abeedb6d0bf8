//! A team's store on a PostgreSQL server of this machine: the rows that are sent to it in a second, its lag behind many
//! loops at once, the cost of an iteration whose journal is there, and questions to a tenant among a hundred.
//!
//! The server is started for the measurement, and its commits reach the disk, as those of the SQLite journal do.

mod lag;
mod past;
mod upload;

use std::process::{Command, Stdio};

use ralph_testkit::{
    TestRepo,
    postgres::{Cluster, Database},
};

use crate::{
    BenchResult,
    figures::{median, median_time, milliseconds},
    fixture::{Programs, project},
    floor::succeed,
    iteration::{ralph_run, run_tasks},
    status,
    table::{Row, Table, Target},
};

const TENANT: &str = "team-0";
const ROLE: &str = "laptop";

/// Questions to a journal on the server, and to the team's view.
const QUESTIONS: [&[&str]; 13] = [
    &["status"],
    &["loops"],
    &["loops", "--all"],
    &["cost"],
    &["cost", "--by", "model"],
    &["cost", "--by", "day"],
    &["cost", "--since", "400d", "--by", "task"],
    &["tokens"],
    &["checkpoint", "list"],
    &["team"],
    &["team", "loops"],
    &["team", "cost"],
    &["team", "checkpoints"],
];

pub(crate) fn measure(programs: &Programs, repeats: usize, table: &mut Table) -> BenchResult<()> {
    upload::measure(programs, repeats, table)?;
    lag::measure(programs, table)?;
    measure_iterations(programs, repeats, table)?;
    measure_questions(programs, repeats, table)
}

/// A server with a store that is set up, a tenant and a role for it. It ends when this is dropped.
struct TeamServer {
    database: Database,
    url: String,
    _cluster: Cluster,
}

impl TeamServer {
    fn start(programs: &Programs) -> BenchResult<Self> {
        // Debian's own value; the tests use less.
        let options = Cluster::options().set("shared_buffers", "128MB");
        let cluster = options.durable().start();
        let database = cluster.database();
        let keeper = TestRepo::bare_folder();
        let file = keeper.path("password");
        let password = file.to_string_lossy();
        let role = [
            "role",
            "add",
            ROLE,
            "--tenant",
            TENANT,
            "--password-file",
            &password,
        ];
        for args in [&["init"][..], &["tenant", "add", TENANT], &role] {
            let mut command = keeper.command(&programs.ralph);
            command.arg("db").args(args).stdout(Stdio::null());
            succeed(command.env("RALPH_STORE_URL", database.url()))?;
        }
        let password = std::fs::read_to_string(&file)?;
        Ok(Self {
            url: database.url_of(ROLE, password.trim()),
            database,
            _cluster: cluster,
        })
    }

    /// Has a command of ralph use the store in that way.
    fn used_by<'c>(&self, command: &'c mut Command, mode: &str) -> &'c mut Command {
        command
            .env("RALPH_STORE_URL", &self.url)
            .env("RALPH_STORE_TENANT", TENANT)
            .env("RALPH_STORE_MODE", mode)
    }
}

/// Iterations with their journal in SQLite and on the server, in turns.
fn measure_iterations(programs: &Programs, repeats: usize, table: &mut Table) -> BenchResult<()> {
    let server = TeamServer::start(programs)?;
    for (how, mode, sandbox) in [
        ("in place", "in_place", "off"),
        ("in a layer and a sandbox", "overlay", "auto"),
    ] {
        let (mut in_sqlite, mut on_server) = (Vec::new(), Vec::new());
        for _ in 0..repeats {
            let run = |direct: bool| {
                let took = run_tasks(programs, |_, command| {
                    command
                        .env("RALPH_WORKSPACE_MODE", mode)
                        .env("RALPH_SAFETY_SANDBOX", sandbox);
                    if direct {
                        server.used_by(command, "direct");
                    }
                })?;
                Ok::<_, Box<dyn std::error::Error>>(milliseconds(took))
            };
            in_sqlite.push(run(false)?);
            on_server.push(run(true)?);
        }
        let middle = |values: &[f64]| median(values).ok_or("nothing was measured");
        let (in_sqlite, on_server) = (middle(&in_sqlite)?, middle(&on_server)?);
        for (what, value, unit, target) in [
            ("journal in SQLite", in_sqlite, "ms", Target::None),
            ("journal on the server", on_server, "ms", Target::None),
            (
                "on the server / in SQLite",
                on_server / in_sqlite,
                "x",
                Target::AtMost(2.0),
            ),
        ] {
            table.add(&Row {
                what: &format!("iteration {how}: {what}"),
                value,
                unit,
                target,
            });
        }
    }
    Ok(())
}

/// Questions to one tenant among a hundred that have a million iterations together.
fn measure_questions(programs: &Programs, repeats: usize, table: &mut Table) -> BenchResult<()> {
    let server = TeamServer::start(programs)?;
    let repo = project(100);
    // One real iteration, so that the past is made of rows as ralph writes them.
    let mut run = ralph_run(&repo, programs);
    succeed(
        server
            .used_by(&mut run, "direct")
            .arg("--once")
            .stdout(Stdio::null()),
    )?;
    past::lengthen(&server.database)?;
    for args in QUESTIONS {
        let time = median_time(repeats.max(11), || {
            let mut command = repo.command(&programs.ralph);
            server.used_by(command.args(args), "direct");
            status::answers(command)
        })?;
        table.add(&Row {
            what: &format!("ralph {}, one of 100 tenants", args.join(" ")),
            value: milliseconds(time),
            unit: "ms",
            target: Target::AtMost(100.0),
        });
    }
    Ok(())
}
