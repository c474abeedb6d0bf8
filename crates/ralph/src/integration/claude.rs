//! The plugin in Claude Code: a folder among its skills is loaded as a plugin.

use super::{HostFacts, files::CLAUDE_FILES, rival::rival_plugin};

pub(super) const FACTS: HostFacts = HostFacts {
    word: "claude",
    title: "Claude Code",
    files: CLAUDE_FILES,
    settings: ("CLAUDE_CONFIG_DIR", ".claude"),
    folders: ("skills/ralph", ".claude/skills/ralph"),
    adapt,
    trust: " here and trust the folder",
    rival: rival_plugin,
};

fn adapt(name: &str, text: &str, program: &str) -> String {
    if name.ends_with("hooks.json") {
        // A word of the shell, within a text of JSON.
        let quoted = serde_json::Value::from(ralph_engine::source::in_shell(program)).to_string();
        let open = &quoted[..quoted.len() - 1];
        return text.replace("\"ralph hook", &format!("{open} hook"));
    }
    text.replace("!`ralph ", &format!("!`{program} "))
        .replace("Bash(ralph ", &format!("Bash({program} "))
}
