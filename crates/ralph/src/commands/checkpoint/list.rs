//! `ralph checkpoint list`: the newest checkpoints, newest first. Only reads.

use std::process::ExitCode;

use ralph_core::{
    checkpoint::{Checkpoint, Link, Trigger},
    id::LoopId,
};
use ralph_engine::store::CheckpointFilter;
use serde::Serialize;

use super::{find_loop, journal};
use crate::{
    error::CommandError,
    output,
    project::{Project, block_on},
    view::{
        Table, Tone, cell,
        figures::{ago_text, short_commit},
    },
};

#[derive(Debug, Default, clap::Args)]
pub(crate) struct Args {
    /// The loop, by the beginning of its id [default: the newest one here]
    #[arg(long = "loop", value_name = "LOOP", conflicts_with = "all")]
    pub(crate) loop_id: Option<String>,

    /// Checkpoints of all loops of this repository
    #[arg(long)]
    pub(crate) all: bool,

    /// Show at most this many
    #[arg(long, value_name = "N", default_value_t = 20)]
    pub(crate) limit: u32,

    /// Print JSON instead of text
    #[arg(long)]
    pub(crate) json: bool,
}

/// The JSON form is a contract (docs/json.md).
#[derive(Debug, Serialize)]
pub(crate) struct ListedCheckpoints {
    #[serde(rename = "loop")]
    loop_id: Option<LoopId>,
    checkpoints: Vec<ListedCheckpoint>,
}

#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
struct ListedCheckpoint {
    #[serde(flatten)]
    link: Link,
    /// These are `null` where the content can't be read.
    trigger: Option<Trigger>,
    task_id: Option<String>,
    note: Option<String>,
}

pub(crate) fn run(args: &Args, project: &Project) -> Result<ExitCode, CommandError> {
    let listed = block_on(gather(project, args))?;
    output::show(args.json, &listed, || render(&listed))
}

pub(crate) async fn gather(
    project: &Project,
    args: &Args,
) -> Result<ListedCheckpoints, CommandError> {
    let (mut journal, repository) = journal(project).await?;
    let named = args.loop_id.as_deref();
    let row = if args.all {
        None
    } else {
        Some(find_loop(project, &mut *journal, &repository, named).await?)
    };
    let of = row.as_ref().map_or(CheckpointFilter::Repository, |row| {
        CheckpointFilter::Loop(&row.id)
    });
    let links = journal.checkpoints(&repository, of, args.limit).await?;
    Ok(ListedCheckpoints {
        loop_id: row.map(|row| row.id),
        checkpoints: links.into_iter().map(one).collect(),
    })
}

fn one(link: Link) -> ListedCheckpoint {
    let checkpoint: Option<Checkpoint> = serde_json::from_str(&link.body).ok();
    let metadata = checkpoint.map(|checkpoint| checkpoint.metadata);
    ListedCheckpoint {
        trigger: metadata.as_ref().map(|metadata| metadata.trigger),
        task_id: metadata.as_ref().and_then(|m| m.task_id.clone()),
        note: metadata.and_then(|metadata| metadata.note),
        link,
    }
}

fn render(listed: &ListedCheckpoints) -> String {
    if listed.checkpoints.is_empty() {
        return "no checkpoint\n".to_owned();
    }
    let now = Project::now();
    let mut table = Table::new(6, 0);
    for one in &listed.checkpoints {
        let iteration = one
            .link
            .iteration
            .map_or_else(String::new, |n| format!("iteration {n}"));
        table.row([
            cell(Tone::Name, one.link.id.as_str()),
            cell(Tone::Plain, &one.link.phase),
            cell(
                Tone::Plain,
                one.trigger.map_or("unreadable", Trigger::as_str),
            ),
            cell(Tone::Plain, iteration),
            cell(Tone::Faint, short_commit(&one.link.commit)),
            cell(Tone::Faint, ago_text(&one.link.at, now)),
            cell(Tone::Plain, one.note.as_deref().unwrap_or_default()),
        ]);
    }
    table.render(output::width())
}
