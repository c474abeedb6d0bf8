//! Questions for people, and tasks that are blocked: what is written and told of them.

use ralph_core::{
    escalation::AskedBy,
    event::Event,
    signal::Escalation,
    task::{Status, TaskId},
    verdict::Verdict,
};

use super::{LoopError, LoopRunner};
use crate::store::{NewQuestion, TaskHistory};

/// A question that is about to be asked.
pub(super) struct QuestionDraft {
    pub(super) question: String,
    pub(super) escalation: Option<Escalation>,
    pub(super) by: AskedBy,
}

/// A question as lists show it; its whole block is kept beside it.
const MOST_ASKED: usize = 500;

impl LoopRunner {
    /// A person has to answer before this task is taken again.
    pub(super) async fn set_aside(
        &mut self,
        task: &TaskId,
        question: String,
        (verdict, iteration): (&Verdict, u64),
    ) -> Result<(), LoopError> {
        let by_agent = *verdict == Verdict::Escalated;
        let own = self.board.state(task).and_then(|s| s.escalation.clone());
        let escalation = own.filter(|_| by_agent);
        let asking = QuestionDraft {
            question: escalation.as_ref().and_then(in_short).unwrap_or(question),
            escalation,
            by: if by_agent {
                AskedBy::Agent
            } else {
                AskedBy::Ralph
            },
        };
        self.ask(task, asking, iteration).await
    }

    pub(super) async fn ask(
        &mut self,
        task: &TaskId,
        asking: QuestionDraft,
        iteration: u64,
    ) -> Result<(), LoopError> {
        // What the task says now is what the question is about.
        self.reload_tasks().await?;
        let mut state = self.board.state(task).cloned().unwrap_or_default();
        state.asked_of = self.board.task(task).map(ralph_core::board::wording);
        let new = NewQuestion {
            task: task.clone(),
            iteration,
            asked_by: asking.by,
            question: asking.question,
            escalation: asking.escalation,
            at: self.now(),
        };
        let source = self.board.source.name().to_owned();
        let id = self
            .journal
            .ask_question(&self.place.repository, &source, &new, &mut state)
            .await?;
        self.board.set_state(task, state);
        self.tell(&Event::Question {
            id,
            task: task.to_string(),
            question: new.question,
            escalation: new.escalation,
        });
        Ok(())
    }

    /// Out of attempts: said in the file too, so that a person sees it and can open it again.
    pub(super) async fn block(&mut self, task: &TaskId, reason: String) -> Result<(), LoopError> {
        let state = TaskHistory {
            blocked: Some(reason.clone()),
            ..self.board.state(task).cloned().unwrap_or_default()
        };
        self.save_state(task, state).await?;
        self.board.write_status(task, Status::Blocked, None)?;
        self.board.mark(task, Status::Blocked)?;
        self.tell(&Event::TaskBlocked {
            task: task.to_string(),
            reason,
        });
        Ok(())
    }

    pub(super) async fn save_state(
        &mut self,
        task: &TaskId,
        state: TaskHistory,
    ) -> Result<(), LoopError> {
        let source = self.board.source.name().to_owned();
        self.journal
            .set_task_state(&self.place.repository, &source, task, &state)
            .await?;
        self.board.set_state(task, state);
        Ok(())
    }
}

/// Returns what an agent asks, in its own words, where it found some.
fn in_short(escalation: &Escalation) -> Option<String> {
    let words = [&escalation.question, &escalation.summary];
    let found = words.into_iter().find(|text| !text.trim().is_empty());
    found.map(|text| ralph_core::sanitize::one_line(text, MOST_ASKED))
}
