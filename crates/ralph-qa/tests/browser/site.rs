//! A site of a test's own: paths and what they answer.

use std::{
    collections::HashMap,
    io::{BufRead as _, BufReader, Read as _, Write as _},
    net::{Ipv4Addr, TcpListener, TcpStream},
    sync::{Arc, Mutex},
    thread,
};

/// A server that lives as long as the test's process.
pub(crate) struct Site {
    port: u16,
    asked: Arc<Mutex<Vec<String>>>,
}

/// One answer.
#[derive(Clone)]
pub(crate) struct Reply {
    pub(crate) status: u16,
    pub(crate) headers: Vec<(String, String)>,
    pub(crate) body: Vec<u8>,
    /// Never answers.
    pub(crate) hangs: bool,
}

impl Reply {
    pub(crate) fn of(kind: &str, body: impl Into<Vec<u8>>) -> Self {
        Self {
            status: 200,
            headers: vec![("Content-Type".into(), kind.into())],
            body: body.into(),
            hangs: false,
        }
    }

    pub(crate) fn page(body: &str) -> Self {
        let html = format!(
            "<!doctype html><html lang=en><meta charset=utf-8><title>Test</title><link rel=icon href=data:,>\n{body}"
        );
        Self::of("text/html", html)
    }

    pub(crate) fn status(mut self, status: u16) -> Self {
        self.status = status;
        self
    }

    pub(crate) fn header(mut self, name: &str, value: &str) -> Self {
        self.headers.push((name.into(), value.into()));
        self
    }

    pub(crate) fn hanging() -> Self {
        Self {
            hangs: true,
            ..Self::page("")
        }
    }
}

impl Site {
    /// Pages by path; a path that is not there is 404.
    pub(crate) fn of(pages: &[(&str, Reply)]) -> Self {
        let pages: HashMap<String, Reply> = pages
            .iter()
            .map(|(path, reply)| ((*path).to_owned(), reply.clone()))
            .collect();
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
        let port = listener.local_addr().unwrap().port();
        let asked = Arc::new(Mutex::new(Vec::new()));
        let (pages, all_asked) = (Arc::new(pages), Arc::clone(&asked));
        thread::spawn(move || {
            for stream in listener.incoming() {
                let (pages, asked) = (Arc::clone(&pages), Arc::clone(&all_asked));
                thread::spawn(move || serve(&stream.unwrap(), &pages, &asked));
            }
        });
        Self { port, asked }
    }

    pub(crate) fn one(body: &str) -> Self {
        Self::of(&[("/", Reply::page(body))])
    }

    pub(crate) fn url(&self) -> String {
        format!("http://localhost:{}", self.port)
    }

    pub(crate) fn port(&self) -> u16 {
        self.port
    }

    /// The requests so far: `GET /path body`.
    pub(crate) fn asked(&self) -> Vec<String> {
        self.asked.lock().unwrap().clone()
    }
}

fn serve(stream: &TcpStream, pages: &HashMap<String, Reply>, asked: &Mutex<Vec<String>>) {
    let mut reader = BufReader::new(stream);
    loop {
        let mut head = String::new();
        if reader.read_line(&mut head).unwrap_or(0) == 0 {
            return;
        }
        let mut length = 0;
        loop {
            let mut line = String::new();
            if reader.read_line(&mut line).unwrap_or(0) == 0 {
                return;
            }
            if line.trim().is_empty() {
                break;
            }
            let (name, value) = line.split_once(':').unwrap();
            if name.eq_ignore_ascii_case("content-length") {
                length = value.trim().parse().unwrap();
            }
        }
        let mut body = vec![0; length];
        reader.read_exact(&mut body).unwrap();
        let mut words = head.split_whitespace();
        let (method, target) = (words.next().unwrap(), words.next().unwrap());
        let body = String::from_utf8_lossy(&body);
        asked
            .lock()
            .unwrap()
            .push(format!("{method} {target} {body}").trim().to_owned());
        let path = target.split('?').next().unwrap();
        let reply = pages
            .get(path)
            .cloned()
            .unwrap_or_else(|| Reply::page("not here").status(404));
        if reply.hangs {
            // Until the other end gives up.
            let _ = reader.read_line(&mut String::new());
            return;
        }
        let mut text = format!(
            "HTTP/1.1 {} X\r\nContent-Length: {}\r\n",
            reply.status,
            reply.body.len()
        );
        for (name, value) in &reply.headers {
            text.push_str(&format!("{name}: {value}\r\n"));
        }
        text.push_str("\r\n");
        let mut bytes = text.into_bytes();
        bytes.extend(&reply.body);
        let mut writer = stream;
        if writer.write_all(&bytes).is_err() {
            return;
        }
    }
}
