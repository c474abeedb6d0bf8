//! `ralph checkpoint verify`: hashes the chain of a loop again, and names the first checkpoint that
//! does not fit. Only reads.

use std::process::ExitCode;

use ralph_core::{
    checkpoint::Chain,
    id::{CheckpointId, LoopId},
};
use ralph_engine::store::Journal;
use serde::Serialize;

use super::{find_loop, journal};
use crate::{
    error::CommandError,
    output,
    project::{Project, block_on},
    view::{Tone, figures::count, paint},
};

/// Checkpoints that are read at once.
const PAGE: u32 = 500;

/// The exit code of a damaged chain: the database is not what ralph wrote.
const DAMAGED: u8 = 1;

#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// The loop, by the beginning of its id [default: the newest one here]
    #[arg(long = "loop", value_name = "LOOP", conflicts_with = "all")]
    loop_id: Option<String>,

    /// All loops of this repository
    #[arg(long)]
    all: bool,

    /// Print the result as JSON
    #[arg(long)]
    json: bool,
}

/// The JSON form is a contract (docs/json.md).
#[derive(Debug, Serialize)]
struct Verified {
    whole: bool,
    loops: Vec<VerifiedLoop>,
}

#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
struct VerifiedLoop {
    loop_id: LoopId,
    /// The number of intact checkpoints, from the first on.
    checkpoints: u64,
    damage: Option<NamedDamage>,
}

#[derive(Debug, Serialize)]
struct NamedDamage {
    /// `null` where the newest is missing.
    id: Option<CheckpointId>,
    n: u64,
    sentence: String,
}

pub(crate) fn run(args: &Args, project: &Project) -> Result<ExitCode, CommandError> {
    let loops = block_on(look(project, args))?;
    let verified = Verified {
        whole: loops.iter().all(|one| one.damage.is_none()),
        loops,
    };
    output::show(args.json, &verified, || {
        verified.loops.iter().map(render).collect()
    })?;
    Ok(if verified.whole {
        ExitCode::SUCCESS
    } else {
        ExitCode::from(DAMAGED)
    })
}

async fn look(project: &Project, args: &Args) -> Result<Vec<VerifiedLoop>, CommandError> {
    let (mut journal, repository) = journal(project).await?;
    let loops = if args.all {
        let loops = journal.checkpointed_loops(&repository).await;
        loops?
    } else {
        let named = args.loop_id.as_deref();
        vec![
            find_loop(project, &mut *journal, &repository, named)
                .await?
                .id,
        ]
    };
    let mut found = Vec::new();
    for loop_id in loops {
        found.push(look_through(&mut *journal, loop_id).await?);
    }
    Ok(found)
}

async fn look_through(
    journal: &mut dyn Journal,
    loop_id: LoopId,
) -> Result<VerifiedLoop, CommandError> {
    // Asked first: a loop that runs adds to both while this looks.
    let newest = journal.newest_record(&loop_id).await?;
    let made = journal.checkpoints_made(&loop_id).await?;
    let mut chain = Chain::default();
    let mut after = None;
    let damage = loop {
        let part = journal.checkpoint_chain(&loop_id, after, PAGE).await?;
        if let Err(damage) = part.iter().try_for_each(|link| chain.take(link)) {
            break Some(damage);
        }
        match part.last() {
            Some(last) => after = Some(last.n),
            None => break chain.end(newest, made).err(),
        }
    };
    Ok(VerifiedLoop {
        loop_id,
        checkpoints: chain.length(),
        damage: damage.map(|damage| NamedDamage {
            id: damage.id().cloned(),
            n: damage.n(),
            sentence: damage.to_string(),
        }),
    })
}

fn render(one: &VerifiedLoop) -> String {
    let many = usize::try_from(one.checkpoints).unwrap_or(usize::MAX);
    let many = count(many, "checkpoint", "checkpoints");
    match &one.damage {
        None => format!(
            "{} loop {}: {many}, the hash chain is intact\n",
            paint(Tone::Good, "ok"),
            one.loop_id
        ),
        Some(damage) => format!(
            "{} loop {}: {}; {many} before it are intact\n",
            paint(Tone::Bad, "damaged"),
            one.loop_id,
            damage.sentence
        ),
    }
}
