//! The baseline: the configured commands once a loop, before the first attempt, so that *regressed*
//! can be told from *was already broken*.

use ralph_core::event::Event;

use super::{Driver, LoopError};
use crate::{
    heartbeat::Heartbeat,
    iteration::{CommandRun, IterationFiles, VerifyPorts, run_verify_commands},
};

impl Driver {
    pub(super) async fn measure_baseline(&mut self) -> Result<(), LoopError> {
        let verification = &self.config.verification;
        let count = verification.commands.len();
        if self.baseline.is_some() || !verification.baseline || count == 0 {
            return Ok(());
        }
        self.tell(&Event::BaselineStarted { commands: count });
        let mut files = IterationFiles::baseline(&self.root, self.config.logs.max_mb.get())?;
        let run = CommandRun {
            commands: &self.config.verification.commands,
            config: &self.config,
            root: &self.root,
            baseline: None,
        };
        let ports = VerifyPorts {
            environment: &self.environment,
            containment: self.containment,
            clock: &*self.clock,
            reporter: &mut *self.reporter,
            stop: self.stop.clone(),
            heartbeat: self.heartbeat.as_ref().map(Heartbeat::writer),
        };
        let report = run_verify_commands(run, ports, &mut files).await;
        if report.cancelled {
            return Ok(());
        }
        let red = report.commands.iter().filter(|c| !c.passed());
        let red: Vec<String> = red
            .map(|c| format!("{} ({})", c.command, c.outcome))
            .collect();
        let text = serde_json::to_string(&report).unwrap_or_default();
        self.journal.set_baseline(&self.loop_id, &text).await?;
        self.baseline = Some(report);
        self.tell(&Event::BaselineEnded { red });
        Ok(())
    }
}
