//! A server on this machine that takes messages: it answers as it is told, or never.

use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::{TcpListener, TcpStream};
use std::sync::{Arc, Mutex};

/// How the server answers one request.
#[derive(Debug, Clone, Copy)]
pub(super) enum Answer {
    Status(u16),
    /// To another place of this server.
    Redirect,
    /// Not at all; the connection stays open.
    Silence,
    /// By hanging up.
    HangUp,
}

#[derive(Debug, Clone)]
pub(super) struct Request {
    pub(super) line: String,
    pub(super) headers: Vec<String>,
    pub(super) body: String,
}

pub(super) struct Server {
    pub(super) port: u16,
    requests: Arc<Mutex<Vec<Request>>>,
}

impl Server {
    /// Answers its requests one after the other, the last answer for ever.
    pub(super) fn start(answers: &[Answer]) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let port = listener.local_addr().unwrap().port();
        let requests = Arc::new(Mutex::new(Vec::new()));
        let (seen, answers) = (Arc::clone(&requests), answers.to_vec());
        // It ends with the test's process.
        std::thread::spawn(move || {
            let mut open = Vec::new();
            for (nth, stream) in listener.incoming().flatten().enumerate() {
                let answer = answers[nth.min(answers.len() - 1)];
                serve(stream, answer, &seen, &mut open);
            }
        });
        Self { port, requests }
    }

    pub(super) fn requests(&self) -> Vec<Request> {
        self.requests.lock().unwrap().clone()
    }
}

fn serve(
    mut stream: TcpStream,
    answer: Answer,
    seen: &Mutex<Vec<Request>>,
    open: &mut Vec<TcpStream>,
) {
    let mut reader = BufReader::new(stream.try_clone().unwrap());
    let mut lines = Vec::new();
    loop {
        let mut line = String::new();
        if reader.read_line(&mut line).unwrap_or(0) == 0 || line.trim().is_empty() {
            break;
        }
        lines.push(line.trim().to_owned());
    }
    let length = lines.iter().find_map(|line| {
        let (name, value) = line.split_once(": ")?;
        let is_it = name.eq_ignore_ascii_case("content-length");
        is_it.then(|| value.parse::<usize>().unwrap())
    });
    let mut body = vec![0; length.unwrap_or(0)];
    reader.read_exact(&mut body).unwrap();
    let line = if lines.is_empty() {
        String::new()
    } else {
        lines.remove(0)
    };
    seen.lock().unwrap().push(Request {
        line,
        headers: lines,
        body: String::from_utf8(body).unwrap(),
    });
    let head = match answer {
        Answer::Status(status) => format!("HTTP/1.1 {status} X"),
        Answer::Redirect => "HTTP/1.1 307 X\r\nlocation: /elsewhere".to_owned(),
        Answer::Silence => return open.push(stream),
        Answer::HangUp => return,
    };
    let _ = write!(
        stream,
        "{head}\r\ncontent-length: 0\r\nconnection: close\r\n\r\n"
    );
}
