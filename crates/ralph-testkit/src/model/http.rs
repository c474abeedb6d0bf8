//! As much of HTTP/1.1 as the clients of models speak: requests with a JSON body, answers whole or in
//! chunks, connections that are kept. By hand, because faults are played on the connection itself:
//! cut here, stalled there. Knows no API.

use serde_json::Value;
use tokio::io::{AsyncBufReadExt as _, AsyncReadExt as _, AsyncWriteExt as _, BufReader};
use tokio::net::TcpStream;

use super::wire::{Headers, HttpCall};

/// A body that is larger is no prompt.
const MOST_BYTES: usize = 64 * 1024 * 1024;

pub(super) struct Connection {
    stream: BufReader<TcpStream>,
}

pub(super) type Io<T> = std::io::Result<T>;

impl Connection {
    pub(super) fn new(stream: TcpStream) -> Self {
        Self {
            stream: BufReader::new(stream),
        }
    }

    /// The next call; `None` when the client has closed.
    pub(super) async fn read(&mut self) -> Io<Option<HttpCall>> {
        let mut line = String::new();
        if self.stream.read_line(&mut line).await? == 0 {
            return Ok(None);
        }
        let mut words = line.split_whitespace();
        let (Some(method), Some(path)) = (words.next(), words.next()) else {
            return Err(wrong(format!("no request line: {line:?}")));
        };
        let mut call = HttpCall {
            method: method.to_owned(),
            path: path.to_owned(),
            headers: self.read_headers().await?,
            body: Value::Null,
        };
        if call.header("expect") == Some("100-continue") {
            self.write(b"HTTP/1.1 100 Continue\r\n\r\n").await?;
        }
        let body = self.read_body(&call).await?;
        if !body.is_empty() {
            call.body = serde_json::from_slice(&body).unwrap_or(Value::Null);
        }
        Ok(Some(call))
    }

    async fn read_headers(&mut self) -> Io<Headers> {
        let mut headers = Headers::new();
        loop {
            let mut line = String::new();
            self.stream.read_line(&mut line).await?;
            let Some((name, value)) = line.split_once(':') else {
                return Ok(headers);
            };
            headers.push((name.trim().to_lowercase(), value.trim().to_owned()));
        }
    }

    async fn read_body(&mut self, call: &HttpCall) -> Io<Vec<u8>> {
        if call.header("transfer-encoding") == Some("chunked") {
            return self.read_chunks().await;
        }
        let length = call.header("content-length").unwrap_or("0");
        let length = length.parse().map_err(|_| wrong(length.to_owned()))?;
        self.read_exactly(length).await
    }

    async fn read_chunks(&mut self) -> Io<Vec<u8>> {
        let mut body = Vec::new();
        loop {
            let mut line = String::new();
            self.stream.read_line(&mut line).await?;
            let size = line.split(';').next().unwrap_or_default().trim();
            let size = usize::from_str_radix(size, 16).map_err(|_| wrong(line.clone()))?;
            if size == 0 {
                self.read_headers().await?;
                return Ok(body);
            }
            body.extend(self.read_exactly(size).await?);
            self.read_exactly(2).await?;
            if body.len() > MOST_BYTES {
                return Err(wrong("a body without end".to_owned()));
            }
        }
    }

    async fn read_exactly(&mut self, length: usize) -> Io<Vec<u8>> {
        if length > MOST_BYTES {
            return Err(wrong(format!("a body of {length} bytes")));
        }
        let mut body = vec![0; length];
        self.stream.read_exact(&mut body).await?;
        Ok(body)
    }

    /// A whole answer.
    pub(super) async fn answer(&mut self, status: u16, headers: &Headers, body: &Value) -> Io<()> {
        let body = if body.is_null() {
            String::new()
        } else {
            body.to_string()
        };
        let mut text = head(status, "application/json", headers);
        text.push_str(&format!("content-length: {}\r\n\r\n{body}", body.len()));
        self.write(text.as_bytes()).await
    }

    /// The beginning of an answer of events; chunks follow.
    pub(super) async fn begin_events(&mut self, headers: &Headers) -> Io<()> {
        let mut text = head(200, "text/event-stream", headers);
        text.push_str("cache-control: no-cache\r\ntransfer-encoding: chunked\r\n\r\n");
        self.write(text.as_bytes()).await
    }

    pub(super) async fn events(&mut self, frames: &[String]) -> Io<()> {
        for frame in frames {
            let chunk = format!("{:x}\r\n{frame}\r\n", frame.len());
            self.write(chunk.as_bytes()).await?;
        }
        Ok(())
    }

    pub(super) async fn end_events(&mut self) -> Io<()> {
        self.write(b"0\r\n\r\n").await
    }

    async fn write(&mut self, bytes: &[u8]) -> Io<()> {
        self.stream.write_all(bytes).await?;
        self.stream.flush().await
    }
}

fn head(status: u16, content_type: &str, headers: &Headers) -> String {
    // Clients go by the number.
    let mut text = format!("HTTP/1.1 {status} Scripted\r\ncontent-type: {content_type}\r\n");
    for (name, value) in headers {
        text.push_str(&format!("{name}: {value}\r\n"));
    }
    text
}

fn wrong(what: String) -> std::io::Error {
    std::io::Error::new(std::io::ErrorKind::InvalidData, what)
}
