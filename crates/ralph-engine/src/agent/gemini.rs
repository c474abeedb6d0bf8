//! Gemini CLI, headless: the prompt by stdin, events as JSON lines.
//!
//! The outcome is its `result` event. Can't be told anything while it runs. The prompt is kept from
//! being read as a command or as a list of files: what ralph sends is what the model gets.

mod stream;

use super::{
    AgentFacts, CommandCheck, Costs, Credential, ReadOnly,
    credentials::key,
    jsonl::{JsonlAgent, JsonlProgram},
    table::AgentKind,
    version::Fitness,
};
use crate::sandbox::{AgentFile, AgentFolder};
use stream::GeminiStream;

pub(super) const KIND: AgentKind = AgentKind {
    name: PROGRAM.name,
    title: "Gemini CLI",
    make: |setup| Box::new(JsonlAgent::new(&PROGRAM, setup)),
    dialect: || Box::new(GeminiStream::default()),
    read_only: ReadOnly::Impossible,
    judge_version: |_| Fitness::Good,
    settings: &[".gemini/settings.json"],
    command_check: CommandCheck::Never,
    runtime: None,
};

/// Its login, and what a person set it up with; not the sessions of other projects.
const FOLDERS: &[AgentFolder] = &[AgentFolder {
    variable: None,
    folder: ".gemini",
    files: &[
        AgentFile::login("oauth_creds.json"),
        AgentFile::copy("google_accounts.json"),
        AgentFile::copy("installation_id"),
        AgentFile::copy("settings.json"),
        AgentFile::copy(".env"),
        AgentFile::shown("GEMINI.md"),
        AgentFile::shown("commands"),
        AgentFile::shown("extensions"),
    ],
}];

const PROGRAM: JsonlProgram = JsonlProgram {
    name: "gemini",
    args: &[
        "--output-format",
        "stream-json",
        "--yolo",
        // In a folder that it does not know it would ask before each tool, and get no answer.
        "--skip-trust",
    ],
    last_args: &[],
    // Otherwise it starts itself once more, and the first of the two hears the signals.
    env: &[("GEMINI_CLI_NO_RELAUNCH", "true")],
    escape_prompt,
    dialect: |_| Box::new(GeminiStream::default()),
    facts: AgentFacts {
        announces_itself: true,
        credentials: CREDENTIALS,
        folders: FOLDERS,
        hosts: &[
            "generativelanguage.googleapis.com",
            "cloudcode-pa.googleapis.com",
            "oauth2.googleapis.com",
            "aiplatform.googleapis.com",
            "*.aiplatform.googleapis.com",
        ],
        costs: Costs::AtTheEnd,
        ..AgentFacts::UNKNOWN
    },
};

const CREDENTIALS: &[Credential] = &[
    key("GEMINI_API_KEY"),
    key("GOOGLE_API_KEY"),
    key("GOOGLE_APPLICATION_CREDENTIALS"),
];

/// Told to the model where its prompt had to be changed.
const ESCAPED: &str = "(In this message, read `\\@` as a plain at sign.)\n\n";

/// A prompt that Gemini CLI takes as text alone. It runs a `/command` that the prompt begins with, also
/// one of the repository's, and puts in the files that an `@word` fits, however loosely. A space in
/// front ends the first, a backslash the second; it leaves the backslash there, so the model is told.
fn escape_prompt(prompt: &str) -> String {
    let mut text = String::with_capacity(prompt.len() + ESCAPED.len());
    let mut before = None;
    let mut is_escaped = false;
    for (at, char) in prompt.char_indices() {
        let next = prompt[at + char.len_utf8()..].chars().next();
        if char == '@' && before != Some('\\') && next.is_some_and(begins_a_path) {
            text.push('\\');
            is_escaped = true;
        }
        text.push(char);
        before = Some(char);
    }
    if is_escaped {
        text.insert_str(0, ESCAPED);
    }
    if text.starts_with('/') {
        text.insert(0, ' ');
    }
    text
}

/// Tells what may follow an at sign for it to be taken as a path.
fn begins_a_path(next: char) -> bool {
    !" \t\n\r,;!?()[]{}".contains(next)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::agent::jsonl::command_line;

    #[test]
    fn by_its_name_it_is_the_program_of_that_name_and_starts_itself_once() {
        let (line, env) = command_line(KIND.make, None);
        assert_eq!(
            line,
            "gemini --output-format stream-json --yolo --skip-trust"
        );
        assert_eq!(env, ["TEAM=a", "GEMINI_CLI_NO_RELAUNCH=true"]);
    }

    #[test]
    fn a_prompt_without_signs_is_sent_as_it_is() {
        let prompt = "Fix it, a @ b, (@) and \\@c.\n";
        assert_eq!(escape_prompt(prompt), prompt);
    }

    #[test]
    fn commands_and_paths_are_made_plain_text() {
        assert_eq!(escape_prompt("/deploy now"), " /deploy now");
        let told = "(In this message, read `\\@` as a plain at sign.)\n\n";
        assert_eq!(
            escape_prompt("see @src/a.rs"),
            format!("{told}see \\@src/a.rs")
        );
        assert_eq!(
            escape_prompt("/x @Component"),
            format!("{told}/x \\@Component")
        );
        assert_eq!(escape_prompt("@@a"), format!("{told}\\@\\@a"));
    }
}
