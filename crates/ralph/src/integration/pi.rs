//! The package in Pi: a folder among its extensions is loaded.

use super::{HostFacts, files::PI_FILES};

pub(super) const FACTS: HostFacts = HostFacts {
    word: "pi",
    title: "Pi",
    files: PI_FILES,
    settings: ("PI_CODING_AGENT_DIR", ".pi/agent"),
    folders: ("extensions/ralph", ".pi/extensions/ralph"),
    adapt,
    trust: " here and trust the folder (without a terminal: --approve)",
    rival: |_| None,
};

fn adapt(_name: &str, text: &str, program: &str) -> String {
    let quoted = serde_json::Value::from(program);
    text.replace(
        "const DEFAULT_PROGRAM = \"ralph\";",
        &format!("const DEFAULT_PROGRAM = {quoted};"),
    )
}
