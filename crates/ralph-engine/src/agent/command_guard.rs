//! The check of an agent's own commands: it asks ralph before it runs one in a shell.
//!
//! ralph itself is asked, under a hidden name, with the list among its arguments: no file says what is allowed.
//! A question that gets no answer is a refusal.

use std::{ffi::OsString, io, path::PathBuf};

use ralph_core::allowlist::Allowlist;
use serde_json::{Value, json};

use crate::atomic;

/// The hidden command that agents ask.
pub const CHECK_COMMAND: &str = "__allow-command";

/// The way in which a kind of agent can be made to ask.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CommandCheck {
    /// Its settings name a program.
    Setting,
    /// A file that it loads asks.
    File {
        name: &'static str,
        text: &'static str,
    },
    /// It does not ask.
    Never,
}

/// The check for one agent, ready to be used.
#[derive(Debug, Clone)]
pub struct CommandGuard {
    entries: Vec<String>,
    /// The `ralph` that is running.
    ralph: PathBuf,
    /// The file that the agent loads, if it asks by one.
    pub(super) file: Option<PathBuf>,
}

impl CommandGuard {
    /// Makes the check of a list, with the file that it needs; nothing for an empty list, or where an agent never
    /// asks.
    pub fn install(
        check: CommandCheck,
        entries: &[String],
        ralph: PathBuf,
        data_dir: &std::path::Path,
    ) -> io::Result<Option<Self>> {
        if entries.is_empty() {
            return Ok(None);
        }
        let file = match check {
            CommandCheck::Never => return Ok(None),
            CommandCheck::Setting => None,
            CommandCheck::File { name, text } => {
                let folder = data_dir.join("guard");
                std::fs::create_dir_all(&folder)?;
                let file = folder.join(name);
                if std::fs::read(&file).ok().as_deref() != Some(text.as_bytes()) {
                    atomic::write(&file, text.as_bytes())?;
                }
                Some(file)
            }
        };
        Ok(Some(Self {
            entries: entries.to_vec(),
            ralph,
            file,
        }))
    }

    /// The program that is asked, with its arguments.
    pub(super) fn argv(&self) -> Vec<String> {
        let ralph = self.ralph.to_string_lossy().into_owned();
        let list = json!(self.entries).to_string();
        vec![ralph, CHECK_COMMAND.to_owned(), list]
    }

    /// The same as a line of shell, which ends with 2 where no answer comes.
    pub(super) fn shell_line(&self) -> String {
        let quoted = |word: String| format!("'{}'", word.replace('\'', r"'\''"));
        let words: Vec<String> = self.argv().into_iter().map(quoted).collect();
        format!("{} || exit 2", words.join(" "))
    }

    pub(super) fn allowlist(&self) -> Option<Allowlist> {
        Allowlist::new(&self.entries)
    }

    /// A variable that names the program and its arguments.
    pub(super) fn variable(&self) -> (OsString, OsString) {
        let argv = json!(self.argv()).to_string();
        ("RALPH_COMMAND_GUARD".into(), argv.into())
    }
}

/// Answers an agent that asks: nothing if the command may run, else the refusal, as hooks of agents print it.
pub fn answer_check(list: &str, question: &[u8]) -> Option<String> {
    let refuse = |reason: String| {
        let output = json!({
            "hookEventName": "PreToolUse",
            "permissionDecision": "deny",
            "permissionDecisionReason": format!("ralph did not run this command: {reason}"),
        });
        Some(json!({ "hookSpecificOutput": output }).to_string())
    };
    let Ok(entries) = serde_json::from_str::<Vec<String>>(list) else {
        return refuse("the list of allowed commands can't be read".to_owned());
    };
    let list = Allowlist::new(&entries)?;
    let question: Value = serde_json::from_slice(question).unwrap_or_default();
    let Some(command) = question["tool_input"]["command"].as_str() else {
        return refuse("the tool names no command".to_owned());
    };
    list.check_line(command)
        .err()
        .and_then(|refusal| refuse(refusal.to_string()))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn answer(question: &str) -> Option<String> {
        answer_check(r#"["cargo"]"#, question.as_bytes())
    }

    #[test]
    fn only_a_listed_command_gets_no_refusal() {
        assert_eq!(answer(r#"{"tool_input":{"command":"cargo test"}}"#), None);
        for (question, why) in [
            (
                r#"{"tool_input":{"command":"cargo test; touch x"}}"#,
                "`touch` is not in `safety.allowed_commands` (cargo)",
            ),
            (
                r#"{"tool_input":{"script":"x"}}"#,
                "the tool names no command",
            ),
            ("not JSON", "the tool names no command"),
            ("", "the tool names no command"),
        ] {
            let said = answer(question).unwrap();
            let said: Value = serde_json::from_str(&said).unwrap();
            let output = &said["hookSpecificOutput"];
            assert_eq!(output["permissionDecision"], "deny");
            assert_eq!(
                output["permissionDecisionReason"],
                format!("ralph did not run this command: {why}")
            );
        }
        assert!(
            answer_check("cargo", b"{}")
                .unwrap()
                .contains("can't be read")
        );
    }

    #[test]
    fn quotes_in_the_list_stay_in_one_word_of_the_shell() {
        let guard = CommandGuard::install(
            CommandCheck::Setting,
            &["it's".to_owned()],
            "/a b/ralph".into(),
            std::path::Path::new("/nowhere"),
        );
        assert_eq!(
            guard.unwrap().unwrap().shell_line(),
            r#"'/a b/ralph' '__allow-command' '["it'\''s"]' || exit 2"#
        );
    }
}
