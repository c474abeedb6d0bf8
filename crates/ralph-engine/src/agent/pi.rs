//! Pi: how it is started, headless or on a terminal, and what ralph knows of it.
//!
//! Headless, it takes commands and writes events as JSON lines (`rpc`), or gets the prompt by stdin
//! (`json`). The outcome is what its last answer says once it has settled, never the exit code: Pi exits
//! with 0 after most failures.

mod stream;

use std::ffi::OsString;

use ralph_core::{
    config::{PiConfig, PiMode},
    plan::AnswerBy,
};

use super::{
    Agent, AgentFacts, CommandCheck, CommandGuard, Costs, Dialect, InteractiveContext, ReadOnly,
    RunContext, credentials,
    interactive::{FirstPrompt, LONG_PROMPT_GO},
    table::{AgentKind, AgentSetup, all_models, model_for},
    version::{Fitness, Runtime, Version, VersionProblem},
    with_env,
};
use crate::{
    process::{CommandSpec, Stdin},
    sandbox::{AgentFile, AgentFolder},
};
use stream::PiStream;

pub(super) const KIND: AgentKind = AgentKind {
    name: PiConfig::SECTION,
    title: "Pi",
    make: |setup| Box::new(Pi::new(setup)),
    dialect: || Box::new(PiStream::default()),
    read_only: ReadOnly::Enforced {
        answer_by: AnswerBy::Prompt,
        make: |setup, _| Box::new(Pi::new(setup).read_only()),
    },
    judge_version,
    settings: &[".pi/settings.json"],
    command_check: CommandCheck::File {
        name: "commands.ts",
        text: include_str!("pi/guard.ts"),
    },
    runtime: Some(Runtime {
        program: "node",
        title: "Node.js",
        minimum: Version(22, 19, 0),
        hint: "install a newer Node.js, and put it first on the PATH",
    }),
};

/// The last version under Pi's old name.
const LAST_OF_OLD_NAME: Version = Version(0, 73, 1);
/// The first version that says when it is done.
const FIRST_THAT_SETTLES: Version = Version(0, 80, 4);
/// The first version whose stream has only what is new; before that each word repeats all others.
const FIRST_WITH_DELTAS: Version = Version(0, 84, 0);

const GET_PI: &str = "`npm uninstall -g @mariozechner/pi-coding-agent`, then `npm install -g @earendil-works/pi-coding-agent`";

fn judge_version(version: Version) -> Fitness {
    let too_old = format!(
        "too old: it never says when it is done, which ralph waits for ({FIRST_THAT_SETTLES} does)"
    );
    if version <= LAST_OF_OLD_NAME {
        return Fitness::Unfit(VersionProblem {
            why: format!(
                "{too_old}. The package @mariozechner/pi-coding-agent stops at {LAST_OF_OLD_NAME}; Pi \
                 goes on under another name"
            ),
            hint: GET_PI,
        });
    }
    if version < FIRST_THAT_SETTLES {
        return Fitness::Unfit(VersionProblem {
            why: too_old,
            hint: GET_PI,
        });
    }
    if version < FIRST_WITH_DELTAS {
        return Fitness::Doubtful(VersionProblem {
            why: format!(
                "older than {FIRST_WITH_DELTAS}: it repeats all of a message for each word of it"
            ),
            hint: "`npm install -g @earendil-works/pi-coding-agent`",
        });
    }
    Fitness::Good
}

/// Where a prompt would be taken for a command of Pi's, this comes before it. Pi drops white space in
/// front of what it reads from stdin, so that it takes a word.
const GUARD: &str = "Task:\n";

/// Its login, and what a person set it up with; not the sessions of other projects.
const FOLDERS: &[AgentFolder] = &[AgentFolder {
    variable: Some("PI_CODING_AGENT_DIR"),
    folder: ".pi/agent",
    files: &[
        AgentFile::login("auth.json"),
        AgentFile::copy("settings.json"),
        AgentFile::copy("models.json"),
        AgentFile::copy("keybindings.json"),
        AgentFile::shown("AGENTS.md"),
        AgentFile::shown("SYSTEM.md"),
        AgentFile::shown("bin"),
        AgentFile::shown("extensions"),
        AgentFile::shown("git"),
        AgentFile::shown("npm"),
        AgentFile::shown("prompts"),
        AgentFile::shown("skills"),
        AgentFile::shown("themes"),
        AgentFile::shown("tools"),
    ],
}];

pub(super) struct Pi {
    name: String,
    options: PiConfig,
    guard: Option<CommandGuard>,
}

