//! What agents share that take the prompt on stdin and write JSON lines: how they are started, and how
//! their API's failures are told apart.
//!
//! Knows no agent's events: these stay in the file of each.

use ralph_core::agent::{Ending, FINAL_MESSAGE_BYTES};
use serde_json::Value;

use super::{RunContext, table::Making, with_env};
use crate::process::{CommandSpec, Output, Stdin};

/// A program that is started for one prompt and ends by itself.
pub(super) struct Program {
    pub(super) name: String,
    program: String,
    /// Of the user's, before ralph's own.
    first: Vec<String>,
    pub(super) model: Option<String>,
    args: Vec<String>,
    env: Vec<(String, String)>,
}

impl Program {
    /// The program of that name, unless the user names another.
    pub(super) fn new(making: &Making<'_>, usual: &str) -> Self {
        match making.custom {
            Some(custom) => Self {
                name: custom.name.clone(),
                program: custom.command.program().to_owned(),
                first: custom.command.args().to_vec(),
                model: custom.model.clone(),
                args: custom.args.clone(),
                env: custom.env.0.clone().into_iter().collect(),
            },
            None => Self {
                name: usual.to_owned(),
                program: usual.to_owned(),
                first: Vec::new(),
                model: None,
                args: Vec::new(),
                env: Vec::new(),
            },
        }
    }

    /// The command: the user's words, ralph's own, the user's last. Of the environment, what the user
    /// set wins.
    pub(super) fn command(&self, context: &RunContext, start: Start<'_>) -> CommandSpec {
        let owned = |words: &[&str]| words.iter().map(|w| (*w).to_owned()).collect::<Vec<_>>();
        let mut args = self.first.clone();
        args.extend(owned(start.args));
        if let Some(model) = &self.model {
            args.extend([start.model_option.to_owned(), model.clone()]);
        }
        args.extend(self.args.iter().cloned());
        args.extend(owned(start.last));
        let mut env: Vec<(String, String)> = start
            .env
            .iter()
            .map(|(key, value)| ((*key).to_owned(), (*value).to_owned()))
            .collect();
        env.extend(self.env.iter().cloned());
        CommandSpec {
            program: self.program.clone().into(),
            args: args.into_iter().map(Into::into).collect(),
            cwd: context.cwd.clone(),
            env: with_env(context, &env),
            stdin: Stdin::Bytes(start.prompt.into_bytes()),
            output: Output::Separate,
        }
    }

    /// What the user should hear before it runs unattended.
    pub(super) fn warning(&self) -> String {
        format!(
            "{} runs without permission checks and without a sandbox: it can do what you can",
            self.name
        )
    }
}

/// What ralph itself starts a program with.
pub(super) struct Start<'a> {
    pub(super) args: &'a [&'a str],
    pub(super) model_option: &'a str,
    /// Behind all that the user adds.
    pub(super) last: &'a [&'a str],
    pub(super) env: &'a [(&'a str, &'a str)],
    pub(super) prompt: String,
}

/// One event of a stream; `None` for what is none, such as a word that a library printed.
pub(super) fn parse_event(line: &[u8]) -> Option<Value> {
    if !line.trim_ascii_start().starts_with(b"{") {
        return None;
    }
    let event: Value = serde_json::from_slice(line).ok()?;
    event["type"].is_string().then_some(event)
}

pub(super) fn text_of(value: &Value) -> String {
    value.as_str().unwrap_or_default().to_owned()
}

/// The end of a final message: signals stand there.
pub(super) fn capped(text: &str) -> String {
    let cut = text.len().saturating_sub(FINAL_MESSAGE_BYTES);
    let cut = (cut..=text.len()).find(|at| text.is_char_boundary(*at));
    text[cut.unwrap_or(0)..].to_owned()
}

/// A failure in one line that is not long.
pub(super) fn one_line(text: &str) -> String {
    let line = text.trim().lines().next().unwrap_or("");
    line.chars().take(300).collect()
}

/// The one thing a tool works on, for a person who watches.
pub(super) fn target(input: &Value) -> String {
    const KEYS: [&str; 10] = [
        "file_path",
        "filePath",
        "command",
        "path",
        "dir_path",
        "pattern",
        "url",
        "query",
        "description",
        "prompt",
    ];
    let found = KEYS.iter().find_map(|key| input[*key].as_str());
    let line = found.unwrap_or("").lines().next().unwrap_or("");
    line.chars().take(200).collect()
}

/// What an API's refusal means, by its status.
pub(super) fn by_status(status: u16, message: String) -> Ending {
    match status {
        401 | 403 => Ending::Auth { message },
        402 | 404 => Ending::Rejected { message },
        408 | 429 | 500..=599 => Ending::Overloaded { message },
        _ => Ending::Api { message },
    }
}

/// The command of a kind of agent, as the shell would have it: what it is started with by its name
/// alone, or by a program of the user's.
#[cfg(test)]
pub(super) fn command_line(kind: super::Kind, custom: Option<&str>) -> (String, Vec<String>) {
    let custom = custom.map(|json| serde_json::from_str(json).expect("a custom agent"));
    let making = Making {
        config: &ralph_core::config::Config::default(),
        custom: custom.as_ref(),
        is_root: false,
    };
    let context = RunContext {
        cwd: "/repo".into(),
        env: vec![("TEAM".into(), "a".into())],
        prompt: "the prompt".into(),
        labels: Vec::new(),
        budget: None,
    };
    let spec = (kind.make)(&making).command(&context);
    let word = |word: &std::ffi::OsStr| word.to_string_lossy().into_owned();
    let line = std::iter::once(word(&spec.program)).chain(spec.args.iter().map(|a| word(a)));
    let env = spec
        .env
        .iter()
        .map(|(k, v)| format!("{}={}", word(k), word(v)));
    (line.collect::<Vec<_>>().join(" "), env.collect())
}

/// What a real program wrote, as it was captured.
#[cfg(test)]
pub(super) fn captured(name: &str) -> String {
    ralph_testkit::captures::text(&format!("pi/{name}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_status_says_whose_trouble_it_is() {
        for (status, outcome) in [
            (401, "auth"),
            (403, "auth"),
            (429, "overloaded"),
            (500, "overloaded"),
            (503, "overloaded"),
            (400, "api_error"),
            (404, "api_error"),
        ] {
            assert_eq!(by_status(status, String::new()).outcome(), outcome);
        }
    }

    #[test]
    fn the_end_of_a_long_final_message_is_kept_whole_in_its_characters() {
        let text = format!("{}é done", "é".repeat(40_000));
        let kept = capped(&text);
        assert!(kept.len() <= FINAL_MESSAGE_BYTES && kept.ends_with("é done"));
        assert_eq!(capped("short"), "short");
    }

    #[test]
    fn what_is_no_event_is_not_one() {
        for line in ["", "not json", "{\"type\":", "[1]", "{\"kind\":\"x\"}"] {
            assert_eq!(parse_event(line.as_bytes()), None, "{line}");
        }
    }
}
