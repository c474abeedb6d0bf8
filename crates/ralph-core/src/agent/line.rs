//! An event in a line, as logs and `ralph agent explain` have it.
//!
//! Holds the agent's words as they came: the code that prints them makes them safe.

use super::{AgentEvent, NudgeState, Usage};

impl AgentEvent {
    /// Returns what happened, in a line; an agent's own words can be several.
    pub fn line(&self) -> String {
        match self {
            Self::Started {
                model,
                version,
                session,
            } => {
                let mut line = "[started]".to_owned();
                for (name, value) in [("model", model), ("version", version), ("session", session)]
                {
                    if let Some(value) = value {
                        line.push_str(&format!(" {name} {value}"));
                    }
                }
                line
            }
            Self::Text { text } => text.clone(),
            Self::Tool { name, target, .. } => format!("[{name}] {target}").trim().to_owned(),
            Self::ToolDone { ok: true, .. } => "[tool done]".into(),
            Self::ToolDone { ok: false, .. } => "[tool failed]".into(),
            Self::Usage(usage) => format!("[usage] {}", usage.line()),
            Self::Turn {
                model,
                context_tokens,
                window,
            } => turn(model.as_deref(), *context_tokens, *window),
            Self::Thinking { tokens } => format!("[thinking] {tokens} tokens"),
            Self::Background { id, state, what } => format!("[background {id}] {state} {what}")
                .trim()
                .to_owned(),
            Self::Compacted { before, after } => {
                format!("[compacted] context from {before} to {after} tokens")
            }
            Self::ModelChanged { from, to, reason } => {
                format!("[model changed] from {from} to {to}: {reason}")
            }
            Self::Hook { name, outcome } => format!("[hook {name}] {outcome}"),
            Self::Nudge { text, state } => match state {
                NudgeState::Sent => format!("[nudge sent] {text}"),
                NudgeState::Delivered => format!("[nudge delivered] {text}"),
                NudgeState::Impossible => format!("[nudge not possible] {text}"),
            },
            Self::Notice { text } => format!("[notice] {text}"),
            Self::Retry { attempt, reason } => format!("[retry {attempt}] {reason}"),
            Self::Limit {
                rejected,
                resets_at,
                which,
            } => {
                let mut line =
                    format!("[limit] {}", if *rejected { "reached" } else { "reported" });
                if let Some(which) = which {
                    line.push_str(&format!(", {which}"));
                }
                if let Some(at) = resets_at {
                    line.push_str(&format!(", resets at {at}"));
                }
                line
            }
            Self::Result(result) => {
                let mut line = format!("[result] {}", if result.ok { "ok" } else { "not ok" });
                if let Some(error) = &result.error {
                    line.push_str(&format!(": {error}"));
                }
                line
            }
            Self::Other { name } => format!("[{name}]"),
        }
    }
}

fn turn(model: Option<&str>, used: u64, window: Option<u64>) -> String {
    let mut line = "[turn]".to_owned();
    if let Some(model) = model {
        line.push_str(&format!(" {model},"));
    }
    line.push_str(&format!(" context {used}"));
    if let Some(window) = window.filter(|w| *w > 0) {
        line.push_str(&format!(
            " of {window} ({:.1} %)",
            used as f64 * 100.0 / window as f64
        ));
    }
    line
}

impl Usage {
    /// All figures, in a line.
    pub fn line(&self) -> String {
        let mut line = format!(
            "{} in, {} out, {} read from cache, {} written to it",
            self.input_tokens, self.output_tokens, self.cache_read_tokens, self.cache_write_tokens
        );
        if let Some(cost) = self.cost_usd {
            line.push_str(&format!(", ${cost:.4}"));
        }
        line
    }
}
