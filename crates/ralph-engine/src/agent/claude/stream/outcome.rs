//! Decides from what Claude Code said how its run ended.
//!
//! By codes and fields; words count only where they are a whole notice of the program's own.

use jiff::Timestamp;
use ralph_core::agent::{AgentResult, Ending};

use super::super::wire::{Denial, Line};
use super::parse::target;
use crate::agent::{asked_to_end, describe_end, limit_in_words, no_result};
use crate::process;

/// A result of the stream: what it says, and what it says about its end.
#[derive(Default)]
pub(super) struct Ended {
    pub(super) result: AgentResult,
    subtype: String,
    terminal: Option<String>,
    stop_reason: Option<String>,
    api_status: Option<u16>,
    /// The API or the program failed, whatever the subtype says.
    is_error: bool,
}

/// What went wrong on the way.
#[derive(Default)]
pub(super) struct Failures {
    /// A usage limit that was reported as reached, with its reset time.
    pub(super) limit: Option<Option<Timestamp>>,
    /// The code of the last synthetic message.
    code: Option<String>,
    /// The code of the retry that the client is at.
    retry: Option<String>,
    auth_retries: u32,
}

/// Retries after which a key that does not fit is not going to.
const HOPELESS_RETRIES: u32 = 2;

impl Failures {
    pub(super) fn failed(&mut self, code: String) {
        self.code = Some(code);
    }

    pub(super) fn retried(&mut self, code: &str) {
        self.auth_retries += u32::from(is_auth(code));
        self.retry = Some(code.to_owned());
    }

    /// The model answered: what was retried came through.
    pub(super) fn answered(&mut self) {
        self.retry = None;
        self.auth_retries = 0;
    }

    /// Claude Code asks for minutes with a key that was refused.
    pub(super) fn is_hopeless(&self) -> bool {
        self.auth_retries >= HOPELESS_RETRIES
    }
}

impl Ended {
    pub(super) fn read(line: &Line) -> Self {
        let fields = &line.result;
        let subtype = line.subtype.clone().unwrap_or_default();
        let terminal = fields.terminal_reason.clone();
        let ok = fields.is_error == Some(false)
            && subtype == "success"
            && terminal.as_deref().is_none_or(|r| r == "completed")
            && fields.num_turns.is_some_and(|n| n >= 1);
        let text = fields.result.clone().unwrap_or_default();
        let error = (!ok).then(|| why_not(&text, &fields.errors, terminal.as_deref()));
        Self {
            result: AgentResult {
                ok,
                text,
                error,
                turns: fields.num_turns,
                denied: fields.permission_denials.iter().map(denied).collect(),
            },
            subtype,
            terminal,
            stop_reason: fields.stop_reason.clone(),
            api_status: fields.api_error_status,
            is_error: fields.is_error != Some(false),
        }
    }
}

/// How the run ended, given everything that was said and how the process did.
pub(super) fn ending(
    said: Option<&Ended>,
    failures: &Failures,
    ended: process::Ended,
    stderr: &str,
    seen_at: Option<Timestamp>,
) -> Ending {
    let Some(said) = said else {
        return without_result(failures, ended, stderr);
    };
    if let Some(resets_at) = failures.limit
        && !said.result.ok
    {
        return Ending::Limit { resets_at };
    }
    // The notice alone is the whole message: an answer that quotes it is longer, or has more.
    if let Some(limit) = limit_in_words(&said.result.text, seen_at) {
        return limit;
    }
    if said.result.ok {
        return Ending::Finished;
    }
    let message = said.result.error.clone().unwrap_or_default();
    match said.subtype.as_str() {
        "error_max_turns" => return Ending::MaxTurns { message },
        "error_max_budget_usd" => return Ending::Budget { message },
        _ => {}
    }
    if said.stop_reason.as_deref() == Some("refusal") {
        return Ending::Refused { message };
    }
    let code = failures.code.as_deref().or(failures.retry.as_deref());
    match said.terminal.as_deref() {
        Some("aborted_streaming" | "aborted_tools") => {
            return match code {
                Some(code) if is_auth(code) && failures.is_hopeless() => auth(code),
                _ => Ending::Interrupted { message },
            };
        }
        // A hook of the user's asked it to stop, which is nobody's failure and no success.
        Some("hook_stopped" | "stop_hook_prevented") => return Ending::Interrupted { message },
        Some("max_turns") => return Ending::MaxTurns { message },
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

fn without_result(failures: &Failures, ended: process::Ended, stderr: &str) -> Ending {
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

fn why_not(text: &str, errors: &[String], terminal: Option<&str>) -> String {
    // What it says about itself to its makers is no reason that a user could read.
    let mut errors = errors.iter().filter(|e| !e.starts_with("[ede_diagnostic]"));
    let said = errors.next().map_or(text, String::as_str).trim();
    let said: String = said
        .lines()
        .next()
        .unwrap_or("")
        .chars()
        .take(300)
        .collect();
    match (said.is_empty(), terminal) {
        (false, _) => said,
        (true, Some(reason)) => format!("it ended by {reason}"),
        (true, None) => "it ended without a result of its own".into(),
    }
}

/// A tool that was refused, and what would allow it.
fn denied(denial: &Denial) -> String {
    let tool = &denial.tool_name;
    let on = target(&denial.tool_input);
    let rules = match tool.as_str() {
        "Bash" => bash_rules(denial.tool_input.get("command").and_then(|c| c.as_str())),
        _ => format!("`{tool}`"),
    };
    let what = format!("{tool} {on}");
    format!(
        "{} (to allow it: {rules} in claude.allowed_tools)",
        what.trim()
    )
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
