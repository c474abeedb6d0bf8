//! Ends an iteration: lands what may land, writes one transaction into the journal, then the files that
//! can be rebuilt from it.

use ralph_core::{
    agent::Usage,
    artefacts::state::EntryStatus,
    change::shown,
    checkpoint::ExecutionPhase,
    dollars::Dollars,
    economics::{KnownCost, Totals},
    event::Event,
    gutter::{Diagnosis, Made},
    health::HealthState,
    iteration::{Failure, Lands, Purpose, StepDone},
    job::{Job, LandingState, Outcome},
    loop_machine::WorkMoved,
    memory::{ProgressEntry, first_words},
    record::{GitRecord, IterationRecord},
    task::Status,
    verdict::{Halt, IDLE, Verdict},
};

use super::{Beginning, LoopError, LoopRunner};
use crate::{
    failpoint::failpoint,
    git::{ChangedIndex, FolderFollowed},
    iteration::{IterationFiles, accounts, keep_refused},
    journal_text::oid,
    landing::{InPlaceLanding, LandResult, Landing as _},
    store::{IterationEnd, Step, TaskHistory},
    workspace::VerifyLayer,
};

/// An iteration that has come to its outcome, and what is not written of it yet.
pub(super) struct Worked {
    pub(super) job: Job,
    pub(super) outcome: Outcome,
    pub(super) pending: Vec<Step>,
}

/// Tells whether a landing came to its end.
enum LandingEnd {
    Settled,
    /// A person moved the branch: the change is to be brought along first.
    BranchMoved,
}

/// An iteration whose end is written down.
pub(super) struct Finished {
    pub(super) number: u64,
    pub(super) verdict: Verdict,
    pub(super) health: HealthState,
    pub(super) moved: WorkMoved,
    pub(super) usage: Usage,
    pub(super) spent: Dollars,
}

impl LoopRunner {
    /// Lands what may land, and writes down what the iteration came to.
    pub(super) async fn finish(&mut self, mut worked: Worked) -> Result<Finished, LoopError> {
        let accepted = self.accept_new(&mut worked.outcome)?;
        let lands = worked.outcome.landing == LandingState::Due;
        // A commit has the task as it will be, never as one that is worked on.
        if !worked.outcome.verdict.completes() {
            self.take_back_mark()?;
        }
        while worked.outcome.landing == LandingState::Due {
            match self.land(&mut worked).await? {
                LandingEnd::Settled => {}
                LandingEnd::BranchMoved => worked = self.go_on_where_branch_is(worked).await?,
            }
        }
        if worked.outcome.verdict.completes() {
            self.marked = None;
        } else {
            self.take_back_mark()?;
        }
        if lands {
            let flag = self.run_clean_check().await?;
            worked.outcome.log.flags.extend(flag);
        }
        let Worked {
            job,
            outcome,
            pending,
        } = worked;
        let verdict = outcome.verdict.clone();
        if let Some(artefacts) = self
            .files
            .artefacts
            .as_ref()
            .filter(|_| outcome.agent_started)
        {
            let status = entry_status(&verdict);
            artefacts.write_entry(&job, &outcome.log, status, &verdict.sentence())?;
        }
        self.write_events().await?;
        let events = self.journal.iteration_events(&self.loop_id, job.number);
        let events = events.await?;
        let record = IterationRecord {
            events,
            ..self.record(&job, &outcome)
        };
        let state = match job.purpose() {
            Purpose::Attempt => self.task_state(&job, &outcome),
            Purpose::Diagnosis => self.state_after_diagnosis(&job, &outcome),
        };
        let source = self.board.source.name().to_owned();
        if verdict.completes() {
            // What it was in the way of is ready, and so part of the checkpoint.
            self.board.mark(&job.task.id, Status::Completed)?;
        }
        let moment = self.checkpoint_after(&job, &outcome, &record);
        let accounts = accounts(&outcome.log, &job.prices);
        let end = IterationEnd {
            pending: &pending,
            record: &record,
            state: &state,
            checkpoint: Some(&moment),
            accounts: &accounts,
        };
        self.journal
            .end_iteration(&self.place.repository, &source, end)
            .await?;
        failpoint("recorded");
        self.take_accepted(&accepted).await?;
        self.add_to_status(&record, &moment.id);
        if matches!(verdict, Verdict::Handoff { .. }) {
            self.set_state_handoff()?;
        }
        self.after_record(&job, &verdict, state)?;
        let mut entry = progress_entry(&record);
        if outcome.log.progress_edited {
            // The agent wrote its own: only the heading is added.
            entry.summary.clear();
        }
        self.files.progress.append(&entry)?;
        failpoint("progress-written");
        let max_mb = self.settings.config.logs.max_mb.get();
        IterationFiles::open(&self.place.root, job.number, max_mb)?.end(&record)?;
        failpoint("files-written");
        let cost = Totals::sum(&accounts.records).known_cost();
        self.costs.known = self.costs.known.plus(cost);
        self.tell_end(&job, &outcome, &record, cost);
        Ok(Finished {
            number: job.number,
            health: record.health_state,
            moved: outcome.moved,
            usage: record.usage,
            spent: cost.spent_usd,
            verdict,
        })
    }

