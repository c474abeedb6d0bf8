//! The agent's messages and tools while it runs.

use ralph_core::{
    agent::{AgentEvent, AgentResult, NudgeState, Usage},
    figures::{compact, count},
    sanitize::{columns, fold, one_line, terminal_safe, truncate_middle},
};

use super::{HumanText, Tools, safe};
use crate::report::{
    Verbosity,
    page::{Extent, Page},
    paint::Mark,
};

/// Lines of one message of the agent that `-v` shows; `-vv` shows all.
const MAX_TEXT_LINES: usize = 20;

/// Tools that run at once and are remembered by name.
const MAX_RUNNING: usize = 32;

/// Columns in front of a tool's line.
const BEFORE_TOOL: usize = 15;

/// Room for the usual names of tools, so that their targets stand below one another.
pub(in crate::report) const TOOL_NAME_COLUMNS: usize = 5;

impl HumanText {
    pub(super) fn agent(&mut self, page: &mut Page, event: &AgentEvent) {
        let verbose = self.shows(Verbosity::Verbose);
        let very = self.shows(Verbosity::VeryVerbose);
        match event {
            AgentEvent::Started { .. } if verbose => started(page, event, very),
            AgentEvent::Text { text } if verbose && !text.trim().is_empty() => {
                let extent = if very {
                    Extent::All
                } else {
                    Extent::First(MAX_TEXT_LINES)
                };
                page.said(text, extent);
            }
            AgentEvent::Tool {
                id, name, target, ..
            } if verbose || self.tools == Tools::Listed => {
                let width = page.columns().saturating_sub(BEFORE_TOOL);
                let line = tool(name, target, TOOL_NAME_COLUMNS, width);
                if very || line != self.memory.tool {
                    page.faint(&line);
                }
                if verbose {
                    if self.memory.running.len() == MAX_RUNNING {
                        self.memory.running.remove(0);
                    }
                    self.memory.running.push((id.clone(), line.clone()));
                }
                self.memory.tool = line;
            }
            AgentEvent::ToolDone { id, ok, .. } if verbose => self.tool_done(page, id, *ok),
            AgentEvent::Usage(usage) if very => page.faint(&usage_in_full(usage)),
            AgentEvent::Retry { attempt, reason } => page.line(&format!(
                "    the agent waits before it retries its model (retry {attempt}): {}",
                safe(reason)
            )),
            AgentEvent::Limit { rejected, .. } if *rejected || very => self.limit(page, event),
            AgentEvent::Compacted { .. }
            | AgentEvent::ModelChanged { .. }
            | AgentEvent::Nudge { .. } => {
                page.indented(Mark::Look, &safe(&about(event)));
            }
            AgentEvent::Notice { text } if verbose => page.line(&format!("    {}", safe(text))),
            AgentEvent::Hook { .. } | AgentEvent::Background { .. } | AgentEvent::Turn { .. }
                if very =>
            {
                page.faint(&safe(&event.line()));
            }
            AgentEvent::Result(result) => self.result(page, result),
            AgentEvent::Other { name } if very => {
                page.line(&format!("    unknown event: {}", safe(name)));
            }
            AgentEvent::Started { .. }
            | AgentEvent::Text { .. }
            | AgentEvent::Tool { .. }
            | AgentEvent::ToolDone { .. }
            | AgentEvent::Usage(_)
            | AgentEvent::Limit { .. }
            | AgentEvent::Turn { .. }
            | AgentEvent::Thinking { .. }
            | AgentEvent::Background { .. }
            | AgentEvent::Hook { .. }
            | AgentEvent::Notice { .. }
            | AgentEvent::Other { .. } => {}
        }
    }

    fn limit(&self, page: &mut Page, event: &AgentEvent) {
        let AgentEvent::Limit {
            rejected,
            resets_at,
            which,
        } = event
        else {
            return;
        };
        let state = if *rejected { "reached" } else { "reported" };
        let mut text = format!("usage limit {state}");
        if let Some(which) = which {
            text.push_str(&format!(" ({})", safe(which)));
        }
        if let Some(at) = resets_at {
            text.push_str(&format!(", resets {}", self.local(*at)));
        }
        page.indented(Mark::Look, &text);
    }

