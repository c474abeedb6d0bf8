//! Keeps the work of an attempt that did not land: under a ref of its own, with the base put back.

use ralph_core::{
    escalation::AskedBy,
    event::Event,
    iteration::{Purpose, StepDone},
    loop_machine::WorkMoved,
    signal::Escalation,
    task::{Status, TaskId},
    verdict::Verdict,
};

use super::{
    Driver, LoopError,
    inspect::Findings,
    notes::{AgentSeen, Turn},
};
use crate::{
    git::{History, ResetSpec, Staged},
    store::{NewQuestion, TaskState},
};

/// A question that is about to be asked.
pub(super) struct Asking {
    pub(super) question: String,
    pub(super) escalation: Option<Escalation>,
    pub(super) by: AskedBy,
}

/// A question as lists show it; its whole block is kept beside it.
const MOST_ASKED: usize = 500;

impl Driver {
    pub(super) async fn keep(&mut self, turn: &mut Turn) -> Result<StepDone, LoopError> {
        if turn.agent == AgentSeen::NotYet {
            return self.keep_as_it_was(turn).await;
        }
        // An agent that did not end well was not inspected: its claims in files are put back here.
        let mut found = Findings::default();
        self.put_own_files_back(turn, &mut found)?;
        turn.notes.flags.extend(found.into_flags());
        if let Some(guard) = &self.guard {
            guard.restore_changed()?;
        }
        let parts = self.stage_spec(turn);
        let staged = self
            .repo
            .stage(&parts.as_spec(&self.branch, &self.policy))
            .await?;
        match staged.history {
            History::Unmoved | History::Ahead { .. } => {}
            History::Rewritten { .. } | History::LeftBranch { .. } => {
                self.repo
                    .undo_moved_history(&self.branch, &turn.base, turn.id())
                    .await?;
            }
        }
        turn.moved = self.moved(turn, &staged).await?;
        if staged.change.is_empty() {
            // A commit that holds nothing but ralph's own files is not to stay on the branch.
            if let History::Ahead { .. } = staged.history {
                self.reset(turn).await?;
            }
            // Nothing to keep, or kept before a crash.
            let name = crate::git::attempt_ref(turn.id());
            let kept = self.repo.attempt_commit(&name)?.map(|_| name);
            return Ok(StepDone::Kept { reference: kept });
        }
        if turn.purpose() == Purpose::Diagnosis {
            return self.put_aside(turn, &staged.tree).await;
        }
        let reference = self
            .repo
            .save_attempt(turn.id(), &turn.base, &staged.tree)
            .await?;
        self.write_patch(turn, &staged.tree).await?;
        self.reset(turn).await?;
        Ok(StepDone::Kept {
            reference: Some(reference),
        })
    }

    /// Whether an agent that hands over leaves anything else than what it found.
    async fn moved(&self, turn: &Turn, staged: &Staged) -> Result<WorkMoved, LoopError> {
        let is_handoff = turn.notes.handoff.is_some();
        let differs = match (&turn.taken_up, staged.change.is_empty()) {
            _ if !is_handoff => true,
            (_, true) => false,
            (None, false) => true,
            (Some(found), false) => {
                let (_, total) = self.repo.diff_stat(found, &staged.tree, 1).await?;
                total > 0
            }
        };
        Ok(match differs {
            true => WorkMoved::Yes,
            false => WorkMoved::No,
        })
    }

    /// Nobody has worked yet: what is in the tree is at most a part of the last attempt, which is
    /// kept already.
    async fn keep_as_it_was(&mut self, turn: &Turn) -> Result<StepDone, LoopError> {
        self.reset(turn).await?;
        let state = self.board.state(turn.task_id());
        let reference = state.filter(|s| s.goes_on).and_then(|s| s.kept_ref.clone());
        Ok(StepDone::Kept { reference })
    }

    pub(super) async fn reset(&self, turn: &Turn) -> Result<(), LoopError> {
        let own = self.own_paths();
        let reset = ResetSpec {
            branch: &self.branch,
            base: &turn.base,
            keep_untracked: &turn.untracked,
            own_paths: &own,
        };
        Ok(self.repo.reset_to(&reset).await?)
    }

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
        let asking = Asking {
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
        asking: Asking,
        iteration: u64,
    ) -> Result<(), LoopError> {
        // What the task says now is what the question is about.
        self.reload_tasks().await?;
        let mut state = self.board.state(task).cloned().unwrap_or_default();
        state.asked_of = self.board.task(task).map(super::board::wording);
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
            .ask(&self.repository, &source, &new, &mut state)
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
        let state = TaskState {
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
        state: TaskState,
    ) -> Result<(), LoopError> {
        let source = self.board.source.name().to_owned();
        self.journal
            .set_task_state(&self.repository, &source, task, &state)
            .await?;
        self.board.set_state(task, state);
        Ok(())
    }
}

/// What an agent asks, in its own words, where it found some.
fn in_short(escalation: &Escalation) -> Option<String> {
    let words = [&escalation.question, &escalation.summary];
    let found = words.into_iter().find(|text| !text.trim().is_empty());
    found.map(|text| ralph_core::sanitize::one_line(text, MOST_ASKED))
}
