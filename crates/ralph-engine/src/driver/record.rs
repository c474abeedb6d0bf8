//! Ends an iteration: one transaction in the journal, then the files that can be rebuilt from it.

use ralph_core::{
    agent::Usage,
    artefacts::state::EntryStatus,
    checkpoint::ExecutionPhase,
    dollars::Dollars,
    economics::Totals,
    event::Event,
    health::HealthState,
    iteration::{Action, Failure, Lands, Purpose, StepDone},
    loop_machine::WorkMoved,
    memory::Entry,
    record::{GitRecord, IterationRecord},
    task::Status,
    verdict::Verdict,
};

use super::{Driver, LoopError, logs::Logs, notes::Turn};
use crate::{
    failpoint::failpoint,
    store::{IterationEnd, TaskState},
};

/// An iteration whose end is written down.
pub(super) struct Finished {
    pub(super) number: u64,
    pub(super) verdict: Verdict,
    pub(super) health: HealthState,
    pub(super) moved: WorkMoved,
    pub(super) usage: Usage,
    pub(super) spent: Dollars,
}

impl Driver {
    pub(super) async fn finish_turn(
        &mut self,
        mut turn: Turn,
        mut logs: Logs,
    ) -> Result<Finished, LoopError> {
        let Action::Record { verdict } = turn.machine.next() else {
            // Recorded before a crash: only the files are left, and they can wait.
            return Ok(Finished {
                number: turn.n,
                verdict: Verdict::Interrupted,
                health: turn.notes.health,
                moved: turn.moved,
                usage: Usage::default(),
                spent: Dollars::NOTHING,
            });
        };
        self.write_entry(&turn, entry_status(&verdict), &verdict.sentence())?;
        let mut record = self.record(&turn, &verdict);
        record.trace = self.trace(&turn, &verdict).await?;
        let state = match turn.purpose() {
            Purpose::Attempt => self.task_state(&turn, &verdict),
            Purpose::Diagnosis => {
                record.diagnosis = self.diagnosis(&turn, &verdict);
                self.state_after_diagnosis(&turn, &verdict, record.diagnosis.clone())
            }
        };
        let source = self.board.source.name().to_owned();
        if verdict == Verdict::Verified {
            // What it was in the way of is ready, and so part of the checkpoint.
            self.board.mark(turn.task_id(), Status::Completed)?;
        }
        let moment = self.checkpoint_after(&turn, &record);
        let accounts = self.accounts(&turn);
        let end = IterationEnd {
            pending: &turn.pending,
            record: &record,
            state: &state,
            checkpoint: Some(&moment),
            accounts: &accounts,
        };
        self.journal
            .end_iteration(&self.repository, &source, end)
            .await?;
        failpoint("recorded");
        self.add_to_status(&record, &moment.id);
        if matches!(verdict, Verdict::Handoff { .. }) {
            self.hand_over_status()?;
        }
        turn.machine.apply(&StepDone::Recorded)?;
        self.after_record(&turn, &verdict, state)?;
        self.append_progress(&progress_entry(&turn, &record))?;
        logs.heading("verdict");
        logs.line(&verdict.sentence());
        let tail = turn
            .notes
            .failure
            .as_ref()
            .map(|f| f.tail.clone())
            .unwrap_or_default();
        let log = logs.shown.clone();
        self.tell_diagnosis(&record, &mut logs);
        logs.finish(&record)?;
        failpoint("files-written");
        let seconds =
            (record.ended_at.as_millisecond() - record.started_at.as_millisecond()) as f64 / 1000.0;
        self.tell(&Event::IterationEnded {
            iteration: turn.n,
            task: turn.task_id().to_string(),
            outcome: verdict.outcome(),
            verdict: verdict.clone(),
            seconds,
            usage: record.usage,
            tail: if matches!(verdict, Verdict::Failed { .. }) {
                tail
            } else {
                String::new()
            },
            log,
        });
        Ok(Finished {
            number: turn.n,
            health: record.health_state,
            moved: turn.moved,
            usage: record.usage,
            spent: Totals::sum(&accounts.records).spent,
            verdict,
        })
    }

    fn record(&self, turn: &Turn, verdict: &Verdict) -> IterationRecord {
        let notes = &turn.notes;
        IterationRecord {
            iteration_id: turn.id().clone(),
            iteration: turn.n,
            loop_id: self.loop_id.clone(),
            task_id: turn.task_id().to_string(),
            title: turn.task.text.title.clone(),
            attempt: turn.start.attempt,
            started_at: turn.began(),
            ended_at: self.now(),
            runs: notes.runs.clone(),
            git: GitRecord {
                branch: self.branch.clone(),
                base_commit: turn.base.to_string(),
                result_commit: notes.commit.clone(),
                kept_ref: notes.kept.clone(),
                files_changed: notes
                    .change
                    .as_ref()
                    .map(|c| c.files.clone())
                    .unwrap_or_default(),
            },
            verification: notes.verification.clone(),
            unverified: turn.machine.is_unverified(),
            verdict: verdict.clone(),
            outcome: verdict.outcome(),
            feedback: feedback(turn, verdict),
            flags: notes.flags.clone(),
            said: notes.said.clone(),
            guidance: turn.guidance.clone(),
            trace: None,
            diagnoses: turn.start.diagnose.clone(),
            diagnosis: None,
            usage: notes.usage(),
            health_state: notes.health,
        }
    }

