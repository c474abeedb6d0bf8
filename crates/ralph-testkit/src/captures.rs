//! Recorded output of real agents, which lies in `captures/` of this crate.
//!
//! `captures/claude` was written by Claude Code, `captures/pi` by Pi, Codex, opencode and Gemini CLI, as
//! the names of the files say. The recordings are what the agents wrote, byte for byte: they are never
//! edited to make a test pass.

use std::path::{Path, PathBuf};

use serde_json::Value;

/// The path of a recording, such as `claude/first.jsonl`.
///
/// # Panics
///
/// If there is none of this name.
#[must_use]
pub fn path(name: &str) -> PathBuf {
    let path = Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("captures")
        .join(name);
    assert!(path.is_file(), "{} is missing", path.display());
    path
}

/// The whole text of a recording.
///
/// # Panics
///
/// If there is none of this name, or it is not text.
#[must_use]
pub fn text(name: &str) -> String {
    let path = path(name);
    std::fs::read_to_string(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

/// The lines that the agent wrote. In a recording of both directions these are the ones marked `out`.
///
/// # Panics
///
/// If there is no recording of this name, or a line of it is not JSON.
#[must_use]
pub fn agent_lines(name: &str) -> Vec<String> {
    text(name).lines().filter_map(agent_line).collect()
}

fn agent_line(line: &str) -> Option<String> {
    let value: Value = serde_json::from_str(line)
        .unwrap_or_else(|error| panic!("a recorded line is not JSON: {error}: {line}"));
    match value["dir"].as_str() {
        Some("out") => Some(value["o"].to_string()),
        Some(_) => None,
        None => Some(line.to_owned()),
    }
}
