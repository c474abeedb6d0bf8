//! `checkpoint restore` between two iterations: the branch goes back to the commit of a checkpoint.
//!
//! The checkpoint is read again here: what it says is trusted only if its hash is right.

use ralph_core::{
    command::{Extent, Others},
    id::CheckpointId,
};

use super::{
    super::rewrite::{
        Recovered, Restore, RestoreOutcome, RevertReport, plan_restore, recover, restore,
    },
    CommandExecutor, CommandOutcome, CommandRefusal, LoopError,
    revert::refused,
};

impl CommandExecutor<'_> {
    pub(super) async fn restore(
        &mut self,
        checkpoint: &CheckpointId,
        others: Others,
        extent: Extent,
    ) -> Result<CommandOutcome, CommandRefusal> {
        let wanted = self.wanted(checkpoint, others).await?;
        let mut ground = self.ground();
        let report = match extent {
            Extent::Plan => {
                let plan = plan_restore(&mut ground, &wanted).await.map_err(refused)?;
                RevertReport::from(&plan)
            }
            Extent::All => {
                // A crash may have come in the middle of it; then it is done, and not done twice.
                let recovered = recover(&mut ground).await.map_err(refused)?;
                match restore(&mut ground, &wanted).await.map_err(refused)? {
                    RestoreOutcome::Done(done) => RevertReport::from(&*done),
                    RestoreOutcome::Idle(plan) => match recovered {
                        Some(Recovered::Finished(sentence)) => {
                            return Ok(CommandOutcome::saying(sentence));
                        }
                        Some(Recovered::GivenUp(_)) | None => RevertReport::from(&*plan),
                    },
                }
            }
        };
        let mut outcome = CommandOutcome::saying(if report.is_idle() {
            format!("nothing to restore: {} is there already", report.branch)
        } else {
            report.sentence()
        });
        if report.done {
            outcome.effects.states = self.afresh(&report);
        }
        outcome.detail = serde_json::to_value(&report).ok();
        Ok(outcome)
    }

    async fn wanted(
        &mut self,
        checkpoint: &CheckpointId,
        others: Others,
    ) -> Result<Restore, CommandRefusal> {
        let found = self
            .journal
            .checkpoints_like(self.repository, checkpoint.as_str());
        let found = found.await.map_err(LoopError::from)?;
        let Some(link) = found.into_iter().find(|link| link.id == *checkpoint) else {
            return Err(CommandRefusal::Refused {
                sentence: format!("there is no checkpoint {checkpoint}"),
                hint: Some("`ralph checkpoint list --all` names them".into()),
            });
        };
        let read = link.read().map_err(|damage| CommandRefusal::Refused {
            sentence: damage.to_string(),
            hint: Some("`ralph checkpoint verify` looks through all of its loop".into()),
        })?;
        Ok(Restore {
            checkpoint: link.id,
            branch: read.recovery.branch,
            commit: read.recovery.commit,
            iteration: read.metadata.iteration,
            others,
        })
    }
}
