//! A client that writes and reads lines of JSON by hand, so that no library of the server's is asked about itself.
//!
//! Every wait has a limit. Each line that the server prints must be a message.

use std::{
    io::{BufRead as _, BufReader, Read as _, Write as _},
    process::{Child, ChildStdin, Command, Stdio},
    sync::mpsc::{Receiver, RecvTimeoutError, channel},
    thread::JoinHandle,
    time::Duration,
};

use rustix::process::{Pid, Signal, kill_process};
use serde_json::{Value, json};

use super::support::Project;

/// Far more than any answer takes, on a machine that is busy.
const LIMIT: Duration = Duration::from_secs(60);

pub(super) struct Client {
    child: Child,
    stdin: Option<ChildStdin>,
    lines: Receiver<String>,
    stderr: Option<JoinHandle<String>>,
    /// Messages that came before one that was waited for.
    early: Vec<Value>,
    next_id: i64,
    era: Era,
    capabilities: Value,
}

/// The two eras of the protocol.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Era {
    /// A session begins with `initialize`.
    Sessions,
    /// Every request says for itself who asks.
    Stateless,
}

pub(super) const ERAS: [Era; 2] = [Era::Sessions, Era::Stateless];

/// The end of a server.
#[derive(Debug)]
pub(super) struct Ended {
    pub(super) code: Option<i32>,
    pub(super) stderr: String,
    /// Messages that were not waited for.
    pub(super) rest: Vec<Value>,
}

impl Client {
    /// Starts a server and says nothing yet.
    pub(super) fn silent(mut command: Command) -> Self {
        let mut child = command
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        let stdout = BufReader::new(child.stdout.take().unwrap());
        let mut stderr = child.stderr.take().unwrap();
        let (send, lines) = channel();
        std::thread::spawn(move || {
            for line in stdout.lines() {
                if send.send(line.unwrap()).is_err() {
                    return;
                }
            }
        });
        let stderr = std::thread::spawn(move || {
            let mut bytes = Vec::new();
            let _ = stderr.read_to_end(&mut bytes);
            String::from_utf8_lossy(&bytes).into_owned()
        });
        Self {
            stdin: child.stdin.take(),
            child,
            lines,
            stderr: Some(stderr),
            early: Vec::new(),
            next_id: 100,
            era: Era::Sessions,
            capabilities: json!({}),
        }
    }

    /// Starts a server in a project, and begins in the manner of an era, as a client with these capabilities.
    pub(super) fn begin(project: &Project, era: Era, capabilities: Value) -> Self {
        let mut client = Self::silent(project.ralph(&["mcp"]));
        client.greet(era, capabilities);
        client
    }

    /// The same with a client that can do nothing but call tools, in a session.
    pub(super) fn plain(project: &Project) -> Self {
        Self::begin(project, Era::Sessions, json!({}))
    }

    pub(super) fn greet(&mut self, era: Era, capabilities: Value) {
        self.era = era;
        self.capabilities = capabilities.clone();
        if era == Era::Sessions {
            self.send(
                &json!({"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": {
                    "protocolVersion": "2025-06-18", "capabilities": capabilities,
                    "clientInfo": {"name": "test", "version": "1"},
                }}),
            );
            let greeted = self.reply(1);
            assert_eq!(
                greeted["result"]["serverInfo"]["name"], "ralph",
                "{greeted}"
            );
            self.send(&json!({"jsonrpc": "2.0", "method": "notifications/initialized"}));
        }
    }

    pub(super) fn send(&mut self, message: &Value) {
        self.send_line(&message.to_string());
    }

    pub(super) fn send_line(&mut self, line: &str) {
        self.send_part(line);
        self.send_part("\n");
    }

    /// Sends bytes that may be no whole line.
    pub(super) fn send_part(&mut self, part: &str) {
        let stdin = self.stdin.as_mut().unwrap();
        stdin.write_all(part.as_bytes()).unwrap();
        stdin.flush().unwrap();
    }

    /// The next message.
    #[track_caller]
    pub(super) fn next(&mut self) -> Value {
        if !self.early.is_empty() {
            return self.early.remove(0);
        }
        self.read()
    }

    #[track_caller]
    fn read(&mut self) -> Value {
        match self.lines.recv_timeout(LIMIT) {
            Ok(line) => serde_json::from_str(&line).unwrap_or_else(|e| panic!("{e}: {line}")),
            Err(RecvTimeoutError::Timeout) => {
                let _ = self.child.kill();
                panic!("no message came");
            }
            Err(RecvTimeoutError::Disconnected) => {
                let stderr = self.stderr.take().map(|thread| thread.join().unwrap());
                panic!("the server is gone: {stderr:?}");
            }
        }
    }

