//! Describes what the fake agent does to files and with commands, each told as the use of a tool.

use std::fs::{self, OpenOptions};
use std::io::{self, Write};
use std::path::Path;
use std::process::{Command, Stdio};

use serde_json::{Value, json};

use super::interpreter::Interpreter;
use super::must;

impl Interpreter {
    pub(super) fn write(&mut self, path: &str, text: &str) {
        let input = json!({"file_path": path, "content": text});
        self.tool("Write", input, || write(path, text));
    }

    pub(super) fn append(&mut self, path: &str, text: &str) {
        let input = json!({"file_path": path, "old_string": "", "new_string": text});
        self.tool("Edit", input, || append(path, text.as_bytes()));
    }

    pub(super) fn patch(&mut self, path: &str, find: &str, replace: &str) {
        let input = json!({"file_path": path, "old_string": find, "new_string": replace});
        self.tool("Edit", input, || patch(path, find, replace));
    }

    pub(super) fn delete(&mut self, path: &str) {
        let input = json!({"command": format!("rm {path}"), "description": "x"});
        self.tool("Bash", input, || fs::remove_file(path));
    }

    fn tool(&mut self, name: &str, input: Value, work: impl FnOnce() -> io::Result<()>) {
        let id = self.stream.tool_use(name, input);
        match work() {
            Ok(()) => self.stream.tool_result(&id, "ok", false),
            Err(e) => self.stream.tool_result(&id, &format!("Error: {e}"), true),
        }
    }

    /// In a session of its own, as Claude Code's shells are.
    pub(super) fn run_command(&mut self, command: &str) {
        let id = self
            .stream
            .tool_use("Bash", json!({"command": command, "description": "x"}));
        let ran = Command::new("setsid")
            .args(["--wait", "sh", "-c", command])
            .stdin(Stdio::null())
            .output();
        match ran {
            Err(e) => self.stream.tool_result(&id, &format!("Error: {e}"), true),
            Ok(output) => {
                let mut text = String::from_utf8_lossy(&output.stdout).into_owned();
                text.push_str(&String::from_utf8_lossy(&output.stderr));
                match output.status.code() {
                    Some(0) => self.stream.tool_result(&id, text.trim_end(), false),
                    code => {
                        let code = code.unwrap_or(137);
                        self.stream
                            .tool_result(&id, &format!("Exit code {code}\n{text}"), true);
                    }
                }
            }
        }
    }
}

/// Appends to a file that a test will read.
pub(super) fn record(path: &str, bytes: &[u8]) {
    must(append(path, bytes), path);
}

fn write(path: &str, text: &str) -> io::Result<()> {
    if let Some(folder) = Path::new(path).parent() {
        fs::create_dir_all(folder)?;
    }
    fs::write(path, text)
}

fn append(path: &str, bytes: &[u8]) -> io::Result<()> {
    OpenOptions::new()
        .create(true)
        .append(true)
        .open(path)?
        .write_all(bytes)
}

fn patch(path: &str, find: &str, replace: &str) -> io::Result<()> {
    let text = fs::read_to_string(path)?;
    if !text.contains(find) {
        return Err(io::Error::other(format!("string not found in {path}")));
    }
    fs::write(path, text.replacen(find, replace, 1))
}
