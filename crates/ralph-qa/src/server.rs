//! The application under test: started before the flows, known to be ready by a sign, and gone with all it started
//! afterwards.

use std::{
    cell::RefCell,
    ffi::OsString,
    io,
    net::{Ipv4Addr, Ipv6Addr, SocketAddr},
    path::PathBuf,
    pin::pin,
    time::Duration,
};

use ralph_engine::process::{CommandSpec, Containment, Ended, Output, SpawnError, Tail, spawn};
use thiserror::Error;
use tokio::{
    io::{AsyncReadExt as _, AsyncWriteExt as _},
    net::TcpStream,
    sync::Notify,
    time::{sleep, timeout},
};

use crate::config::{ServerCommand, ServerReady, ServerSettings};

/// The end of its output that is kept, and the lines of it that are shown.
const LOG_BYTES: usize = 64 * 1024;
const LOG_LINES: usize = 40;
/// Between two looks at a port.
const LOOK: Duration = Duration::from_millis(25);
/// One look at an address.
const ANSWER: Duration = Duration::from_secs(5);
/// The longest first line of an answer.
const FIRST_LINE: usize = 4096;

/// Where programs are started: the application under test, fixtures, the browser.
#[derive(Debug, Clone)]
pub struct ProgramPlace {
    /// The top of the project.
    pub folder: PathBuf,
    /// Complete: nothing else is inherited.
    pub env: Vec<(OsString, OsString)>,
    pub containment: Containment,
    pub walls: Walls,
}

/// The surroundings of all programs of a place.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Walls {
    /// A sandbox of ralph's. The browser makes none of its own then.
    Ralphs,
    None,
}

/// Why the application under test is not there.
#[derive(Debug, Error)]
pub enum ServerError {
    #[error("the application under test could not be started: {command}")]
    Start { command: String, source: SpawnError },
    #[error("no port is free for the application under test")]
    NoPort { source: io::Error },
    #[error(
        "port {port} is taken by another program; set `qa.server.port` to another one, or to `auto`"
    )]
    PortTaken { port: u16 },
    #[error("`qa.server.ready` is {url}, and only addresses that begin with http:// can be asked")]
    NotAsked { url: String },
    #[error(
        "the application under test ended before it was ready, {ended}: {command}{}",
        shown(log)
    )]
    Ended {
        command: String,
        ended: String,
        log: Vec<String>,
    },
    #[error("the application under test was not ready after {} s: {sign}{}", seconds.as_secs_f64(), shown(log))]
    NotReady {
        seconds: Duration,
        sign: String,
        log: Vec<String>,
    },
}

fn shown(log: &[String]) -> String {
    if log.is_empty() {
        return "; it printed nothing".to_owned();
    }
    format!("; its output ends so:\n  {}", log.join("\n  "))
}

/// The application under test while flows run against it.
#[derive(Debug)]
pub struct Server {
    port: u16,
    log: RefCell<ServerLog>,
}

#[derive(Debug)]
struct ServerLog {
    tail: Tail,
    /// The end of what was printed, to find a line in that is cut in two.
    waiting_for: Option<String>,
    unseen: String,
    found: bool,
}

impl Server {
    /// The base of relative addresses.
    pub fn url(&self) -> String {
        format!("http://localhost:{}", self.port)
    }

    pub fn port(&self) -> u16 {
        self.port
    }

    /// The last lines of its output.
    pub fn log(&self) -> Vec<String> {
        self.log.borrow().lines()
    }
}

impl ServerLog {
    fn new(ready: &ServerReady) -> Self {
        Self {
            tail: Tail::new(LOG_BYTES),
            waiting_for: match ready {
                ServerReady::Log(line) => Some(line.clone()),
                ServerReady::Port | ServerReady::Path(_) => None,
            },
            unseen: String::new(),
            found: false,
        }
    }

    fn push(&mut self, bytes: &[u8]) {
        self.tail.push(bytes);
        let Some(line) = &self.waiting_for else {
            return;
        };
        self.unseen.push_str(&String::from_utf8_lossy(bytes));
        if self.unseen.contains(line.as_str()) {
            self.found = true;
            self.waiting_for = None;
            self.unseen = String::new();
        } else if let Some(at) = self.unseen.rfind('\n') {
            self.unseen.drain(..=at);
        }
    }