    /// Waits for the answer to a request.
    #[track_caller]
    pub(super) fn reply(&mut self, id: i64) -> Value {
        let is_it = |message: &Value| message["id"] == id && message.get("method").is_none();
        if let Some(at) = self.early.iter().position(is_it) {
            return self.early.remove(at);
        }
        loop {
            let message = self.read();
            if is_it(&message) {
                return message;
            }
            self.early.push(message);
        }
    }

    /// Sends a request in the manner of the era; returns its id.
    pub(super) fn request(&mut self, method: &str, mut params: Value) -> i64 {
        let id = self.next_id;
        self.next_id += 1;
        if self.era == Era::Stateless {
            params["_meta"] = meta(&self.capabilities);
        }
        self.send(&json!({"jsonrpc": "2.0", "id": id, "method": method, "params": params}));
        id
    }

    /// Begins a call of a tool; returns its id.
    pub(super) fn start_call(&mut self, tool: &str, arguments: Value) -> i64 {
        self.request("tools/call", json!({"name": tool, "arguments": arguments}))
    }

    /// Calls a tool, and returns the answer as it is.
    #[track_caller]
    pub(super) fn call(&mut self, tool: &str, arguments: Value) -> Value {
        let id = self.start_call(tool, arguments);
        self.reply(id)
    }

    /// The result of a call that went well, which is the same as text and as structure.
    #[track_caller]
    pub(super) fn done(&mut self, tool: &str, arguments: Value) -> Value {
        let reply = self.call(tool, arguments);
        structure(&reply)
    }

    /// The text of a tool that failed.
    #[track_caller]
    pub(super) fn failed(&mut self, tool: &str, arguments: Value) -> String {
        let reply = self.call(tool, arguments);
        failure(&reply)
    }

    /// The message of a call with arguments that do not fit.
    #[track_caller]
    pub(super) fn refused_arguments(&mut self, tool: &str, arguments: Value) -> String {
        let reply = self.call(tool, arguments);
        assert_eq!(reply["error"]["code"], -32602, "{reply}");
        reply["error"]["message"].as_str().unwrap().to_owned()
    }

    pub(super) fn tools(&mut self) -> Vec<Value> {
        let id = self.request("tools/list", json!({}));
        let reply = self.reply(id);
        reply["result"]["tools"].as_array().unwrap().clone()
    }

    pub(super) fn tool_names(&mut self) -> Vec<String> {
        let tools = self.tools();
        let names = tools
            .iter()
            .map(|tool| tool["name"].as_str().unwrap().to_owned());
        names.collect()
    }

    pub(super) fn signal(&self, signal: Signal) {
        kill_process(Pid::from_child(&self.child), signal).unwrap();
    }

    /// Closes the input and waits for the end.
    #[track_caller]
    pub(super) fn end(mut self) -> Ended {
        drop(self.stdin.take());
        self.wait()
    }

    /// Waits for the end with the input open.
    #[track_caller]
    pub(super) fn wait(mut self) -> Ended {
        let mut rest = std::mem::take(&mut self.early);
        loop {
            match self.lines.recv_timeout(LIMIT) {
                Ok(line) => {
                    rest.push(serde_json::from_str(&line).unwrap_or_else(|e| panic!("{e}: {line}")))
                }
                Err(RecvTimeoutError::Disconnected) => break,
                Err(RecvTimeoutError::Timeout) => {
                    let _ = self.child.kill();
                    panic!("the server did not end");
                }
            }
        }
        let stderr = self.stderr.take().unwrap().join().unwrap();
        Ended {
            code: self.child.wait().unwrap().code(),
            stderr,
            rest,
        }
    }
}

impl Ended {
    /// Fails unless the server ended well, said nothing else, and nothing is left unread.
    #[track_caller]
    pub(super) fn well(self) {
        assert_eq!(self.code, Some(0), "{self:?}");
        assert_eq!(self.stderr, "", "{self:?}");
        assert_eq!(self.rest, Vec::<Value>::new());
    }
}

/// The part of every request of the stateless era that tells of its client.
pub(super) fn meta(capabilities: &Value) -> Value {
    json!({
        "io.modelcontextprotocol/protocolVersion": "2026-07-28",
        "io.modelcontextprotocol/clientInfo": {"name": "test", "version": "1"},
        "io.modelcontextprotocol/clientCapabilities": capabilities,
    })
}

#[track_caller]
pub(super) fn structure(reply: &Value) -> Value {
    let result = &reply["result"];
    assert_eq!(result["isError"], false, "{reply}");
    let text = result["content"][0]["text"].as_str().unwrap();
    let as_text: Value = serde_json::from_str(text).unwrap();
    assert_eq!(as_text, result["structuredContent"], "{reply}");
    as_text
}

#[track_caller]
pub(super) fn failure(reply: &Value) -> String {
    assert_eq!(reply["result"]["isError"], true, "{reply}");
    assert_eq!(reply.get("error"), None, "{reply}");
    reply["result"]["content"][0]["text"]
        .as_str()
        .unwrap()
        .to_owned()
}
