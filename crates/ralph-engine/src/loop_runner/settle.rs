//! Settles the task of an iteration: kept, looked into, set aside with a question, or
//! blocked.

use ralph_core::{
    config::Config,
    gutter::GutterFindings,
    task::TaskId,
    termination::{Last, Settled, TaskDecision, task_decision},
    verdict::Verdict,
};

use super::{Board, LoopError, LoopRunner};

impl LoopRunner {
    /// Does to the last task what was decided, once.
    pub(super) async fn settle(&mut self, task_decision: TaskDecision) -> Result<(), LoopError> {
        let tally = self.machine.tally();
        let Some(last) = &tally.last else {
            return Ok(());
        };
        let (task, verdict, n) = (last.task.clone(), last.verdict.clone(), tally.number);
        self.settle_task(&task, task_decision, (&verdict, n)).await
    }

    async fn settle_task(
        &mut self,
        task: &TaskId,
        task_decision: TaskDecision,
        after: (&Verdict, u64),
    ) -> Result<(), LoopError> {
        match task_decision {
            TaskDecision::Keep => Ok(()),
            TaskDecision::SetAside { question } => self.set_aside(task, question, after).await,
            TaskDecision::Diagnose { gutter } => self.diagnose_next(task, gutter).await,
            TaskDecision::Stuck { gutter, then } => self.stuck(task, (gutter, then), after.1).await,
            TaskDecision::Block { reason } => self.block(task, reason).await,
        }
    }

    /// A crash may have come between the end of an iteration and what follows from it.
    pub(super) async fn settle_interrupted(&mut self) -> Result<(), LoopError> {
        let worktree = self.place.root.to_string_lossy();
        let records = self
            .journal
            .last_records(&self.place.repository, &worktree)
            .await?;
        let ours = records.into_iter().find(|r| r.loop_id == self.loop_id);
        let Some(record) = ours else {
            return Ok(());
        };
        let Ok(task) = TaskId::parse(&record.task_id) else {
            return Ok(());
        };
        let source = self.board.source.name().to_owned();
        let questions = self
            .journal
            .questions(&self.place.repository, &source)
            .await?;
        let asked = questions.iter().any(|q| q.iteration == record.iteration);
        if asked || !self.board.is_ready(&task) {
            return Ok(());
        }
        let gutter_findings = self.gutter_findings(&task, &record.verdict).await?;
        let last = (&task, &record.verdict);
        let last = self
            .board
            .last(last, &gutter_findings, &self.settings.config);
        let task_decision = task_decision(&last, self.machine.limits());
        let after = (&record.verdict, record.iteration);
        self.settle_task(&task, task_decision, after).await
    }
}

/// The settled history of the last iteration, for deciding what follows from it.
impl Board {
    pub(super) fn last<'a>(
        &self,
        (task, verdict): (&'a TaskId, &'a Verdict),
        gutter_findings: &'a GutterFindings,
        config: &Config,
    ) -> Last<'a> {
        Last {
            task,
            verdict,
            attempts: self.attempts(task),
            max_attempts: self.max_attempts(task, config),
            idle_in_a_row: self.idle_in_a_row(task),
            gutter_findings,
            settled: Settled::NotYet,
        }
    }
}
