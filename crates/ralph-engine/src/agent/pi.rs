//! Pi, headless: commands and events as JSON lines (`rpc`), or the prompt by stdin (`json`).
//!
//! The outcome is what its last answer says once it has settled, never the exit code: Pi exits with 0
//! after most failures.

mod stream;
mod talk;
mod wire;

use std::ffi::OsString;

use ralph_core::config::{PiConfig, PiMode};

use super::{
    Agent, Credential, Dialect, RunContext, TalkContext, credentials,
    table::{Kind, Making, model_for},
};
use crate::process::{CommandSpec, Output, Stdin};

pub(super) const KIND: Kind = Kind {
    name: "pi",
    title: "Pi",
    make: |making| Box::new(Pi::new(making)),
    dialect: || Box::new(stream::Stream::default()),
};

/// Where a prompt would be taken for a command of Pi's, this comes before it. Pi drops white space in
/// front of what it reads from stdin, so that it takes a word.
const GUARD: &str = "Task:\n";

pub(super) struct Pi {
    name: String,
    options: PiConfig,
}

impl Pi {
    fn new(making: &Making<'_>) -> Self {
        let mut options = making.config.pi.clone();
        if let Some(custom) = making.custom {
            options.command = custom.command.clone();
            options.model = custom.model.clone().or(options.model);
            options.args.extend(custom.args.iter().cloned());
            options.env.0.extend(custom.env.0.clone());
        }
        Self {
            name: making
                .custom
                .map_or("pi", |custom| custom.name.as_str())
                .to_owned(),
            options,
        }
    }

    fn arguments(&self, context: &RunContext) -> Vec<String> {
        let options = &self.options;
        let mode = match options.mode {
            PiMode::Json => "json",
            PiMode::Rpc => "rpc",
        };
        let mut args = ["--mode", mode, "--no-session"].map(str::to_owned).to_vec();
        let models: Vec<(String, String)> = options.models.clone().into_iter().collect();
        let model = model_for(&models, options.model.as_deref(), &context.labels);
        args.extend(self::options(options, model));
        args
    }

    fn environment(&self, context: &RunContext) -> Vec<(OsString, OsString)> {
        let mut env = context.env.clone();
        let mut set = |key: &str, value: &str| {
            env.retain(|(k, _)| k != key);
            env.push((key.into(), value.into()));
        };
        // The model is reached all the same; lists of models, updates and downloads are not.
        set("PI_OFFLINE", "1");
        set("PI_SKIP_VERSION_CHECK", "1");
        set("PI_TELEMETRY", "0");
        for (key, value) in &self.options.env.0 {
            set(key, value);
        }
        env
    }
}

/// What a person set, for a run and for a conversation alike.
fn options(options: &PiConfig, model: Option<String>) -> Vec<String> {
    // Said either way, else it would ask. Extensions and settings of the repository are the agent's
    // to write.
    let trust = match options.trust_project {
        true => "--approve",
        false => "--no-approve",
    };
    let mut args = vec![trust.to_owned()];
    let tools = (!options.tools.is_empty()).then(|| options.tools.join(","));
    for (name, value) in [
        ("--model", model),
        ("--thinking", options.thinking.clone()),
        ("--tools", tools),
        (
            "--append-system-prompt",
            options.append_system_prompt.clone(),
        ),
    ] {
        args.extend(value.into_iter().flat_map(|v| [name.to_owned(), v]));
    }
    args.extend(options.args.iter().cloned());
    args
}

impl Agent for Pi {
    fn interactive(&self, context: &TalkContext<'_>) -> Option<CommandSpec> {
        Some(talk::command(&self.options, context))
    }

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
            env: self.environment(context),
            stdin: match self.options.mode {
                PiMode::Rpc => Stdin::Open,
                // Closed behind the prompt: Pi waits for the end of its input before it begins.
                PiMode::Json => Stdin::Bytes(guarded(&context.prompt).into_bytes()),
            },
            output: Output::Separate,
        }
    }

    fn announces_itself(&self) -> bool {
        true
    }

    fn credentials(&self) -> &'static [Credential] {
        credentials::ANY_PROVIDER
    }

    fn dialect(&self) -> Box<dyn Dialect> {
        Box::new(stream::Stream::default())
    }

    fn warning(&self) -> Option<String> {
        Some(format!(
            "{} runs without permission checks and without a sandbox: it can do what you can",
            self.name
        ))
    }
}

/// A text that Pi takes as it stands: one that begins with a slash could be the name of a command, a
/// template or a skill.
fn guarded(text: &str) -> String {
    // What Pi trims is what ECMAScript calls white space, which has one more character.
    let begin = text.trim_start_matches(|c: char| c.is_whitespace() || c == '\u{feff}');
    match begin.starts_with('/') {
        true => format!("{GUARD}{text}"),
        false => text.to_owned(),
    }
}

#[cfg(test)]
mod tests;
