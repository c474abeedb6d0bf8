//! Does what the actions say, one after the other.

use std::io::{self, Write};
use std::process::{Command, Stdio};
use std::time::Duration;

use serde_json::{Value, json};

use super::action::{Action, ApiRetry, RateLimit, ResultFields};
use super::input::Input;
use super::process::{hang, kill_self, spawn_child};
use super::stream::Stream;
use super::tools::record;
use super::{expand, must};

const LIMIT_TEXT: &str = "You've hit your limit · resets 9:07am (UTC)";

/// Tells whether to go on.
enum Next {
    Action,
    /// As if there were no more actions.
    End,
    Exit(u8),
}

pub(super) struct Interpreter {
    pub(super) stream: Stream,
    input: Input,
}

impl Interpreter {
    pub(super) fn new(stream: Stream, input: Input) -> Self {
        Self { stream, input }
    }

    /// Plays the actions; a scenario that says nothing of a result ends with a good one.
    pub(super) fn run(mut self, actions: &[Action]) -> u8 {
        for action in actions {
            match self.act(action) {
                Next::Action => {}
                Next::End => break,
                Next::Exit(code) => return code,
            }
        }
        if !self.stream.has_result() {
            self.stream.result(&ResultFields::default());
        }
        0
    }

    fn act(&mut self, action: &Action) -> Next {
        match action {
            Action::Say { text } => self.stream.say(&expand(text)),
            Action::Write { path, text } => self.write(&expand(path), &expand(text)),
            Action::Append { path, text } => self.append(&expand(path), &expand(text)),
            Action::Delete { path } => self.delete(&expand(path)),
            Action::Patch {
                path,
                find,
                replace,
            } => self.patch(&expand(path), find, replace),
            Action::Run { command } => self.run_command(&expand(command)),
            Action::Usage(usage) => self.stream.set_usage(*usage),
            Action::Result(fields) => self.result(fields),
            Action::RecordPrompt { file } => record(&expand(file), self.input.prompt.as_bytes()),
            Action::RecordSelf { file } => {
                record(&expand(file), format!("{}\n", myself()).as_bytes())
            }
            Action::SpawnChild(child) => spawn_child(child),
            Action::Hang { until_file } => hang(until_file.as_deref()),
            Action::AwaitMessage => self.await_message(),
            Action::SleepMs { ms } => std::thread::sleep(Duration::from_millis(*ms)),
            Action::Flood { bytes } => flood(&self.stream, *bytes),
            Action::HugeLine { bytes } => self.stream.say(&"x".repeat(*bytes)),
            Action::Raw { text } => self.stream.raw(expand(text).as_bytes()),
            Action::Bytes { bytes } => self.stream.raw(bytes),
            Action::Stderr { text } => {
                let _ = io::stderr().write_all(expand(text).as_bytes());
            }
            Action::Event { event } => self.stream.send(event.clone()),
            Action::Inject { text, event } => self.inject(&expand(text), event),
            Action::FakeResult { text, own_session } => {
                self.fake_result(&expand(text), *own_session)
            }
            Action::RateLimitEvent(limit) => self.rate_limit(limit),
            Action::ApiRetry(retry) => self.api_retry(retry),
            Action::Exit { code } => return Next::Exit(*code),
            Action::KillSelf { signal } => kill_self(signal),
            Action::Cut { code } => return self.cut(*code),
            Action::UsageLimitText { text } => {
                self.stream.say(text.as_deref().unwrap_or(LIMIT_TEXT));
                return Next::End;
            }
            Action::RateLimited(limit) => {
                self.rate_limit(limit);
                return self.api_error(Some(429), "rate_limit", LIMIT_TEXT);
            }
            Action::ApiError {
                status,
                error,
                text,
            } => return self.api_error(*status, error, text),
            Action::MaxTurns { turns } => return self.max_turns(*turns),
        }
        Next::Action
    }

    fn result(&mut self, fields: &ResultFields) {
        self.stream.result(&ResultFields {
            text: fields.text.as_deref().map(expand),
            ..fields.clone()
        });
    }

