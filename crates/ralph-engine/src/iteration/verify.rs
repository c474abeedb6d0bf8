//! Verifies a change: the configured commands and the task's own, as they stood when the loop began.

use std::path::{Path, PathBuf};

use ralph_core::{
    allowlist::Allowlist,
    change::shown,
    config::{Config, KnownFailures, ProtectTests},
    event::Event,
    iteration::{Check, Failure, StepDone},
    job::Job,
    record::VerificationRecord,
    task::VerifyCommand,
    time::later,
    verdict::NOT_STARTED,
    verify::{
        Comparison, LandedTests, TestCounts, TestFinding, VerifyCommandReport, VerifyReport,
        compare, compare_tests, counterparts,
    },
};

use super::{IterationContext, IterationFiles, Services, flow_results, inspect::inspect_written};
use crate::{
    agent::StopRequest,
    clock::Clock,
    environment::Environment,
    error::LoopError,
    git::SavedFile,
    heartbeat::{HeartbeatWriter, LoopActivity},
    journal_text::oid,
    process::{Containment, MountPlan},
    report::Reporter,
    verifier::{OwnCommand, ProgramPath, TailCaps, VerifyContext, VerifyEvent, run_commands},
    workspace::{StagedCandidate, VerifyLayer, Workspace},
};

pub(super) async fn verify(
    context: &mut IterationContext<'_>,
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
        Some(made) => here.mounts_of(&made.layer).map(Some),
        None => here.mounts(),
    };
    let root = here.root();
    let written = layer.as_ref().map_or(root, |made| made.written(root));
    let has_flows = commands.iter().any(|command| command.flows().is_some());
    if has_flows {
        flow_results::clear(written);
    }
    let run = CommandRun {
        commands: &commands,
        config: &job.config,
        root,
        mounts: &mounts,
        written: Some(written),
        baseline: job.baseline.as_ref(),
        landed: &job.history.landed_tests,
    };
    let mut report = run_verify_commands(run, services.verify_ports(), files).await;
    if has_flows {
        let redaction = services.environment.redaction();
        flow_results::keep(root, written, job.number, &mut report, redaction);
    }
    let tree = context.log.change.as_ref();
    let tree = tree.map(|change| oid(&change.tree)).transpose()?;
    let candidate = tree.as_ref().map(|tree| StagedCandidate {
        tree,
        tip: context.tip.as_ref(),
        files: context
            .log
            .change
            .as_ref()
            .map_or(&[], |change| &change.files),
    });
    let restoring = workspace.restore_after_commands(job, &context.progress, candidate);
    let restored = restoring.await?;
    if report.cancelled {
        return Ok(StepDone::Interrupted);
    }
    let mut check = judge(job, &report, context.machine.run());
    let programs =
        ProgramPath::in_environment(services.environment, workspace.root(), &job.config.qa);
    name_missing_program(job, &report, &programs, &mut check);
    let mut taken = Vec::new();
    if check.failure.is_none() {
        let written = VerifyWriting {
            layer,
            saved: restored.saved,
        };
        taken = settle(context, workspace, services, written, &mut check).await?;
    }
    let put_back = restored.rewritten.iter();
    for path in put_back.filter(|path| !taken.contains(path)) {
        let message = format!(
            "{} was rewritten by verification; it is put back",
            shown(path)
        );
        files.line(&message);
        services.tell(&Event::Notice { message });
    }
    let flags = restored.flags.into_iter();
    check
        .flags
        .extend(flags.map(|what| format!("while the change was verified: {what}")));
    for flag in &check.flags {
        files.line(flag);
        services.tell(&Event::Warning {
            message: flag.clone(),
        });
    }
    Ok(StepDone::Verified { check })
}

/// A command that lacks a program which no agent can bring is what the attempt failed by, whatever else failed.
fn name_missing_program(
    job: &Job,
    report: &VerifyReport,
    programs: &ProgramPath<'_>,
    check: &mut Check,
) {
    let before = counterparts(job.baseline.as_ref(), report).into_iter();
    let mut missing = before
        .zip(&report.commands)
        .filter_map(|(before, command)| {
            let program = programs.missing_in(command, before)?;
            Some((command, program))
        });
    if let (Some(_), Some((command, program))) = (&check.failure, missing.next()) {
        let mut failed = failure(command, Comparison::NewFailure);
        failed.signature = NOT_STARTED.to_owned();
        failed.tail.push_str(&format!(
            "\n[{program} is not installed here: the loop stops, and the attempt is not charged]"
        ));
        check.failure = Some(failed);
    }
}

/// The writing of verify commands that passed: in a layer of their own, or in the place of the candidate.
struct VerifyWriting {
    layer: Option<VerifyLayer>,
    saved: Vec<SavedFile>,
}

