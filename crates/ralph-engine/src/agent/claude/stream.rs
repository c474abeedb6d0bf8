//! Reads Claude Code's stream into events, and decides from its last `result` how the run ended.

use std::collections::HashSet;

use jiff::Timestamp;
use ralph_core::agent::{AgentEvent, AgentResult, Ending, FINAL_MESSAGE_BYTES, Usage};

use super::wire::{self, Content, Line};
use crate::{
    agent::{Conclusion, Dialect, describe_end},
    process::Ended,
};

#[derive(Default)]
pub(super) struct Stream {
    session: Option<String>,
    model: Option<String>,
    version: Option<String>,
    /// Ids of messages whose usage is counted: each block of a message repeats it.
    counted: HashSet<String>,
    usage: Usage,
    limit: Option<Option<Timestamp>>,
    /// The error code of the last synthetic message.
    error: Option<String>,
    result: Option<(AgentResult, Option<String>)>,
}

/// The longest text of a message that can be a notice of the program rather than an answer.
const NOTICE_CHARS: usize = 200;

impl Dialect for Stream {
    fn read_line(&mut self, line: &[u8], events: &mut Vec<AgentEvent>) {
        // Not an event of any kind: in the log, and not worth a word more. A flood of it is cheap.
        if !line.trim_ascii_start().starts_with(b"{") {
            return;
        }
        for part in parse(line) {
            match part {
                Ok(line) => self.take(line, events),
                Err(garbage) => events.push(AgentEvent::Other { name: garbage }),
            }
        }
    }

    fn has_concluded(&self) -> bool {
        self.result.is_some()
    }

    fn conclude(self: Box<Self>, ended: Ended, stderr: &str) -> Conclusion {
        let ending = self.ending(ended, stderr);
        let (result, _) = self.result.unwrap_or_default();
        let cut = result.text.len().saturating_sub(FINAL_MESSAGE_BYTES);
        let cut = (cut..)
            .find(|i| result.text.is_char_boundary(*i))
            .unwrap_or(0);
        Conclusion {
            ending,
            final_message: result.text[cut..].to_owned(),
            model: self.model,
            version: self.version,
            usage: self.usage,
            turns: result.turns,
            denied: result.denied,
        }
    }
}

/// The events of one line. Another event can be injected in the middle of a line: what is whole
/// in it is still read.
fn parse(line: &[u8]) -> Vec<Result<Line, String>> {
    let text = line.trim_ascii();
    if let Ok(line) = serde_json::from_slice::<Line>(text) {
        return vec![Ok(line)];
    }
    const START: &[u8] = br#"{"type":"#;
    let whole: Vec<_> = memchr::memmem::find_iter(text, START)
        .filter_map(|at| {
            let mut values = serde_json::Deserializer::from_slice(&text[at..]).into_iter::<Line>();
            let line = values.next()?.ok()?;
            // Without its rest, only an event that stood alone is trusted; a nested object is not.
            (line.session_id.is_some() && (at > 0 || values.byte_offset() == text.len()))
                .then_some(Ok(line))
        })
        .take(4)
        .collect();
    if whole.is_empty() {
        vec![Err("broken line".into())]
    } else {
        whole
    }
}

impl Stream {
    fn take(&mut self, line: Line, events: &mut Vec<AgentEvent>) {
        let foreign = match (&self.session, &line.session_id) {
            (Some(own), Some(other)) => own != other,
            _ => false,
        };
        let sub = line.subtype.as_deref().unwrap_or("");
        match (line.kind.as_str(), sub) {
            // A line that some other program printed can't know the session.
            _ if foreign => events.push(AgentEvent::Other {
                name: "event of another session".into(),
            }),
            ("system", "init") => self.begin(line, events),
            ("system", "api_retry") => events.push(AgentEvent::Retry {
                attempt: line.attempt.unwrap_or(0),
                reason: code(line.error.as_ref()).unwrap_or_else(|| "error".into()),
            }),
            ("assistant", _) => self.assistant(line, events),
            ("user", _) => tool_results(line, events),
            ("rate_limit_event", _) => self.rate_limit(line, events),
            ("result", _) if self.session.is_some() && line.session_id.is_some() => {
                self.end(line, events)
            }
            (kind, "") => events.push(AgentEvent::Other {
                name: kind.to_owned(),
            }),
            (kind, sub) => events.push(AgentEvent::Other {
                name: format!("{kind}/{sub}"),
            }),
        }
    }

