//! `ralph checkpoint create`: keeps where the loop stands now, from any terminal.
//!
//! Only writes to the journal: it takes no lock, and never disturbs a loop.

use std::process::ExitCode;

use ralph_engine::{
    git,
    lock::Lock,
    loop_runner::{CheckpointRequest, create_checkpoint},
    store::{CheckpointFilter, Journal, LoopRow, RepositoryId},
};

use super::{ShownCheckpoint, find_loop, journal};
use crate::{
    cli::Global,
    error::CommandError,
    output,
    project::{Project, block_on},
};

#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// A note for the checkpoint, and guidance for the next agent
    #[arg(long, short, value_name = "TEXT")]
    note: Option<String>,

    /// Print the checkpoint as JSON
    #[arg(long)]
    json: bool,
}

pub(crate) fn run(args: &Args, global: &Global) -> Result<ExitCode, CommandError> {
    if args
        .note
        .as_deref()
        .is_some_and(|note| note.trim().is_empty())
    {
        return Err(CommandError::user("--note is empty").hint("leave it out"));
    }
    let project = Project::open(global, Vec::new())?;
    let shown = block_on(create(&project, args.note.as_deref()))?;
    output::show(args.json, &shown, || {
        let metadata = &shown.checkpoint.metadata;
        let (id, n, loop_id) = (&metadata.checkpoint_id, metadata.n, &metadata.loop_id);
        format!("checkpoint {id}, number {n} of loop {loop_id}\n")
    })
}

pub(crate) async fn create(
    project: &Project,
    note: Option<&str>,
) -> Result<ShownCheckpoint, CommandError> {
    let (mut journal, repository) = journal(project).await?;
    let row = find_loop(project, &mut *journal, &repository, None).await?;
    let commit = commit(project, &mut *journal, &repository, &row).await?;
    let asked = CheckpointRequest {
        note: note.map(|note| output::without_secrets(note.trim()).into_owned()),
        who: project.who(),
        commit,
        at: Project::now(),
    };
    let sealed = create_checkpoint(&mut *journal, &repository, &row, asked).await;
    let sealed = sealed.map_err(CommandError::internal)?;
    Ok(ShownCheckpoint::new(sealed.checkpoint, sealed.hash))
}

/// The tip of the loop's branch. While a loop runs, an agent may have put a commit of its own there,
/// which ralph has not looked at: then it is what the loop's last checkpoint says.
async fn commit(
    project: &Project,
    journal: &mut dyn Journal,
    repository: &RepositoryId,
    row: &LoopRow,
) -> Result<String, CommandError> {
    let root = project.root();
    if !Lock::is_held(&project.data_dir()?, root) {
        let tip = git::read_branch_tip(root, &row.branch).map_err(CommandError::internal)?;
        if let Some(tip) = tip {
            return Ok(tip.to_string());
        }
    }
    let last = journal
        .checkpoints(repository, CheckpointFilter::Loop(&row.id), 1)
        .await?
        .pop();
    Ok(last.map_or_else(|| row.base_commit.clone(), |last| last.commit))
}
