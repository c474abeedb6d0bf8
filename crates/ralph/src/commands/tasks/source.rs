//! `ralph tasks source`: the task file or folder that a run without a name works on; shows, sets or forgets it.
//!
//! The choice is in the journal, by repository: nothing in the repository says it, so that no agent can.

use std::{path::PathBuf, process::ExitCode};

use ralph_engine::source::{FoundBy, FoundSource};
use serde::Serialize;

use crate::{
    commands::CommandAccess,
    error::CommandError,
    output,
    project::{Project, SourceUse, block_on},
    queue,
};

#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// The task file or folder that `ralph run` works on from now on
    path: Option<PathBuf>,

    /// Forget the choice: ralph looks for tasks again
    #[arg(long, conflicts_with = "path")]
    forget: bool,

    /// Print one JSON document instead of text
    #[arg(long)]
    json: bool,
}

impl Args {
    pub(crate) fn access(&self) -> CommandAccess {
        CommandAccess::writes_unless(self.path.is_none() && !self.forget)
    }
}

/// The source in force; the JSON form is a contract (docs/json.md).
#[derive(Debug, Serialize)]
struct SourceInForce {
    /// `None`: a choice was forgotten, and none or several are found.
    source: Option<String>,
    by: Option<FoundBy>,
}

pub(super) fn run(args: &Args, project: &Project) -> Result<ExitCode, CommandError> {
    if let Some(path) = &args.path {
        let named = project.source_path(Some(path), SourceUse::Work(SourceUse::CHOOSE))?;
        // What can't be read as tasks is no choice.
        let (source, _, _) = project.read_source(&named)?;
        choose(project, Some(source.name()))?;
    } else if args.forget {
        choose(project, None)?;
    }
    let found = project.find_source(None);
    let found = match found {
        Err(_) if args.forget => None,
        found => Some(project.look_at_offered(found, SourceUse::Work(SourceUse::CHOOSE))?),
    };
    let in_force = SourceInForce {
        source: found.as_ref().map(|found| project.shown(&found.path)),
        by: found.as_ref().map(|found| found.by),
    };
    output::show(args.json, &in_force, || match &found {
        Some(found) => sentence(project, found),
        None => "the choice is forgotten: `ralph run` looks for tasks\n".to_owned(),
    })
}

fn choose(project: &Project, source: Option<&str>) -> Result<(), CommandError> {
    let root = project.git_root()?;
    block_on(async {
        let (mut journal, repository) = queue::open(project, &root).await?;
        journal.choose_source(&repository, source).await?;
        Ok(journal.close().await?)
    })
}

fn sentence(project: &Project, found: &FoundSource) -> String {
    let why = match found.by {
        FoundBy::Configured => "`tasks.source` of the configuration says so",
        FoundBy::Chosen => "chosen; `ralph tasks source --forget` forgets it",
        FoundBy::Alone => "the only tasks that were found",
        FoundBy::Named | FoundBy::Given => "named",
    };
    format!("{} ({why})\n", project.shown(&found.path))
}
