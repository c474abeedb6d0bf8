//! Claude Code: how it is started, headless or on a terminal, and what ralph knows of it.
//!
//! Headless, it gets the prompt by stdin and writes events as JSON lines. The outcome is what its last
//! `result` event says, never the exit code alone, and never a line that some other program printed.

mod stream;
#[cfg(test)]
mod tests;

use std::{ffi::OsString, path::Path};

use ralph_core::{
    config::{ClaudeConfig, PermissionMode, SettingSource},
    plan::AnswerBy,
};

use super::{
    Agent, AgentFacts, CommandCheck, CommandGuard, Costs, Credential, Dialect, InteractiveContext,
    ReadOnly, RunContext,
    credentials::key_with,
    interactive::FirstPrompt,
    table::{AgentKind, AgentSetup, all_models, model_for},
    version::{Fitness, Version, VersionProblem},
    with_env,
};
use crate::{
    process::{CommandSpec, Signal, Stdin},
    sandbox::{AgentFile, AgentFileKind, AgentFolder},
};
use serde_json::{Value, json};
use stream::ClaudeStream;

pub(super) const KIND: AgentKind = AgentKind {
    name: ClaudeConfig::SECTION,
    title: "Claude Code",
    make: |setup| Box::new(Claude::new(setup)),
    dialect: || Box::new(ClaudeStream::default()),
    read_only: ReadOnly::Enforced {
        answer_by: AnswerBy::Schema,
        make: |setup, schema| Box::new(Claude::new(setup).read_only(schema)),
    },
    judge_version,
    settings: &[
        ".claude/settings.json",
        ".claude/settings.local.json",
        ".mcp.json",
    ],
    runtime: None,
    command_check: CommandCheck::Setting,
};

/// The oldest version that ralph was tried with.
const OLDEST_TRIED: Version = Version(2, 1, 0);

fn judge_version(version: Version) -> Fitness {
    if version >= OLDEST_TRIED {
        return Fitness::Good;
    }
    Fitness::Doubtful(VersionProblem {
        why: format!("older than {OLDEST_TRIED}, the oldest that ralph was tried with"),
        hint: "`claude update`, or `npm install -g @anthropic-ai/claude-code`",
    })
}

/// Its own key passes anyway; these are of the clouds that can serve it.
const CREDENTIALS: &[Credential] = &[
    key_with("AWS_SECRET_ACCESS_KEY", "CLAUDE_CODE_USE_BEDROCK"),
    key_with("AWS_SESSION_TOKEN", "CLAUDE_CODE_USE_BEDROCK"),
    key_with("GOOGLE_APPLICATION_CREDENTIALS", "CLAUDE_CODE_USE_VERTEX"),
];

/// Its login, and what a person set it up with; not the transcripts of other projects.
const FOLDERS: &[AgentFolder] = &[
    AgentFolder {
        variable: Some("CLAUDE_CONFIG_DIR"),
        folder: ".claude",
        files: &[
            AgentFile::login(".credentials.json"),
            AgentFile::copy("settings.json"),
            AgentFile::shown("CLAUDE.md"),
            AgentFile::shown("agents"),
            AgentFile::shown("commands"),
            AgentFile::shown("hooks"),
            AgentFile::shown("output-styles"),
            AgentFile::shown("plugins"),
            AgentFile::shown("rules"),
            AgentFile::shown("skills"),
            STATE,
        ],
    },
    AgentFolder {
        variable: None,
        folder: "",
        files: &[STATE],
    },
];

const STATE: AgentFile = AgentFile {
    name: ".claude.json",
    kind: AgentFileKind::State(without_other_projects),
};

/// Its state, without what it remembers of other projects.
fn without_other_projects(state: &[u8], root: &Path) -> Option<Vec<u8>> {
    let mut state: Value = serde_json::from_slice(state).ok()?;
    if let Some(projects) = state.get_mut("projects").and_then(Value::as_object_mut) {
        projects.retain(|path, _| root.starts_with(path));
    }
    serde_json::to_vec(&state).ok()
}

