//! The clean check: the commit that landed last, verified once more in a fresh clone, as another person or a CI
//! would get it.

use ralph_core::{
    config::CleanCheck,
    event::Event,
    id::LoopId,
    job::{Job, Outcome},
    record::VerificationRecord,
    task::{TaskId, VerifyCommand},
    termination::Stop,
    verify::{CleanFinding, CleanOutcome, judge_clean},
};

use super::{LoopError, LoopRunner, baseline::last_run_of};
use crate::{
    commit_check::{CleanClone, SilentReporter, commands_of},
    git::Oid,
    heartbeat::Heartbeat,
    iteration::{IterationFiles, VerifyPorts},
    journal_text::oid,
    workspace::read_only_data,
};

/// The checks that are due, and what was found.
#[derive(Debug, Default)]
pub(super) struct CleanWatch {
    due: Option<DueCheck>,
    /// Tells what is wrong with the commit that landed last.
    failed: Option<String>,
}

/// A commit that is to be checked.
#[derive(Debug)]
struct DueCheck {
    commit: Oid,
    /// The commands of its task.
    own: Vec<VerifyCommand>,
    /// The commands that passed before it landed.
    passed: Vec<String>,
}

impl DueCheck {
    fn new(commit: &Oid, own: Vec<VerifyCommand>, verification: &[VerificationRecord]) -> Self {
        let passed = last_run_of(verification).filter(|one| one.passed);
        Self {
            commit: commit.clone(),
            own,
            passed: passed.map(|one| one.command.clone()).collect(),
        }
    }
}

impl LoopRunner {
    /// Notes a commit that has landed. One that nothing verified needs no second look.
    pub(super) fn note_landed(&mut self, job: &Job, outcome: &Outcome, commit: &Oid) {
        if outcome.unverified {
            return;
        }
        let own = job.task.verify.clone();
        self.clean.due = Some(DueCheck::new(commit, own, &outcome.log.verification));
    }

    /// Takes up what a loop landed before it was cut off: the tests of it, and the check that is due.
    pub(super) async fn recall_landed(&mut self, loop_id: &LoopId) -> Result<(), LoopError> {
        for record in self.journal.records_of(loop_id).await? {
            let Some(commit) = &record.git.result_commit else {
                continue;
            };
            self.count_landed_tests(&record.verification);
            if record.unverified {
                continue;
            }
            let task = TaskId::parse(&record.task_id).ok();
            let task = task.and_then(|id| self.board.task(&id));
            let own = task.map(|task| task.verify.clone()).unwrap_or_default();
            let due = DueCheck::new(&oid(commit)?, own, &record.verification);
            self.clean.due = Some(due);
        }
        Ok(())
    }

    /// Checks what has just landed, where each is to be checked. Returns what the record is to say.
    pub(super) async fn run_clean_check(&mut self) -> Result<Option<String>, LoopError> {
        match self.settings.config.verification.clean_check {
            CleanCheck::Always => self.run_due_check().await,
            CleanCheck::End | CleanCheck::Off => Ok(None),
        }
    }

    /// Checks what landed last. A loop whose last commit can't be built by others ends as one that a person has
    /// to look at.
    pub(super) async fn run_clean_check_at_end(&mut self, stop: Stop) -> Result<Stop, LoopError> {
        let is_cut_off = matches!(stop, Stop::Interrupted { .. } | Stop::Failed { .. });
        match self.settings.config.verification.clean_check {
            CleanCheck::End | CleanCheck::Always if is_cut_off => {
                self.leave_unchecked("the loop was stopped before").await?;
            }
            CleanCheck::End | CleanCheck::Always => drop(self.run_due_check().await?),
            CleanCheck::Off => {
                self.leave_unchecked("`verification.clean_check` is off")
                    .await?;
            }
        }
        Ok(match self.clean.failed.take() {
            Some(reason) if !is_cut_off => Stop::Halted {
                reason: format!("{}, but {reason}", stop.sentence()),
            },
            Some(_) | None => stop,
        })
    }

    async fn leave_unchecked(&mut self, reason: &str) -> Result<(), LoopError> {
        let Some(due) = self.clean.due.take() else {
            return Ok(());
        };
        let reason = reason.to_owned();
        let found = CleanFinding::NotChecked { reason };
        let found = found.result(due.commit.as_str(), due.commit.short());
        Ok(self.journal.set_clean_check(&self.loop_id, &found).await?)
    }

    /// Checks what is due, and returns what is to be said of it.
    async fn run_due_check(&mut self) -> Result<Option<String>, LoopError> {
        let Some(due) = self.clean.due.take() else {
            return Ok(None);
        };
        let what = format!("verifying {} in a fresh clone", due.commit.short());
        self.output.reporter.begin(&what);
        let found = self.verify_in_clone(&due).await;
        let found = found.unwrap_or_else(|error| CleanFinding::NotChecked {
            reason: error.to_string(),
        });
        let result = found.result(due.commit.as_str(), due.commit.short());
        self.journal.set_clean_check(&self.loop_id, &result).await?;
        let (outcome, message) = (result.outcome, result.sentence);
        self.clean.failed = (outcome == CleanOutcome::Failed).then(|| message.clone());
        self.tell(&Event::CleanChecked {
            commit: result.commit,
            outcome,
            message: message.clone(),
            tail: found.tail().to_owned(),
        });
        Ok((outcome != CleanOutcome::Passed).then_some(message))
    }

    async fn verify_in_clone(&mut self, due: &DueCheck) -> Result<CleanFinding, LoopError> {
        let place = &self.place;
        let environment = &self.runtime.environment;
        let read_only = read_only_data(&place.data_dir, &place.root, environment);
        let clone = CleanClone::make(&place.repo, &due.commit, &place.data_dir, read_only).await?;
        let config = &self.settings.config;
        let prepare = config.verification.prepare.len();
        let missing = clone.lacks(prepare)?;
        if let Some(reason) = missing {
            return Ok(CleanFinding::NotChecked { reason });
        }
        let mut files = IterationFiles::commit_check(&place.root, config.logs.max_mb.get())?;
        files.heading(&format!("{} in a clean clone", due.commit));
        let mut reporter = SilentReporter;
        let ports = VerifyPorts {
            environment,
            containment: self.runtime.containment,
            clock: &*self.output.clock,
            reporter: &mut reporter,
            stop: self.control.stop.clone(),
            heartbeat: self.output.heartbeat.as_ref().map(Heartbeat::writer),
        };
        let commands = commands_of(config, &due.own);
        let run = clone.run(&commands, config, ports, &mut files);
        let limit = config.verification.clean_timeout_minutes.duration();
        let ran = tokio::time::timeout(limit, run).await;
        files.close();
        let Ok(report) = ran else {
            let reason = "it took longer than `verification.clean_timeout_minutes`".into();
            return Ok(CleanFinding::NotChecked { reason });
        };
        Ok(judge_clean(&report?, prepare, &due.passed))
    }
}