/// Takes what verify commands wrote of what lands with the change into it, and returns it. What may not land fails
/// the change.
async fn settle(
    context: &mut IterationContext<'_>,
    workspace: &mut dyn Workspace,
    services: &mut Services<'_>,
    written: VerifyWriting,
    check: &mut Check,
) -> Result<Vec<PathBuf>, LoopError> {
    let Some(change) = context.log.change.clone() else {
        return Ok(Vec::new());
    };
    let written = match written.layer {
        Some(layer) => {
            let settled = workspace.settle_verified(context.job, &change, layer);
            settled.await?
        }
        None => workspace.take_saved(written.saved)?,
    };
    // A change that was brought to a person's commit is not what the agent's layer holds.
    if written.is_empty() || change.replayed.is_some() {
        return Ok(Vec::new());
    }
    let changed = inspect_written(context, workspace, &change, &written).await?;
    if changed.tree == change.tree {
        return Ok(Vec::new());
    }
    if let Some(refusal) = &changed.refusal {
        let names: Vec<String> = written.iter().map(|path| shown(path)).collect();
        check.failure = Some(Failure {
            command: format!("what verification wrote: {}", names.join(", ")),
            signature: refusal.reason.clone(),
            tail: refusal.reason.clone(),
            against_baseline: String::new(),
        });
    }
    for message in changed.flags.iter().cloned() {
        services.tell(&Event::Notice { message });
    }
    check.change = Some(Box::new(changed));
    Ok(written)
}

/// Commands that are to be run, and where.
#[derive(Clone, Copy)]
pub(crate) struct CommandRun<'a> {
    pub(crate) commands: &'a [VerifyCommand],
    pub(crate) config: &'a Config,
    pub(crate) root: &'a Path,
    /// Plans what each of them sees of the file system.
    pub(crate) mounts: &'a dyn Fn() -> Result<Option<MountPlan>, LoopError>,
    /// The folder in which what they write is found from outside, if their tests are to be counted by it.
    pub(crate) written: Option<&'a Path>,
    /// The results that each one is compared with.
    pub(crate) baseline: Option<&'a VerifyReport>,
    /// The tests that those are compared with which the baseline does not have.
    pub(crate) landed: &'a [LandedTests],
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
        keeper: ports.environment.keeper,
        sandbox: ports.environment.sandbox.as_deref(),
        mounts: Some(&|| (run.mounts)().map_err(|error| error.to_string())),
        written: run.written,
        caps: TailCaps {
            lines: usize::try_from(verification.tail_lines.get()).unwrap_or(usize::MAX),
            bytes: usize::try_from(verification.tail_bytes.get()).unwrap_or(usize::MAX),
        },
        redaction: ports.environment.redaction(),
        allowed: Allowlist::new(&run.config.safety.allowed_commands),
        own: OwnCommand::new(&run.config.qa),
    };
    let (reporter, clock) = (ports.reporter, ports.clock);
    let files_log = files.shown_text();
    let mut on_event = |event: VerifyEvent<'_>| {
        let event = match event {
            VerifyEvent::Started { command } => Event::VerifyStarted {
                command: command.to_string(),
            },
            VerifyEvent::Running { line: None, .. } => {
                if reporter.wants_ticks() {
                    reporter.tick(clock.now());
                }
                return;
            }
            VerifyEvent::Running {
                command,
                line: Some(line),
            } => Event::VerifyOutput {
                command: command.to_string(),
                line,
            },
            VerifyEvent::Finished { report } => Event::VerifyEnded {
                command: report.command.to_string(),
                passed: report.passed() && !lost_alone(run, report),
                tail: if report.passed() {
                    String::new()
                } else {
                    report.tail.clone()
                },
                log: files_log.clone(),
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
        stop.until_asked().await;
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
    let protect = job.config.safety.protect_tests;
    let judged: Vec<JudgedCommand<'_>> = counterparts(job.baseline.as_ref(), report)
        .into_iter()
        .zip(report.commands.iter().zip(comparisons))
        .map(|(before, (command, comparison))| {
            let known = matches!(
                comparison,
                Comparison::AlreadyBroken {
                    same_signature: true
                }
            );
            let holds = command.passed() || allow && known;
            let tests = if holds {
                let landed = &job.history.landed_tests;
                let is_own = job.task.verify.contains(&command.command);
                let tests = changed_tests(protect, tests_before(before, landed, command), command);
                if is_own {
                    tests.or_no_test(protect, command)
                } else {
                    tests
                }
            } else {
                TestsChanged::default()
            };
            JudgedCommand {
                command,
                comparison,
                holds,
                tests,
            }
        })
        .collect();
    let flags = judged.iter().flat_map(|one| {
        let findings = one.tests.flags.iter();
        findings.map(|finding| format!("`{}` {finding}", one.command.command))
    });
    let failing = judged.iter().find(|one| !one.holds || one.tests.lost());
    Check {
        failure: failing.map(JudgedCommand::failure),
        unverified: false,
        commands: judged.iter().map(|one| one.record(run)).collect(),
        flags: flags.collect(),
        change: None,
    }
}

/// A command, and what its run says of the change.
struct JudgedCommand<'a> {
    command: &'a VerifyCommandReport,
    comparison: Comparison,
    /// It passed, or fails as it did and may.
    holds: bool,
    tests: TestsChanged,
}

