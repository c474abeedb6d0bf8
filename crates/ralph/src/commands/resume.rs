//! `ralph resume`: lifts a pause; where no loop runs, starts one again on the same tasks.

use std::process::ExitCode;

use ralph_core::command::Command;
use ralph_engine::{driver::project_of, lock::Lock};

use super::{execute, run};
use crate::{
    cli::Global,
    error::CommandError,
    output,
    project::{Project, block_on},
    queue,
};

/// Where a loop runs here, it goes on in its own terminal. Where none does, this is `ralph run` with the
/// task source of the last loop, or `ralph execute` with its project, in this terminal.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// Who does the work, if the loop is started again
    #[arg(long, value_name = "AGENT")]
    agent: Option<String>,

    #[command(flatten)]
    look: run::Look,
}

pub(crate) fn run(args: Args, global: &Global) -> Result<ExitCode, CommandError> {
    let project = Project::open(global, Vec::new())?;
    if Lock::is_held(&project.data_dir()?, project.root()) {
        let said = queue::Said::new(args.look.is_json());
        return queue::send(global, &Command::Resume, &said, queue::PATIENCE);
    }
    let (source, executed) = block_on(async {
        match project.journal().await? {
            Some((mut journal, repository)) => {
                let source = queue::source_path(&project, &mut journal, &repository).await?;
                let last = journal.last_loop(&repository, &project.worktree()).await;
                let last = last.map_err(CommandError::internal)?;
                let executed = last.and_then(|row| project_of(&row.config));
                Ok((source, executed))
            }
            None => Ok((project.source_path(None)?, None)),
        }
    })?;
    if let Some(name) = executed {
        output::print_to_stderr(&format!(
            "no loop runs here: starting `ralph execute {name}`\n"
        ));
        let again = execute::Args::again(name.to_string(), args.agent, args.look);
        return execute::run(again, global);
    }
    let shown = project.shown(&source);
    output::print_to_stderr(&format!(
        "no loop runs here: starting `ralph run {shown}`\n"
    ));
    run::run(run::Args::again(source, args.agent, args.look), global)
}