    fn lines(&self) -> Vec<String> {
        let text = self.tail.text();
        let lines: Vec<&str> = text.lines().collect();
        let last = &lines[lines.len().saturating_sub(LOG_LINES)..];
        last.iter().map(|line| (*line).to_owned()).collect()
    }
}

/// Starts the application, waits until it is ready, and does `work` beside it. Afterwards, and when this future is
/// dropped, its whole tree is gone.
pub async fn with_server<T>(
    settings: &ServerSettings,
    place: &ProgramPlace,
    work: impl AsyncFnOnce(&Server) -> T,
) -> Result<T, ServerError> {
    let port = port_for(settings).await?;
    let command = shown_command(&settings.command);
    let server = Server {
        port,
        log: RefCell::new(ServerLog::new(&settings.ready)),
    };
    let spec = spec(settings, place, port);
    let running = spawn(&spec, place.containment);
    let mut running = running.map_err(|source| ServerError::Start {
        command: command.clone(),
        source,
    })?;
    let (printed, over) = (Notify::new(), Notify::new());
    let mut take = |bytes: &[u8]| {
        server.log.borrow_mut().push(bytes);
        printed.notify_one();
    };
    let mut program = pin!(running.finish_unless(over.notified(), &mut take));
    let ready = tokio::select! {
        biased;
        ended = &mut program => return Err(ServerError::Ended {
            command,
            ended: how_it_ended(ended),
            log: server.log(),
        }),
        ready = timeout(settings.timeout, is_ready(&server, settings, &printed)) => ready,
    };
    match ready {
        Ok(Ok(())) => {}
        Ok(Err(error)) => return Err(error),
        Err(_) => {
            return Err(ServerError::NotReady {
                seconds: settings.timeout,
                sign: missing_sign(settings, port),
                log: server.log(),
            });
        }
    }
    let mut work = pin!(work(&server));
    let done = tokio::select! {
        biased;
        done = &mut work => done,
        ended = &mut program => {
            let line = format!("\n[the application under test ended {}]\n", how_it_ended(ended));
            server.log.borrow_mut().push(line.as_bytes());
            return Ok(work.await);
        }
    };
    over.notify_one();
    // Its tree is killed and awaited.
    let _ = program.await;
    Ok(done)
}

async fn port_for(settings: &ServerSettings) -> Result<u16, ServerError> {
    let Some(port) = settings.port else {
        let free = std::net::TcpListener::bind((Ipv4Addr::LOCALHOST, 0))
            .and_then(|listener| listener.local_addr());
        return free
            .map(|address| address.port())
            .map_err(|source| ServerError::NoPort { source });
    };
    if accepts(port).await {
        return Err(ServerError::PortTaken { port });
    }
    Ok(port)
}

fn spec(settings: &ServerSettings, place: &ProgramPlace, port: u16) -> CommandSpec {
    let number = port.to_string();
    let with_port = |word: &String| word.replace("${PORT}", &number).replace("$PORT", &number);
    let (program, args) = match &settings.command {
        ServerCommand::Shell(line) => ("/bin/sh".to_owned(), vec!["-c".to_owned(), line.clone()]),
        ServerCommand::Argv(words) => {
            let mut words = words.iter().map(with_port);
            (words.next().unwrap_or_default(), words.collect())
        }
    };
    let mut spec = CommandSpec::new(program, &place.folder)
        .args(args)
        .output(Output::Merged);
    spec.env.clone_from(&place.env);
    let given = settings.env.iter();
    let given = given.map(|(name, value)| (name.into(), with_port(value).into()));
    spec.env.retain(|(name, _)| {
        name != "PORT" && !settings.env.iter().any(|(given, _)| name == given.as_str())
    });
    spec.env.extend(given);
    spec.env.push(("PORT".into(), number.into()));
    spec
}

