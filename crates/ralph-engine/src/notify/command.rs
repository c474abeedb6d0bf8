//! A command of the user's: the message as JSON on its standard input, its parts in variables.
//!
//! Its environment is that of verify commands: no credentials but those that `safety.pass_env` names.

use std::ffi::OsString;
use std::time::Duration;

use ralph_core::notification::Notification;

use super::{Means, SendError, program, way};
use crate::process::{CommandSpec, Containment, Stdin};

#[derive(Debug)]
pub(super) struct Command {
    words: Vec<String>,
    env: Vec<(OsString, OsString)>,
    containment: Containment,
    timeout: Duration,
}

impl Command {
    pub(super) fn choose(means: &Means<'_>) -> Option<Self> {
        let argv = means.config.command.as_ref()?.argv();
        Some(Self {
            words: argv.as_slice().to_vec(),
            env: means.environment.vars.clone(),
            containment: means.containment,
            timeout: way::timeout(means.config),
        })
    }

    pub(super) async fn send(&self, message: &Notification) -> Result<String, SendError> {
        let (program, args) = match self.words.split_first() {
            Some((program, args)) => (program.as_str(), args),
            None => ("", &[][..]),
        };
        // All keys are texts and nothing is read on the way: this can't fail.
        let mut json = serde_json::to_vec(message).unwrap_or_default();
        json.push(b'\n');
        let mut spec = CommandSpec::new(program, program::FOLDER)
            .args(args.iter().cloned())
            .stdin(Stdin::Bytes(json));
        spec.env.clone_from(&self.env);
        let parts = [
            ("RALPH_NOTIFY_EVENT", message.event.as_str()),
            ("RALPH_NOTIFY_TITLE", &message.title),
            ("RALPH_NOTIFY_TEXT", &message.text),
            ("RALPH_NOTIFY_TASK", message.task.as_deref().unwrap_or("")),
            ("RALPH_NOTIFY_LOOP", message.loop_id.as_str()),
        ];
        for (name, value) in parts {
            spec = spec.env(name, value);
        }
        program::run(spec, self.containment, self.timeout).await?;
        Ok(format!("{program} ended with exit code 0"))
    }
}
