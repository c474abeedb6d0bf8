//! One iteration: performs what the state machine asks for, and gives back what was done.

use std::{
    ffi::OsString,
    time::{Duration, Instant},
};

use ralph_core::{
    agent::Ending,
    event::Event,
    iteration::{Action, AgentEnded, Iteration, IterationPolicy, RanBy, StepDone},
    signal::parse_signals,
    task::{Task, TaskId},
    verdict::Verdict,
};

use super::{
    Driver, LoopError,
    hands::unavailable,
    logs::Logs,
    notes::{AgentSeen, Notes, Turn},
    onlooker::Onlooker,
    text::path_to_text,
};
use crate::{
    agent::{RunContext, RunLimits, Watch, run_agent, run_line},
    failpoint::failpoint,
    git::Oid,
    git::Status,
    process::CommandSpec,
    store::{IterationStart, Step},
};

impl Driver {
    /// Works on `task` once, from its prompt to its record.
    pub(super) async fn iterate(
        &mut self,
        task: &TaskId,
        status: Status,
        loop_began: Instant,
    ) -> Result<Verdict, LoopError> {
        let mut turn = self.begin_turn(task, &status).await?;
        let mut logs = Logs::open(&self.root, turn.n, self.config.logs.max_mb.get())?;
        let deadline = self.deadline(loop_began);
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
        let start = IterationStart {
            id: uuid::Uuid::now_v7().to_string(),
            loop_id: self.loop_id.clone(),
            task: id.clone(),
            attempt: self.board.attempts(id) + 1,
            base_commit: self.base.to_string(),
            untracked: status.untracked.iter().map(|p| path_to_text(p)).collect(),
            at: self.now(),
        };
        let n = self
            .journal
            .begin_iteration(&self.repository, &start)
            .await?;
        failpoint("iteration-begun");
        let taken_up = self.take_up_attempt(id).await;
        let mut turn = self.turn(n, start, task)?;
        turn.taken_up = taken_up;
        self.write_progress(&turn.progress)?;
        self.tell(&Event::IterationStarted {
            iteration: n,
            iteration_id: turn.id().to_owned(),
            task: id.to_string(),
            title: turn.task.text.title.clone(),
            attempt: turn.start.attempt,
            max_attempts: self.board.max_attempts(id, &self.config),
            nth: self.tally.iterations + 1,
            max_iterations: self.limits.max_iterations,
            guidance: 0,
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
            expects_change: task.text.expects_change,
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
                self.note(turn, &done).await?;
                continue;
            }
            let done = match action {
                Action::Bundle { run, fix } => {
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
            self.note(turn, &done).await?;
        }
    }

    /// Moves on, and writes steps down where a crash must not lose them: after an agent, and before
    /// what can't be taken back. The others wait for the next of these writes.
    pub(super) async fn note(&mut self, turn: &mut Turn, done: &StepDone) -> Result<(), LoopError> {
        turn.notes.observe(done);
        turn.machine.apply(done)?;
        turn.pending.push(Step::Done(done.clone()));
        match (done, turn.machine.next()) {
            // The first run's intent was written when the iteration began.
            (StepDone::Bundled { .. }, _) if turn.machine.run() == 1 => {}
            (StepDone::Bundled { .. }, _) => {
                turn.pending.push(Step::Intent("agent".into()));
                self.flush(turn).await?;
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

    async fn start_agent(
        &mut self,
        turn: &mut Turn,
        logs: &mut Logs,
        run: u32,
        prompt: &str,
        deadline: Option<Deadline>,
    ) -> Result<StepDone, LoopError> {
        turn.agent = AgentSeen::Started;
        self.snapshots
            .take(&self.board.source, &self.state_dir, turn.id())?;
        self.tell(&Event::RunStarted {
            run,
            agent: self.hands.name(),
            fix_only: turn.notes.failure.is_some(),
            tail: turn
                .notes
                .failure
                .as_ref()
                .map(|f| f.tail.clone())
                .unwrap_or_default(),
        });
        logs.heading(&format!("agent {} run {run}", self.hands.name()));
        logs.stream
            .push(run_line(run, &self.hands.name()).as_bytes());
        let context = RunContext {
            cwd: self.root.clone(),
            env: self.environment.for_agent(
                self.hands.agent().credentials(),
                &[
                    ("RALPH_TASK_ID", turn.task_id().to_string()),
                    ("RALPH_ITERATION", turn.n.to_string()),
                    ("RALPH_ATTEMPT", turn.start.attempt.to_string()),
                    ("RALPH_RUN", run.to_string()),
                    ("RALPH_RUN_ID", format!("{}-{run}", turn.id())),
                ],
            ),
            prompt: prompt.to_owned(),
            labels: turn.task.labels.clone(),
            budget: self.budget_left(turn),
        };
        let limits = RunLimits {
            deadline: deadline.map(|d| (d.at, d.minutes)),
            idle: self.config.loop_.idle_minutes.duration(),
            idle_with_tool: self.config.loop_.idle_minutes_tool.duration(),
            grace: Duration::from_secs(u64::from(self.config.loop_.stop_grace_seconds.get())),
            cost: self.cost_limit(turn),
        };
        let mut watcher = Onlooker {
            text: &mut logs.text,
            reporter: &mut *self.reporter,
            clock: &*self.clock,
        };
        let watch = Watch {
            stop: &mut self.stop,
            watcher: &mut watcher,
            log: &mut logs.stream,
            nudges: None,
        };
        let report = run_agent(
            self.hands.agent(),
            &context,
            self.containment,
            &limits,
            watch,
        )
        .await;
        failpoint("agent-ended");
        // An agent that can't be started is an outcome like any other: the record says so.
        let mut report = report.unwrap_or_else(|error| unavailable(&error.to_string()));
        if let (Ending::TimedOut { .. }, Some(Whose::Run)) =
            (&report.ending, deadline.map(|d| d.whose))
        {
            // The end of the run's own time is a stop, not a failure of this task.
            report.ending = Ending::Stopped;
        }
        self.name_withheld_keys(&mut report.ending);
        self.stopped_by_its_cost(turn, &mut report);
        let signals = parse_signals(&report.final_message, turn.task_id());
        let by = RanBy {
            agent: self.hands.name(),
            command: shown_command(&self.hands.agent().command(&context)),
        };
        Ok(StepDone::AgentEnded(Box::new(AgentEnded {
            by,
            report,
            signals,
        })))
    }

    pub(super) fn deadline(&self, loop_began: Instant) -> Option<Deadline> {
        let until = |from: Instant, time: Duration, whose| Deadline {
            at: from + time,
            minutes: time.as_secs() / 60,
            whose,
        };
        let own = self.config.loop_.max_minutes_per_iteration.duration();
        let iteration = until(Instant::now(), own, Whose::Iteration);
        let whole = self.limits.max_time;
        let whole = whole.map(|all| until(loop_began, all, Whose::Run));
        Some(whole.filter(|w| w.at < iteration.at).unwrap_or(iteration))
    }

    /// A key that ralph withholds is the likeliest reason why an agent is not let in.
    fn name_withheld_keys(&self, ending: &mut Ending) {
        let Ending::Auth { message } = ending else {
            return;
        };
        let credentials = self.hands.agent().credentials();
        let keys = self.environment.keys_withheld_from(credentials);
        if !keys.is_empty() {
            let some = keys[..keys.len().min(5)].join(", ");
            message.push_str(&format!(
                " (withheld from agents: {some}; `safety.pass_env` lets a variable through)"
            ));
        }
    }
}

/// How an agent's program was started, for the record: never its prompt or its environment, and not
/// what is written inline, where a secret may stand.
fn shown_command(spec: &CommandSpec) -> Vec<String> {
    let text = |word: &OsString| match word.to_string_lossy() {
        word if word.trim_start().starts_with('{') => "(inline JSON)".to_owned(),
        word => word.into_owned(),
    };
    std::iter::once(&spec.program)
        .chain(&spec.args)
        .map(text)
        .collect()
}

/// When a run of an agent must be over, and by whose limit.
#[derive(Clone, Copy)]
pub(super) struct Deadline {
    at: Instant,
    minutes: u64,
    whose: Whose,
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
enum Whose {
    Iteration,
    /// Of the command: `loop.max_minutes`.
    Run,
}