    fn begin(&mut self, line: Line, events: &mut Vec<AgentEvent>) {
        self.session = self.session.take().or(line.session_id);
        self.model = self.model.take().or(line.model);
        self.version = self.version.take().or(line.claude_code_version);
        events.push(AgentEvent::Started {
            model: self.model.clone(),
            version: self.version.clone(),
            session: self.session.clone(),
        });
    }

    fn assistant(&mut self, line: Line, events: &mut Vec<AgentEvent>) {
        let own = line.parent_tool_use_id.is_none();
        if let Some(error) = code(line.error.as_ref()) {
            self.error = Some(error);
        }
        let Some(message) = line.message else { return };
        let synthetic = message.model.as_deref() == Some("<synthetic>");
        if let (Some(id), Some(usage), false) = (message.id, message.usage, synthetic) {
            self.count(id, usage, own, events);
        }
        let Content::Blocks(blocks) = message.content else {
            return;
        };
        for block in blocks {
            match (block.kind.as_str(), block.text) {
                ("text", Some(text)) if own => events.push(AgentEvent::Text { text }),
                ("tool_use", _) => events.push(AgentEvent::Tool {
                    id: block.id.unwrap_or_default(),
                    name: block.name.unwrap_or_default(),
                    target: block.input.as_ref().map(target).unwrap_or_default(),
                }),
                _ => {}
            }
        }
    }

    fn count(&mut self, id: String, usage: wire::Usage, own: bool, events: &mut Vec<AgentEvent>) {
        if !self.counted.insert(id) {
            return;
        }
        self.usage.input_tokens += usage.input_tokens;
        self.usage.output_tokens += usage.output_tokens;
        self.usage.cache_read_tokens += usage.cache_read_input_tokens;
        self.usage.cache_write_tokens += usage.cache_creation_input_tokens;
        if own {
            self.usage.context_tokens = usage.input_tokens
                + usage.cache_read_input_tokens
                + usage.cache_creation_input_tokens;
        }
        events.push(AgentEvent::Usage(self.usage));
    }

    fn rate_limit(&mut self, line: Line, events: &mut Vec<AgentEvent>) {
        let Some(info) = line.rate_limit_info else {
            return;
        };
        let resets_at = info.resets_at.and_then(|s| Timestamp::from_second(s).ok());
        let rejected = info.status == "rejected";
        if rejected {
            self.limit = Some(resets_at);
        }
        events.push(AgentEvent::Limit {
            rejected,
            resets_at,
            which: info.which,
        });
    }

    fn end(&mut self, line: Line, events: &mut Vec<AgentEvent>) {
        let fields = line.result;
        let ok = fields.is_error == Some(false)
            && line.subtype.as_deref() == Some("success")
            && fields
                .terminal_reason
                .as_deref()
                .is_none_or(|r| r == "completed")
            && fields.num_turns.is_some_and(|n| n >= 1);
        let text = fields.result.unwrap_or_default();
        let error =
            (!ok).then(|| why_not(&text, &fields.errors, fields.terminal_reason.as_deref()));
        self.sum_up(fields.usage, &fields.model_usage, fields.total_cost_usd);
        let result = AgentResult {
            ok,
            text,
            error,
            turns: fields.num_turns,
            denied: fields
                .permission_denials
                .iter()
                .map(|d| {
                    format!("{} {}", d.tool_name, target(&d.tool_input))
                        .trim()
                        .to_owned()
                })
                .collect(),
        };
        events.push(AgentEvent::Usage(self.usage));
        events.push(AgentEvent::Result(result.clone()));
        self.result = Some((result, fields.terminal_reason));
    }

