//! A tool of the scenario in the words of the client: its name, and its parameters by the schema
//! that the request brings. Guesses nothing: a tool that is not offered is a mistake.

use std::path::Path;

use serde_json::{Map, Value, json};

use super::scenario::{Bash, ToolUse};
use super::wire::{ParsedRequest, Tool};

// What clients call these, and their parameters.
const WRITE: [&str; 3] = ["Write", "write", "write_file"];
const EDIT: [&str; 3] = ["Edit", "edit", "replace"];
const BASH: [&str; 5] = ["Bash", "bash", "run_shell_command", "shell", "exec_command"];
const READ: [&str; 3] = ["Read", "read", "read_file"];
const PATH: [&str; 4] = ["file_path", "path", "filePath", "absolute_path"];
const OLD: [&str; 3] = ["old_string", "oldString", "oldText"];
const NEW: [&str; 3] = ["new_string", "newString", "newText"];
const COMMAND: [&str; 2] = ["command", "cmd"];

/// The name and the input of a call.
///
/// # Errors
///
/// With what is missing, if the client offers no such tool or one with other parameters.
pub(super) fn tool_call(tool: &ToolUse, asked: &ParsedRequest) -> Result<(String, Value), String> {
    match tool {
        ToolUse::Write { path, content } => {
            let mut call = ToolCall::of("write", &WRITE, asked)?;
            call.set_path(path)?;
            call.set("content", &["content"], json!(content))?;
            Ok(call.done())
        }
        ToolUse::Edit { path, old, new } => {
            let mut call = ToolCall::of("edit", &EDIT, asked)?;
            call.set_path(path)?;
            call.set_edit(old, new)?;
            Ok(call.done())
        }
        ToolUse::Bash(bash) => {
            let (command, timeout) = match bash {
                Bash::Plain(command) => (command, None),
                Bash::Limited { command, timeout } => (command, *timeout),
            };
            let mut call = ToolCall::of("bash", &BASH, asked)?;
            call.set_command(command, timeout)?;
            Ok(call.done())
        }
        ToolUse::Read(path) => {
            let mut call = ToolCall::of("read", &READ, asked)?;
            call.set_path(path)?;
            Ok(call.done())
        }
        ToolUse::Call { name, input } => {
            let input = if input.is_null() {
                json!({})
            } else {
                input.clone()
            };
            Ok((name.clone(), input))
        }
    }
}

/// A call that is put together.
struct ToolCall<'a> {
    tool: &'a Tool,
    asked: &'a ParsedRequest,
    input: Map<String, Value>,
}

impl<'a> ToolCall<'a> {
    fn of(what: &str, names: &[&str], asked: &'a ParsedRequest) -> Result<Self, String> {
        let offered = |name: &&str| asked.tools.iter().find(|tool| tool.name == **name);
        let tool = names.iter().find_map(offered).ok_or_else(|| {
            let all: Vec<&str> = asked.tools.iter().map(|tool| tool.name.as_str()).collect();
            format!(
                "the scenario has a {what}, and the client offers none; it offers {}",
                all.join(", ")
            )
        })?;
        Ok(Self {
            tool,
            asked,
            input: Map::new(),
        })
    }

    fn done(self) -> (String, Value) {
        (self.tool.name.clone(), Value::Object(self.input))
    }

    /// Which of the names the tool's schema has.
    fn parameter<'n>(&self, names: &[&'n str]) -> Option<&'n str> {
        let properties = &self.tool.schema["properties"];
        let is_there = |name: &&&str| properties.get(**name).is_some();
        names.iter().find(is_there).copied()
    }

    fn set(&mut self, what: &str, names: &[&str], value: Value) -> Result<(), String> {
        let Some(name) = self.parameter(names) else {
            let tool = &self.tool.name;
            return Err(format!("the client's tool {tool} takes no {what}"));
        };
        self.input.insert(name.to_owned(), value);
        Ok(())
    }

    /// A path as the client wants it. Claude Code wants it absolute, and says where it is.
    fn set_path(&mut self, path: &str) -> Result<(), String> {
        let whole = match working_folder(&self.asked.system) {
            Some(folder) if self.parameter(&PATH) != Some("path") => Path::new(folder).join(path),
            _ => path.into(),
        };
        self.set("path", &PATH, json!(whole.display().to_string()))
    }

    /// One replacement. Pi takes a list of them.
    fn set_edit(&mut self, old: &str, new: &str) -> Result<(), String> {
        if self.parameter(&["edits"]).is_some() {
            return self.set(
                "edits",
                &["edits"],
                json!([{"oldText": old, "newText": new}]),
            );
        }
        self.set("old text", &OLD, json!(old))?;
        self.set("new text", &NEW, json!(new))?;
        // Gemini CLI wants to be told why.
        if self.parameter(&["instruction"]).is_some() {
            self.set("instruction", &["instruction"], json!("Change it"))?;
        }
        Ok(())
    }

    fn set_command(&mut self, command: &str, timeout: Option<u64>) -> Result<(), String> {
        let properties = &self.tool.schema["properties"];
        let wants_words = properties["command"]["type"] == "array";
        let unit = properties["timeout"]["description"].as_str().unwrap_or("");
        let factor = if unit.contains("millisecond") {
            1000
        } else {
            1
        };
        let command = if wants_words {
            json!(["bash", "-lc", command])
        } else {
            json!(command)
        };
        self.set("command", &COMMAND, command)?;
        if let Some(seconds) = timeout {
            self.set("timeout", &["timeout"], json!(seconds * factor))?;
        }
        if self.parameter(&["description"]).is_some() {
            self.set("description", &["description"], json!("Run a command"))?;
        }
        Ok(())
    }
}

/// Where the client works, if it tells the model.
fn working_folder(system: &str) -> Option<&str> {
    const BEFORE: [&str; 2] = ["Primary working directory: ", "Working directory: "];
    let line = |before: &&str| {
        let (_, rest) = system.split_once(*before)?;
        rest.lines().next().map(str::trim)
    };
    BEFORE
        .iter()
        .find_map(line)
        .filter(|path| path.starts_with('/'))
}

#[cfg(test)]
mod tests;