impl JudgedCommand<'_> {
    fn failure(&self) -> Failure {
        let mut failure = failure(self.command, self.comparison);
        if let (true, Some(lost)) = (self.holds, self.tests.sentence()) {
            failure.signature = "tests lost".into();
            failure.tail.push_str(&format!(
                "\n[{lost}: the change must not take tests away from it]"
            ));
        }
        failure
    }

    fn record(&self, run: u32) -> VerificationRecord {
        let command = self.command;
        let lost = self.tests.sentence();
        VerificationRecord {
            run,
            command: command.command.to_string(),
            outcome: match &lost {
                Some(lost) => format!("{}, but it {lost}", command.outcome),
                None => command.outcome.to_string(),
            },
            passed: command.passed() && lost.is_none(),
            seconds: command.duration.as_secs_f64(),
            against_baseline: word(self.comparison).into(),
            signature: command.signature.as_ref().map(|s| s.as_str().to_owned()),
            tail: if command.passed() && lost.is_none() {
                String::new()
            } else {
                command.tail.clone()
            },
            tests: command.tests.clone(),
        }
    }
}

/// The difference in the tests that a command runs.
#[derive(Default)]
struct TestsChanged {
    /// For these the change does not land.
    lost: Vec<TestFinding>,
    flags: Vec<TestFinding>,
}

impl TestsChanged {
    fn lost(&self) -> bool {
        !self.lost.is_empty()
    }

    /// A task's own command that runs no test is flagged, also if there was no count to compare with.
    fn or_no_test(mut self, protect: ProtectTests, now: &VerifyCommandReport) -> Self {
        let is_known = !self.lost.is_empty() || !self.flags.is_empty();
        let runs_none = now.tests.as_ref().is_some_and(|tests| tests.ran() == 0);
        if runs_none && !is_known && protect != ProtectTests::Off {
            self.flags.push(TestFinding::NoTest);
        }
        self
    }

    fn sentence(&self) -> Option<String> {
        let lost: Vec<String> = self.lost.iter().map(ToString::to_string).collect();
        (!lost.is_empty()).then(|| lost.join(" and "))
    }
}

/// The tests that a command ran before: in the baseline, or for the last change that landed with it.
fn tests_before<'a>(
    baseline: Option<&'a VerifyCommandReport>,
    landed: &'a [LandedTests],
    now: &VerifyCommandReport,
) -> Option<&'a TestCounts> {
    if let Some(before) = baseline {
        return before.tests.as_ref();
    }
    let command = now.command.to_string();
    let known = landed.iter().find(|known| known.command == command);
    known.and_then(|known| known.tests.as_ref())
}

/// Compares the tests that a command ran with those that it ran before. One that ran none before has nothing to
/// fall short of.
fn changed_tests(
    protect: ProtectTests,
    before: Option<&TestCounts>,
    now: &VerifyCommandReport,
) -> TestsChanged {
    let found = compare_tests(before, now.tests.as_ref());
    match protect {
        ProtectTests::Off => TestsChanged::default(),
        ProtectTests::Flag => {
            let (lost, flags) = found.into_iter().partition(TestFinding::fails);
            TestsChanged { lost, flags }
        }
        ProtectTests::Block => TestsChanged {
            lost: found,
            flags: Vec::new(),
        },
    }
}

/// Tells whether a command that has just ended lost tests.
fn lost_alone(run: CommandRun<'_>, report: &VerifyCommandReport) -> bool {
    let mut same = run.baseline.iter().flat_map(|baseline| &baseline.commands);
    let before = same.find(|before| before.command == report.command);
    let before = tests_before(before, run.landed, report);
    changed_tests(run.config.safety.protect_tests, before, report).lost()
}

fn compare_alone(baseline: Option<&VerifyReport>, report: &VerifyCommandReport) -> Comparison {
    let alone = VerifyReport {
        commands: vec![report.clone()],
        cancelled: false,
        network: None,
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
            Comparison::Regressed => "it passed before any work was done".into(),
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
