//! Describes what the fake agent is told: a prompt on stdin, or a stream of messages on an open one.

use std::io::{BufRead, Read};
use std::sync::mpsc::{Receiver, channel};

use serde_json::Value;

/// The prompt, and what may follow it.
pub(super) struct Input {
    pub(super) prompt: String,
    /// Only of an open stdin.
    later: Option<Receiver<String>>,
}

impl Input {
    /// `interrupted` is called when a stop is asked for on an open stdin.
    pub(super) fn open(messages: bool, interrupted: impl Fn() + Send + 'static) -> Self {
        if !messages {
            let mut bytes = Vec::new();
            let _ = std::io::stdin().read_to_end(&mut bytes);
            return Self {
                prompt: String::from_utf8_lossy(&bytes).into_owned(),
                later: None,
            };
        }
        let (send, later) = channel();
        std::thread::spawn(move || {
            for line in std::io::stdin().lock().lines().map_while(Result::ok) {
                if is_interrupt(&line) {
                    interrupted();
                } else if send.send(line).is_err() {
                    return;
                }
            }
        });
        let mut input = Self {
            prompt: String::new(),
            later: Some(later),
        };
        input.prompt = input.next_message().unwrap_or_default();
        input
    }

    /// The text of the next message of the user, or nothing when stdin has ended.
    pub(super) fn next_message(&self) -> Option<String> {
        let later = self.later.as_ref()?;
        loop {
            let line = later.recv().ok()?;
            let Ok(message) = serde_json::from_str::<Value>(&line) else {
                continue;
            };
            if message["type"] == "user" {
                return Some(text_of(&message["message"]["content"]));
            }
        }
    }
}

fn is_interrupt(line: &str) -> bool {
    serde_json::from_str::<Value>(line).is_ok_and(|message| {
        message["type"] == "control_request" && message["request"]["subtype"] == "interrupt"
    })
}

/// A message's content is a text, or blocks of which some are.
fn text_of(content: &Value) -> String {
    match content {
        Value::String(text) => text.clone(),
        Value::Array(blocks) => blocks
            .iter()
            .filter_map(|block| block["text"].as_str())
            .collect(),
        _ => String::new(),
    }
}
