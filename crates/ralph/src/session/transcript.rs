//! Calls to models in the transcript of a Claude Code session, from where the last look ended.
//!
//! The transcript lags: what is not there yet is counted at the next look. One message has a line for each of its
//! blocks, with the usage of the whole message in each.

use std::{
    io::{Read as _, Seek as _, SeekFrom},
    path::Path,
    time::{Duration, Instant},
};

use ralph_core::economics::{Caller, ModelCall, Tokens};
use ralph_engine::plain_file;
use serde::Deserialize;

/// The most bytes of a transcript that are read at a look.
const MOST_BYTES: u64 = 64 * 1024 * 1024;

/// The longest wait for an answer that is not written down yet.
const LONGEST_LAG: Duration = Duration::from_millis(500);
const LOOK_AGAIN: Duration = Duration::from_millis(20);

/// The answers that were added to the transcript since the last look.
#[derive(Debug, Default)]
pub(super) struct NewAnswers {
    pub(super) calls: Vec<ModelCall>,
    pub(super) tool_calls: u64,
    /// The bytes that are counted by now, and the last answer among them.
    pub(super) read: u64,
    pub(super) last_answer: String,
    /// The text of the last answer.
    last_text: String,
}

#[derive(Deserialize)]
struct TranscriptLine {
    #[serde(rename = "type")]
    kind: String,
    #[serde(default, rename = "isSidechain")]
    is_sidechain: bool,
    message: Option<AnswerMessage>,
}

#[derive(Deserialize)]
struct AnswerMessage {
    #[serde(default)]
    id: String,
    model: Option<String>,
    #[serde(default)]
    usage: AnswerUsage,
    #[serde(default)]
    content: serde_json::Value,
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct AnswerUsage {
    input_tokens: u64,
    output_tokens: u64,
    cache_read_input_tokens: u64,
    cache_creation_input_tokens: u64,
}

impl NewAnswers {
    /// The same, once the transcript has this answer, or after a short while: Claude Code writes it with a delay, and
    /// tells no one when it has.
    pub(super) fn read_up_to(
        path: &Path,
        from: u64,
        last_answer: &str,
        text: &str,
    ) -> Option<Self> {
        let until = Instant::now() + LONGEST_LAG;
        loop {
            let found = Self::read(path, from, last_answer);
            let is_there = found
                .as_ref()
                .is_some_and(|found| found.last_text.trim() == text.trim());
            if is_there || Instant::now() > until {
                return found;
            }
            std::thread::sleep(LOOK_AGAIN);
        }
    }

    /// Reads on from `from`. `None` where there is no transcript to be read: then nothing is known.
    pub(super) fn read(path: &Path, from: u64, last_answer: &str) -> Option<Self> {
        let mut file = plain_file::open(path).ok()?;
        file.seek(SeekFrom::Start(from)).ok()?;
        let mut bytes = Vec::new();
        file.take(MOST_BYTES).read_to_end(&mut bytes).ok()?;
        // A line without an end is still being written.
        let whole = bytes.iter().rposition(|byte| *byte == b'\n');
        bytes.truncate(whole.map_or(0, |at| at + 1));
        let mut found = Self {
            read: from + bytes.len() as u64,
            last_answer: last_answer.to_owned(),
            ..Self::default()
        };
        for line in bytes.split(|byte| *byte == b'\n') {
            if let Ok(line) = serde_json::from_slice::<TranscriptLine>(line) {
                found.add(line);
            }
        }
        Some(found)
    }

    fn add(&mut self, line: TranscriptLine) {
        let Some(message) = line.message.filter(|_| line.kind == "assistant") else {
            return;
        };
        let blocks = message.content.as_array();
        let mut texts = blocks
            .into_iter()
            .flatten()
            .filter(|block| block["type"] == "text");
        if let Some(text) = texts.next_back().and_then(|block| block["text"].as_str()) {
            self.last_text = text.to_owned();
        }
        let tools = blocks.into_iter().flatten();
        let tools = tools.filter(|block| block["type"] == "tool_use").count();
        self.tool_calls += tools as u64;
        // Made by the client itself, for an error or a cancellation.
        if message.model.as_deref() == Some("<synthetic>") {
            return;
        }
        let usage = &message.usage;
        let call = ModelCall {
            model: message.model,
            caller: if line.is_sidechain {
                Caller::Subagent
            } else {
                Caller::Agent
            },
            tokens: Tokens {
                input: usage.input_tokens,
                output: usage.output_tokens,
                cache_read: usage.cache_read_input_tokens,
                cache_write: usage.cache_creation_input_tokens,
            },
            told: None,
        };
        if message.id.is_empty() || message.id != self.last_answer {
            self.calls.push(call);
            self.last_answer = message.id;
        } else if let Some(same) = self.calls.last_mut() {
            // Later blocks know more of the output.
            same.tokens.output = same.tokens.output.max(call.tokens.output);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn line(id: &str, output: u64, block: &str) -> String {
        format!(
            r#"{{"type":"assistant","isSidechain":false,"message":{{"id":"{id}","model":"m","usage":{{"input_tokens":10,"output_tokens":{output}}},"content":[{{"type":"{block}"}}]}}}}"#
        ) + "\n"
    }

    #[test]
    fn answers_are_counted_once_over_several_looks_and_unfinished_lines_later() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("t.jsonl");
        assert!(NewAnswers::read(&path, 0, "").is_none());
        let user = "{\"type\":\"user\",\"message\":{\"content\":\"hi\"}}\n";
        let first = [user, &line("a", 1, "text"), &line("a", 7, "tool_use")].concat();
        std::fs::write(&path, format!("{first}{{\"type\":\"assis")).unwrap();
        let found = NewAnswers::read(&path, 0, "").unwrap();
        assert_eq!(
            (found.calls.len(), found.tool_calls, found.read),
            (1, 1, first.len() as u64)
        );
        assert_eq!(found.calls[0].tokens.output, 7);
        let all = [first, line("a", 7, "text"), line("b", 3, "text")].concat();
        std::fs::write(&path, all).unwrap();
        let later = NewAnswers::read(&path, found.read, &found.last_answer).unwrap();
        assert_eq!((later.calls.len(), later.tool_calls), (1, 0));
        assert_eq!(later.calls[0].tokens.output, 3);
        assert_eq!(later.last_answer, "b");
    }
}
