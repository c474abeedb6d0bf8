//! Codex, headless: the prompt by stdin, events as JSON lines.
//!
//! The outcome is what its turn ended with. Can't be told anything while it runs.

mod stream;

use ralph_core::plan::AnswerBy;

use super::{
    AgentFacts, CommandCheck, Costs, Credential, ReadOnly,
    credentials::key,
    jsonl::{JsonlAgent, JsonlProgram},
    table::AgentKind,
    version::Fitness,
};
use crate::{
    process::Signal,
    sandbox::{AgentFile, AgentFolder},
};
use stream::CodexStream;

pub(super) const KIND: AgentKind = AgentKind {
    name: PROGRAM.name,
    title: "Codex",
    make: |setup| Box::new(JsonlAgent::new(&PROGRAM, setup)),
    dialect: || Box::new(CodexStream::default()),
    // It has a sandbox of its own that writes nothing.
    read_only: ReadOnly::Enforced {
        answer_by: AnswerBy::Prompt,
        make: |setup, _| {
            let agent = JsonlAgent::new(&PROGRAM, setup);
            Box::new(agent.with_args(&["-c", "sandbox_mode=\"read-only\""]))
        },
    },
    judge_version: |_| Fitness::Good,
    settings: &[".codex/config.toml"],
    command_check: CommandCheck::Never,
    runtime: None,
};

/// Its login, and what a person set it up with; not the sessions of other projects.
const FOLDERS: &[AgentFolder] = &[AgentFolder {
    variable: Some("CODEX_HOME"),
    folder: ".codex",
    files: &[
        AgentFile::login("auth.json"),
        AgentFile::copy("config.toml"),
        AgentFile::copy("version.json"),
        AgentFile::shown("AGENTS.md"),
        AgentFile::shown("prompts"),
        AgentFile::shown("rules"),
        AgentFile::shown("skills"),
    ],
}];

const PROGRAM: JsonlProgram = JsonlProgram {
    name: "codex",
    args: &[
        "exec",
        "--json",
        "--skip-git-repo-check",
        // A session that is never continued is not worth its file.
        "--ephemeral",
        // As settings rather than flags, so that the user's own arguments can change them.
        "-c",
        "approval_policy=\"never\"",
        "-c",
        "sandbox_mode=\"danger-full-access\"",
    ],
    // The prompt is on stdin.
    last_args: &["-"],
    env: &[],
    escape_prompt: str::to_owned,
    dialect: |model| Box::new(CodexStream::asking(model)),
    facts: AgentFacts {
        // On SIGTERM it dies and leaves the command of its tool behind; this ends that too.
        polite_signal: Signal::INT,
        announces_itself: true,
        credentials: CREDENTIALS,
        folders: FOLDERS,
        hosts: &["api.openai.com", "auth.openai.com", "chatgpt.com"],
        costs: Costs::AtTheEnd,
    },
};

const CREDENTIALS: &[Credential] = &[
    key("OPENAI_API_KEY"),
    key("CODEX_API_KEY"),
    key("AZURE_OPENAI_API_KEY"),
];

#[cfg(test)]
mod tests {
    use super::*;
    use crate::agent::jsonl::command_line;

    #[test]
    fn by_its_name_it_is_the_program_of_that_name() {
        let (line, env) = command_line(KIND.make, None);
        assert_eq!(
            line,
            "codex exec --json --skip-git-repo-check --ephemeral -c approval_policy=\"never\" \
             -c sandbox_mode=\"danger-full-access\" -"
        );
        assert_eq!(env, ["TEAM=a"]);
    }

    #[test]
    fn the_users_words_stand_around_ralphs_own_and_its_variables_win() {
        let (line, env) = command_line(KIND.make, Some(CUSTOM));
        assert!(line.starts_with("box codex exec --json "), "{line}");
        assert!(line.ends_with(" --model m -c x=1 -"), "{line}");
        assert_eq!(env, ["TEAM=b"]);
    }

    #[test]
    fn for_a_plan_its_sandbox_is_closed_behind_all_other_settings() {
        let ReadOnly::Enforced { answer_by, make } = KIND.read_only else {
            panic!("it can be kept from writing")
        };
        assert_eq!(answer_by, AnswerBy::Prompt);
        let line = |custom| {
            let setup_and_make = |setup: &super::super::AgentSetup<'_>| make(setup, "{}");
            command_line(setup_and_make, custom).0
        };
        let closed = " -c sandbox_mode=\"read-only\" -";
        assert!(line(None).ends_with(closed), "{}", line(None));
        let custom = line(Some(CUSTOM));
        assert!(custom.ends_with(&format!(" -c x=1{closed}")), "{custom}");
    }

    const CUSTOM: &str = r#"{"name": "mine", "command": ["box", "codex"], "dialect": "codex",
        "model": "m", "args": ["-c", "x=1"], "env": {"TEAM": "b"}}"#;
}
