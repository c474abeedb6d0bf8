//! The gate between a page and all hosts but its own server: a proxy of one context, which passes on what its flow
//! lists and refuses the rest by name.
//!
//! Must not look into what it passes on.

use std::{
    ffi::OsString,
    io,
    net::{Ipv4Addr, SocketAddr},
    sync::Arc,
    time::Duration,
};

use tokio::{
    io::{AsyncReadExt as _, AsyncWriteExt as _, copy_bidirectional},
    net::{TcpListener, TcpStream},
    task::{JoinHandle, JoinSet},
    time::timeout,
};

use super::hosts::{AllowedHosts, HostPort};

/// The longest head of a request.
const HEAD: usize = 64 * 1024;
const HEAD_LIMIT: Duration = Duration::from_secs(30);
const CONNECT_LIMIT: Duration = Duration::from_secs(20);
/// The most connections at once; more wait to be accepted.
const MOST: usize = 64;

/// The header by which an answer of the gate's own is known.
pub(super) const REFUSED_HEADER: &str = "x-ralph-refused";

/// A gate that is open as long as this lives.
#[derive(Debug)]
pub(super) struct Gate {
    address: SocketAddr,
    hosts: AllowedHosts,
    work: JoinHandle<()>,
}

impl Drop for Gate {
    fn drop(&mut self) {
        self.work.abort();
    }
}

impl Gate {
    /// Opens a gate for some hosts, which are reached through `upstream` if there is one.
    pub(super) async fn open(hosts: AllowedHosts, upstream: Option<String>) -> io::Result<Self> {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).await?;
        let address = listener.local_addr()?;
        let rules = Arc::new(GateRules {
            hosts: hosts.clone(),
            upstream,
        });
        Ok(Self {
            address,
            hosts,
            work: tokio::spawn(serve(listener, rules)),
        })
    }

    /// The proxy that a browser is told of.
    pub(super) fn proxy(&self) -> String {
        format!("http://{}", self.address)
    }

    pub(super) fn hosts(&self) -> &AllowedHosts {
        &self.hosts
    }
}

/// The proxy of the machine, as programs are told it: `host:port`.
pub(super) fn upstream_of(env: &[(OsString, OsString)]) -> Option<String> {
    let names = ["HTTPS_PROXY", "https_proxy", "HTTP_PROXY", "http_proxy"];
    let value = names.iter().find_map(|name| {
        let (_, value) = env.iter().find(|(key, _)| key == name)?;
        value.to_str().filter(|value| !value.is_empty())
    })?;
    let rest = value.split_once("://").map_or(value, |(_, rest)| rest);
    let authority = rest.split('/').next()?;
    // A login is not passed on: no door of ralph's has one.
    let authority = authority.rsplit_once('@').map_or(authority, |(_, at)| at);
    let at = HostPort::of_authority(authority, 80)?;
    Some(format!("{}:{}", at.host, at.port))
}

struct GateRules {
    hosts: AllowedHosts,
    upstream: Option<String>,
}

async fn serve(listener: TcpListener, rules: Arc<GateRules>) {
    let mut open = JoinSet::new();
    loop {
        while open.len() >= MOST {
            open.join_next().await;
        }
        let Ok((stream, _)) = listener.accept().await else {
            return;
        };
        while open.try_join_next().is_some() {}
        let rules = Arc::clone(&rules);
        open.spawn(async move {
            // A connection that breaks is its two ends' business.
            let _ = pass(stream, &rules).await;
        });
    }
}

async fn pass(mut stream: TcpStream, rules: &GateRules) -> io::Result<()> {
    let Ok(head) = timeout(HEAD_LIMIT, read_head(&mut stream)).await else {
        return Ok(());
    };
    let (head, rest) = head?;
    let Some(asked) = Asked::parse(&head) else {
        return answer(&mut stream, "400 Bad Request", "").await;
    };
    if !rules.hosts.allow(&asked.at) {
        let header = format!("{REFUSED_HEADER}: {}\r\n", asked.at);
        return answer(&mut stream, "403 Forbidden", &header).await;
    }
    let Ok(mut server) = connect(rules, &asked).await else {
        return answer(&mut stream, "502 Bad Gateway", "").await;
    };
    if asked.is_tunnel {
        stream.write_all(b"HTTP/1.1 200 OK\r\n\r\n").await?;
    } else {
        server
            .write_all(asked.request(rules.upstream.is_some()).as_bytes())
            .await?;
    }
    server.write_all(&rest).await?;
    copy_bidirectional(&mut stream, &mut server)
        .await
        .map(|_| ())
}

/// Reads to the empty line; what came behind it is returned with it.
async fn read_head(stream: &mut TcpStream) -> io::Result<(String, Vec<u8>)> {
    let mut bytes = Vec::new();
    loop {
        let end = bytes.windows(4).position(|four| four == b"\r\n\r\n");
        if let Some(end) = end {
            let rest = bytes.split_off(end + 4);
            let head = String::from_utf8(bytes).map_err(io::Error::other)?;
            return Ok((head, rest));
        }
        if bytes.len() > HEAD || stream.read_buf(&mut bytes).await? == 0 {
            return Err(io::ErrorKind::InvalidData.into());
        }
    }
}

async fn answer(stream: &mut TcpStream, status: &str, header: &str) -> io::Result<()> {
    let text =
        format!("HTTP/1.1 {status}\r\n{header}Content-Length: 0\r\nConnection: close\r\n\r\n");
    stream.write_all(text.as_bytes()).await?;
    stream.shutdown().await
}