pub(super) struct Claude {
    name: String,
    options: ClaudeConfig,
    is_root: bool,
    guard: Option<CommandGuard>,
}

const BUDGET: &str = "--max-budget-usd";

/// The first message of a conversation whose prompt stands in the system prompt. It must be read there
/// without a tool: one would ask for permission, and cut a long file short.
const BEGIN: &str = "Begin: follow the instructions at the end of your system prompt.";

impl Claude {
    fn new(setup: &AgentSetup<'_>) -> Self {
        let mut options = setup.config.claude.clone();
        if let Some(custom) = setup.custom {
            custom.override_section(
                &mut options.command,
                &mut options.model,
                &mut options.args,
                &mut options.env,
            );
        }
        Self {
            name: setup.name(KIND.name),
            options,
            is_root: setup.is_root,
            guard: setup.guard.clone(),
        }
    }

    /// The same with tools that read, and nothing else: what it does not have it can't use, whatever is
    /// allowed.
    fn read_only(mut self, schema: &str) -> Self {
        self.options.permission_mode = PermissionMode::Default;
        self.options.mcp_config.clear();
        let own = ["--tools", "Read,Glob,Grep", "--json-schema", schema];
        self.options.args.extend(own.map(str::to_owned));
        self
    }
}

impl Agent for Claude {
    fn name(&self) -> String {
        self.name.clone()
    }

    fn own_command(&self) -> &[String] {
        self.options.command.as_slice()
    }

    fn command(&self, context: &RunContext) -> CommandSpec {
        let command = &self.options.command;
        let mut spec = CommandSpec::new(command.program(), &context.cwd)
            .args(command.args())
            .args(self.headless_arguments(context))
            .stdin(Stdin::Open);
        spec.env = self.environment(&context.env);
        spec
    }

    fn facts(&self) -> AgentFacts {
        AgentFacts {
            // SIGTERM would orphan the command that a tool of its is running.
            polite_signal: Signal::INT,
            announces_itself: true,
            credentials: CREDENTIALS,
            folders: FOLDERS,
            hosts: &[
                "api.anthropic.com",
                "console.anthropic.com",
                "platform.claude.com",
                "claude.ai",
            ],
            costs: Costs::AsItGoes,
        }
    }

    fn models(&self) -> Vec<String> {
        all_models(&self.options.models, self.options.model.as_deref())
    }

    fn dialect(&self) -> Box<dyn Dialect> {
        let allowed = self.guard.as_ref().and_then(CommandGuard::allowlist);
        Box::new(ClaudeStream::checked(allowed))
    }

    /// `claude [options] -- PROMPT`.
    fn interactive(&self, context: &InteractiveContext<'_>) -> Option<CommandSpec> {
        let command = &self.options.command;
        let mut spec = CommandSpec::new(command.program(), context.cwd)
            .args(command.args())
            .args(self.common_arguments(&[], context.cwd));
        let append = self.options.append_system_prompt.as_deref();
        let prompt = match context.prompt {
            FirstPrompt::File(path) => {
                spec = spec.args([OsString::from("--append-system-prompt-file"), path.into()]);
                // Claude Code takes one text or one file, not both.
                let text = append.map(|text| format!("{text}\n\n{BEGIN}"));
                Some(text.unwrap_or_else(|| BEGIN.to_owned()))
            }
            FirstPrompt::Text(text) => Some(text.to_owned()),
            FirstPrompt::None => None,
        };
        if let (Some(text), FirstPrompt::Text(_) | FirstPrompt::None) = (append, context.prompt) {
            spec = spec.args(["--append-system-prompt", text]);
        }
        if let Some(prompt) = prompt {
            // Options that take a list would take the prompt, and a dash would make it an option.
            spec = spec.args(["--".to_owned(), prompt]);
        }
        spec.env = self.environment(context.env);
        Some(spec)
    }

    /// With `--bare` it runs no hook.
    fn checks_commands(&self) -> bool {
        self.guard.is_some() && !self.options.args.iter().any(|arg| arg == "--bare")
    }

