//! The pages of the tests on the loopback: frames of the same origin and addresses that are not there need a server.

use std::{net::SocketAddr, path::PathBuf};

use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::{TcpListener, TcpStream},
    task::JoinHandle,
};

pub(crate) fn folder() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("tests/pages")
}

pub(crate) struct Site {
    address: SocketAddr,
    serving: JoinHandle<()>,
}

impl Site {
    pub(crate) async fn start() -> Self {
        let listener = TcpListener::bind(("127.0.0.1", 0)).await.unwrap();
        let address = listener.local_addr().unwrap();
        let serving = tokio::spawn(async move {
            while let Ok((stream, _)) = listener.accept().await {
                tokio::spawn(answer(stream));
            }
        });
        Self { address, serving }
    }

    pub(crate) fn url(&self, path: &str) -> String {
        format!("http://{}/{path}", self.address)
    }
}

impl Drop for Site {
    fn drop(&mut self) {
        self.serving.abort();
    }
}

/// Answers one request with a file of the folder, and closes. A browser that goes away meanwhile is no fault.
async fn answer(mut stream: TcpStream) {
    let mut request = Vec::new();
    let mut part = [0; 2048];
    while !request.windows(4).any(|end| end == b"\r\n\r\n") {
        match stream.read(&mut part).await {
            Ok(0) | Err(_) => return,
            Ok(read) => request.extend_from_slice(&part[..read]),
        }
    }
    let request = String::from_utf8_lossy(&request);
    let path = request.split_whitespace().nth(1).unwrap_or("/");
    let name = path.split('?').next().unwrap_or("").trim_start_matches('/');
    let kind = match name.rsplit_once('.') {
        Some((_, "html")) => "text/html",
        Some((_, "png")) => "image/png",
        Some((_, "svg")) => "image/svg+xml",
        _ => "text/plain",
    };
    let is_inside = !name.is_empty() && !name.contains('/') && !name.contains("..");
    let (status, body) = match std::fs::read(folder().join(name)) {
        Ok(body) if is_inside => ("200 OK", body),
        _ => ("404 Not Found", b"not here".to_vec()),
    };
    let head = format!(
        "HTTP/1.1 {status}\r\nContent-Type: {kind}\r\nContent-Length: {}\r\nConnection: close\r\n\r\n",
        body.len()
    );
    let _gone = stream.write_all(head.as_bytes()).await;
    let _gone = stream.write_all(&body).await;
    let _gone = stream.shutdown().await;
}