    /// Lands the tree of an outcome; one that is refused is kept instead.
    async fn land(&mut self, worked: &mut Worked) -> Result<LandingEnd, LoopError> {
        self.take_edits_beside_layer(&worked.job.task.id).await?;
        let own = self.own_paths();
        let (job, outcome) = (&worked.job, &mut worked.outcome);
        let mut landing = InPlaceLanding {
            repo: &self.place.repo,
            board: &mut self.board,
            artefacts: self.files.artefacts.as_ref(),
            redaction: self.runtime.environment.redaction(),
            changed_index: if self.place.layers.is_some() {
                ChangedIndex::Persons
            } else {
                ChangedIndex::Agents
            },
            own: &own,
        };
        let landed = landing.land(job, outcome).await?;
        if let LandResult::Landed {
            commit: Some(_), ..
        } = &landed
        {
            let followed = self.place.repo.finish_following().await?;
            self.tell_followed(&followed);
        }
        let layers = self.place.layers.as_mut();
        let verified = layers.and_then(|layers| layers.take_verified());
        let done = match landed {
            LandResult::Landed { commit, subject } => {
                if let Some(commit) = &commit {
                    self.count_landed_tests(&outcome.log.verification);
                    self.place.base = commit.clone();
                    self.note_landed(job, outcome, commit);
                }
                if let Some(verified) = verified {
                    self.keep_caches(verified).await;
                }
                if commit.is_some() {
                    // Git looks at the tree for the next iteration while this one is written down.
                    self.place.repo.start_status().await;
                }
                let commit = commit.map(|commit| commit.to_string());
                self.tell(&Event::Landed {
                    task: job.task.id.to_string(),
                    commit: commit.clone(),
                    subject,
                    unverified: outcome.unverified,
                });
                StepDone::Landed { commit }
            }
            LandResult::Moved { .. } if self.place.layers.is_some() => {
                worked.pending.push(Step::Done(StepDone::LandMoved));
                return Ok(LandingEnd::BranchMoved);
            }
            LandResult::Moved { reason } => StepDone::LandRefused { reason },
        };
        outcome.log.observe(&done);
        outcome.landing = LandingState::Settled;
        worked.pending.push(Step::Done(done.clone()));
        failpoint("landed");
        if let StepDone::LandRefused { reason } = done {
            outcome.verdict = Verdict::Refused {
                reason,
                halt: Halt::Loop,
            };
            let mut workspace = super::workspace!(self);
            let kept = keep_refused(job, outcome, &mut *workspace).await?;
            worked.pending.push(Step::Done(kept));
            failpoint("kept");
        }
        Ok(LandingEnd::Settled)
    }

