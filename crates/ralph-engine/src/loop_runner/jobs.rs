//! Makes the job of an iteration from what the loop knows: its task, its history, what people said.

use std::time::Duration;

use ralph_core::{
    checkpoint::{Checkpoint, Damage, Trigger, continuation, summary, valid},
    gutter::Gutter,
    id::IterationId,
    iteration::{Handoffs, IterationPolicy, Lands, Purpose},
    job::{AttemptHistory, JOB_VERSION, Job, JobCost, JobLimits, PromptParts, StartPoint},
    prompt::{DiagnosisBrief, Instructions},
    record::{Guidance, IterationRecord},
    task::{Task, TaskId},
};

use super::{LoopError, LoopRunner, files::TEMPLATE};
use crate::{
    artefacts::EXECUTE_TEMPLATE,
    failpoint::failpoint,
    git::Status,
    iteration::{MOST_TOLD, prepare_diagnosis, what_to_find_out},
    journal_text::path_to_text,
    store::{CheckpointFilter, IterationStart, TaskHistory},
};

/// Checkpoints that are looked through for the newest that work led to.
const LOOKED_AT: u32 = 8;
/// Iterations at a task whose agents are recalled.
const MOST_RECALLED: usize = 10;

impl LoopRunner {
    /// Begins an iteration in the journal, and makes its job.
    pub(super) async fn new_job(&mut self, id: &TaskId, status: &Status) -> Result<Job, LoopError> {
        let task = self
            .board
            .task(id)
            .cloned()
            .ok_or_else(|| LoopError::Container(id.clone()))?;
        self.place.base = status.head.clone();
        let diagnose = self.due_diagnosis(id);
        if diagnose.is_some() {
            prepare_diagnosis(&self.place.root, id)?;
        }
        let untracked = status.untracked.iter();
        let start = IterationStart {
            id: IterationId::new(uuid::Uuid::now_v7()),
            loop_id: self.loop_id.clone(),
            task: id.clone(),
            attempt: self.board.attempts(id) + u32::from(diagnose.is_none()),
            base_commit: self.place.base.to_string(),
            untracked: untracked.map(|p| path_to_text(p)).collect(),
            at: self.now(),
            diagnose,
            lands: self.lands(),
        };
        let begun = self.journal.begin_iteration(&self.place.repository, &start);
        let n = begun.await?;
        failpoint("iteration-begun");
        self.set_state_running()?;
        let source = self.board.source.name().to_owned();
        let said = self
            .journal
            .use_guidance(&self.place.repository, &source, id, n);
        let said = said.await?;
        self.job(n, start, task, said).await
    }

    /// The job of an iteration that is begun, or taken up again.
    pub(super) async fn job(
        &mut self,
        n: u64,
        start: IterationStart,
        task: Task,
        guidance: Vec<Guidance>,
    ) -> Result<Job, LoopError> {
        let state = self.board.state(&task.id).cloned().unwrap_or_default();
        let continuation = self.continuation(&task.id).await?;
        let previous_task = self.previous_task(&task.id).await?;
        let diagnose = match &start.diagnose {
            Some(gutter) => Some(self.brief_diagnosis(&task.id, gutter).await?),
            None => None,
        };
        let purpose = match start.diagnose {
            Some(_) => Purpose::Diagnosis,
            None => Purpose::Attempt,
        };
        let tasks = self.board.tally();
        let done = tasks.completed + tasks.skipped;
        Ok(Job {
            version: JOB_VERSION,
            number: n,
            loop_id: start.loop_id,
            attempt: start.attempt,
            max_attempts: self.board.max_attempts(&task.id, &self.settings.config),
            started_at: start.at,
            start: StartPoint {
                branch: self.place.branch.clone(),
                base_commit: start.base_commit,
                untracked: start.untracked,
                attempt_ref: state.kept_ref.clone().filter(|_| state.goes_on),
            },
            policy: IterationPolicy {
                max_verify_retries: self.settings.config.loop_.max_verify_retries,
                max_overload_retries: self.settings.config.limits.overload_retries,
                expects_change: expects_change(&task, start.lands, &state),
                purpose,
                lands: start.lands,
                handoffs: self.handoffs_left(&state),
            },
            diagnose: start.diagnose,
            prompt: PromptParts {
                instructions: self.instructions(),
                continuation,
                previous_task,
                guidance,
                skipped: self.skipped_dependencies(&task.id),
                diagnose,
                template: self.own_template(),
                iterations_left: self.iterations_left(),
                other_open_tasks: tasks.total.saturating_sub(done + 1),
            },
            history: AttemptHistory {
                last_verdict: state.last_verdict,
                failure: state.feedback,
                diagnosis: state.gutter.diagnosis,
                phase: state.handoff.phase,
                landed_tests: self.landed_tests.clone(),
            },
            limits: self.job_limits(),
            goal: self.settings.goal.clone(),
            config: self.settings.config.without_secrets(),
            prices: self.settings.prices.clone(),
            baseline: self.baseline.clone(),
            iteration: start.id,
            task,
        })
    }

    /// The handoffs that a task may still have.
    fn handoffs_left(&self, state: &TaskHistory) -> Handoffs {
        let in_a_row = state.handoff.in_a_row;
        if in_a_row < self.settings.config.handoff.max_in_a_row.get() {
            Handoffs::Allowed
        } else {
            Handoffs::UsedUp { in_a_row }
        }
    }

    /// Counted on from what this run of the command has had.
    fn iterations_left(&self) -> u32 {
        let counted = self.machine.tally().counted() + 1;
        match self.machine.limits().max_iterations {
            0 => u32::MAX,
            max => max.saturating_sub(counted),
        }
    }

