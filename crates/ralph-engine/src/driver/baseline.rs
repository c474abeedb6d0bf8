//! The baseline: the configured commands once a loop, before the first attempt, so that *regressed*
//! can be told from *was already broken*.

use ralph_core::event::Event;

use super::{Driver, LoopError, logs::Logs};

impl Driver {
    pub(super) async fn measure_baseline(&mut self) -> Result<(), LoopError> {
        let commands = self.config.verification.commands.clone();
        if self.baseline.is_some() || !self.config.verification.baseline || commands.is_empty() {
            return Ok(());
        }
        self.tell(&Event::BaselineStarted {
            commands: commands.len(),
        });
        let mut logs = Logs::baseline(&self.root, self.config.logs.max_mb.get())?;
        let report = self.run_commands(&commands, &mut logs).await;
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
