//! The baseline: the configured commands once a loop, before the first attempt, so that *regressed*
//! can be told from *was already broken*.

use ralph_core::{
    change::shown,
    config::VerifyNetwork,
    event::Event,
    record::VerificationRecord,
    task::VerifyCommand,
    verify::{LandedTests, VerifyReport},
};

use super::{LoopError, LoopRunner};
use crate::{
    error::file_error,
    git::{ResetSpec, Status},
    heartbeat::Heartbeat,
    iteration::{CommandRun, IterationFiles, VerifyPorts, run_verify_commands},
    plain_file,
    sandbox::{CommandNetwork, Sandbox},
    verifier::{ProgramPath, hint_of_hidden},
    workspace::VerifyLayer,
};

/// The file that holds which failures the network was no help with.
const NO_HELP: &str = "network-was-no-help";

/// The failed commands, each with what tells its failure from others.
fn failures_of(report: &VerifyReport) -> String {
    let failed = report.commands.iter().filter(|command| !command.passed());
    let failed = failed.map(|command| (command.command.to_string(), &command.signature));
    serde_json::to_string(&failed.collect::<Vec<_>>()).unwrap_or_default()
}

impl LoopRunner {
    pub(super) async fn measure_baseline(&mut self) -> Result<(), LoopError> {
        let verification = &self.settings.config.verification;
        let count = verification.commands.len();
        let commands: Vec<VerifyCommand> = verification
            .prepare
            .iter()
            .chain(&verification.commands)
            .cloned()
            .collect();
        if self.baseline.is_some() || !verification.baseline || count == 0 {
            self.settle_network_without_baseline();
            return Ok(());
        }
        self.tell(&Event::BaselineStarted {
            commands: commands.len(),
        });
        let (mut report, mut layer) = self.run_baseline(&commands).await?;
        let may_help = !report.cancelled && !report.passed() && self.may_try_the_network();
        if may_help && !self.was_no_help(&report) {
            self.notice("the baseline fails without the network; it is run once more with it");
            self.set_verify_network(CommandNetwork::Open);
            let (second, made) = self.run_baseline(&commands).await?;
            let pairs = second.commands.iter().zip(&report.commands);
            let needs_it = pairs
                .into_iter()
                .any(|(with, without)| with.passed() && !without.passed());
            if second.cancelled || needs_it {
                (report, layer) = (second, made);
            } else {
                self.set_verify_network(CommandNetwork::Off);
                self.note_no_help(&report)?;
            }
        }
        report.network = self
            .verify_network()
            .map(|network| network == CommandNetwork::Open);
        if report.network == Some(true)
            && self.settings.config.verification.network == VerifyNetwork::Auto
            && !report.cancelled
        {
            self.notice(
                "verify commands need the network, and have it in this loop; \
                 `verification.network: open` says so for good",
            );
        }
        if report.cancelled {
            return Ok(());
        }
        // What the base itself installs and builds is as good as the base.
        let prepared = self.settings.config.verification.prepare.len();
        let mut counted = report.commands.iter();
        let is_good = match prepared {
            0 => report.passed(),
            _ => counted.by_ref().take(prepared).all(|c| c.passed()),
        };
        if let Some(made) = layer.filter(|_| is_good) {
            self.keep_caches(made).await;
        }
        self.refuse_missing_in(&report)?;
        let red = report.commands.iter().filter(|c| !c.passed());
        let red: Vec<String> = red
            .map(|c| format!("{} ({})", c.command, c.outcome))
            .collect();
        let hidden = report.commands.iter().filter_map(|command| {
            let hint = hint_of_hidden(command)?;
            Some(format!("`{}` fails: {hint}", command.command))
        });
        let hidden: Vec<String> = hidden.collect();
        for message in hidden {
            self.warn(message);
        }
        let text = serde_json::to_string(&report).unwrap_or_default();
        self.journal.set_baseline(&self.loop_id, &text).await?;
        self.baseline = Some(report);
        self.tell(&Event::BaselineEnded { red });
        Ok(())
    }

    /// Runs the commands once. What was there before is put back, or was never touched: the layer is returned.
    async fn run_baseline(
        &mut self,
        commands: &[VerifyCommand],
    ) -> Result<(VerifyReport, Option<VerifyLayer>), LoopError> {
        let mut files =
            IterationFiles::baseline(&self.place.root, self.settings.config.logs.max_mb.get())?;
        let before = match self.place.layers {
            Some(_) => None,
            None => Some(self.place.repo.status().await?),
        };
        let own = self.own_paths();
        if let Some(layers) = &mut self.place.layers {
            layers.follow_user_caches();
        }
        let place = &self.place;
        let layer = match &place.layers {
            Some(layers) => {
                let made = layers.of_tree(&place.repo, &place.base, &place.base, &own);
                Some((layers, made.await?))
            }
            None => None,
        };
        let mounts = || match &layer {
            Some((layers, made)) => layers.mounts(&made.layer).map(Some),
            None => Ok(None),
        };
        let root = &*self.place.root;
        let made = layer.as_ref().map(|(_, made)| made);
        let run = CommandRun {
            commands,
            config: &self.settings.config,
            root,
            mounts: &mounts,
            written: Some(made.map_or(root, |made| made.written(root))),
            baseline: None,
            landed: &[],
        };
        let ports = VerifyPorts {
            environment: &self.runtime.environment,
            containment: self.runtime.containment,
            clock: &*self.output.clock,
            reporter: &mut *self.output.reporter,
            stop: self.control.stop.clone(),
            heartbeat: self.output.heartbeat.as_ref().map(Heartbeat::writer),
        };
        let report = run_verify_commands(run, ports, &mut files).await;
        let layer = layer.map(|(_, made)| made);
        if let Some(before) = before {
            self.put_config_back_after_baseline()?;
            self.put_back_after_baseline(&before).await?;
        }
        Ok((report, layer))
    }

