//! Claude Code, headless: prompt by stdin, events as JSON lines.
//!
//! The outcome is what its last `result` event says, never the exit code alone, and never a line
//! that some other program printed.

mod stream;
mod wire;

use std::ffi::OsString;

use super::{Agent, Dialect, RunContext};
use crate::process::{CommandSpec, Output, Signal, Stdin};

/// How Claude Code is started.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ClaudeOptions {
    /// The program and leading arguments.
    pub command: Vec<String>,
    pub args: Vec<String>,
    pub model: Option<String>,
    /// As its `--permission-mode` has it.
    pub permission_mode: String,
    pub env: Vec<(String, String)>,
    pub is_root: bool,
}

pub struct Claude {
    pub options: ClaudeOptions,
}

const BYPASS: &str = "bypassPermissions";

impl Agent for Claude {
    fn name(&self) -> String {
        "claude".into()
    }

    fn command(&self, context: &RunContext) -> CommandSpec {
        let mut command = self.options.command.iter();
        let program = command.next().map_or("claude", String::as_str);
        let fixed = [
            "-p",
            "--output-format",
            "stream-json",
            "--verbose",
            "--setting-sources",
            "user",
        ];
        let mut args: Vec<OsString> = command.map(OsString::from).collect();
        args.extend(fixed.iter().map(OsString::from));
        args.extend(["--permission-mode", &self.options.permission_mode].map(OsString::from));
        if let Some(model) = &self.options.model {
            args.extend(["--model", model].map(OsString::from));
        }
        args.extend(self.options.args.iter().map(OsString::from));
        CommandSpec {
            program: program.into(),
            args,
            cwd: context.cwd.clone(),
            env: self.environment(context),
            stdin: Stdin::Bytes(context.prompt.clone().into_bytes()),
            output: Output::Separate,
        }
    }

    fn dialect(&self) -> Box<dyn Dialect> {
        Box::new(stream::Stream::default())
    }

    /// SIGTERM would orphan the command that a tool of its is running.
    fn polite_signal(&self) -> Signal {
        Signal::INT
    }

    fn warning(&self) -> Option<String> {
        (self.options.permission_mode == BYPASS).then(|| {
            "claude runs without permission checks and without a sandbox: it can do what you can".into()
        })
    }
}

impl Claude {
    fn environment(&self, context: &RunContext) -> Vec<(OsString, OsString)> {
        let mut env = context.env.clone();
        let mut set = |key: &str, value: &str| {
            env.retain(|(k, _)| k != key);
            env.push((key.into(), value.into()));
        };
        // Memory that leaks from one fresh run into the next is not fresh.
        set("CLAUDE_CODE_DISABLE_AUTO_MEMORY", "1");
        // A command that goes on in the background would change files after the run's last word.
        set("CLAUDE_CODE_DISABLE_BACKGROUND_TASKS", "1");
        set("DISABLE_AUTOUPDATER", "1");
        if self.options.is_root && self.options.permission_mode == BYPASS {
            // Claude Code refuses to bypass permissions as root unless it is told this.
            set("IS_SANDBOX", "1");
        }
        for (key, value) in &self.options.env {
            set(key, value);
        }
        env
    }
}