async fn is_ready(
    server: &Server,
    settings: &ServerSettings,
    printed: &Notify,
) -> Result<(), ServerError> {
    match &settings.ready {
        ServerReady::Port => {
            while !accepts(server.port).await {
                sleep(LOOK).await;
            }
        }
        ServerReady::Log(_) => {
            while !server.log.borrow().found {
                printed.notified().await;
            }
        }
        ServerReady::Path(path) => {
            let (authority, path) = asked_at(path, server.port)?;
            while !answers(&authority, &path).await {
                sleep(LOOK).await;
            }
        }
    }
    Ok(())
}

/// Tells whether something listens on a port of this machine.
async fn accepts(port: u16) -> bool {
    for address in [
        SocketAddr::from((Ipv4Addr::LOCALHOST, port)),
        SocketAddr::from((Ipv6Addr::LOCALHOST, port)),
    ] {
        if let Ok(Ok(_)) = timeout(ANSWER, TcpStream::connect(address)).await {
            return true;
        }
    }
    false
}

/// The host and the path that are asked.
fn asked_at(url: &str, port: u16) -> Result<(String, String), ServerError> {
    if url.starts_with('/') {
        return Ok((format!("localhost:{port}"), url.to_owned()));
    }
    let Some(rest) = url.strip_prefix("http://") else {
        let url = url.to_owned();
        return Err(ServerError::NotAsked { url });
    };
    let (host, path) = match rest.find('/') {
        Some(at) => rest.split_at(at),
        None => (rest, "/"),
    };
    let host = host.replace("${PORT}", &port.to_string());
    let host = host.replace("$PORT", &port.to_string());
    let has_port = host
        .rsplit_once(':')
        .is_some_and(|(_, port)| port.parse::<u16>().is_ok());
    let authority = if has_port { host } else { format!("{host}:80") };
    Ok((authority, path.to_owned()))
}

/// Tells whether an address answers with a status below 500.
async fn answers(authority: &str, path: &str) -> bool {
    let ask = async {
        let mut stream = TcpStream::connect(authority).await?;
        let request = format!(
            "GET {path} HTTP/1.1\r\nHost: {authority}\r\nAccept: */*\r\nConnection: close\r\n\r\n"
        );
        stream.write_all(request.as_bytes()).await?;
        let mut line = Vec::new();
        let mut piece = [0; 512];
        while !line.contains(&b'\n') && line.len() < FIRST_LINE {
            match stream.read(&mut piece).await? {
                0 => break,
                read => line.extend_from_slice(&piece[..read]),
            }
        }
        io::Result::Ok(line)
    };
    let Ok(Ok(line)) = timeout(ANSWER, ask).await else {
        return false;
    };
    let line = String::from_utf8_lossy(&line);
    let mut words = line.split_whitespace();
    let is_http = words.next().is_some_and(|word| word.starts_with("HTTP/"));
    let status = words.next().and_then(|word| word.parse::<u16>().ok());
    is_http && status.is_some_and(|status| status < 500)
}

fn missing_sign(settings: &ServerSettings, port: u16) -> String {
    match &settings.ready {
        ServerReady::Port => {
            format!(
                "nothing listens on port {port} (it is given as $PORT, in the command and in the environment)"
            )
        }
        ServerReady::Path(path) => format!("{path} does not answer with a status below 500"),
        ServerReady::Log(line) => format!("no line of its output holds {line:?}"),
    }
}

fn how_it_ended(ended: Result<io::Result<Ended>, ()>) -> String {
    match ended {
        Ok(Ok(Ended::Code(code))) => format!("with exit code {code}"),
        Ok(Ok(Ended::Signal(signal))) => format!("by signal {signal}"),
        Ok(Err(error)) => format!("and its end could not be awaited ({error})"),
        Err(()) => "as it was told".to_owned(),
    }
}

