//! Claude Code, headless: the prompt by stdin, events as JSON lines. With a person: see `talk`.
//!
//! The outcome is what its last `result` event says, never the exit code alone, and never a line
//! that some other program printed.

mod stream;
mod talk;
mod wire;

use std::ffi::OsString;

use ralph_core::config::{ClaudeConfig, SettingSource};

use super::{
    Agent, Costs, Credential, Dialect, RunContext, TalkContext, credentials,
    table::{Kind, Making, model_for},
};
use crate::process::{CommandSpec, Output, Signal, Stdin};

pub(super) const KIND: Kind = Kind {
    name: "claude",
    title: "Claude Code",
    make: |making| Box::new(Claude::new(making)),
    dialect: || Box::new(stream::Stream::default()),
};

pub(super) struct Claude {
    name: String,
    options: ClaudeConfig,
    is_root: bool,
}

const BYPASS: &str = "bypassPermissions";
const BUDGET: &str = "--max-budget-usd";

impl Claude {
    fn new(making: &Making<'_>) -> Self {
        let mut options = making.config.claude.clone();
        if let Some(custom) = making.custom {
            options.command = custom.command.clone();
            options.model = custom.model.clone().or(options.model);
            options.args.extend(custom.args.iter().cloned());
            options.env.0.extend(custom.env.0.clone());
        }
        Self {
            name: making
                .custom
                .map_or("claude", |custom| custom.name.as_str())
                .to_owned(),
            options,
            is_root: making.is_root,
        }
    }
}

impl Agent for Claude {
    fn name(&self) -> String {
        self.name.clone()
    }

    fn command(&self, context: &RunContext) -> CommandSpec {
        let mut args: Vec<OsString> = self.options.command.args().iter().map(Into::into).collect();
        args.extend(self.arguments(context).into_iter().map(OsString::from));
        CommandSpec {
            program: self.options.command.program().into(),
            args,
            cwd: context.cwd.clone(),
            env: self.environment(&context.env),
            stdin: Stdin::Open,
            output: Output::Separate,
        }
    }

    fn announces_itself(&self) -> bool {
        true
    }

    fn credentials(&self) -> &'static [Credential] {
        credentials::CLAUDE
    }

    fn costs(&self) -> Costs {
        Costs::AsItGoes
    }

    fn dialect(&self) -> Box<dyn Dialect> {
        Box::new(stream::Stream::default())
    }

    fn interactive(&self, context: &TalkContext<'_>) -> Option<CommandSpec> {
        Some(self.talk(context))
    }

    /// SIGTERM would orphan the command that a tool of its is running.
    fn polite_signal(&self) -> Signal {
        Signal::INT
    }

    fn warning(&self) -> Option<String> {
        self.bypasses().then(|| {
            format!(
                "{} runs without permission checks and without a sandbox: it can do what you can",
                self.name
            )
        })
    }
}

impl Claude {
    fn bypasses(&self) -> bool {
        self.options.permission_mode.claude_name() == BYPASS
    }

    fn arguments(&self, context: &RunContext) -> Vec<String> {
        let options = &self.options;
        let mut args: Vec<String> = [
            "-p",
            "--input-format",
            "stream-json",
            "--output-format",
            "stream-json",
            "--verbose",
            "--replay-user-messages",
            // Only these say how long each answer became.
            "--include-partial-messages",
        ]
        .map(str::to_owned)
        .to_vec();
        if let Some(turns) = options.max_turns {
            args.extend(["--max-turns".to_owned(), turns.to_string()]);
        }
        // What a person set themselves goes before it.
        if let Some(budget) = context.budget
            && !options.args.iter().any(|arg| arg.starts_with(BUDGET))
        {
            args.extend([BUDGET.to_owned(), budget.usd().to_string()]);
        }
        args.extend(
            options
                .append_system_prompt
                .iter()
                .flat_map(|text| ["--append-system-prompt".to_owned(), text.clone()]),
        );
        args.extend(self.common_arguments(&context.labels));
        args
    }

    /// What is the same with and without a person.
    fn common_arguments(&self, labels: &[String]) -> Vec<String> {
        let options = &self.options;
        let sources: Vec<&str> = options
            .setting_sources
            .iter()
            .map(|source: &SettingSource| source.claude_name())
            .collect();
        let mut args: Vec<String> = [
            // Servers and settings of the repository are the agent's to write.
            "--strict-mcp-config",
            "--setting-sources",
            &sources.join(","),
            "--permission-mode",
            options.permission_mode.claude_name(),
        ]
        .map(str::to_owned)
        .to_vec();
        let models: Vec<(String, String)> = options.models.clone().into_iter().collect();
        let mut option = |name: &str, value: Option<String>| {
            args.extend(value.into_iter().flat_map(|v| [name.to_owned(), v]));
        };
        let model = model_for(&models, options.model.as_deref(), labels);
        option("--model", model);
        option("--settings", options.settings.clone());
        for (name, values) in [
            ("--allowedTools", &options.allowed_tools),
            ("--disallowedTools", &options.disallowed_tools),
            ("--mcp-config", &options.mcp_config),
        ] {
            if !values.is_empty() {
                args.push(name.to_owned());
                args.extend(values.iter().cloned());
            }
        }
        args.extend(options.args.iter().cloned());
        args
    }

    fn environment(&self, given: &[(OsString, OsString)]) -> Vec<(OsString, OsString)> {
        let mut env = given.to_vec();
        let mut set = |key: &str, value: &str| {
            env.retain(|(k, _)| k != key);
            env.push((key.into(), value.into()));
        };
        // Memory that leaks from one fresh run into the next is not fresh.
        set("CLAUDE_CODE_DISABLE_AUTO_MEMORY", "1");
        // A command that goes on in the background would change files after the run's last word.
        set("CLAUDE_CODE_DISABLE_BACKGROUND_TASKS", "1");
        set("DISABLE_AUTOUPDATER", "1");
        if self.is_root && self.bypasses() {
            // Claude Code refuses to bypass permissions as root unless it is told this.
            set("IS_SANDBOX", "1");
        }
        for (key, value) in &self.options.env.0 {
            set(key, value);
        }
        env
    }
}
