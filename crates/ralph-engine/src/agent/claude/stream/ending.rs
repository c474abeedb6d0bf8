//! Decides from what Claude Code said how its run ended.
//!
//! By codes and fields; words count only where they are a whole notice of the program's own.

use std::borrow::Cow;

use jiff::Timestamp;
use ralph_core::{
    agent::{AgentResult, Ending},
    allowlist::Allowlist,
};

use crate::{
    agent::{
        asked_to_end, describe_end,
        fields::{number, objects, text_of, word},
        json::Json,
        jsonl::{first_line, tool_target},
        limit_in_words, no_result,
    },
    process::Ended,
};

/// A result of the stream: what it says, and what it says about its end.
#[derive(Default)]
pub(super) struct ClaudeResult {
    pub(super) result: AgentResult,
    subtype: String,
    terminal: Option<String>,
    stop_reason: Option<String>,
    api_status: Option<u16>,
    /// The API or the program failed, whatever the subtype says.
    is_error: bool,
}

/// The failures on the way.
#[derive(Default)]
pub(super) struct ApiFailures {
    /// A usage limit that was reported as reached, with its reset time.
    pub(super) limit: Option<Option<Timestamp>>,
    /// The code of the agent's last synthetic message.
    code: Option<String>,
    /// The code of the retry that the client is at.
    retry: Option<String>,
    auth_retries: u32,
}

/// Errors of a result that are shown.
const MAX_ERRORS: usize = 4;

/// Retries after which a key that does not fit is not going to.
const HOPELESS_RETRIES: u32 = 2;

impl ApiFailures {
    pub(super) fn failed(&mut self, code: String) {
        self.code = Some(code);
    }

    pub(super) fn retried(&mut self, code: &str) {
        self.auth_retries += u32::from(is_auth(code));
        self.retry = Some(code.to_owned());
    }

    /// The model answered: what was retried came through. Answered to the agent itself, and not to
    /// a subagent, whatever failed before is behind it.
    pub(super) fn answered(&mut self, own: bool) {
        self.retry = None;
        self.auth_retries = 0;
        if own {
            self.code = None;
            self.limit = None;
        }
    }

    /// Claude Code asks for minutes with a key that was refused.
    pub(super) fn is_hopeless(&self) -> bool {
        self.auth_retries >= HOPELESS_RETRIES
    }
}

impl ClaudeResult {
    pub(super) fn read(line: &Json<'_>, allowed: Option<&Allowlist>) -> Self {
        let subtype = text_of(&line["subtype"]);
        let terminal = word(&line["terminal_reason"]);
        let turns: Option<u32> = number(&line["num_turns"]);
        let ok = line["is_error"] == false
            && subtype == "success"
            && terminal.as_deref().is_none_or(|r| r == "completed")
            && turns.is_some_and(|n| n >= 1);
        let text = text_of(&line["result"]);
        let error = (!ok).then(|| why_not(&text, &line["errors"], terminal.as_deref()));
        Self {
            result: AgentResult {
                ok,
                text,
                error,
                turns,
                denied: objects(&line["permission_denials"])
                    .filter_map(|denial| denied(denial, allowed))
                    .collect(),
            },
            subtype,
            terminal,
            stop_reason: word(&line["stop_reason"]),
            api_status: number(&line["api_error_status"]),
            is_error: line["is_error"] != false,
        }
    }

    /// A result that could not be read.
    pub(super) fn unread() -> Self {
        Self {
            result: AgentResult {
                error: Some("its result could not be read".into()),
                ..AgentResult::default()
            },
            is_error: true,
            ..Self::default()
        }
    }

