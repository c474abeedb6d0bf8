//! What follows from an iteration for its task: kept, looked into, set aside with a question, or
//! blocked.

use ralph_core::{
    config::Config,
    gutter::Circling,
    task::TaskId,
    termination::{Fate, Last, Settled, fate},
    verdict::Verdict,
};

use super::{Board, LoopError, LoopRunner};

impl LoopRunner {
    /// Does to the last task what was decided, once.
    pub(super) async fn settle(&mut self, fate: Fate) -> Result<(), LoopError> {
        let tally = self.machine.tally();
        let Some(last) = &tally.last else {
            return Ok(());
        };
        let (task, verdict, n) = (last.task.clone(), last.verdict.clone(), tally.number);
        self.settle_task(&task, fate, (&verdict, n)).await
    }

    async fn settle_task(
        &mut self,
        task: &TaskId,
        fate: Fate,
        after: (&Verdict, u64),
    ) -> Result<(), LoopError> {
        match fate {
            Fate::Keep => Ok(()),
            Fate::SetAside { question } => self.set_aside(task, question, after).await,
            Fate::Diagnose { gutter } => self.diagnose_next(task, gutter).await,
            Fate::Stuck { gutter, then } => self.stuck(task, (gutter, then), after.1).await,
            Fate::Block { reason } => self.block(task, reason).await,
        }
    }

    /// A crash may have come between the end of an iteration and what follows from it.
    pub(super) async fn settle_leftover(&mut self) -> Result<(), LoopError> {
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
        let circling = self.circling(&task, &record.verdict).await?;
        let last = (&task, &record.verdict);
        let last = self.board.last(last, &circling, &self.settings.config);
        let fate = fate(&last, self.machine.limits());
        let after = (&record.verdict, record.iteration);
        self.settle_task(&task, fate, after).await
    }
}

/// The settled history of the last iteration, for deciding what follows from it.
impl Board {
    pub(super) fn last<'a>(
        &self,
        (task, verdict): (&'a TaskId, &'a Verdict),
        circling: &'a Circling,
        config: &Config,
    ) -> Last<'a> {
        Last {
            task,
            verdict,
            attempts: self.attempts(task),
            max_attempts: self.max_attempts(task, config),
            circling,
            settled: Settled::NotYet,
        }
    }
}
