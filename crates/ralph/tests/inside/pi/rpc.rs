//! Pi in its RPC mode: one JSON object a line, both ways.

use std::io::{BufRead as _, BufReader, Write as _};
use std::process::{Child, ChildStdin, Command, Stdio};
use std::sync::mpsc::{Receiver, channel};
use std::time::Instant;

use serde_json::{Value, json};

use super::scene::LIMIT;

pub(super) struct PiRpc {
    child: Child,
    stdin: Option<ChildStdin>,
    lines: Receiver<Value>,
    /// Everything that was read.
    seen: Vec<Value>,
    /// Those before are waited for already.
    from: usize,
    asked: usize,
}

impl PiRpc {
    pub(super) fn start(mut command: Command) -> Self {
        let command = command.stdin(Stdio::piped()).stdout(Stdio::piped());
        let mut child = command.stderr(Stdio::piped()).spawn().unwrap();
        let stdout = BufReader::new(child.stdout.take().unwrap());
        let (into, lines) = channel();
        std::thread::spawn(move || {
            for line in stdout.split(b'\n').map_while(Result::ok) {
                let Ok(value) = serde_json::from_slice(&line) else {
                    continue;
                };
                if into.send(value).is_err() {
                    return;
                }
            }
        });
        Self {
            stdin: child.stdin.take(),
            child,
            lines,
            seen: Vec::new(),
            from: 0,
            asked: 0,
        }
    }

    pub(super) fn pid(&self) -> u32 {
        self.child.id()
    }

    pub(super) fn write(&mut self, line: &Value) {
        let stdin = self.stdin.as_mut().unwrap();
        writeln!(stdin, "{line}").unwrap();
        stdin.flush().unwrap();
    }

    /// Sends what a person types, without waiting for it to be taken.
    pub(super) fn type_line(&mut self, text: &str) -> String {
        self.asked += 1;
        let id = format!("p{}", self.asked);
        let prompt =
            json!({"id": id, "type": "prompt", "message": text, "streamingBehavior": "steer"});
        self.write(&prompt);
        id
    }

    /// Sends what a person types, and waits until Pi has taken it.
    #[track_caller]
    pub(super) fn prompt(&mut self, text: &str) {
        let id = self.type_line(text);
        let said =
            self.wait_anywhere(|line| line["type"] == "response" && line["id"] == id.as_str());
        assert_eq!(said["success"], true, "{said}");
    }

    #[track_caller]
    pub(super) fn command(&mut self, kind: &str) -> Value {
        self.asked += 1;
        let id = format!("c{}", self.asked);
        self.write(&json!({"id": id, "type": kind}));
        self.wait_anywhere(|line| line["id"] == id.as_str() && line["type"] == "response")
    }

    /// Waits for a line, from the last one that was waited for on.
    #[track_caller]
    pub(super) fn wait(&mut self, is_it: impl Fn(&Value) -> bool) -> Value {
        let at = self.find(self.from, is_it);
        self.from = at + 1;
        self.seen[at].clone()
    }

    /// The same among all lines, without moving on: answers and notifications overtake each other.
    #[track_caller]
    fn wait_anywhere(&mut self, is_it: impl Fn(&Value) -> bool) -> Value {
        let at = self.find(0, is_it);
        self.seen[at].clone()
    }

    #[track_caller]
    fn find(&mut self, mut at: usize, is_it: impl Fn(&Value) -> bool) -> usize {
        let until = Instant::now() + LIMIT;
        loop {
            if let Some(found) = self.seen[at..].iter().position(&is_it) {
                return at + found;
            }
            at = self.seen.len();
            let left = until.saturating_duration_since(Instant::now());
            match self.lines.recv_timeout(left) {
                Ok(line) => self.seen.push(line),
                Err(error) => panic!("{error}; there was:\n{}", self.story()),
            }
        }
    }

    /// Waits for a notification that contains this.
    #[track_caller]
    pub(super) fn wait_to_hear(&mut self, text: &str) -> Value {
        self.wait(|line| {
            line["method"] == "notify" && line["message"].as_str().unwrap().contains(text)
        })
    }

    /// Waits until Pi has no more to say before the answer to a question.
    #[track_caller]
    pub(super) fn catch_up(&mut self) {
        let state = self.command("get_state");
        assert_eq!(state["success"], true, "{state}");
    }

    /// All notifications so far.
    pub(super) fn heard(&mut self) -> Vec<String> {
        self.catch_up();
        self.texts("notify", "message")
    }

    /// All texts of the status line so far; a cleared one is empty.
    pub(super) fn statuses(&mut self) -> Vec<String> {
        self.catch_up();
        self.texts("setStatus", "statusText")
    }

    fn texts(&self, method: &str, field: &str) -> Vec<String> {
        let lines = self.seen.iter().filter(|line| line["method"] == method);
        lines
            .map(|line| line[field].as_str().unwrap_or("").to_owned())
            .collect()
    }

    /// Everything that was read with this type.
    pub(super) fn seen(&self, kind: &str) -> Vec<&Value> {
        self.seen
            .iter()
            .filter(|line| line["type"] == kind)
            .collect()
    }

    /// The last widget with this key; `None` if it is cleared.
    pub(super) fn widget(&mut self, key: &str) -> Option<Vec<String>> {
        self.catch_up();
        let mut widgets = self.seen.iter().rev();
        let last =
            widgets.find(|line| line["method"] == "setWidget" && line["widgetKey"] == key)?;
        let lines = last["widgetLines"].as_array()?;
        Some(
            lines
                .iter()
                .map(|line| line.as_str().unwrap().to_owned())
                .collect(),
        )
    }

    /// Waits for a question with a list, and chooses the answer that begins so.
    #[track_caller]
    pub(super) fn choose(&mut self, begins: &str) {
        self.wait(|line| line["method"] == "select");
        self.answer_last(begins);
    }

    /// Answers the last question with a list.
    #[track_caller]
    pub(super) fn answer_last(&mut self, begins: &str) {
        let mut questions = self.seen.iter().rev();
        let asked = questions.find(|line| line["method"] == "select").unwrap();
        let options = asked["options"].as_array().unwrap().iter();
        let mut options = options.map(|option| option.as_str().unwrap());
        let chosen = options.find(|option| option.starts_with(begins)).unwrap();
        let answer = json!({"type": "extension_ui_response", "id": asked["id"], "value": chosen});
        self.write(&answer);
    }

    pub(super) fn kill(&mut self) {
        self.child.kill().unwrap();
        self.child.wait().unwrap();
    }

    /// Closes its input, and waits for its end.
    #[track_caller]
    pub(super) fn quit(mut self) {
        drop(self.stdin.take());
        let status = self.child.wait().unwrap();
        assert!(status.success(), "{status}");
    }

    fn story(&self) -> String {
        let lines = self
            .seen
            .iter()
            .filter(|line| line["type"] != "message_update");
        let lines = lines.map(|line| line.to_string().chars().take(400).collect::<String>());
        lines.collect::<Vec<_>>().join("\n")
    }
}

impl Drop for PiRpc {
    fn drop(&mut self) {
        drop(self.stdin.take());
        // It may have ended.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