    /// What the iteration comes to for its task.
    fn task_state(&self, turn: &Turn, verdict: &Verdict) -> TaskState {
        let before = self
            .board
            .state(turn.task_id())
            .cloned()
            .unwrap_or_default();
        // One that is reached stays so for whoever looks again.
        let progress = before.progress + u32::from(turn.start.lands == Lands::Each);
        if *verdict == Verdict::Verified {
            return TaskState {
                attempts: self.board.attempts(turn.task_id()),
                progress,
                ..TaskState::default()
            };
        }
        if *verdict == Verdict::Progress {
            return TaskState {
                progress,
                ..TaskState::default()
            };
        }
        let charged = u32::from(verdict.is_charged());
        let (last_signature, same_failure) = match verdict {
            Verdict::Failed { signature, .. } => {
                let again = before.last_signature.as_deref() == Some(signature);
                (
                    Some(signature.clone()),
                    if again { before.same_failure + 1 } else { 1 },
                )
            }
            // An interruption says nothing about the failure that went before it.
            v if !v.is_charged() => (before.last_signature, before.same_failure),
            _ => (None, 0),
        };
        let kept = turn.notes.kept.clone();
        let (feedback, last_verdict) =
            told_next(turn, verdict, before.feedback, before.last_verdict);
        TaskState {
            attempts: self.board.attempts(turn.task_id()) + charged,
            last_signature,
            same_failure,
            goes_on: verdict.keeps_work() && kept.is_some(),
            kept_ref: kept,
            feedback,
            last_verdict: Some(last_verdict),
            escalation: turn.notes.said.escalation.clone(),
            gutter: before.gutter,
            handoff: before.handoff.after(verdict, told_phase(turn)),
            progress: before.progress,
            ..TaskState::default()
        }
    }

    fn after_record(
        &mut self,
        turn: &Turn,
        verdict: &Verdict,
        state: TaskState,
    ) -> Result<(), LoopError> {
        let attempts = state.attempts;
        self.board.set_state(turn.task_id(), state);
        if *verdict == Verdict::Verified {
            return Ok(());
        }
        let is_attempt = turn.purpose() == Purpose::Attempt;
        if verdict.is_charged() && is_attempt && turn.task.attempts.made.is_some() {
            self.board
                .write_status(turn.task_id(), turn.task.status, Some(attempts))?;
        }
        Ok(())
    }
}

/// The phase that the agent said to be in.
fn told_phase(turn: &Turn) -> Option<ExecutionPhase> {
    let told = turn.notes.said.block.phase.as_deref()?;
    told.parse().ok()
}

fn entry_status(verdict: &Verdict) -> EntryStatus {
    match verdict {
        Verdict::Verified => EntryStatus::Completed,
        _ => EntryStatus::Attempted,
    }
}

/// What the next attempt is told of this one. An iteration that was cut short says nothing new: what
/// failed before it is still to be put right.
fn told_next(
    turn: &Turn,
    verdict: &Verdict,
    feedback: Option<Failure>,
    last_verdict: Option<String>,
) -> (Option<Failure>, String) {
    match (verdict, &turn.notes.failure) {
        (Verdict::Failed { .. }, failure) => (failure.clone(), verdict.sentence()),
        (
            Verdict::Interrupted
            | Verdict::Handoff { .. }
            | Verdict::Budget { .. }
            | Verdict::LimitHit { .. }
            | Verdict::Overloaded { .. }
            | Verdict::AgentUnavailable { .. },
            Some(failure),
        ) => (
            Some(failure.clone()),
            format!("verification failed: {}", failure.command),
        ),
        (
            Verdict::Interrupted
            | Verdict::Handoff { .. }
            | Verdict::Budget { .. }
            | Verdict::LimitHit { .. }
            | Verdict::Overloaded { .. }
            | Verdict::AgentUnavailable { .. },
            None,
        ) => (feedback, last_verdict.unwrap_or_else(|| verdict.sentence())),
        (
            Verdict::Verified
            | Verdict::Progress
            | Verdict::Unclaimed
            | Verdict::NoChange { .. }
            | Verdict::Refused { .. }
            | Verdict::Escalated
            | Verdict::Diagnosed
            | Verdict::TimedOut { .. }
            | Verdict::Terminated { .. }
            | Verdict::AgentError { .. },
            _,
        ) => (None, verdict.sentence()),
    }
}

fn feedback(turn: &Turn, verdict: &Verdict) -> Option<String> {
    match (verdict, &turn.notes.failure) {
        (Verdict::Verified | Verdict::Progress, _) => None,
        (Verdict::Failed { .. }, Some(failure)) => {
            Some(format!("{}\n{}", verdict.sentence(), failure.tail))
        }
        (verdict, _) => Some(verdict.sentence()),
    }
}

/// The entry of the progress file. Where the agent wrote its own, only the heading is added.
fn progress_entry(turn: &Turn, record: &IterationRecord) -> Entry {
    let block = &turn.notes.said.block;
    let summary = block
        .summary
        .clone()
        .unwrap_or_else(|| first_words(&turn.notes.said.final_message));
    Entry {
        n: turn.n,
        task: turn.task_id().to_string(),
        title: turn.task.text.title.clone(),
        verdict: record.verdict.sentence(),
        at: record.ended_at,
        summary: if turn.progress_edited {
            String::new()
        } else {
            summary
        },
        files: record
            .git
            .files_changed
            .iter()
            .map(|f| f.path.clone())
            .collect(),
        learnings: block.learnings.clone(),
    }
}

/// The first paragraph of a message, for an agent that gave no summary.
pub(super) fn first_words(message: &str) -> String {
    let paragraph = message.trim().split("\n\n").next().unwrap_or("");
    paragraph.chars().take(500).collect()
}