    fn verify_network(&self) -> Option<CommandNetwork> {
        let sandbox = self.runtime.environment.sandbox.as_deref();
        sandbox.map(Sandbox::verify_network)
    }

    fn set_verify_network(&mut self, network: CommandNetwork) {
        if let Some(sandbox) = &mut self.runtime.environment.sandbox {
            *sandbox = sandbox.with_verify_network(network).into();
        }
    }

    fn may_try_the_network(&self) -> bool {
        self.settings.config.verification.network == VerifyNetwork::Auto
            && self.verify_network() == Some(CommandNetwork::Off)
    }

    /// Tells whether commands failed in this very way before, and failed so with the network too.
    fn was_no_help(&self, report: &VerifyReport) -> bool {
        let noted = std::fs::read_to_string(self.place.state_dir.join(NO_HELP));
        noted.is_ok_and(|noted| noted == failures_of(report))
    }

    /// Notes it for the loops to come. A failure of another kind is tried with the network again.
    fn note_no_help(&self, report: &VerifyReport) -> Result<(), LoopError> {
        let path = self.place.state_dir.join(NO_HELP);
        let written = plain_file::replace(&path, failures_of(report).as_bytes());
        written.map_err(|e| file_error("write", &path, e))
    }

    /// An earlier baseline of this loop has decided; where there is none, no one can tell.
    fn settle_network_without_baseline(&mut self) {
        if !self.may_try_the_network() {
            return;
        }
        let decided = self.baseline.as_ref().and_then(|report| report.network);
        if decided != Some(false) {
            self.set_verify_network(CommandNetwork::Open);
        }
    }

    /// Refuses verify commands whose program is not on this machine, before anything is begun. Where commands make
    /// the checkout ready, they may install it: the baseline tells.
    pub(super) fn refuse_missing_programs(&self) -> Result<(), LoopError> {
        let verification = &self.settings.config.verification;
        if !verification.prepare.is_empty() || self.board.next().is_none() {
            return Ok(());
        }
        self.refuse_commands(&verification.commands)
    }

    fn program_path(&self) -> ProgramPath<'_> {
        let environment = &self.runtime.environment;
        ProgramPath::in_environment(environment, &self.place.root, &self.settings.config.qa)
    }

    fn refuse_commands(&self, configured: &[VerifyCommand]) -> Result<(), LoopError> {
        let programs = self.program_path();
        let own = self.board.open_tasks();
        let own = own.flat_map(|task| task.verify.iter().map(move |one| (Some(&task.id), one)));
        for (task, command) in configured.iter().map(|one| (None, one)).chain(own) {
            if let Some(program) = programs.missing_for(command) {
                return Err(LoopError::MissingProgram {
                    command: command.to_string(),
                    program,
                    task: task.cloned(),
                });
            }
        }
        Ok(())
    }

    /// The same, once the commands have run before any work.
    fn refuse_missing_in(&self, report: &VerifyReport) -> Result<(), LoopError> {
        let programs = self.program_path();
        for ran in &report.commands {
            if let Some(program) = programs.missing_in(ran, None) {
                return Err(LoopError::MissingProgram {
                    command: ran.command.to_string(),
                    program,
                    task: None,
                });
            }
        }
        self.refuse_commands(&[])
    }

    /// Puts the configuration back: an edit of it by these commands is not the first agent's.
    fn put_config_back_after_baseline(&mut self) -> Result<(), LoopError> {
        let place = &self.place;
        for path in self.files.config_files.put_back(&place.state_dir)? {
            let name = path.strip_prefix(&self.place.root).unwrap_or(&path);
            self.notice(format!(
                "the verify commands rewrote {}; put back",
                shown(name)
            ));
        }
        Ok(())
    }

    /// Puts back tracked files that the commands rewrote in the user's own folder. What they made stays.
    async fn put_back_after_baseline(&mut self, before: &Status) -> Result<(), LoopError> {
        let after = self.place.repo.status().await?;
        let rewritten = self.foreign_changes(&after);
        if rewritten.is_empty() || !self.foreign_changes(before).is_empty() {
            return Ok(());
        }
        let own = self.own_paths();
        let untracked = after.untracked.iter().cloned().collect();
        let reset = ResetSpec {
            branch: &self.place.branch,
            base: &before.head,
            keep_untracked: &untracked,
            own_paths: &own,
        };
        self.place.repo.reset_to(&reset).await?;
        self.notice(format!(
            "the verify commands rewrote {}; put back as committed",
            rewritten.join(", ")
        ));
        Ok(())
    }

    /// Takes the tests of a change that landed for those that the next one is compared with.
    pub(super) fn count_landed_tests(&mut self, verification: &[VerificationRecord]) {
        let mut ran: Vec<&VerificationRecord> = last_run_of(verification).collect();
        let baseline = self.baseline.iter_mut();
        for before in baseline.flat_map(|baseline| &mut baseline.commands) {
            let command = before.command.to_string();
            if let Some(at) = ran.iter().position(|record| record.command == command) {
                before.tests.clone_from(&ran.remove(at).tests);
            }
        }
        for record in ran {
            self.landed_tests
                .retain(|known| known.command != record.command);
            self.landed_tests.push(LandedTests {
                command: record.command.clone(),
                tests: record.tests.clone(),
            });
        }
    }
}

/// The commands that were run after the last run of an agent.
pub(super) fn last_run_of(
    verification: &[VerificationRecord],
) -> impl Iterator<Item = &VerificationRecord> {
    let last = verification.iter().map(|record| record.run).max();
    let records = verification.iter();
    records.filter(move |record| Some(record.run) == last)
}