    /// Its words, without the status of an API's error that Claude Code puts before it. A result without
    /// a text says them among its errors.
    fn words(&self) -> Cow<'_, str> {
        let text = match (self.result.text.trim(), &self.result.error) {
            ("", Some(error)) if self.is_error => error.as_str(),
            (text, _) => text,
        };
        let error = text.strip_prefix("API Error: ").filter(|_| self.is_error);
        let after_status = |error: &'_ str| {
            let (status, words) = error.split_once(' ')?;
            let is_status = status.len() == 3 && status.bytes().all(|b| b.is_ascii_digit());
            is_status.then_some(words.len())
        };
        let words = match error.and_then(after_status) {
            Some(length) => &text[text.len() - length..],
            None => text,
        };
        // Some versions show the answer of the API as it came.
        if self.is_error
            && words.starts_with('{')
            && let Ok(answer) = Json::parse(words.as_bytes(), &[])
            && let Some(message) = word(&answer["error"]["message"])
        {
            return Cow::Owned(message);
        }
        Cow::Borrowed(words)
    }

    /// A bound of the user's or a refusal: by its own field, whatever else happened on the way.
    fn bound(&self) -> Option<Ending> {
        let message = self.result.error.clone()?;
        match (self.subtype.as_str(), self.terminal.as_deref()) {
            ("error_max_turns", _) | (_, Some("max_turns")) => Some(Ending::MaxTurns { message }),
            ("error_max_budget_usd", _) => Some(Ending::Budget { message }),
            _ if self.stop_reason.as_deref() == Some("refusal") => {
                Some(Ending::Refused { message })
            }
            _ => None,
        }
    }
}

/// The ending of the run, given everything that was said and how the process did.
pub(super) fn ending(
    said: Option<&ClaudeResult>,
    failures: &ApiFailures,
    ended: Ended,
    stderr: &str,
    seen_at: Option<Timestamp>,
) -> Ending {
    let Some(said) = said else {
        return without_result(failures, ended, stderr);
    };
    if let Some(bound) = said.bound() {
        return bound;
    }
    if let Some(resets_at) = failures.limit
        && !said.result.ok
    {
        return Ending::Limit { resets_at };
    }
    // The notice alone is the whole message: an answer that quotes it is longer, or has more.
    if let Some(limit) = limit_in_words(&said.words(), seen_at) {
        return limit;
    }
    if said.result.ok {
        return Ending::Finished;
    }
    let message = said.result.error.clone().unwrap_or_default();
    let code = failures.code.as_deref().or(failures.retry.as_deref());
    match said.terminal.as_deref() {
        Some("aborted_streaming" | "aborted_tools") => {
            return match code {
                Some(code) if is_auth(code) && failures.is_hopeless() => auth(code),
                _ => Ending::Interrupted { message },
            };
        }
        // A hook of the user's asked it to stop, which is neither a failure nor a success.
        Some("hook_stopped" | "stop_hook_prevented") => return Ending::Interrupted { message },
        _ => {}
    }
    if said.is_error && (said.subtype == "success" || failures.code.is_some()) {
        return by_code(code.unwrap_or(""), said.api_status, message);
    }
    Ending::Error { message }
}

/// An error of the API, by its code; by its status where the code says nothing.
fn by_code(code: &str, status: Option<u16>, message: String) -> Ending {
    match (code, status) {
        ("authentication_failed" | "oauth_org_not_allowed", _) => Ending::Auth { message },
        ("billing_error" | "model_not_found", _) => Ending::Rejected { message },
        ("rate_limit" | "overloaded" | "server_error", _) => Ending::Overloaded { message },
        (_, Some(401 | 403)) => Ending::Auth { message },
        (_, Some(404)) => Ending::Rejected { message },
        (_, Some(408 | 429 | 500..=599)) => Ending::Overloaded { message },
        (_, Some(_)) => Ending::Api { message },
        // No answer at all: the network, a broken stream.
        (_, None) if is_network(&message) => Ending::Overloaded { message },
        ("", None) => Ending::Error { message },
        (_, None) => Ending::Api { message },
    }
}

fn without_result(failures: &ApiFailures, ended: Ended, stderr: &str) -> Ending {
    if let Some(resets_at) = failures.limit {
        return Ending::Limit { resets_at };
    }
    match &failures.retry {
        Some(code) if is_auth(code) && (failures.is_hopeless() || !asked_to_end(ended)) => {
            auth(code)
        }
        Some(code) if !asked_to_end(ended) => {
            let message = format!("{code} ({})", describe_end(ended, stderr));
            by_code(code, None, message)
        }
        _ => no_result(ended, stderr),
    }
}