    fn tool_done(&mut self, page: &mut Page, id: &str, ok: bool) {
        let running = &mut self.memory.running;
        let known = running.iter().position(|(other, _)| other == id);
        let name = known.map_or_else(|| safe(id), |at| running.remove(at).1);
        if self.shows(Verbosity::VeryVerbose) || !ok {
            let how = if ok { "done" } else { "failed" };
            let name = fold(&name);
            page.faint(&format!("{how}: {name}"));
        }
    }

    fn result(&self, page: &mut Page, result: &AgentResult) {
        // An agent that was not allowed to do something often explains a failure that follows.
        for denied in &result.denied {
            let said = format!("the agent was not allowed: {}", safe(denied));
            page.indented(Mark::Look, &said);
        }
        if !self.shows(Verbosity::Verbose) {
            return;
        }
        let mut text = match (&result.error, result.ok) {
            (_, true) => "the agent ended".to_owned(),
            (Some(error), false) => format!("the agent ended with an error: {}", safe(error)),
            (None, false) => "the agent ended with an error".to_owned(),
        };
        if let Some(turns) = result.turns {
            text.push_str(&format!(" · {}", count(turns as usize, "turn", "turns")));
        }
        page.line(&format!("    {text}"));
    }
}

/// The agent that started; `in_full` with its session.
fn started(page: &mut Page, event: &AgentEvent, in_full: bool) {
    let AgentEvent::Started {
        model,
        version,
        session,
    } = event
    else {
        return;
    };
    let mut words = vec!["agent started".to_owned()];
    words.extend(model.iter().map(|m| format!("model {}", safe(m))));
    words.extend(version.iter().map(|v| format!("version {}", safe(v))));
    if in_full {
        words.extend(session.iter().map(|s| format!("session {}", safe(s))));
    }
    page.line(&format!("    {}", words.join(" · ")));
}

/// Describes an event that a person should see immediately.
fn about(event: &AgentEvent) -> String {
    match event {
        AgentEvent::Compacted { before, after } => format!(
            "the agent's context was full and was summarized ({} to {})",
            compact(*before),
            compact(*after)
        ),
        AgentEvent::ModelChanged { to, reason, .. } => {
            format!("the agent continues with {to}: {reason}")
        }
        AgentEvent::Nudge { text, state } => match state {
            NudgeState::Sent => format!("told the agent: {text}"),
            NudgeState::Delivered => "the agent passed it on to its model".into(),
            NudgeState::Impossible => format!("this agent can't receive messages now: {text}"),
        },
        other => other.line(),
    }
}

/// `edit  src/x.rs`, safe and in at most `width` columns, the name padded to `pad_to`. The end of a
/// path tells more than its middle; the beginning of a command more than its end.
pub(in crate::report) fn tool(name: &str, target: &str, pad_to: usize, width: usize) -> String {
    let mut line = one_line(&name.to_lowercase(), width.min(24));
    let gap = pad_to.saturating_sub(columns(&line)) + 1;
    let room = width.saturating_sub(columns(&line) + gap);
    let target = target.trim();
    let target = if target.contains(char::is_whitespace) {
        one_line(target, room)
    } else {
        truncate_middle(&terminal_safe(target), room).into_owned()
    };
    if !target.is_empty() {
        line.reserve(gap + target.len());
        (0..gap).for_each(|_| line.push(' '));
        line.push_str(&target);
    }
    line
}

/// `1.2k in · 3.4k out · 1.1M read from cache · 20.0k written to it · context 45.1k`
pub(super) fn usage_in_full(usage: &Usage) -> String {
    format!(
        "{} in · {} out · {} read from cache · {} written to it · context {}",
        compact(usage.input_tokens),
        compact(usage.output_tokens),
        compact(usage.cache_read_tokens),
        compact(usage.cache_write_tokens),
        compact(usage.context_tokens),
    )
}