    /// Goes on with an iteration whose change could not land as a person moved the branch: it is brought to where
    /// the branch is now, and verified there.
    async fn go_on_where_branch_is(&mut self, worked: Worked) -> Result<Worked, LoopError> {
        let Worked {
            job,
            outcome,
            pending,
        } = worked;
        let now = self.now();
        let repository = self.place.repository.clone();
        self.journal
            .append_steps(&repository, &job.iteration, &pending, now, None)
            .await?;
        let unfinished = self.journal.unfinished_iteration(&self.loop_id).await?;
        let steps = unfinished.map(|unfinished| unfinished.steps);
        let moved = Beginning::Moved {
            steps: &steps.unwrap_or_default(),
            outcome: Box::new(outcome),
        };
        self.perform(job, moved).await
    }

    /// Brings the user's folder to a commit that landed before a crash.
    pub(super) async fn follow_landed(&mut self, worked: &Worked) -> Result<(), LoopError> {
        let Some(commit) = &worked.outcome.log.commit else {
            return Ok(());
        };
        if self.place.layers.is_none() {
            return Ok(self.place.repo.match_index_to_head().await?);
        }
        let start = &worked.job.start;
        let (from, to) = (
            oid(worked.outcome.log.onto(&start.base_commit))?,
            oid(commit)?,
        );
        let own = self.own_paths();
        let repo = &self.place.repo;
        let followed = repo.follow_landed(&start.branch, &from, &to, &own).await?;
        self.tell_followed(&followed);
        Ok(())
    }

    /// Names what the user changed meanwhile, which is left alone, and who kept the index from following.
    fn tell_followed(&mut self, followed: &FolderFollowed) {
        let Some(commit) = &followed.commit else {
            return;
        };
        let commit = commit.short();
        if !followed.left.is_empty() {
            let names: Vec<String> = followed.left.iter().map(|path| shown(path)).collect();
            self.warn(format!(
                    "{} differ from {commit}: you changed them while it was made, and they are as you left them",
                    names.join(", "),
                ));
        }
        if let Some(locked) = &followed.locked {
            self.warn(format!(
                    "git's index does not know {commit} yet: {locked}; the next ralph command brings it up to date"
                ));
        }
    }

    /// Keeps what was installed and built while the base was verified. Without it the next one takes longer.
    pub(super) async fn keep_caches(&mut self, verified: VerifyLayer) {
        let (repo, base) = (&self.place.repo, &self.place.base);
        let names = &self.settings.config.workspace.caches;
        let Some(layers) = &mut self.place.layers else {
            return;
        };
        if let Err(error) = layers.keep_caches(repo, base, names, verified).await {
            self.warn(format!("what was built is not kept for later: {error}"));
        }
    }

    fn tell_end(
        &mut self,
        job: &Job,
        outcome: &Outcome,
        record: &IterationRecord,
        cost: KnownCost,
    ) {
        if let Some(diagnosis) = &record.diagnosis {
            let put_aside = record.git.files_changed.iter();
            self.tell(&Event::Diagnosis {
                iteration: record.iteration,
                task: record.task_id.clone(),
                text: diagnosis.text.clone(),
                put_aside: put_aside.map(|f| f.path.clone()).collect(),
            });
        }
        let took = record.ended_at.as_millisecond() - record.started_at.as_millisecond();
        let failure = outcome.log.failure.as_ref();
        let failed = matches!(outcome.verdict, Verdict::Failed { .. });
        self.tell(&Event::IterationEnded {
            iteration: job.number,
            task: job.task.id.to_string(),
            outcome: outcome.verdict.outcome(),
            verdict: outcome.verdict.clone(),
            seconds: took as f64 / 1000.0,
            usage: record.usage,
            cost,
            tail: failure
                .filter(|_| failed)
                .map(|f| f.tail.clone())
                .unwrap_or_default(),
            log: IterationFiles::shown(job.number),
        });
    }