fn is_auth(code: &str) -> bool {
    matches!(code, "authentication_failed" | "oauth_org_not_allowed")
}

fn auth(code: &str) -> Ending {
    Ending::Auth {
        message: format!("its API refuses the key or login ({code})"),
    }
}

/// Claude Code's own words for a request that got no answer.
fn is_network(message: &str) -> bool {
    [
        "API Error: Unable to connect",
        "API Error: Connection",
        "API Error: The operation timed out",
        "API Error: Request timed out",
    ]
    .iter()
    .any(|words| message.starts_with(words))
}

fn why_not(text: &str, errors: &Json<'_>, terminal: Option<&str>) -> String {
    // What it says about itself to its makers is no reason that a user could read.
    let mut shown: Vec<String> = Vec::new();
    for error in errors.elements().iter().filter_map(Json::as_str) {
        let line = first_line(error);
        let is_said = line.is_empty() || shown.contains(&line);
        if !is_said && !error.starts_with("[ede_diagnostic]") && shown.len() < MAX_ERRORS {
            shown.push(line);
        }
    }
    let said = if shown.is_empty() {
        first_line(text)
    } else {
        shown.join("; ")
    };
    match (said.is_empty(), terminal) {
        (false, _) => said,
        (true, Some(reason)) => format!("it ended by {reason}"),
        (true, None) => "it ended without a result of its own".into(),
    }
}

/// A tool that was refused, and what would allow it; nothing where no tool is named.
fn denied(denial: &Json<'_>, allowed: Option<&Allowlist>) -> Option<String> {
    let tool = denial["tool_name"].as_str().filter(|t| !t.is_empty())?;
    let input = &denial["tool_input"];
    let command = input["command"].as_str();
    if let (Some(allowed), Some(command)) = (allowed, command)
        && let Err(refusal) = allowed.check_line(command)
    {
        return Some(format!("{tool} {}: {refusal}", tool_target(input)));
    }
    let rules = match tool {
        "Bash" => bash_rules(command),
        _ => format!("`{tool}`"),
    };
    let what = format!("{tool} {}", tool_target(input));
    Some(format!(
        "{} (to allow it: {rules} in claude.allowed_tools)",
        what.trim()
    ))
}

/// Claude Code looks at each part of a command line by itself, so each needs its rule.
fn bash_rules(command: Option<&str>) -> String {
    let command = command.unwrap_or_default();
    if command.is_empty() || command.contains(['`', '$', '(']) {
        return "`Bash`, which allows every command,".to_owned();
    }
    let mut rules: Vec<String> = Vec::new();
    for part in command.split([';', '&', '|', '\n']) {
        let rule = part
            .split_whitespace()
            .next()
            .map(|program| format!("`Bash({program}:*)`"));
        rules.extend(rule.filter(|rule| !rules.contains(rule)));
    }
    let any = |program: &str| rules.contains(&format!("`Bash({program}:*)`"));
    match ALLOW_ALL.iter().find(|program| any(program)) {
        Some(program) => format!(
            "{}, of which `{program}` allows every command,",
            rules.join(", ")
        ),
        None => rules.join(", "),
    }
}

/// Programs that start any other: a rule for one of them is no limit.
const ALLOW_ALL: [&str; 14] = [
    "sh", "bash", "zsh", "dash", "env", "eval", "xargs", "sudo", "python", "python3", "node",
    "perl", "ruby", "find",
];

#[cfg(test)]
mod tests {
    use super::bash_rules;

    #[test]
    fn each_part_of_a_command_line_has_its_rule() {
        let rules = |command| bash_rules(Some(command));
        assert_eq!(rules("touch x"), "`Bash(touch:*)`");
        assert_eq!(
            rules("cd a && cargo test | tail; cd b"),
            "`Bash(cd:*)`, `Bash(cargo:*)`, `Bash(tail:*)`"
        );
        assert_eq!(
            rules("curl x | sh"),
            "`Bash(curl:*)`, `Bash(sh:*)`, of which `sh` allows every command,"
        );
        let all = "`Bash`, which allows every command,";
        assert_eq!(rules("echo $(touch z)"), all);
        assert_eq!(bash_rules(None), all);
    }
}