    /// The result's own sums replace what was counted on the way: they are final, hold subagents
    /// too, and are cumulative over the process.
    fn sum_up(
        &mut self,
        main: Option<wire::Usage>,
        models: &std::collections::BTreeMap<String, wire::ModelUsage>,
        cost: Option<f64>,
    ) {
        let context_tokens = self.usage.context_tokens;
        if !models.is_empty() {
            self.usage = models.values().fold(Usage::default(), |mut sum, m| {
                sum.input_tokens += m.input_tokens;
                sum.output_tokens += m.output_tokens;
                sum.cache_read_tokens += m.cache_read_input_tokens;
                sum.cache_write_tokens += m.cache_creation_input_tokens;
                sum
            });
        } else if let Some(u) = main {
            self.usage.output_tokens = self.usage.output_tokens.max(u.output_tokens);
        }
        self.usage.context_tokens = context_tokens;
        self.usage.cost_usd = cost;
    }

    fn ending(&self, ended: Ended, stderr: &str) -> Ending {
        let text = self.result.as_ref().map_or("", |(r, _)| r.text.as_str());
        if let Some(resets_at) = self.limit
            && !self.result.as_ref().is_some_and(|(r, _)| r.ok)
        {
            return Ending::Limit { resets_at };
        }
        // The notice alone is the whole message: an answer that quotes it is longer, or has more.
        if is_limit_notice(text) {
            return Ending::Limit {
                resets_at: epoch_after_bar(text),
            };
        }
        match (&self.result, self.error.as_deref()) {
            (Some((result, _)), _) if result.ok => Ending::Finished,
            (
                Some((result, _)),
                Some("authentication_failed" | "oauth_org_not_allowed" | "billing_error"),
            ) => Ending::Unavailable {
                message: result.error.clone().unwrap_or_default(),
            },
            (Some((result, _)), _) => Ending::Error {
                message: result.error.clone().unwrap_or_default(),
            },
            (None, _) => Ending::Error {
                message: format!(
                    "it ended without a result ({})",
                    describe_end(ended, stderr)
                ),
            },
        }
    }
}

fn why_not(text: &str, errors: &[String], terminal: Option<&str>) -> String {
    let said = errors.first().map_or(text, String::as_str).trim();
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

fn is_limit_notice(text: &str) -> bool {
    let text = text.trim().replace('’', "'");
    text.chars().count() <= NOTICE_CHARS
        && !text.contains('\n')
        && ((text.starts_with("You've hit your") && text.contains("limit"))
            || text.starts_with("Claude AI usage limit reached")
            || text.starts_with("Claude usage limit reached"))
}

fn epoch_after_bar(text: &str) -> Option<Timestamp> {
    let seconds: i64 = text.rsplit_once('|')?.1.trim().parse().ok()?;
    Timestamp::from_second(seconds).ok()
}

fn tool_results(line: Line, events: &mut Vec<AgentEvent>) {
    let Some(Content::Blocks(blocks)) = line.message.map(|m| m.content) else {
        return;
    };
    for block in blocks {
        if let ("tool_result", Some(id)) = (block.kind.as_str(), block.tool_use_id) {
            events.push(AgentEvent::ToolDone {
                id,
                ok: block.is_error != Some(true),
            });
        }
    }
}

/// The one thing a tool works on, for a person who watches.
fn target(input: &serde_json::Map<String, serde_json::Value>) -> String {
    [
        "file_path",
        "command",
        "path",
        "pattern",
        "url",
        "query",
        "description",
        "prompt",
    ]
    .iter()
    .find_map(|key| input.get(*key)?.as_str())
    .map(|text| {
        text.lines()
            .next()
            .unwrap_or("")
            .chars()
            .take(200)
            .collect()
    })
    .unwrap_or_default()
}

fn code(error: Option<&serde_json::Value>) -> Option<String> {
    error?.as_str().map(str::to_owned)
}

#[cfg(test)]
mod tests;
