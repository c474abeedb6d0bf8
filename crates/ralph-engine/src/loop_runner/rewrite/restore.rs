//! `restore`: puts the branch back to the commit of a checkpoint, by the way that a revert goes.
//!
//! Refuses what a revert refuses, and a checkpoint whose commit is not in the history of HEAD. What
//! goes is kept by a ref; records and checkpoints stay.

use ralph_core::{command::Others, id::CheckpointId};

use super::{
    Ground, RevertPlan, Reverted, RewriteError, oid, recover,
    revert::{Back, carry_out, plan_back},
};

/// A checkpoint to go back to, as far as the branch is concerned.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Restore {
    pub checkpoint: CheckpointId,
    pub branch: String,
    pub commit: String,
    /// The newest iteration that it knows of.
    pub iteration: Option<u64>,
    pub others: Others,
}

/// Works out what would go, or why nothing may. Changes nothing.
pub async fn plan_restore(
    ground: &mut Ground<'_>,
    wanted: &Restore,
) -> Result<RevertPlan, RewriteError> {
    let head = ground.settled_head().await?;
    let target = oid(&wanted.commit)?;
    let (id, branch) = (wanted.checkpoint.clone(), wanted.branch.clone());
    if branch != head.branch {
        let found = head.branch;
        return Err(RewriteError::CheckpointElsewhere { id, branch, found });
    }
    if !ground.repo.holds(&head.oid, &target).await? {
        let commit = target.short().to_owned();
        return Err(RewriteError::CheckpointGone { id, commit, branch });
    }
    let back = Back {
        target,
        since: wanted.iteration.unwrap_or(0),
        others: wanted.others,
    };
    plan_back(ground, head, back).await
}

/// The result of a restore.
#[derive(Debug)]
pub enum RestoreOutcome {
    Done(Box<Reverted>),
    /// The branch and the tasks are where they are to be.
    Idle(Box<RevertPlan>),
}

/// Puts the branch back.
pub async fn restore(
    ground: &mut Ground<'_>,
    wanted: &Restore,
) -> Result<RestoreOutcome, RewriteError> {
    recover(ground).await?;
    let plan = plan_restore(ground, wanted).await?;
    if plan.is_idle() {
        return Ok(RestoreOutcome::Idle(Box::new(plan)));
    }
    let done = carry_out(ground, plan).await?;
    Ok(RestoreOutcome::Done(Box::new(done)))
}

impl RevertPlan {
    /// Nothing would change.
    pub fn is_idle(&self) -> bool {
        self.commits.is_empty() && self.reopened.is_empty()
    }
}
