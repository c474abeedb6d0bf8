//! One iteration: performs what the state machine asks for, and gives back what was done.

use std::time::{Duration, Instant};

use ralph_core::{
    event::Event,
    id::IterationId,
    iteration::{Action, Iteration, IterationPolicy, Purpose, StepDone},
    loop_machine::WorkMoved,
    task::{Task, TaskId},
};

use super::{
    Driver, LoopError,
    logs::Logs,
    notes::{AgentSeen, Notes, Turn},
    record::Finished,
    text::path_to_text,
};
use crate::{
    failpoint::failpoint,
    git::Oid,
    git::Status,
    store::{IterationStart, Step},
};

impl Driver {
    /// Works on `task` once, from its prompt to its record.
    pub(super) async fn run_iteration(
        &mut self,
        task: &TaskId,
        status: Status,
    ) -> Result<Finished, LoopError> {
        let mut turn = self.begin_turn(task, &status).await?;
        let mut logs = Logs::open(&self.root, turn.n, self.config.logs.max_mb.get())?;
        let deadline = self.deadline(self.began);
        self.drive(&mut turn, &mut logs, deadline).await?;
        self.finish_turn(turn, logs).await
    }

    async fn begin_turn(&mut self, id: &TaskId, status: &Status) -> Result<Turn, LoopError> {
        let task = self
            .board
            .task(id)
            .cloned()
            .ok_or_else(|| LoopError::Container(id.clone()))?;
        self.base = status.head.clone();
        let diagnose = self.due_diagnosis(id);
        if diagnose.is_some() {
            self.prepare_diagnosis(id)?;
        }
        let start = IterationStart {
            id: IterationId::new(uuid::Uuid::now_v7()),
            loop_id: self.loop_id.clone(),
            task: id.clone(),
            attempt: self.board.attempts(id) + u32::from(diagnose.is_none()),
            base_commit: self.base.to_string(),
            untracked: status.untracked.iter().map(|p| path_to_text(p)).collect(),
            at: self.now(),
            diagnose,
            lands: self.lands(),
        };
        let n = self
            .journal
            .begin_iteration(&self.repository, &start)
            .await?;
        failpoint("iteration-begun");
        self.run_status()?;
        let taken_up = self.take_up_attempt(id).await;
        let mut turn = self.turn(n, start, task)?;
        turn.taken_up = taken_up;
        turn.guidance = self.use_guidance(&turn).await?;
        self.write_progress(&turn.progress)?;
        self.tell(&Event::IterationStarted {
            iteration: n,
            iteration_id: turn.id().clone(),
            task: id.to_string(),
            title: turn.task.text.title.clone(),
            attempt: turn.start.attempt,
            max_attempts: self.board.max_attempts(id, &self.config),
            nth: self.machine.tally().counted() + 1,
            max_iterations: self.machine.limits().max_iterations,
            guidance: u32::try_from(turn.guidance.len()).unwrap_or(u32::MAX),
            diagnoses: turn.start.diagnose.clone(),
        });
        Ok(turn)
    }

    /// Puts the work of the last attempt into the tree. Only once the iteration is in the journal:
    /// after a crash it would be taken for a person's.
    async fn take_up_attempt(&mut self, id: &TaskId) -> Option<Oid> {
        let mut state = self.board.state(id).cloned().unwrap_or_default();
        let (Some(kept), true) = (&state.kept_ref, state.goes_on) else {
            return None;
        };
        let taken_up = self.repo.start_from_attempt(kept, &self.base).await;
        failpoint("attempt-taken-up");
        match taken_up {
            Ok(tree) => Some(tree),
            // What was kept may not fit a branch that went on: then the base is the start.
            Err(error) => {
                let message =
                    format!("the last attempt at {id} does not fit the branch any more: {error}");
                self.tell(&Event::Notice { message });
                state.goes_on = false;
                self.board.set_state(id, state);
                None
            }
        }
    }

    /// The state of an iteration that begins, or is taken up again.
    pub(super) fn turn(
        &self,
        n: u64,
        start: IterationStart,
        task: Task,
    ) -> Result<Turn, LoopError> {
        let policy = IterationPolicy {
            max_verify_retries: self.config.loop_.max_verify_retries,
            max_overload_retries: self.config.limits.overload_retries,
            expects_change: self.expects_change(&task, start.lands),
            purpose: match start.diagnose {
                Some(_) => Purpose::Diagnosis,
                None => Purpose::Attempt,
            },
            lands: start.lands,
            handoffs: self.handoffs_left(&task.id),
        };
        Ok(Turn {
            n,
            base: super::text::oid(&start.base_commit)?,
            untracked: super::text::paths_from_text(&start.untracked),
            start,
            task,
            machine: Iteration::new(policy),
            notes: Notes::default(),
            progress: self.read_progress()?,
            progress_edited: false,
            pending: Vec::new(),
            agent: AgentSeen::NotYet,
            taken_up: None,
            tip: None,
            tool_calls: 0,
            guidance: Vec::new(),
            failed_calls: Vec::new(),
            moved: WorkMoved::Yes,
        })
    }

