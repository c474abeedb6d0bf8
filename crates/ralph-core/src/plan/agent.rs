//! How an agent is started that is to read and answer, and to change nothing.
//!
//! Says it to each in its own words, where it has some. That nothing was changed is looked at
//! afterwards all the same: an option is not evidence.

use crate::config::{AgentChoice, Config, CustomAgent, PermissionMode};

/// How an agent is told the shape of its answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum AnswerBy {
    /// By an option of its own: the answer is the JSON itself.
    Schema,
    /// In the prompt: the answer is the last block of JSON in its final message.
    Prompt,
}

/// The configuration with an agent that reads only, and how it is told the schema.
pub fn read_only(config: &Config, schema: &str) -> (Config, AnswerBy) {
    let mut config = config.clone();
    let dialect = match &config.agent {
        AgentChoice::Named(name) => name.clone(),
        AgentChoice::Custom(custom) => custom.dialect.clone(),
        AgentChoice::Script(_) | AgentChoice::Command(_) => return (config, AnswerBy::Prompt),
    };
    match dialect.as_str() {
        "claude" => {
            let claude = &mut config.claude;
            // What it does not have, it can't use, whatever is allowed.
            claude.permission_mode = PermissionMode::Default;
            claude.mcp_config.clear();
            let own = ["--tools", "Read,Glob,Grep", "--json-schema", schema];
            claude.args.extend(own.map(str::to_owned));
            (config, AnswerBy::Schema)
        }
        "pi" => {
            config.pi.tools = ["read", "grep", "find", "ls"].map(str::to_owned).to_vec();
            (config, AnswerBy::Prompt)
        }
        "codex" => {
            config.agent = AgentChoice::Custom(Box::new(codex(&config.agent)));
            (config, AnswerBy::Prompt)
        }
        _ => (config, AnswerBy::Prompt),
    }
}

/// Codex in the sandbox of its own that writes nothing.
fn codex(choice: &AgentChoice) -> CustomAgent {
    let mut agent = match choice {
        AgentChoice::Custom(custom) => (**custom).clone(),
        AgentChoice::Named(_) | AgentChoice::Script(_) | AgentChoice::Command(_) => {
            CustomAgent::named("codex")
        }
    };
    let own = ["-c", "sandbox_mode=\"read-only\""];
    agent.args.extend(own.map(str::to_owned));
    agent
}
