//! The kind of work of a loop: the tasks of a file, a project of artefacts, or one goal.

use std::path::{Path, PathBuf};

use ralph_core::{artefacts::ProjectName, config::Config, goal::Goal};

use super::{Board, LoopError, files::instructions_path};
use crate::{
    artefacts::{Artefacts, EXECUTE_TEMPLATE},
    source::Source,
    store::{Journal, RepositoryId},
};

/// The kind of work that a loop does.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub enum Mode {
    /// `ralph run`: the task file is all there is.
    #[default]
    Run,
    /// `ralph execute`.
    Execute(Execution),
    /// `ralph loop`: one goal, step by step.
    Goal(Goal),
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Execution {
    pub project: ProjectName,
    pub iterations: Iterations,
}

/// The number of iterations that there may be.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Iterations {
    /// As many as the open tasks have attempts.
    ByTasks,
    /// As the configuration says.
    Configured,
}

impl Mode {
    /// The file of a person's own words that every prompt has, which no agent may change.
    pub(super) fn prompt_path(&self, root: &Path, source: &Source) -> Option<PathBuf> {
        match self {
            Self::Run => instructions_path(source),
            Self::Goal(_) => None,
            Self::Execute(_) => Some(root.join(EXECUTE_TEMPLATE)),
        }
    }

    /// Returns how many iterations there may be in this run of the command.
    pub(super) fn max_iterations(&self, config: &Config, board: &Board) -> u32 {
        match self {
            Self::Execute(execution) if execution.iterations == Iterations::ByTasks => {
                board.attempts_of_open(config).max(1)
            }
            Self::Run | Self::Execute(_) | Self::Goal(_) => config.loop_.max_iterations,
        }
    }
}

/// Opens the files of the project that a loop is to execute, if it is to execute one.
pub(super) async fn artefacts_of_mode(
    mode: &Mode,
    root: &Path,
    state_dir: &Path,
    journal: &mut dyn Journal,
    repository: &RepositoryId,
) -> Result<Option<Artefacts>, LoopError> {
    let Mode::Execute(execution) = mode else {
        return Ok(None);
    };
    let worktree = root.to_string_lossy();
    let unfinished = match journal.interrupted_loop(repository, &worktree).await? {
        Some(row) => journal.unfinished_iteration(&row.id).await?,
        None => None,
    };
    let unfinished = unfinished.map(|iteration| iteration.start.id);
    Artefacts::open(&execution.project, root, state_dir, unfinished.as_ref()).map(Some)
}

/// The project that a loop in the journal executed, if it did.
pub fn project_of(config: &str) -> Option<ProjectName> {
    let kept: serde_json::Value = serde_json::from_str(config).ok()?;
    ProjectName::parse(kept["project"].as_str()?).ok()
}