fn shown_command(command: &ServerCommand) -> String {
    match command {
        ServerCommand::Argv(words) => words.join(" "),
        ServerCommand::Shell(line) => line.clone(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn settings(line: &str, ready: ServerReady) -> ServerSettings {
        ServerSettings {
            command: ServerCommand::Shell(line.to_owned()),
            ready,
            timeout: Duration::from_secs(30),
            port: None,
            env: vec![("GREETING".into(), "hello on $PORT".into())],
        }
    }

    fn place() -> ProgramPlace {
        ProgramPlace {
            folder: std::env::temp_dir(),
            env: vec![("PATH".into(), "/usr/bin:/bin".into())],
            containment: Containment::Subreaper,
            walls: Walls::None,
        }
    }

    const ANSWERS: &str = "exec python3 -c '
import http.server, os
class H(http.server.BaseHTTPRequestHandler):
    def do_GET(self):
        self.send_response(200 if self.path == \"/health\" else 503)
        self.end_headers()
        self.wfile.write(os.environ[\"GREETING\"].encode())
    def log_message(self, *_): pass
http.server.HTTPServer((\"127.0.0.1\", int(os.environ[\"PORT\"])), H).serve_forever()
'";

    async fn body_of(server: &Server) -> String {
        let mut stream = TcpStream::connect(("127.0.0.1", server.port()))
            .await
            .unwrap();
        stream.write_all(b"GET / HTTP/1.0\r\n\r\n").await.unwrap();
        let mut text = String::new();
        stream.read_to_string(&mut text).await.unwrap();
        text
    }

    #[tokio::test]
    async fn it_is_there_while_the_work_is_done_and_gone_afterwards() {
        for ready in [ServerReady::Port, ServerReady::Path("/health".into())] {
            let settings = settings(ANSWERS, ready);
            let place = place();
            let done = with_server(&settings, &place, async |server| {
                (server.port(), body_of(server).await)
            });
            let (port, body) = done.await.unwrap();
            assert!(body.ends_with(&format!("hello on {port}")), "{body}");
            assert!(!accepts(port).await);
        }
    }

    #[tokio::test]
    async fn a_line_of_output_tells_that_it_is_ready() {
        let line = "printf 'compiled in 3'; sleep 0.1; echo '00 ms'; exec sleep 1000";
        let settings = settings(line, ServerReady::Log("compiled in 300 ms".into()));
        let log = with_server(&settings, &place(), async |server| server.log()).await;
        assert_eq!(log.unwrap(), ["compiled in 300 ms"]);
    }

    #[tokio::test]
    async fn one_that_ends_early_is_told_with_its_output() {
        let settings = settings("echo no module; exit 3", ServerReady::Port);
        let error = with_server(&settings, &place(), async |_| ())
            .await
            .unwrap_err();
        let text = error.to_string();
        assert!(
            text.contains("ended before it was ready, with exit code 3"),
            "{text}"
        );
        assert!(text.ends_with("its output ends so:\n  no module"), "{text}");
    }

    #[tokio::test]
    async fn one_that_is_never_ready_is_told_with_the_sign_that_was_waited_for() {
        let mut settings = settings("exec sleep 1000", ServerReady::Log("ready".into()));
        settings.timeout = Duration::from_millis(200);
        let error = with_server(&settings, &place(), async |_| ())
            .await
            .unwrap_err();
        let text = error.to_string();
        assert!(
            text.contains("was not ready after 0.2 s: no line of its output holds \"ready\"; it printed nothing"),
            "{text}"
        );
    }

    #[tokio::test]
    async fn a_port_that_is_taken_is_named_and_nothing_is_started() {
        let taken = std::net::TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
        let port = taken.local_addr().unwrap().port();
        let folder = tempfile::tempdir().unwrap();
        let mut settings = settings("touch started", ServerReady::Port);
        settings.port = Some(port);
        let place = ProgramPlace {
            folder: folder.path().to_owned(),
            ..place()
        };
        let error = with_server(&settings, &place, async |_| ())
            .await
            .unwrap_err();
        assert!(error.to_string().contains(&format!("port {port} is taken")));
        assert!(!folder.path().join("started").exists());
    }

    #[tokio::test]
    async fn one_that_dies_meanwhile_is_told_in_its_log() {
        let settings = settings("echo up; sleep 0.2; exit 9", ServerReady::Log("up".into()));
        let place = place();
        let log = with_server(&settings, &place, async |server| {
            while !server.log().iter().any(|line| line.contains("ended")) {
                tokio::task::yield_now().await;
            }
            server.log()
        });
        let log = log.await.unwrap();
        assert!(
            log.iter()
                .any(|line| line.contains("ended with exit code 9")),
            "{log:?}"
        );
    }
}