    fn job_limits(&self) -> JobLimits {
        let own = self
            .settings
            .config
            .loop_
            .max_minutes_per_iteration
            .duration();
        let whole = self.machine.limits().max_time;
        let left = whole.map(|all| all.saturating_sub(self.elapsed()));
        JobLimits {
            own_ms: millis(own),
            run_left_ms: left.map(millis),
            run_minutes: whole.map_or(0, |all: Duration| all.as_secs() / 60),
            cost: self.nearest_cost_limit().map(|limit| JobCost {
                spent: limit.spent,
                max: limit.max,
                budget: limit.budget,
            }),
        }
    }

    /// As they stood when the loop began: no other text can be slipped in.
    pub(super) fn instructions(&self) -> Option<Instructions> {
        let path = super::files::instructions_path(&self.board.source)?;
        let text = self.files.config_files.text(&path)?.to_owned();
        let shown = path.strip_prefix(&self.place.root).unwrap_or(&path);
        let path = shown.display().to_string();
        (!text.trim().is_empty()).then_some(Instructions { path, text })
    }

    /// Returns what to say of instructions that an own template leaves out.
    pub(super) fn unused_instructions(&self) -> Option<String> {
        let instructions = self.instructions()?;
        let template = self
            .files
            .config_files
            .text(&self.place.root.join(TEMPLATE))?;
        (!template.contains("instructions")).then(|| {
            let path = instructions.path;
            format!("{path} is not used: {TEMPLATE} has no place for `instructions`")
        })
    }

    /// Returns what to say of an own template that has no place for a continuation.
    pub(super) fn unused_continuation(&self) -> Option<String> {
        let template = self
            .files
            .config_files
            .text(&self.place.root.join(TEMPLATE))?;
        let uses_it = self.settings.goal.is_some() || self.files.artefacts.is_some();
        (!uses_it && !template.contains("continuation")).then(|| {
            format!(
                "{TEMPLATE} has no place for `continuation`: an agent that goes on for another is \
                 not told where that one stopped"
            )
        })
    }

    /// The project's own template for what this loop does, as it stood when the loop began.
    fn own_template(&self) -> Option<(String, String)> {
        let name = match &self.files.artefacts {
            Some(_) => EXECUTE_TEMPLATE,
            None => TEMPLATE,
        };
        let text = self.files.config_files.text(&self.place.root.join(name))?;
        Some((name.to_owned(), text.to_owned()))
    }

    /// Returns what the task depends on and a person skipped.
    fn skipped_dependencies(&self, task: &TaskId) -> Vec<String> {
        let skipped = self.board.skipped_before(task).into_iter();
        let sentences = skipped.map(|(id, reason)| {
            format!(
                "Task {id}, which this one depends on, was skipped and not done: {}",
                if reason.is_empty() {
                    "no reason is known"
                } else {
                    &reason
                }
            )
        });
        sentences.collect()
    }

    async fn brief_diagnosis(
        &mut self,
        task: &TaskId,
        gutter: &Gutter,
    ) -> Result<DiagnosisBrief, LoopError> {
        let records = self.task_records(task, MOST_TOLD).await?;
        Ok(what_to_find_out(&self.place.repo, task, gutter, &records).await)
    }

    /// Returns what agents at this task noted before, whatever became of their work.
    async fn continuation(&mut self, task: &TaskId) -> Result<Option<String>, LoopError> {
        let records = self.task_records(task, MOST_RECALLED).await?;
        let is_open = |record: &&IterationRecord| !record.verdict.completes();
        let records: Vec<&IterationRecord> = records.iter().take_while(is_open).collect();
        for (at, record) in records.iter().enumerate() {
            let of = CheckpointFilter::Iteration(&record.loop_id, record.iteration);
            let (found, damage) = self.checkpoints_of_work(of).await?;
            if let Some(damage) = damage {
                self.warn(format!(
                    "{damage}; it is not gone on from, `ralph checkpoint verify` says more"
                ));
            }
            if let Some(newest) = found.into_iter().next() {
                let earlier = records[at + 1..].iter().map(|record| &record.said.block);
                return Ok(Some(continuation(&newest.recalling(earlier))));
            }
        }
        Ok(None)
    }

    /// Returns what is worth knowing of the task that was worked at last on this branch, if it is another.
    async fn previous_task(&mut self, task: &TaskId) -> Result<Option<String>, LoopError> {
        let of = CheckpointFilter::Repository;
        let (found, _) = self.checkpoints_of_work(of).await?;
        let mut here = found
            .into_iter()
            .filter(|one| one.recovery.branch == self.place.branch);
        let last = here.next();
        let other = last.filter(|one| one.metadata.task_id.as_deref() != Some(task.as_str()));
        Ok(other.as_ref().map(summary))
    }

    /// The checkpoints that agents' work led to, newest first, and the first damage among them.
    async fn checkpoints_of_work(
        &mut self,
        of: CheckpointFilter<'_>,
    ) -> Result<(Vec<Checkpoint>, Option<Damage>), LoopError> {
        let repository = &self.place.repository;
        let links = self.journal.checkpoints(repository, of, LOOKED_AT);
        let (mut found, damage) = valid(&links.await?);
        found.retain(|one| match one.metadata.trigger {
            Trigger::Iteration | Trigger::Phase | Trigger::Handoff => true,
            Trigger::Stop | Trigger::Manual => false,
        });
        Ok((found, damage))
    }
}

fn millis(time: Duration) -> u64 {
    u64::try_from(time.as_millis()).unwrap_or(u64::MAX)
}

/// Returns true if a claim without a change is worth nothing. That a goal is reached may be found without
/// one, but only where steps towards it have landed.
fn expects_change(task: &Task, lands: Lands, state: &TaskHistory) -> bool {
    match lands {
        Lands::Claimed => task.text.expects_change,
        Lands::Each => state.progress == 0,
    }
}
