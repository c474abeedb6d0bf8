//! Gathers a checkpoint: the loop as the runner sees it when an iteration ends, when a phase
//! ends within one, and when the loop stops.
//!
//! Only gathers. It is written by the end of the iteration or the loop, in the same transaction.

use jiff::Timestamp;
use ralph_core::{
    checkpoint::{
        BlockedItem, CommandResult, ExecutionPhase, Found, Item, IterationWork, Left, MAX_ITEMS,
        Moment, Sealed, Spent, Stopped, Trigger,
    },
    id::CheckpointId,
    job::{Job, Outcome},
    record::{IterationRecord, VerificationRecord},
    task::{Task, TaskId},
    termination::Stop,
    verdict::Verdict,
};

use super::{Board, LoopRunner};
use crate::store::{Journal, JournalError, LoopRow, NewGuidance, RepositoryId};

/// A checkpoint that a person asks for.
#[derive(Debug, Clone)]
pub struct CheckpointRequest {
    pub note: Option<String>,
    pub who: String,
    /// The tip of the loop's branch.
    pub commit: String,
    pub at: Timestamp,
}

/// Makes the checkpoint that a person asked for, beside a loop or after it. A note is guidance for the next agent, too.
pub async fn create_checkpoint(
    journal: &mut dyn Journal,
    repository: &RepositoryId,
    row: &LoopRow,
    asked: CheckpointRequest,
) -> Result<Sealed, JournalError> {
    let moment = Moment {
        id: CheckpointId::new(uuid::Uuid::now_v7()),
        loop_id: row.id.clone(),
        at: asked.at,
        trigger: Trigger::Manual,
        note: asked.note.clone(),
        branch: row.branch.clone(),
        commit: asked.commit,
        agent: row.agent.clone(),
        work: None,
        pending: None,
        blocked: None,
        stopped: None,
    };
    let sealed = journal.add_checkpoint(repository, &moment).await?;
    if let Some(text) = asked.note {
        let guidance = NewGuidance {
            task: None,
            text,
            who: asked.who,
            at: asked.at,
            iteration: None,
        };
        let source = &row.source;
        journal.add_guidance(repository, source, &guidance).await?;
    }
    Ok(sealed)
}

impl LoopRunner {
    /// After an iteration.
    pub(super) fn checkpoint_after(
        &self,
        job: &Job,
        outcome: &Outcome,
        record: &IterationRecord,
    ) -> Moment {
        let redaction = self.redaction();
        let found = Found::in_record(record);
        let commit = record.git.result_commit.as_ref();
        let agent = record.runs.last().map(|run| run.agent.clone());
        let work = IterationWork {
            iteration: record.iteration,
            task: redaction.hide_in(item(&job.task)),
            found,
            sentence: record.verdict.sentence(),
            kept: record.git.kept_ref.clone(),
            said: record.said.block.clone(),
            handed_over: match record.verdict {
                Verdict::Handoff { .. } => outcome.log.handoff.as_ref().map(|h| h.sentence.clone()),
                _ => None,
            },
            failed_calls: outcome.log.failed_calls.clone(),
            spent: Some(Spent {
                usage: record.usage,
                tool_calls: outcome.log.tool_calls,
            }),
            verification: results(&record.verification),
        };
        let mut moment = Moment {
            agent: agent.unwrap_or_else(|| self.runtime.pool.main_name()),
            commit: commit.unwrap_or(&record.git.base_commit).clone(),
            at: record.ended_at,
            pending: Some(redaction.hide_in(self.board.pending(&job.task.id, found))),
            blocked: Some(redaction.hide_in(self.board.held())),
            work: Some(Box::new(work)),
            ..self.moment(Trigger::Iteration)
        };
        if moment.phase(None) == ExecutionPhase::Handoff {
            moment.trigger = Trigger::Handoff;
        }
        moment
    }

    /// Between two runs of an iteration, without what the runs bring.
    pub(super) fn phase_template(&self, job: &Job) -> Moment {
        let pending = self.board.pending(&job.task.id, Found::Checked);
        Moment {
            commit: job.start.base_commit.clone(),
            pending: Some(self.redaction().hide_in(pending)),
            blocked: Some(self.redaction().hide_in(self.board.held())),
            ..self.moment(Trigger::Phase)
        }
    }

    /// When the loop stops.
    pub(super) fn checkpoint_at(&self, stop: &Stop) -> Moment {
        let left = match (stop, self.board.all_complete()) {
            (Stop::AllComplete, _) | (_, true) => Left::Nothing,
            (_, false) => Left::Work,
        };
        let blocked = self.board.blocked().into_iter().map(|one| BlockedItem {
            item: one.task,
            reason: one.by.join("; "),
        });
        Moment {
            pending: Some(self.redaction().hide_in(self.board.ready())),
            blocked: Some(blocked.take(MAX_ITEMS).collect()),
            stopped: Some(Stopped {
                sentence: stop.sentence(),
                left,
            }),
            ..self.moment(Trigger::Stop)
        }
    }

    fn moment(&self, trigger: Trigger) -> Moment {
        let tip = self
            .place
            .repo
            .branch_tip(&self.place.branch)
            .ok()
            .flatten();
        Moment {
            id: CheckpointId::new(uuid::Uuid::now_v7()),
            loop_id: self.loop_id.clone(),
            at: self.now(),
            trigger,
            note: None,
            branch: self.place.branch.clone(),
            commit: tip.as_ref().unwrap_or(&self.place.base).to_string(),
            agent: self.runtime.pool.main_name(),
            work: None,
            pending: None,
            blocked: None,
            stopped: None,
        }
    }
}

impl Board {
    /// Returns what comes next after work at a task: itself, as long as it is not done, then what is ready.
    fn pending(&self, task: &TaskId, found: Found) -> Vec<Item> {
        let own = self.task(task).filter(|_| found != Found::Complete);
        let others = self.ready().into_iter();
        let others = others.filter(|other| other.task_id != task.as_str());
        own.map(item).into_iter().chain(others).collect()
    }

    /// The first of the tasks that can be taken.
    fn ready(&self) -> Vec<Item> {
        let ready = self.ready_ids().take(MAX_ITEMS);
        ready.filter_map(|id| self.task(id)).map(item).collect()
    }

    /// Tasks that wait for a person's answer.
    fn held(&self) -> Vec<BlockedItem> {
        let mut held: Vec<(&TaskId, &str)> = self.open_question_texts().collect();
        held.sort_unstable();
        let held = held.into_iter().take(MAX_ITEMS);
        held.map(|(id, question)| BlockedItem {
            item: id.to_string(),
            reason: format!("waits for an answer: {question}"),
        })
        .collect()
    }
}

fn item(task: &Task) -> Item {
    Item {
        task_id: task.id.to_string(),
        title: task.text.title.clone(),
    }
}

/// Returns what verification found after the last run.
pub(super) fn results(all: &[VerificationRecord]) -> Vec<CommandResult> {
    let last = all.iter().map(|one| one.run).max();
    let of_last = all.iter().filter(|one| Some(one.run) == last);
    let result = |one: &VerificationRecord| CommandResult {
        command: one.command.clone(),
        outcome: one.outcome.clone(),
        passed: one.passed,
    };
    of_last.map(result).collect()
}