    /// Half of a good result.
    fn cut(&mut self, code: u8) -> Next {
        let event = self.stream.result_event(&ResultFields::default());
        let line = self.stream.line(event);
        self.stream.raw(&line.as_bytes()[..line.len() / 2]);
        Next::Exit(code)
    }

    fn inject(&mut self, text: &str, event: &Value) {
        let said = self.stream.said(text);
        let outer = self.stream.line(said);
        let inner = self.stream.line(event.clone());
        // Within the text, which is where interleaved writes were seen.
        let middle = outer.find(text).unwrap_or(0);
        let (before, after) = outer.split_at(middle);
        self.stream
            .raw(format!("{before}{inner}{after}").as_bytes());
    }

    /// The event comes from another process, which shares only the pipe.
    fn fake_result(&mut self, text: &str, own_session: bool) {
        let session = if own_session {
            self.stream.session()
        } else {
            "0"
        };
        let event = json!({
            "type": "result", "subtype": "success", "is_error": false, "num_turns": 3,
            "result": text, "session_id": session, "total_cost_usd": 0.0, "usage": {},
            "modelUsage": {}, "terminal_reason": "completed", "uuid": "0",
        });
        let printed = Command::new("sh")
            .args(["-c", "printf '%s\\n' \"$0\"", &event.to_string()])
            .stdin(Stdio::null())
            .status();
        must(printed.map(drop), "sh");
    }

    fn await_message(&mut self) {
        if let Some(text) = self.input.next_message() {
            self.stream.send(json!({
                "type": "user", "message": {"role": "user", "content": text},
                "parent_tool_use_id": null, "isReplay": true,
            }));
        }
    }

    fn rate_limit(&mut self, limit: &RateLimit) {
        let mut info = json!({
            "status": limit.status, "resetsAt": limit.resets_at, "rateLimitType": limit.kind,
            "isUsingOverage": false,
        });
        if let Some(used) = limit.utilization {
            info["utilization"] = used.into();
        }
        self.stream
            .send(json!({"type": "rate_limit_event", "rate_limit_info": info}));
    }

    fn api_retry(&mut self, retry: &ApiRetry) {
        self.stream.send(json!({
            "type": "system", "subtype": "api_retry", "attempt": retry.attempt,
            "max_retries": retry.max, "retry_delay_ms": retry.delay_ms,
            "error_status": retry.status, "error": retry.error,
        }));
    }

    fn max_turns(&mut self, turns: u32) -> Next {
        self.stream.result(&ResultFields {
            subtype: Some("error_max_turns".into()),
            is_error: true,
            num_turns: Some(turns + 1),
            stop_reason: Some("tool_use".into()),
            terminal_reason: Some("max_turns".into()),
            errors: vec![format!("Reached maximum number of turns ({turns})")],
            ..ResultFields::default()
        });
        Next::Exit(1)
    }

    fn api_error(&mut self, status: Option<u16>, error: &str, text: &str) -> Next {
        self.stream.synthetic(text, error);
        self.stream.result(&ResultFields {
            is_error: true,
            api_error_status: status,
            num_turns: Some(1),
            stop_reason: Some("stop_sequence".into()),
            ..ResultFields::default()
        });
        Next::Exit(1)
    }
}

fn myself() -> Value {
    let env: serde_json::Map<String, Value> = std::env::vars_os()
        .map(|(k, v)| (k.to_string_lossy().into_owned(), v.to_string_lossy().into()))
        .collect();
    let cwd = std::env::current_dir().unwrap_or_default();
    let args: Vec<String> = std::env::args().collect();
    json!({"pid": std::process::id(), "args": args, "cwd": cwd, "env": env})
}

fn flood(stream: &Stream, bytes: u64) {
    let block = format!("{}\n", "flood ".repeat(20)).repeat(2_000);
    let mut left = bytes;
    while left > 0 {
        let now = block.len().min(usize::try_from(left).unwrap_or(usize::MAX));
        stream.raw(&block.as_bytes()[..now]);
        left -= now as u64;
    }
}