    fn skips_permission_checks(&self) -> bool {
        self.options.permission_mode == PermissionMode::Bypass
    }
}

/// Adds the check of commands to settings, which are a file or JSON.
fn with_check(own: Option<String>, cwd: &Path, guard: &CommandGuard) -> String {
    let text = match &own {
        None => "{}".to_owned(),
        Some(inline) if inline.trim_start().starts_with('{') => inline.clone(),
        // Claude Code says itself that it is not there, and does not start.
        Some(file) => match std::fs::read_to_string(cwd.join(file)) {
            Ok(text) => text,
            Err(_) => return file.clone(),
        },
    };
    let mut settings: Value = match (serde_json::from_str(&text), own) {
        (Ok(settings), _) => settings,
        // It takes broken JSON for the name of a file, and does not start.
        (Err(_), Some(inline)) if inline == text => return inline,
        (Err(_), _) => Value::Null,
    };
    if !settings.is_object() {
        settings = json!({});
    }
    settings["disableAllHooks"] = json!(false);
    if !settings["hooks"].is_object() {
        settings["hooks"] = json!({});
    }
    let check = json!({
        "matcher": "Bash|Monitor",
        "hooks": [{"type": "command", "command": guard.shell_line(), "timeout": 60}],
    });
    match settings["hooks"]["PreToolUse"].as_array_mut() {
        Some(hooks) => hooks.insert(0, check),
        None => settings["hooks"]["PreToolUse"] = json!([check]),
    }
    settings.to_string()
}

impl Claude {
    fn headless_arguments(&self, context: &RunContext) -> Vec<String> {
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
        args.extend(self.common_arguments(&context.labels, &context.cwd));
        args
    }

    /// Arguments that are the same headless and on a terminal.
    fn common_arguments(&self, labels: &[String], cwd: &Path) -> Vec<String> {
        let options = &self.options;
        let sources: Vec<&str> = options
            .setting_sources
            .iter()
            .map(|source: &SettingSource| source.as_str())
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
        let mut option = |name: &str, value: Option<String>| {
            args.extend(value.into_iter().flat_map(|v| [name.to_owned(), v]));
        };
        let model = model_for(&options.models, options.model.as_deref(), labels);
        option("--model", model);
        let (own_args, settings) = self.settings(cwd);
        option("--settings", settings);
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
        args.extend(own_args);
        args
    }

    /// The arguments that a person set, and the settings for the run: theirs, with the check of commands added.
    fn settings(&self, cwd: &Path) -> (Vec<String>, Option<String>) {
        let (mut own, mut args) = (self.options.settings.clone(), self.options.args.clone());
        let Some(guard) = &self.guard else {
            return (args, own);
        };
        // Only the last one would count.
        while let Some(at) = args
            .iter()
            .position(|arg| arg == "--settings" || arg.starts_with("--settings="))
        {
            let arg = args.remove(at);
            own = match arg.strip_prefix("--settings=") {
                Some(value) => Some(value.to_owned()),
                None if at < args.len() => Some(args.remove(at)),
                None => None,
            };
        }
        (args, Some(with_check(own, cwd, guard)))
    }

    fn environment(&self, given: &[(OsString, OsString)]) -> Vec<(OsString, OsString)> {
        let mut own = vec![
            // Memory that leaks from one fresh run into the next is not fresh.
            ("CLAUDE_CODE_DISABLE_AUTO_MEMORY", "1"),
            // A command that goes on in the background would change files after the run's last word.
            ("CLAUDE_CODE_DISABLE_BACKGROUND_TASKS", "1"),
            ("DISABLE_AUTOUPDATER", "1"),
        ];
        if self.is_root && self.skips_permission_checks() {
            // Claude Code refuses to bypass permissions as root unless it is told this.
            own.push(("IS_SANDBOX", "1"));
        }
        let set = self.options.env.iter();
        with_env(given, own.into_iter().chain(set))
    }
}
