//! Turns the tree of a verified outcome into a commit.

mod in_place;

pub(crate) use in_place::InPlaceLanding;

use async_trait::async_trait;
use ralph_core::job::{Job, Outcome};

use crate::{error::LoopError, git::Oid};

pub(crate) const TASK_TRAILER: &str = "Ralph-Task";
pub(crate) const LOOP_TRAILER: &str = "Ralph-Loop";
pub(crate) const ITERATION_TRAILER: &str = "Ralph-Iteration";

/// The result of landing an outcome.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum LandResult {
    Landed {
        /// None where nothing had to be committed: a task that is right without a change, in a file
        /// that git does not know.
        commit: Option<Oid>,
        subject: String,
    },
    /// The branch has moved since: nothing was landed.
    Moved { reason: String },
}

#[async_trait(?Send)]
pub(crate) trait Landing {
    /// Lands a verified tree with the task's new status.
    async fn land(&mut self, job: &Job, outcome: &Outcome) -> Result<LandResult, LoopError>;
}
