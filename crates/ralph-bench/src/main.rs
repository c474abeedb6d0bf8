//! Measures ralph beside the floor of what its work must cost, in one run, as ratios.
//!
//! Nothing here is a test: it prints what it found, and whether that is within the target. Every
//! figure is a median unless it says otherwise; floor and ralph take turns, so that a busy machine slows both.

mod checkpoint;
mod figures;
mod flood;
mod floor;
mod landing;
mod loading;
mod parts;
mod standing;
mod table;

use std::{error::Error, process::ExitCode};

use parts::Parts;
use table::Table;

type Outcome<T> = Result<T, Box<dyn Error>>;

/// Which measurements to make, and how often.
struct Plan {
    repeats: usize,
    only: Vec<String>,
}

const SECTIONS: [(&str, Section); 6] = [
    ("iteration", landing::measure),
    ("checkpoint", checkpoint::measure),
    ("flood", flood::measure),
    ("tasks", loading::measure),
    ("status", standing::measure),
    ("version", standing::measure_version),
];

type Section = fn(&Parts, usize, &mut Table) -> Outcome<()>;

fn main() -> ExitCode {
    match run() {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            table::print_error(&format!("bench: {error}\n"));
            ExitCode::FAILURE
        }
    }
}

fn run() -> Outcome<()> {
    let plan = parse(std::env::args().skip(1))?;
    let parts = Parts::beside_this_program()?;
    let mut table = Table::new();
    for (name, measure) in SECTIONS {
        if plan.only.is_empty() || plan.only.iter().any(|o| o == name) {
            measure(&parts, plan.repeats, &mut table)?;
        }
    }
    table.finish();
    Ok(())
}

fn parse(args: impl Iterator<Item = String>) -> Outcome<Plan> {
    let mut plan = Plan {
        repeats: 5,
        only: Vec::new(),
    };
    let mut args = args;
    while let Some(arg) = args.next() {
        match arg.as_str() {
            "--repeats" => {
                let count = args.next().ok_or("--repeats needs a number")?;
                plan.repeats = count.parse::<usize>()?.max(1);
            }
            name if SECTIONS.iter().any(|(known, _)| *known == name) => plan.only.push(arg),
            other => {
                let known = SECTIONS.map(|(name, _)| name).join(", ");
                return Err(
                    format!("unknown argument {other} (--repeats N, or any of: {known})").into(),
                );
            }
        }
    }
    Ok(plan)
}
