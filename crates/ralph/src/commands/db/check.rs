//! `ralph db check`: proves on the live database that its rules hold, as the roles that they are for.

use std::process::ExitCode;

use ralph_engine::team::CheckedGroup;
use serde::Serialize;

use super::{Keeper, ServerArg};
use crate::{
    cli::Global,
    error::CommandError,
    output,
    project::block_on,
    view::{Table, Tone, cell, figures::count},
};

/// Tries what a tenant must not be able to do, in transactions that are taken back, and looks at every policy,
/// constraint and grant. Needs the role that set the database up. Exit code 1 if something does not hold.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// Print JSON instead of text
    #[arg(long)]
    json: bool,

    #[command(flatten)]
    server: ServerArg,
}

/// The JSON form is a contract (docs/json.md).
#[derive(Debug, Serialize)]
struct StoreProof {
    ok: bool,
    groups: Vec<ProvenGroup>,
}

#[derive(Debug, Serialize)]
struct ProvenGroup {
    name: String,
    held: usize,
    failures: Vec<String>,
    unproven: Vec<String>,
}

pub(crate) fn run(args: &Args, global: &Global) -> Result<ExitCode, CommandError> {
    let mut keeper = Keeper::open(global, &args.server)?;
    let groups = block_on(async { Ok(keeper.admin.check().await?) })?;
    let proof = StoreProof {
        ok: groups.iter().all(|group| group.failures.is_empty()),
        groups: groups.into_iter().map(ProvenGroup::from).collect(),
    };
    output::show(args.json, &proof, || render(&proof))?;
    Ok(ExitCode::from(u8::from(!proof.ok)))
}

impl From<CheckedGroup> for ProvenGroup {
    fn from(group: CheckedGroup) -> Self {
        Self {
            name: group.name,
            held: group.held,
            failures: group.failures,
            unproven: group.unproven,
        }
    }
}

fn render(proof: &StoreProof) -> String {
    let mut table = Table::new(2, 0);
    for group in &proof.groups {
        let (tone, word) = if group.failures.is_empty() {
            (Tone::Good, "ok")
        } else {
            (Tone::Bad, "failed")
        };
        let mut said = format!("{} hold", group.held);
        if !group.failures.is_empty() {
            said.push_str(&format!(", {} do not", group.failures.len()));
        }
        if !group.unproven.is_empty() {
            said.push_str(&format!(", {} not proven", group.unproven.len()));
        }
        table.row([
            cell(tone, word),
            cell(Tone::Heading, &group.name),
            cell(Tone::Plain, said),
        ]);
        for failure in &group.failures {
            table.row([
                cell(Tone::Bad, ""),
                cell(Tone::Plain, ""),
                cell(Tone::Bad, failure),
            ]);
        }
        for unproven in &group.unproven {
            table.row([
                cell(Tone::Careful, ""),
                cell(Tone::Plain, ""),
                cell(Tone::Careful, format!("not proven: {unproven}")),
            ]);
        }
    }
    // Not cut at the terminal's edge: what does not hold stands at the end of a line.
    let mut text = table.render(None);
    let of = |list: fn(&ProvenGroup) -> &[String]| -> usize {
        proof.groups.iter().map(|group| list(group).len()).sum()
    };
    let failures = count(of(|group| &group.failures), "failure", "failures");
    let unproven = of(|group| &group.unproven);
    text.push_str(&format!("\n{failures}, {unproven} not proven\n"));
    text
}