    fn record(&self, job: &Job, outcome: &Outcome) -> IterationRecord {
        let log = &outcome.log;
        let verdict = &outcome.verdict;
        self.redaction().hide_in(IterationRecord {
            iteration_id: job.iteration.clone(),
            iteration: job.number,
            loop_id: self.loop_id.clone(),
            task_id: job.task.id.to_string(),
            title: job.task.text.title.clone(),
            attempt: job.attempt,
            started_at: job.started_at,
            ended_at: self.now(),
            runs: log.runs.clone(),
            git: GitRecord {
                branch: self.place.branch.clone(),
                base_commit: log.onto(&job.start.base_commit).to_owned(),
                result_commit: log.commit.clone(),
                kept_ref: log.kept.clone(),
                files_changed: log
                    .change
                    .as_ref()
                    .map(|c| c.files.clone())
                    .unwrap_or_default(),
            },
            verification: log.verification.clone(),
            unverified: outcome.unverified,
            verdict: verdict.clone(),
            outcome: verdict.outcome(),
            feedback: feedback(outcome),
            flags: log.flags.clone(),
            suggested: log.suggested.clone(),
            said: log.said.clone(),
            guidance: outcome.guidance.clone(),
            trace: outcome.trace.clone(),
            diagnoses: job.diagnose.clone(),
            diagnosis: outcome.diagnosis.clone(),
            usage: log.usage(),
            health_state: log.health,
            events: Vec::new(),
        })
    }

    /// Returns what the iteration comes to for its task.
    fn task_state(&self, job: &Job, outcome: &Outcome) -> TaskHistory {
        let verdict = &outcome.verdict;
        let before = self.board.state(&job.task.id).cloned().unwrap_or_default();
        // One that is reached stays so.
        let progress = before.progress + u32::from(job.lands() == Lands::Each);
        if verdict.completes() {
            return TaskHistory {
                attempts: self.board.attempts(&job.task.id),
                uncharged: before.uncharged,
                progress,
                unverified: outcome.unverified,
                ..TaskHistory::default()
            };
        }
        if verdict.is_progress() {
            return TaskHistory {
                progress,
                ..TaskHistory::default()
            };
        }
        let charged = u32::from(verdict.is_charged());
        let signature = match verdict {
            Verdict::Failed { signature, .. } if verdict.is_charged() => Some(signature.as_str()),
            verdict if verdict.is_idle() => Some(IDLE),
            _ => None,
        };
        let (last_signature, same_failure) = match (signature, verdict) {
            (Some(signature), _) => {
                let again = before.last_signature.as_deref() == Some(signature);
                (
                    Some(signature.to_owned()),
                    if again { before.same_failure + 1 } else { 1 },
                )
            }
            // An interruption says nothing about the failure that went before it.
            (None, v) if !v.is_charged() => (before.last_signature, before.same_failure),
            (None, _) => (None, 0),
        };
        let kept = outcome.log.kept.clone();
        let (feedback, last_verdict) = told_next(outcome, before.feedback, before.last_verdict);
        TaskHistory {
            attempts: self.board.attempts(&job.task.id) + charged,
            uncharged: before.uncharged + self.counted_free(outcome),
            last_signature,
            same_failure,
            goes_on: verdict.keeps_work() && kept.is_some(),
            kept_ref: kept,
            feedback,
            last_verdict: Some(last_verdict),
            escalation: outcome.log.said.escalation.clone(),
            gutter: before.gutter,
            handoff: before.handoff.after(verdict, told_phase(outcome)),
            progress: before.progress,
            ..TaskHistory::default()
        }
    }

    /// Counts work that is not charged where it is counted all the same: an artefacts project has an entry in its log
    /// for every agent, and its tasks have as many attempts.
    fn counted_free(&self, outcome: &Outcome) -> u32 {
        let is_counted = self.files.artefacts.is_some() && outcome.agent_started;
        u32::from(is_counted && !outcome.verdict.is_charged())
    }

