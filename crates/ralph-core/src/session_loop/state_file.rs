//! The state file of a loop in a session: front matter, then the prompt.
//!
//! `.claude/ralph-loop.local.md` and `.pi/ralph-loop.local.md` have this form. Keys that are not known are passed over
//! when it is read, and gone when it is written.

use jiff::Timestamp;
use serde::{Deserialize, Serialize};

use crate::{goal::Promise, id::LoopId};

/// The fence around the front matter.
const FENCE: &str = "---";

/// A loop in a session, as its state file has it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct SessionState {
    pub active: bool,
    pub iteration: u64,
    /// 0 for no limit.
    #[serde(default)]
    pub max_iterations: u64,
    #[serde(default)]
    pub completion_promise: Option<Promise>,
    pub started_at: Timestamp,
    /// The session that this loop belongs to. Any other leaves it alone, and so does a hook that is told none.
    pub session_id: String,
    #[serde(flatten)]
    pub owner: SessionOwner,
    /// The id of the loop in the journal; none where it is not kept there.
    #[serde(default, rename = "loop")]
    pub loop_id: Option<LoopId>,
    #[serde(default)]
    pub verify: bool,
    /// Answers in a row without a call of a tool, each of which the agent was sent back from.
    #[serde(default)]
    pub answers_without_tool: u32,
    /// The bytes of the transcript that are counted, and the last answer among them.
    #[serde(default)]
    pub transcript_read: u64,
    #[serde(default)]
    pub last_answer: String,
    /// When the iteration under way began.
    #[serde(default)]
    pub iteration_started_at: Timestamp,
    #[serde(skip)]
    pub prompt: String,
}

/// The process of the agent: its number, and when it began, so that another one with the same number is not it.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct SessionOwner {
    #[serde(default, rename = "owner_pid")]
    pub pid: u32,
    #[serde(default, rename = "owner_started")]
    pub started: u64,
}

#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum BadState {
    #[error("it does not begin with a line `---`")]
    NoFrontMatter,
    #[error("its front matter has no end")]
    NoEnd,
    #[error("its front matter can't be read: {0}")]
    FrontMatter(String),
    #[error("it has no prompt")]
    NoPrompt,
}

impl SessionState {
    pub fn parse(text: &str) -> Result<Self, BadState> {
        let mut lines = text.split_inclusive('\n');
        if lines.next().map(str::trim_end) != Some(FENCE) {
            return Err(BadState::NoFrontMatter);
        }
        let mut front = String::new();
        loop {
            let line = lines.next().ok_or(BadState::NoEnd)?;
            if line.trim_end() == FENCE {
                break;
            }
            front.push_str(line);
        }
        let read: Result<Self, _> = serde_saphyr::from_str(&front);
        let mut state = read.map_err(|error| {
            let text = error.to_string();
            let line = text.lines().next().unwrap_or_default();
            BadState::FrontMatter(line.trim_start_matches("error: ").to_owned())
        })?;
        let body: String = lines.collect();
        let body = body.trim_matches('\n');
        if body.trim().is_empty() {
            return Err(BadState::NoPrompt);
        }
        state.prompt = body.to_owned();
        Ok(state)
    }

    /// The text of the file. Every text stands in quotes of JSON, which YAML reads alike.
    pub fn render(&self) -> String {
        let value = serde_json::to_value(self).unwrap_or_default();
        let fields = value.as_object().cloned().unwrap_or_default();
        let lines: String = fields
            .iter()
            .map(|(key, value)| format!("{key}: {value}\n"))
            .collect();
        format!("{FENCE}\n{lines}{FENCE}\n\n{}\n", self.prompt)
    }
}