    /// Performs actions until only the record is left to write.
    pub(super) async fn drive(
        &mut self,
        turn: &mut Turn,
        logs: &mut Logs,
        mut deadline: Option<Deadline>,
    ) -> Result<(), LoopError> {
        let mut prompt = String::new();
        loop {
            let action = turn.machine.next();
            if let Some(done) = self.out_of_budget(turn, &action) {
                self.note_step(turn, &done).await?;
                continue;
            }
            let done = match action {
                Action::Bundle { run, fix } => {
                    turn.guidance = self.use_guidance(turn).await?;
                    prompt = self.bundle(turn, run, fix.as_ref()).await?;
                    logs.heading(&format!("prompt of run {run}"));
                    logs.line(&prompt);
                    StepDone::Bundled {
                        prompt_bytes: prompt.len() as u64,
                    }
                }
                Action::StartAgent { run } => {
                    self.start_agent(turn, logs, run, &prompt, deadline).await?
                }
                Action::Wait { attempt, message } => {
                    let began = Instant::now();
                    let done = self.wait_for_api(turn, attempt, &message, deadline).await?;
                    deadline = deadline.map(|d| d.put_off(began.elapsed()));
                    done
                }
                Action::Inspect => self.inspect(turn, logs).await?,
                Action::Verify => self.verify(turn, logs).await?,
                Action::Land => self.land(turn).await?,
                Action::Keep { .. } => self.keep(turn).await?,
                Action::Record { .. } | Action::Done => return Ok(()),
            };
            self.note_step(turn, &done).await?;
        }
    }

    /// Moves on, and writes steps down where a crash must not lose them: after an agent, and before
    /// what can't be taken back. The others wait for the next of these writes.
    pub(super) async fn note_step(
        &mut self,
        turn: &mut Turn,
        done: &StepDone,
    ) -> Result<(), LoopError> {
        turn.notes.observe(done);
        turn.machine.apply(done)?;
        turn.pending.push(Step::Done(done.clone()));
        match (done, turn.machine.next()) {
            // The first run's intent was written when the iteration began.
            (StepDone::Bundled { .. }, _) if turn.machine.run() == 1 => {}
            (StepDone::Bundled { .. }, _) => {
                turn.pending.push(Step::Intent("agent".into()));
                self.flush_phase(turn).await?;
            }
            (StepDone::AgentEnded(_), _) => {
                self.flush(turn).await?;
                failpoint("agent-recorded");
            }
            // With the next run's intent.
            (StepDone::Waited { .. }, _) => {}
            (StepDone::Inspected { .. }, _) => failpoint("inspected"),
            (StepDone::Verified { .. }, Action::Land) => {
                turn.pending.push(Step::Intent("land".into()));
                self.flush(turn).await?;
                failpoint("land-intended");
            }
            (StepDone::Verified { .. }, _) => {
                self.flush(turn).await?;
                failpoint("verified");
            }
            (StepDone::Landed { .. } | StepDone::LandRefused { .. }, _) => failpoint("landed"),
            (StepDone::Kept { .. } | StepDone::Interrupted, _) => failpoint("kept"),
            (StepDone::OutOfBudget { .. }, _) => {}
            (StepDone::Recorded, _) => {}
        }
        Ok(())
    }

    async fn flush(&mut self, turn: &mut Turn) -> Result<(), LoopError> {
        let now = self.now();
        self.journal
            .append_steps(turn.id(), &turn.pending, now)
            .await?;
        turn.pending.clear();
        Ok(())
    }

    /// The same where a run has ended and another begins: the phase of the one that ended is kept.
    async fn flush_phase(&mut self, turn: &mut Turn) -> Result<(), LoopError> {
        let moment = self.checkpoint_between(turn);
        self.journal
            .append_steps_of_phase(&self.repository, turn.id(), &turn.pending, &moment)
            .await?;
        turn.pending.clear();
        Ok(())
    }

    pub(super) fn deadline(&self, loop_began: Instant) -> Option<Deadline> {
        let until = |from: Instant, time: Duration, whose| Deadline {
            at: from + time,
            minutes: time.as_secs() / 60,
            whose,
        };
        let own = self.config.loop_.max_minutes_per_iteration.duration();
        let iteration = until(Instant::now(), own, Whose::Iteration);
        let whole = self.machine.limits().max_time;
        let whole = whole.map(|all| until(loop_began, all, Whose::Run));
        Some(whole.filter(|w| w.at < iteration.at).unwrap_or(iteration))
    }
}

/// When a run of an agent must be over, and by whose limit.
#[derive(Clone, Copy)]
pub(super) struct Deadline {
    pub(super) at: Instant,
    pub(super) minutes: u64,
    pub(super) whose: Whose,
}

impl Deadline {
    /// What is left of the time of the command, where that is the limit.
    pub(super) fn left_of_run(self) -> Option<Duration> {
        match self.whose {
            Whose::Iteration => None,
            Whose::Run => Some(self.at.saturating_duration_since(Instant::now())),
        }
    }

    /// A wait is not the agent's time; it is the command's.
    fn put_off(self, waited: Duration) -> Self {
        match self.whose {
            Whose::Iteration => Self {
                at: self.at + waited,
                ..self
            },
            Whose::Run => self,
        }
    }
}

#[derive(Clone, Copy)]
pub(super) enum Whose {
    Iteration,
    /// Of the command: `loop.max_minutes`.
    Run,
}