    fn after_record(
        &mut self,
        job: &Job,
        verdict: &Verdict,
        state: TaskHistory,
    ) -> Result<(), LoopError> {
        let before = self.board.state(&job.task.id).cloned().unwrap_or_default();
        let attempts = state.attempts + state.uncharged;
        let is_more = verdict.is_charged() && job.purpose() == Purpose::Attempt
            || state.uncharged > before.uncharged;
        self.board.set_state(&job.task.id, state);
        if !verdict.completes() && is_more && job.task.attempts.made.is_some() {
            self.board
                .write_status(&job.task.id, job.task.status, Some(attempts))?;
        }
        Ok(())
    }

    /// Returns what a diagnosis comes to for its task: it is no attempt, so that all but the diagnosis stays.
    fn state_after_diagnosis(&self, job: &Job, outcome: &Outcome) -> TaskHistory {
        let mut state = self.board.state(&job.task.id).cloned().unwrap_or_default();
        // One that was cut off, or that no agent could make, is still to be made.
        let verdict = &outcome.verdict;
        if *verdict == Verdict::Diagnosed || verdict.is_charged() {
            state.gutter.due = None;
            state.gutter.made = Made::Once;
        }
        // The agent of a diagnosis is in the log as well, whatever it came to.
        let logged = self.files.artefacts.is_some() && outcome.agent_started;
        state.uncharged += u32::from(logged);
        if let Some(diagnosis) = &outcome.diagnosis {
            state.gutter.diagnosis = Some(Diagnosis::clone(diagnosis));
        }
        state
    }
}

/// The phase that the agent said to be in.
fn told_phase(outcome: &Outcome) -> Option<ExecutionPhase> {
    let told = outcome.log.said.block.phase.as_deref()?;
    told.parse().ok()
}

fn entry_status(verdict: &Verdict) -> EntryStatus {
    if verdict.completes() {
        EntryStatus::Completed
    } else {
        EntryStatus::Attempted
    }
}

/// Returns what the next attempt is told of this one. An iteration that was cut short says nothing new: what
/// failed before it is still to be put right.
fn told_next(
    outcome: &Outcome,
    feedback: Option<Failure>,
    last_verdict: Option<String>,
) -> (Option<Failure>, String) {
    let verdict = &outcome.verdict;
    match (verdict, &outcome.log.failure) {
        (Verdict::Failed { .. }, failure) => (failure.clone(), verdict.sentence()),
        (
            Verdict::Interrupted
            | Verdict::Handoff { .. }
            | Verdict::Budget { .. }
            | Verdict::LimitHit { .. }
            | Verdict::Overloaded { .. }
            | Verdict::AgentUnavailable { .. }
            | Verdict::Overtaken { .. },
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
            | Verdict::Unverified
            | Verdict::Progress
            | Verdict::UnverifiedProgress
            | Verdict::Unclaimed
            | Verdict::NoChange { .. }
            | Verdict::Refused { .. }
            | Verdict::Escalated
            | Verdict::Diagnosed
            | Verdict::TimedOut { .. }
            | Verdict::Terminated { .. }
            | Verdict::AgentError { .. }
            | Verdict::Overtaken { .. },
            _,
        ) => (None, verdict.sentence()),
    }
}

fn feedback(outcome: &Outcome) -> Option<String> {
    let verdict = &outcome.verdict;
    match (verdict, &outcome.log.failure) {
        (verdict, _) if verdict.lands() => None,
        (Verdict::Failed { .. }, Some(failure)) => {
            Some(format!("{}\n{}", verdict.sentence(), failure.tail))
        }
        (verdict, _) => Some(verdict.sentence()),
    }
}

/// The entry of the progress file, from what the journal has.
pub(super) fn progress_entry(record: &IterationRecord) -> ProgressEntry {
    let block = &record.said.block;
    let summary = block.summary.clone();
    ProgressEntry {
        n: record.iteration,
        task: record.task_id.clone(),
        title: record.title.clone(),
        verdict: record.verdict.sentence(),
        at: record.ended_at,
        summary: summary.unwrap_or_else(|| first_words(&record.said.final_message)),
        files: record
            .git
            .files_changed
            .iter()
            .map(|f| f.path.clone())
            .collect(),
        learnings: block.learnings.clone(),
    }
}
