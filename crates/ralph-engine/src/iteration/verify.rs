//! Verifies a change: the configured commands and the task's own, as they stood when the loop began.

use std::path::Path;

use ralph_core::{
    config::{Config, KnownFailures},
    event::Event,
    iteration::{Check, Failure, StepDone},
    job::Job,
    record::VerificationRecord,
    task::VerifyCommand,
    time::later,
    verify::{Comparison, VerifyCommandReport, VerifyReport, compare},
};

use super::{IterationContext, IterationFiles, Services};
use crate::{
    agent::StopRequest,
    clock::Clock,
    environment::Environment,
    error::LoopError,
    heartbeat::{HeartbeatWriter, LoopActivity},
    process::{Containment, MountPlan},
    report::Reporter,
    verifier::{TailCaps, VerifyContext, VerifyEvent, run_commands},
    workspace::Workspace,
};

pub(super) async fn verify(
    context: &IterationContext<'_>,
    workspace: &mut dyn Workspace,
    services: &mut Services<'_>,
    files: &mut IterationFiles,
) -> Result<StepDone, LoopError> {
    let job = context.job;
    let commands = job.verify_commands();
    if commands.is_empty() {
        return Ok(StepDone::Verified {
            check: Check {
                unverified: true,
                ..Check::default()
            },
        });
    }
    files.heading("verify");
    let layer = match &context.log.change {
        Some(change) => workspace.verify_layer(job, change).await?,
        None => None,
    };
    let here: &dyn Workspace = workspace;
    let mounts = || match &layer {
        Some(layer) => here.mounts_of(layer).map(Some),
        None => here.mounts(),
    };
    let run = CommandRun {
        commands: &commands,
        config: &job.config,
        root: here.root(),
        mounts: &mounts,
        baseline: job.baseline.as_ref(),
    };
    let report = run_verify_commands(run, services.verify_ports(), files).await;
    drop(layer);
    for what in workspace.restore_after_verify(job, &context.progress)? {
        files.line(&what);
        services.tell(&Event::Warning {
            message: format!("while the change was verified: {what}"),
        });
    }
    if report.cancelled {
        return Ok(StepDone::Interrupted);
    }
    Ok(StepDone::Verified {
        check: judge(job, &report, context.machine.run()),
    })
}

/// Commands that are to be run, and where.
#[derive(Clone, Copy)]
pub(crate) struct CommandRun<'a> {
    pub(crate) commands: &'a [VerifyCommand],
    pub(crate) config: &'a Config,
    pub(crate) root: &'a Path,
    /// Plans what each of them sees of the file system.
    pub(crate) mounts: &'a dyn Fn() -> Result<Option<MountPlan>, LoopError>,
    /// The results that each one is compared with.
    pub(crate) baseline: Option<&'a VerifyReport>,
}

/// What running commands meets outside of them.
pub(crate) struct VerifyPorts<'a> {
    pub(crate) environment: &'a Environment,
    pub(crate) containment: Containment,
    pub(crate) clock: &'a dyn Clock,
    pub(crate) reporter: &'a mut dyn Reporter,
    pub(crate) stop: StopRequest,
    pub(crate) heartbeat: Option<HeartbeatWriter>,
}

impl Services<'_> {
    pub(super) fn verify_ports(&mut self) -> VerifyPorts<'_> {
        VerifyPorts {
            environment: self.environment,
            containment: self.containment,
            clock: self.clock,
            reporter: &mut *self.reporter,
            stop: self.stop.clone(),
            heartbeat: self.heartbeat.clone(),
        }
    }
}

/// Runs commands in a workspace, and tells of each.
pub(crate) async fn run_verify_commands(
    run: CommandRun<'_>,
    ports: VerifyPorts<'_>,
    files: &mut IterationFiles,
) -> VerifyReport {
    let verification = &run.config.verification;
    let each = verification.timeout_minutes.duration();
    let longest = each * u32::try_from(run.commands.len()).unwrap_or(u32::MAX);
    if let Some(heartbeat) = &ports.heartbeat {
        let until = later(ports.clock.now(), longest);
        heartbeat.set_activity(LoopActivity::Verify, Some(until));
    }
    let context = VerifyContext {
        cwd: run.root.to_owned(),
        env: ports.environment.vars.clone(),
        timeout: each,
        containment: ports.containment,
        mounts: Some(&|| (run.mounts)().map_err(|error| error.to_string())),
        caps: TailCaps {
            lines: usize::try_from(verification.tail_lines.get()).unwrap_or(usize::MAX),
            bytes: usize::try_from(verification.tail_bytes.get()).unwrap_or(usize::MAX),
        },
    };
    let (reporter, clock) = (ports.reporter, ports.clock);
    let mut on_event = |event: VerifyEvent<'_>| {
        let event = match event {
            VerifyEvent::Started { command, .. } => Event::VerifyStarted {
                command: command.to_string(),
            },
            VerifyEvent::Finished { report, .. } => Event::VerifyEnded {
                command: report.command.to_string(),
                passed: report.passed(),
                seconds: report.duration.as_secs_f64(),
                against_baseline: run
                    .baseline
                    .map_or("", |b| word(compare_alone(Some(b), report)))
                    .into(),
            },
        };
        reporter.report(&event, clock.now());
    };
    let mut stop = ports.stop;
    let cancelled = async move {
        if stop.wait_for(Option::is_some).await.is_err() {
            std::future::pending::<()>().await;
        }
    };
    run_commands(
        run.commands,
        &context,
        &mut files.text,
        &mut on_event,
        cancelled,
    )
    .await
}

/// Returns what a report of the commands says of the change.
fn judge(job: &Job, report: &VerifyReport, run: u32) -> Check {
    let comparisons = compare(job.baseline.as_ref(), report);
    let allow = job.config.verification.known_failures == KnownFailures::Allow;
    let compared = || report.commands.iter().zip(&comparisons);
    let failing = compared().find(|(command, comparison)| {
        let known = matches!(
            comparison,
            Comparison::AlreadyBroken {
                same_signature: true
            }
        );
        !(command.passed() || allow && known)
    });
    let record = |(command, comparison): (&VerifyCommandReport, &Comparison)| VerificationRecord {
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
    };
    Check {
        failure: failing.map(|(command, comparison)| failure(command, *comparison)),
        unverified: false,
        commands: compared().map(record).collect(),
    }
}

fn compare_alone(baseline: Option<&VerifyReport>, report: &VerifyCommandReport) -> Comparison {
    let alone = VerifyReport {
        commands: vec![report.clone()],
        cancelled: false,
    };
    compare(baseline, &alone)
        .first()
        .copied()
        .unwrap_or(Comparison::Passed)
}

fn failure(command: &VerifyCommandReport, comparison: Comparison) -> Failure {
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