impl Pi {
    fn new(setup: &AgentSetup<'_>) -> Self {
        let mut options = setup.config.pi.clone();
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
            guard: setup.guard.clone(),
        }
    }

    /// The same with tools that read, and no others.
    fn read_only(mut self) -> Self {
        self.options.tools = ["read", "grep", "find", "ls"].map(str::to_owned).to_vec();
        self
    }

    /// Arguments that are the same headless and on a terminal.
    fn common_arguments(&self, model: Option<String>) -> Vec<String> {
        let options = &self.options;
        // Said either way, else it would ask. Extensions and settings of the repository are the agent's
        // to write.
        let trust = if options.trust_project {
            "--approve"
        } else {
            "--no-approve"
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
        if let Some(file) = self.guard.as_ref().and_then(|guard| guard.file.as_ref()) {
            args.extend([
                "--extension".to_owned(),
                file.to_string_lossy().into_owned(),
            ]);
        }
        args
    }

    /// An environment with the variables that a person set, and the one that the check of commands needs.
    fn environment(&self, env: Vec<(OsString, OsString)>) -> Vec<(OsString, OsString)> {
        let mut env = with_env(&env, self.options.env.iter());
        if let Some(guard) = &self.guard {
            let (name, value) = guard.variable();
            env.retain(|(other, _)| *other != name);
            env.push((name, value));
        }
        env
    }
}

impl Agent for Pi {
    fn name(&self) -> String {
        self.name.clone()
    }

    fn own_command(&self) -> &[String] {
        self.options.command.as_slice()
    }

    fn command(&self, context: &RunContext) -> CommandSpec {
        let options = &self.options;
        let (mode, stdin) = match options.mode {
            PiMode::Rpc => ("rpc", Stdin::Open),
            // Closed behind the prompt: Pi waits for the end of its input before it begins.
            PiMode::Json => ("json", Stdin::Bytes(guarded(&context.prompt).into_bytes())),
        };
        let model = model_for(&options.models, options.model.as_deref(), &context.labels);
        let mut spec = CommandSpec::new(options.command.program(), &context.cwd)
            .args(options.command.args())
            .args(["--mode", mode, "--no-session"])
            .args(self.common_arguments(model))
            .stdin(stdin);
        // The model is reached all the same; lists of models, updates and downloads are not.
        let own = [
            ("PI_OFFLINE", "1"),
            ("PI_SKIP_VERSION_CHECK", "1"),
            ("PI_TELEMETRY", "0"),
        ];
        spec.env = self.environment(with_env(&context.env, own));
        spec
    }

    fn models(&self) -> Vec<String> {
        all_models(&self.options.models, self.options.model.as_deref())
    }

    fn dialect(&self) -> Box<dyn Dialect> {
        let allowed = self.guard.as_ref().and_then(CommandGuard::allowlist);
        Box::new(PiStream::checked(allowed))
    }

    fn checks_commands(&self) -> bool {
        self.guard.is_some()
    }

    /// `pi [options] -- [@FILE] PROMPT`: only what a person set; what makes a headless run fresh has no
    /// place here.
    fn interactive(&self, context: &InteractiveContext<'_>) -> Option<CommandSpec> {
        let options = &self.options;
        let mut spec = CommandSpec::new(options.command.program(), context.cwd)
            .args(options.command.args())
            .args(self.common_arguments(options.model.clone()));
        spec = match context.prompt {
            FirstPrompt::None => spec,
            // Pi would read the file of that name instead.
            FirstPrompt::Text(text) if text.starts_with('@') => {
                spec.args(["--".to_owned(), format!(" {text}")])
            }
            FirstPrompt::Text(text) => spec.args(["--", text]),
            FirstPrompt::File(path) => {
                let mut file = OsString::from("@");
                file.push(path);
                spec.args(["--".into(), file, LONG_PROMPT_GO.into()])
            }
        };
        spec.env = self.environment(context.env.to_vec());
        Some(spec)
    }

    fn facts(&self) -> AgentFacts {
        AgentFacts {
            announces_itself: true,
            credentials: credentials::ANY_PROVIDER,
            folders: FOLDERS,
            hosts: credentials::ANY_HOST,
            costs: Costs::AsItGoes,
            ..AgentFacts::UNKNOWN
        }
    }

    fn skips_permission_checks(&self) -> bool {
        true
    }
}

/// Makes a text one that Pi takes as it stands: one that begins with a slash could be the name of a command, a
/// template or a skill.
fn guarded(text: &str) -> String {
    // What Pi trims is what ECMAScript calls white space, which has one more character.
    let begin = text.trim_start_matches(|c: char| c.is_whitespace() || c == '\u{feff}');
    if begin.starts_with('/') {
        format!("{GUARD}{text}")
    } else {
        text.to_owned()
    }
}

#[cfg(test)]
mod tests;
