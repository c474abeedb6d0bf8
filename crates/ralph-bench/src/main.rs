//! Measures ralph beside the floor of what its work must cost, in one run, as ratios.
//!
//! Nothing here is a test: it prints what it found, and whether that is within the target. Every
//! figure is a median unless it says otherwise; floor and ralph take turns, so that a busy machine slows both.

mod checkpoint;
mod events;
mod figures;
mod fixture;
mod flood;
mod floor;
mod ground;
mod history;
mod iteration;
mod layer;
mod qa;
mod status;
mod store;
mod stories;
mod table;
mod tasks;

use std::{error::Error, process::ExitCode};

use fixture::Programs;
use table::Table;

type BenchResult<T> = Result<T, Box<dyn Error>>;

/// Which measurements to make, and how often.
struct Options {
    repeats: usize,
    only: Vec<String>,
}

const SECTIONS: [(&str, Section); 12] = [
    ("iteration", iteration::measure),
    ("layer", layer::measure),
    ("checkpoint", checkpoint::measure),
    ("flood", flood::measure),
    ("events", events::measure),
    ("tasks", tasks::measure),
    ("stories", stories::measure),
    ("status", status::measure),
    ("history", history::measure),
    ("qa", qa::measure),
    ("version", status::measure_version),
    ("store", store::measure),
];

type Section = fn(&Programs, usize, &mut Table) -> BenchResult<()>;

fn main() -> ExitCode {
    match run() {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            table::print_error(&format!("bench: {error}\n"));
            ExitCode::FAILURE
        }
    }
}

fn run() -> BenchResult<()> {
    let options = parse(std::env::args().skip(1))?;
    let programs = Programs::beside_this_program()?;
    let _ground = ground::spread_projects()?;
    let mut table = Table::new();
    for (name, measure) in SECTIONS {
        if options.only.is_empty() || options.only.iter().any(|o| o == name) {
            measure(&programs, options.repeats, &mut table)?;
        }
    }
    table.finish();
    Ok(())
}

fn parse(args: impl Iterator<Item = String>) -> BenchResult<Options> {
    let mut options = Options {
        repeats: 5,
        only: Vec::new(),
    };
    let mut args = args;
    while let Some(arg) = args.next() {
        match arg.as_str() {
            "--repeats" => {
                let count = args.next().ok_or("--repeats needs a number")?;
                options.repeats = count.parse::<usize>()?.max(1);
            }
            name if SECTIONS.iter().any(|(known, _)| *known == name) => options.only.push(arg),
            other => {
                let known = SECTIONS.map(|(name, _)| name).join(", ");
                return Err(
                    format!("unknown argument {other} (--repeats N, or any of: {known})").into(),
                );
            }
        }
    }
    Ok(options)
}
