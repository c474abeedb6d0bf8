//! Work that goes round in circles: what is kept of a failed attempt, whether a rule fires, and what is
//! done about it.
//!
//! Decides nothing: the rules are the core's, and so is what follows. A verified iteration costs nothing
//! here; a failed one a diff.

mod human_task;

use ralph_core::{
    config::{Config, OnGutter},
    escalation::AskedBy,
    event::{AfterGutter, Event},
    gutter::{self, Attempt, Gutter, GutterFindings, GutterLimits, Repeated},
    loop_machine::PauseState,
    record::IterationRecord,
    task::TaskId,
    termination::{Diagnose, GutterPolicy},
    verdict::Verdict,
};

use super::{LoopError, LoopRunner, questions::QuestionDraft};

/// Returns what the configuration says about circles.
pub(super) fn policy(config: &Config) -> GutterPolicy {
    let gutter = &config.loop_.gutter;
    GutterPolicy {
        limits: GutterLimits {
            same_failure: Some(gutter.max_same_failure.get()),
            churn: Some(gutter.max_churn_commits.get()),
            oscillations: Some(gutter.max_oscillations.get()),
        },
        diagnose: if gutter.diagnose {
            Diagnose::Yes
        } else {
            Diagnose::No
        },
        then: gutter.then,
    }
}

impl LoopRunner {
    /// Returns what the rules say of a task after this verdict.
    pub(super) async fn gutter_findings(
        &mut self,
        task: &TaskId,
        verdict: &Verdict,
    ) -> Result<GutterFindings, LoopError> {
        let Verdict::Failed { command, .. } = verdict else {
            return Ok(GutterFindings::default());
        };
        let state = self.board.state(task).cloned().unwrap_or_default();
        let limits = self.machine.limits().gutter.limits;
        let records = self.task_records(task, limits.window()).await?;
        let attempts = attempts_since_opened(&records, state.attempts);
        let repeated = state.last_signature.as_deref().map(|signature| Repeated {
            command,
            signature,
            count: state.same_failure,
        });
        Ok(GutterFindings {
            reached: gutter::evaluate(repeated, &attempts, &limits),
            near: gutter::evaluate(repeated, &attempts, &limits.one_before()),
            made: state.gutter.made,
        })
    }

    /// The records of the task's newest iterations, newest first.
    pub(super) async fn task_records(
        &mut self,
        task: &TaskId,
        most: usize,
    ) -> Result<Vec<IterationRecord>, LoopError> {
        let source = self.board.source.name().to_owned();
        let repository = &self.place.repository;
        let records = self.journal.task_records(repository, &source, task, most);
        Ok(records.await?)
    }

    /// Returns what the task's next iteration has to find out, if it is to be a diagnosis. A person may not want
    /// one any more.
    pub(super) fn due_diagnosis(&self, task: &TaskId) -> Option<Gutter> {
        match self.machine.limits().gutter.diagnose {
            Diagnose::Yes => self.board.state(task)?.gutter.due.clone(),
            Diagnose::No => None,
        }
    }

    /// The task's next iteration is to find out why.
    pub(super) async fn diagnose_next(
        &mut self,
        task: &TaskId,
        gutter: Gutter,
    ) -> Result<(), LoopError> {
        let mut state = self.board.state(task).cloned().unwrap_or_default();
        if state.gutter.due.is_some() {
            // Decided before a crash.
            return Ok(());
        }
        let hint =
            "the next iteration looks for the cause; `loop.gutter.diagnose: false` leaves that out";
        self.tell_gutter(task, &gutter, AfterGutter::Diagnose, hint.into());
        state.gutter.due = Some(gutter);
        self.save_state(task, state).await
    }

    /// It goes round in circles, and that is enough.
    pub(super) async fn stuck(
        &mut self,
        task: &TaskId,
        (gutter, then): (Gutter, OnGutter),
        iteration: u64,
    ) -> Result<(), LoopError> {
        let answer = format!("`ralph answer {task}` tells the next attempt how to proceed");
        let key = gutter.key();
        match then {
            OnGutter::Ask => {
                let hint = format!("{answer}; `{key}` is the limit");
                self.tell_gutter(task, &gutter, AfterGutter::Ask, hint);
                self.ask_about(task, &gutter, iteration).await
            }
            OnGutter::Pause => {
                let hint =
                    format!("{answer}, `ralph resume` lets the loop go on; `{key}` is the limit");
                self.tell_gutter(task, &gutter, AfterGutter::Pause, hint);
                self.add_human_task(task, &gutter)?;
                self.ask_about(task, &gutter, iteration).await?;
                // Who sits at the terminal is asked right now: nothing goes on before they answer.
                if self.control.human.is_some() {
                    self.control.asking.asks_first = true;
                } else {
                    self.control.pause = PauseState::Paused;
                }
                Ok(())
            }
            OnGutter::Block => {
                let hint = format!(
                    "`ralph retry --task {task} --feedback TEXT` opens it again; `{key}` is the limit"
                );
                self.tell_gutter(task, &gutter, AfterGutter::Block, hint);
                self.block(task, gutter.sentence()).await
            }
        }
    }

    async fn ask_about(
        &mut self,
        task: &TaskId,
        gutter: &Gutter,
        iteration: u64,
    ) -> Result<(), LoopError> {
        let diagnosis = self
            .board
            .state(task)
            .and_then(|s| s.gutter.diagnosis.as_ref());
        let asking = QuestionDraft {
            question: gutter.question(),
            escalation: diagnosis.map(|found| found.escalation_about(gutter)),
            by: AskedBy::Ralph,
        };
        self.ask(task, asking, iteration).await
    }

    fn tell_gutter(&mut self, task: &TaskId, gutter: &Gutter, then: AfterGutter, hint: String) {
        self.tell(&Event::Gutter {
            task: task.to_string(),
            sentence: gutter.sentence(),
            gutter: gutter.clone(),
            then,
            hint,
        });
    }
}

/// The attempts that the task was charged for since it was opened, and what lies between them; oldest
/// first. `records` are newest first.
fn attempts_since_opened(records: &[IterationRecord], charged: u32) -> Vec<Attempt> {
    let mut left = charged;
    let mut attempts = Vec::new();
    for record in records {
        if record.verdict.is_charged() && record.diagnoses.is_none() {
            let Some(less) = left.checked_sub(1) else {
                break;
            };
            left = less;
        }
        attempts.push(Attempt::of(record));
    }
    attempts.reverse();
    attempts
}
