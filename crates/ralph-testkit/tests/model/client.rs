//! A client of a few lines: one request a connection, and everything that came back.

use std::io::{ErrorKind, Read as _, Write as _};
use std::net::TcpStream;
use std::time::Duration;

use serde_json::{Value, json};

/// What came back. A connection that was dropped before any has a status of 0.
#[derive(Debug)]
pub(crate) struct HttpResponse {
    pub(crate) status: u16,
    pub(crate) head: String,
    /// The chunks put together.
    pub(crate) body: String,
    pub(crate) end: End,
}

#[derive(Debug, PartialEq, Eq)]
pub(crate) enum End {
    /// The answer was whole.
    Whole,
    /// The connection closed before that.
    Cut,
}

impl HttpResponse {
    pub(crate) fn json(&self) -> Value {
        serde_json::from_str(&self.body).unwrap()
    }

    /// The data of the events in the body.
    pub(crate) fn events(&self) -> Vec<Value> {
        let data = self.body.lines().filter_map(|l| l.strip_prefix("data: "));
        data.map(|data| serde_json::from_str(data).unwrap())
            .collect()
    }

    pub(crate) fn event_types(&self) -> Vec<String> {
        let name = |event: Value| event["type"].as_str().unwrap().to_owned();
        self.events().into_iter().map(name).collect()
    }

    /// All text that was streamed.
    pub(crate) fn text(&self) -> String {
        let part = |event: Value| event["delta"]["text"].as_str().map(str::to_owned);
        self.events().into_iter().filter_map(part).collect()
    }
}

/// A request as a client would send it: some messages, and a shell as its only tool.
pub(crate) fn body(messages: &Value) -> Value {
    json!({
        "model": "scripted-1", "stream": true, "messages": messages,
        "tools": [{"name": "bash", "input_schema": {"properties": {"command": {"type": "string"}}}}],
    })
}

/// The first request of a conversation.
pub(crate) fn first(text: &str) -> Value {
    body(&json!([{"role": "user", "content": text}]))
}

/// A request behind so many answers.
pub(crate) fn later(text: &str, answers: usize) -> Value {
    let mut messages = vec![json!({"role": "user", "content": text})];
    for _ in 0..answers {
        messages.push(json!({"role": "assistant", "content": "an answer"}));
        messages.push(json!({"role": "user", "content": "and then?"}));
    }
    body(&json!(messages))
}

pub(crate) fn post(url: &str, body: &Value) -> HttpResponse {
    read(send(url, "POST /v1/messages", &[], body))
}

pub(crate) fn post_as(url: &str, session: &str, body: &Value) -> HttpResponse {
    let headers = [("x-claude-code-session-id", session)];
    read(send(url, "POST /v1/messages?beta=true", &headers, body))
}

/// Sends a request and leaves the answer to be read.
pub(crate) fn send(url: &str, call: &str, headers: &[(&str, &str)], body: &Value) -> TcpStream {
    let address = url.strip_prefix("http://").unwrap();
    let mut stream = TcpStream::connect(address).unwrap();
    // No answer takes this long; a read that does is a stall.
    stream
        .set_read_timeout(Some(Duration::from_secs(20)))
        .unwrap();
    let body = body.to_string();
    let mut text = format!("{call} HTTP/1.1\r\nhost: {address}\r\n");
    for (name, value) in headers {
        text.push_str(&format!("{name}: {value}\r\n"));
    }
    text.push_str(&format!("content-length: {}\r\n\r\n{body}", body.len()));
    stream.write_all(text.as_bytes()).unwrap();
    stream
}

/// Reads until the answer is whole or the connection ends.
pub(crate) fn read(mut stream: TcpStream) -> HttpResponse {
    let mut bytes = Vec::new();
    let mut buffer = [0; 64 * 1024];
    loop {
        if let Some(got) = whole(&bytes) {
            return got;
        }
        match stream.read(&mut buffer) {
            Ok(0) => return cut(&bytes),
            Ok(read) => bytes.extend_from_slice(&buffer[..read]),
            Err(e) if e.kind() == ErrorKind::ConnectionReset => return cut(&bytes),
            Err(e) => panic!("{e} after {:?}", String::from_utf8_lossy(&bytes)),
        }
    }
}

/// Reads until what came holds a text, and no further.
pub(crate) fn read_until(stream: &mut TcpStream, text: &str) -> String {
    let mut bytes = Vec::new();
    let mut one = [0];
    while !String::from_utf8_lossy(&bytes).contains(text) {
        stream.read_exact(&mut one).unwrap();
        bytes.push(one[0]);
    }
    String::from_utf8(bytes).unwrap()
}

fn whole(bytes: &[u8]) -> Option<HttpResponse> {
    let text = String::from_utf8_lossy(bytes).into_owned();
    let (head, rest) = text.split_once("\r\n\r\n")?;
    let is_whole = if head.contains("transfer-encoding: chunked") {
        rest.ends_with("0\r\n\r\n")
    } else {
        let (_, length) = head.split_once("content-length: ")?;
        rest.len() == length.lines().next()?.parse::<usize>().ok()?
    };
    is_whole.then(|| got(head, rest, End::Whole))
}

fn cut(bytes: &[u8]) -> HttpResponse {
    let text = String::from_utf8_lossy(bytes).into_owned();
    let (head, rest) = text.split_once("\r\n\r\n").unwrap_or(("", ""));
    got(head, rest, End::Cut)
}

fn got(head: &str, rest: &str, end: End) -> HttpResponse {
    let status = head.split(' ').nth(1).and_then(|word| word.parse().ok());
    let body = if head.contains("transfer-encoding: chunked") {
        unchunked(rest)
    } else {
        rest.to_owned()
    };
    HttpResponse {
        status: status.unwrap_or(0),
        head: head.to_owned(),
        body,
        end,
    }
}

fn unchunked(mut rest: &str) -> String {
    let mut body = String::new();
    while let Some((size, behind)) = rest.split_once("\r\n") {
        let size = usize::from_str_radix(size, 16).unwrap();
        body.push_str(&behind[..size.min(behind.len())]);
        rest = behind.get(size + 2..).unwrap_or_default();
    }
    body
}
