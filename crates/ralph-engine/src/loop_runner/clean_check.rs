//! The clean check: the commit that landed last, verified once more in a fresh clone, as another person or a CI
//! would get it.

use ralph_core::{
    config::CleanCheck,
    event::{CleanOutcome, Event},
    job::{Job, Outcome},
    task::VerifyCommand,
    termination::Stop,
    verify::{CleanFinding, judge_clean},
};

use super::{LoopError, LoopRunner};
use crate::{
    commit_check::{CleanClone, SilentReporter, commands_of},
    git::Oid,
    heartbeat::Heartbeat,
    iteration::{IterationFiles, VerifyPorts},
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

impl LoopRunner {
    /// Notes a commit that has landed. One that nothing verified needs no second look.
    pub(super) fn note_landed(&mut self, job: &Job, outcome: &Outcome, commit: &Oid) {
        if outcome.unverified {
            return;
        }
        let commands = outcome.log.verification.iter();
        let passed = commands.filter(|one| one.run == outcome.last_run && one.passed);
        self.clean.due = Some(DueCheck {
            commit: commit.clone(),
            own: job.task.verify.clone(),
            passed: passed.map(|one| one.command.clone()).collect(),
        });
    }

    /// Checks what has just landed, where each is to be checked. Returns what the record is to say.
    pub(super) async fn check_landed(&mut self) -> Option<String> {
        match self.settings.config.verification.clean_check {
            CleanCheck::Always => self.check_due().await,
            CleanCheck::End | CleanCheck::Off => None,
        }
    }

    /// Checks what landed last. A loop whose last commit can't be built by others ends as one that a person has
    /// to look at.
    pub(super) async fn check_at_end(&mut self, stop: Stop) -> Stop {
        let is_cut_off = matches!(stop, Stop::Interrupted { .. } | Stop::Failed { .. });
        if is_cut_off {
            return stop;
        }
        match self.settings.config.verification.clean_check {
            CleanCheck::End | CleanCheck::Always => drop(self.check_due().await),
            CleanCheck::Off => {}
        }
        match self.clean.failed.take() {
            None => stop,
            Some(reason) => Stop::Halted {
                reason: format!("{}, but {reason}", stop.sentence()),
            },
        }
    }

    async fn check_due(&mut self) -> Option<String> {
        let due = self.clean.due.take()?;
        let found = self.check_in_clone(&due).await;
        let found = found.unwrap_or_else(|error| CleanFinding::NotChecked {
            reason: error.to_string(),
        });
        let commit = due.commit.short().to_owned();
        self.clean.failed = None;
        let (outcome, message, tail) = match found {
            CleanFinding::Passed => {
                let message = format!("{commit} passes in a clean clone");
                (CleanOutcome::Passed, message, String::new())
            }
            CleanFinding::Failed { command, tail } => {
                let message = format!("{commit} fails `{command}` in a clean clone");
                self.clean.failed = Some(message.clone());
                (CleanOutcome::Failed, message, tail)
            }
            CleanFinding::NotChecked { reason } => {
                let message = format!("not checked in a clean clone: {reason}");
                (CleanOutcome::NotChecked, message, String::new())
            }
        };
        self.tell(&Event::CleanChecked {
            commit: due.commit.to_string(),
            outcome,
            message: message.clone(),
            tail,
        });
        (outcome != CleanOutcome::Passed).then_some(message)
    }

    async fn check_in_clone(&mut self, due: &DueCheck) -> Result<CleanFinding, LoopError> {
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
