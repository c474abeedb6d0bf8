//! opencode, headless: the prompt by stdin, events as JSON lines.
//!
//! The outcome is its last step's reason, or the error behind it. Can't be told anything while it runs.

mod stream;

use super::{
    AgentFacts, CommandCheck, Costs, ReadOnly, credentials,
    jsonl::{JsonlAgent, JsonlProgram},
    table::AgentKind,
    version::Fitness,
};
use crate::sandbox::{AgentFile, AgentFolder};
use stream::OpenCodeStream;

pub(super) const KIND: AgentKind = AgentKind {
    name: PROGRAM.name,
    title: "opencode",
    make: |setup| Box::new(JsonlAgent::new(&PROGRAM, setup)),
    dialect: || Box::new(OpenCodeStream::default()),
    read_only: ReadOnly::Impossible,
    judge_version: |_| Fitness::Good,
    settings: &["opencode.json", "opencode.jsonc", ".opencode/opencode.json"],
    command_check: CommandCheck::Never,
    runtime: None,
};

/// Its login, and what a person set it up with; not the sessions of other projects.
const FOLDERS: &[AgentFolder] = &[
    AgentFolder {
        variable: None,
        folder: ".local/share/opencode",
        files: &[AgentFile::login("auth.json"), AgentFile::shown("bin")],
    },
    AgentFolder {
        variable: Some("OPENCODE_CONFIG_DIR"),
        folder: ".config/opencode",
        files: &[
            AgentFile::copy("config.json"),
            AgentFile::copy("opencode.json"),
            AgentFile::copy("opencode.jsonc"),
            AgentFile::copy("package.json"),
            AgentFile::shown("AGENTS.md"),
            AgentFile::shown("agent"),
            AgentFile::shown("command"),
            AgentFile::shown("node_modules"),
            AgentFile::shown("plugin"),
        ],
    },
    AgentFolder {
        variable: None,
        folder: ".cache/opencode",
        files: &[
            AgentFile::copy("models.json"),
            AgentFile::copy("version"),
            AgentFile::copy("package.json"),
            AgentFile::shown("node_modules"),
        ],
    },
];

const PROGRAM: JsonlProgram = JsonlProgram {
    name: "opencode",
    // Without a title it asks the model for one, in a request that no figure counts.
    args: &["run", "--format", "json", "--auto", "--title", "ralph run"],
    last_args: &[],
    env: &[
        // Settings, plug-ins and commands of the repository are the agent's to write.
        ("OPENCODE_DISABLE_PROJECT_CONFIG", "1"),
        ("OPENCODE_DISABLE_MODELS_FETCH", "1"),
        ("OPENCODE_DISABLE_AUTOUPDATE", "1"),
    ],
    escape_prompt: str::to_owned,
    dialect: |model| Box::new(OpenCodeStream::asking(model)),
    facts: AgentFacts {
        announces_itself: true,
        credentials: credentials::ANY_PROVIDER,
        folders: FOLDERS,
        hosts: credentials::ANY_HOST,
        costs: Costs::AsItGoes,
        ..AgentFacts::UNKNOWN
    },
};

#[cfg(test)]
mod tests {
    use super::*;
    use crate::agent::jsonl::command_line;

    #[test]
    fn the_repositorys_settings_are_left_out_unless_the_user_lets_them_in() {
        let (line, env) = command_line(KIND.make, None);
        assert_eq!(line, "opencode run --format json --auto --title ralph run");
        assert!(env.contains(&"OPENCODE_DISABLE_PROJECT_CONFIG=1".to_owned()));
        let custom = r#"{"name": "mine", "command": ["oc"], "dialect": "opencode", "model": "p/m",
            "env": {"OPENCODE_DISABLE_PROJECT_CONFIG": "0"}}"#;
        let (line, env) = command_line(KIND.make, Some(custom));
        assert!(
            line.starts_with("oc run ") && line.ends_with(" --model p/m"),
            "{line}"
        );
        let set = env.iter().filter(|v| v.contains("PROJECT_CONFIG"));
        assert_eq!(
            set.collect::<Vec<_>>(),
            ["OPENCODE_DISABLE_PROJECT_CONFIG=0"]
        );
    }
}
