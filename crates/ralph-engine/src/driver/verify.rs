//! Verifies a change: the configured commands and the task's own, as they stood when the loop began.

use ralph_core::{
    config::KnownFailures,
    event::Event,
    iteration::{Check, Failure, StepDone},
    record::VerificationRecord,
    task::{Task, VerifyCommand},
    time::later,
    verify::{CommandReport, Comparison, VerifyReport, compare},
};

use super::{Driver, LoopError, health::Doing, logs::Logs, notes::Turn};
use crate::verifier::{TailCaps, VerifyContext, VerifyEvent, run_commands};

impl Driver {
    pub(super) fn verify_commands(&self, task: &Task) -> Vec<VerifyCommand> {
        let configured = self.config.verification.commands.iter();
        let mut commands: Vec<VerifyCommand> = configured.cloned().collect();
        for own in &task.verify {
            if !commands.contains(own) {
                commands.push(own.clone());
            }
        }
        commands
    }

    pub(super) async fn verify(
        &mut self,
        turn: &mut Turn,
        logs: &mut Logs,
    ) -> Result<StepDone, LoopError> {
        let commands = self.verify_commands(&turn.task);
        if commands.is_empty() {
            return Ok(StepDone::Verified {
                check: Check {
                    unverified: true,
                    ..Check::default()
                },
            });
        }
        logs.heading("verify");
        let report = self.run_commands(&commands, logs).await;
        if report.cancelled {
            return Ok(StepDone::Interrupted);
        }
        let run = turn.machine.run();
        Ok(StepDone::Verified {
            check: self.judge(&report, run),
        })
    }

    /// Runs commands in the working tree, telling whoever watches.
    pub(super) async fn run_commands(
        &mut self,
        commands: &[VerifyCommand],
        logs: &mut Logs,
    ) -> VerifyReport {
        let verification = &self.config.verification;
        let each = verification.timeout_minutes.duration();
        let longest = each * u32::try_from(commands.len()).unwrap_or(u32::MAX);
        self.does(Doing::Verify, Some(later(self.now(), longest)));
        let context = VerifyContext {
            cwd: self.root.clone(),
            env: self.environment.vars.clone(),
            timeout: verification.timeout_minutes.duration(),
            containment: self.containment,
            caps: TailCaps {
                lines: usize::try_from(verification.tail_lines.get()).unwrap_or(usize::MAX),
                bytes: usize::try_from(verification.tail_bytes.get()).unwrap_or(usize::MAX),
            },
        };
        let (reporter, clock, baseline) = (&mut self.reporter, &self.clock, &self.baseline);
        let mut on_event = |event: VerifyEvent<'_>| {
            let event = match event {
                VerifyEvent::Started { command, .. } => Event::VerifyStarted {
                    command: command.to_string(),
                },
                VerifyEvent::Finished { report, .. } => Event::VerifyEnded {
                    command: report.command.to_string(),
                    passed: report.passed(),
                    seconds: report.duration.as_secs_f64(),
                    against_baseline: baseline
                        .as_ref()
                        .map_or("", |b| word(compare_alone(Some(b), report)))
                        .into(),
                },
            };
            reporter.report(&event, clock.now());
        };
        let mut stop = self.stop.clone();
        let cancelled = async move {
            if stop.wait_for(Option::is_some).await.is_err() {
                std::future::pending::<()>().await;
            }
        };
        run_commands(commands, &context, &mut logs.text, &mut on_event, cancelled).await
    }

    fn judge(&self, report: &VerifyReport, run: u32) -> Check {
        let comparisons = compare(self.baseline.as_ref(), report);
        let allow = self.config.verification.known_failures == KnownFailures::Allow;
        let failing = report
            .commands
            .iter()
            .zip(&comparisons)
            .find(|(command, comparison)| {
                let known = matches!(
                    comparison,
                    Comparison::AlreadyBroken {
                        same_signature: true
                    }
                );
                !(command.passed() || allow && known)
            });
        Check {
            failure: failing.map(|(command, comparison)| failure(command, *comparison)),
            unverified: false,
            commands: report
                .commands
                .iter()
                .zip(&comparisons)
                .map(|(command, comparison)| VerificationRecord {
                    run,
                    command: command.command.to_string(),
                    outcome: command.outcome.to_string(),
                    passed: command.passed(),
                    seconds: command.duration.as_secs_f64(),
                    against_baseline: word(*comparison).into(),
                    signature: command.signature.as_ref().map(|s| s.as_str().to_owned()),
                    tail: if command.passed() {
                        String::new()
                    } else {
                        command.tail.clone()
                    },
                })
                .collect(),
        }
    }
}

fn compare_alone(baseline: Option<&VerifyReport>, report: &CommandReport) -> Comparison {
    let alone = VerifyReport {
        commands: vec![report.clone()],
        cancelled: false,
    };
    compare(baseline, &alone)
        .first()
        .copied()
        .unwrap_or(Comparison::Passed)
}

fn failure(command: &CommandReport, comparison: Comparison) -> Failure {
    Failure {
        command: command.command.to_string(),
        signature: command
            .signature
            .as_ref()
            .map(|s| s.as_str().to_owned())
            .unwrap_or_default(),
        tail: format!("{}\n[{}]", command.tail.trim_end(), command.outcome),
        against_baseline: match comparison {
            Comparison::Passed | Comparison::NewFailure => String::new(),
            Comparison::Regressed => "it passed before your change".into(),
            Comparison::AlreadyBroken {
                same_signature: true,
            } => "it failed the same way before any work was done".into(),
            Comparison::AlreadyBroken {
                same_signature: false,
            } => "it failed in another way before any work was done".into(),
        },
    }
}

/// The comparison as records and events have it.
fn word(comparison: Comparison) -> &'static str {
    match comparison {
        Comparison::Passed => "passed",
        Comparison::Regressed => "regressed",
        Comparison::AlreadyBroken {
            same_signature: true,
        } => "already_broken",
        Comparison::AlreadyBroken {
            same_signature: false,
        } => "already_broken_otherwise",
        Comparison::NewFailure => "new_failure",
    }
}
