//! `revert` between two iterations: the branch goes back, and the tasks of what went are open again.

use ralph_core::{
    command::{Extent, Others},
    task::TaskId,
};

use super::{
    super::rewrite::{
        Ground, Revert, RevertReport, RewriteError, already_reverted, plan_revert, recover, revert,
    },
    CommandExecutor, CommandOutcome, CommandRefusal, LoopError,
};
use crate::store::{CommandRow, TaskHistory};

impl CommandExecutor<'_> {
    pub(super) async fn revert(
        &mut self,
        row: &CommandRow,
        wanted: (u64, Others, Extent),
    ) -> Result<CommandOutcome, CommandRefusal> {
        let (iteration, others, extent) = wanted;
        let wanted = Revert { iteration, others };
        let mut ground = self.ground();
        let report = match extent {
            Extent::Plan => plan_revert(&mut ground, wanted)
                .await
                .map(|plan| (&plan).into()),
            Extent::All => {
                // A crash may have come in the revert, or between it and the end of this command.
                recover(&mut ground).await.map_err(refused)?;
                if let Some(reference) = already_reverted(&mut ground, iteration, row.at).await? {
                    return Ok(CommandOutcome::saying(format!(
                        "iteration {iteration} is taken back; what was dropped is kept: {reference}"
                    )));
                }
                revert(&mut ground, wanted).await.map(|done| (&done).into())
            }
        };
        let report: RevertReport = report.map_err(refused)?;
        let mut outcome = CommandOutcome::saying(report.sentence());
        if extent == Extent::All {
            outcome.effects.states = self.afresh(&report);
        }
        outcome.detail = serde_json::to_value(&report).ok();
        Ok(outcome)
    }

    pub(super) fn ground(&mut self) -> Ground<'_> {
        Ground {
            root: self.root,
            repo: self.repo,
            journal: self.journal,
            repository: self.repository,
            own: self.own,
            progress: self.progress,
            now: self.now,
        }
    }

    /// The tasks of this source that are open again: nothing of their past counts.
    pub(super) fn afresh(&self, report: &RevertReport) -> Vec<(TaskId, TaskHistory)> {
        let source = self.board.source.name();
        let reopened = report.reopened.iter().filter(|t| t.source == source);
        let tasks = reopened.filter_map(|task| {
            let mut tasks = self.board.graph().tasks().iter();
            tasks.find(|t| *t.id.as_str() == *task.task_id)
        });
        tasks
            .map(|task| (task.id.clone(), TaskHistory::default()))
            .collect()
    }
}

/// Turns what can't be done into a refusal; what went wrong stays an error.
pub(super) fn refused(error: RewriteError) -> CommandRefusal {
    match error {
        error if error.is_internal() => CommandRefusal::Failed(LoopError::Rewrite(Box::new(error))),
        error => CommandRefusal::Refused {
            hint: error.hint(),
            sentence: error.to_string(),
        },
    }
}