/// A request to a proxy.
struct Asked<'a> {
    method: &'a str,
    url: &'a str,
    headers: Vec<&'a str>,
    at: HostPort,
    is_tunnel: bool,
}

impl<'a> Asked<'a> {
    fn parse(head: &'a str) -> Option<Self> {
        let mut lines = head.split("\r\n");
        let mut words = lines.next()?.split(' ');
        let (method, url) = (words.next()?, words.next()?);
        let is_tunnel = method == "CONNECT";
        let at = if is_tunnel {
            HostPort::of_authority(url, 443)?
        } else {
            HostPort::of_url(url)?
        };
        Some(Self {
            method,
            url,
            headers: lines.filter(|line| !line.is_empty()).collect(),
            at,
            is_tunnel,
        })
    }

    /// The request as its server gets it: one of its connection, since the next may be for another host.
    fn request(&self, keeps_url: bool) -> String {
        let after_scheme = self
            .url
            .split_once("://")
            .map_or(self.url, |(_, rest)| rest);
        let path = after_scheme
            .find(['/', '?'])
            .map_or("/", |at| &after_scheme[at..]);
        let url = if keeps_url { self.url } else { path };
        let mut text = format!("{} {url} HTTP/1.1\r\n", self.method);
        for header in &self.headers {
            let name = header.split(':').next().unwrap_or_default();
            if !name.eq_ignore_ascii_case("connection")
                && !name.eq_ignore_ascii_case("proxy-connection")
            {
                text.push_str(header);
                text.push_str("\r\n");
            }
        }
        text.push_str("Connection: close\r\n\r\n");
        text
    }
}

async fn connect(rules: &GateRules, asked: &Asked<'_>) -> io::Result<TcpStream> {
    let to_host = format!("{}:{}", asked.at.host, asked.at.port);
    let address = rules.upstream.as_ref().unwrap_or(&to_host);
    let stream = timeout(CONNECT_LIMIT, TcpStream::connect(address)).await;
    let mut stream = stream.map_err(|_| io::ErrorKind::TimedOut)??;
    if rules.upstream.is_some() && asked.is_tunnel {
        let request = format!("CONNECT {to_host} HTTP/1.1\r\nHost: {to_host}\r\n\r\n");
        stream.write_all(request.as_bytes()).await?;
        let (head, _) = timeout(CONNECT_LIMIT, read_head(&mut stream))
            .await
            .map_err(|_| io::ErrorKind::TimedOut)??;
        if head.split(' ').nth(1) != Some("200") {
            return Err(io::ErrorKind::ConnectionRefused.into());
        }
    }
    Ok(stream)
}

#[cfg(test)]
mod tests {
    use super::*;

    async fn ask(gate: &Gate, request: &str) -> String {
        let mut stream = TcpStream::connect(gate.address).await.unwrap();
        stream.write_all(request.as_bytes()).await.unwrap();
        let mut text = String::new();
        stream.read_to_string(&mut text).await.unwrap();
        text
    }

    /// A server that answers one request with what it was asked.
    async fn echo() -> (u16, JoinHandle<()>) {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).await.unwrap();
        let port = listener.local_addr().unwrap().port();
        let work = tokio::spawn(async move {
            let (mut stream, _) = listener.accept().await.unwrap();
            let (head, _) = read_head(&mut stream).await.unwrap();
            stream.write_all(head.as_bytes()).await.unwrap();
        });
        (port, work)
    }

    #[tokio::test]
    async fn what_is_not_listed_is_refused_by_name() {
        let gate = Gate::open(AllowedHosts::default(), None).await.unwrap();
        let text = ask(&gate, "GET http://other.test:81/a HTTP/1.1\r\n\r\n").await;
        assert!(
            text.starts_with("HTTP/1.1 403 Forbidden\r\nx-ralph-refused: other.test:81\r\n"),
            "{text}"
        );
        let text = ask(&gate, "CONNECT other.test:443 HTTP/1.1\r\n\r\n").await;
        assert!(text.starts_with("HTTP/1.1 403"), "{text}");
    }

    #[tokio::test]
    async fn what_is_listed_is_passed_on_with_its_path() {
        let (port, _work) = echo().await;
        let hosts = AllowedHosts::new(Some(&format!("http://127.0.0.1:{port}")), &[]);
        let gate = Gate::open(hosts, None).await.unwrap();
        let request = format!(
            "GET http://127.0.0.1:{port}/a?b HTTP/1.1\r\nProxy-Connection: keep-alive\r\nX: y\r\n\r\n"
        );
        let text = ask(&gate, &request).await;
        assert_eq!(
            text,
            "GET /a?b HTTP/1.1\r\nX: y\r\nConnection: close\r\n\r\n"
        );
    }

    #[tokio::test]
    async fn the_proxy_of_the_machine_is_asked_for_listed_hosts() {
        let (port, _work) = echo().await;
        let env = [(
            "HTTP_PROXY".into(),
            format!("http://127.0.0.1:{port}").into(),
        )];
        let hosts = AllowedHosts::new(None, &["cdn.test".to_owned()]);
        let gate = Gate::open(hosts, upstream_of(&env)).await.unwrap();
        let text = ask(&gate, "GET http://cdn.test/x HTTP/1.1\r\n\r\n").await;
        assert_eq!(
            text,
            "GET http://cdn.test/x HTTP/1.1\r\nConnection: close\r\n\r\n"
        );
    }
}
