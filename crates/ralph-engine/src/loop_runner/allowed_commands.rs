//! Holds the commands of a loop to `safety.allowed_commands`: verify commands before it begins, and a word about
//! agents that do not ask before they run one.

use ralph_core::allowlist::Allowlist;

use super::{LoopError, LoopRunner};

impl LoopRunner {
    /// Refuses verify commands that use a program which is not listed. Returns what is not checked.
    pub(super) fn refuse_unlisted_commands(&self) -> Result<Option<String>, LoopError> {
        let config = &self.settings.config;
        let Some(list) = Allowlist::new(&config.safety.allowed_commands) else {
            return Ok(None);
        };
        if self.board.next().is_some() {
            self.check_commands(&list)?;
        }
        let unchecked = self.runtime.pool.agents_that_never_ask();
        Ok((!unchecked.is_empty()).then(|| {
            format!(
                "`safety.allowed_commands` is not enforced for what {} runs, only for verify commands: it does \
                 not ask before it runs a command",
                unchecked.join(" and ")
            )
        }))
    }

    fn check_commands(&self, list: &Allowlist) -> Result<(), LoopError> {
        let verification = &self.settings.config.verification;
        let configured = verification.prepare.iter();
        let configured = configured
            .chain(&verification.commands)
            .chain(&verification.format);
        let own = self.board.open_tasks();
        let own = own.flat_map(|task| task.verify.iter().map(move |one| (Some(&task.id), one)));
        for (task, command) in configured.map(|one| (None, one)).chain(own) {
            list.check_command(command)
                .map_err(|reason| LoopError::NotAllowed {
                    command: command.to_string(),
                    reason,
                    task: task.cloned(),
                })?;
        }
        Ok(())
    }
}
