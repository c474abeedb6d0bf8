//! A proxy in front of a server, for faults of the network: it cuts connections, in the middle of a statement too,
//! and stalls. It never repeats, reorders or invents a byte.
//!
//! Runs on a thread of its own, so that a test that blocks does not stop it.

use std::{
    io,
    path::{Path, PathBuf},
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    thread::JoinHandle,
};

use tokio::{
    io::{AsyncRead, AsyncReadExt as _, AsyncWrite, AsyncWriteExt as _},
    net::{TcpListener, TcpStream, UnixListener, UnixStream},
    sync::{oneshot, watch},
};

use crate::postgres::socket_in;

/// A way through the proxy.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Way {
    /// From the client to the server.
    Up,
    /// From the server to the client.
    Down,
}

/// Where the proxy listens, or where the server does.
#[derive(Debug, Clone)]
pub enum Endpoint {
    Unix(PathBuf),
    /// A port of 127.0.0.1.
    Tcp(u16),
}

/// When connections are cut next.
#[derive(Debug)]
enum Cut {
    /// After so many more bytes.
    After(Way, u64),
    /// In the middle of this text, once it comes by.
    Within(Way, Vec<u8>),
    /// Right before this text.
    Before(Way, Vec<u8>),
}

/// The state that all connections of a proxy share.
#[derive(Debug, Default)]
struct Shared {
    cut: Option<Cut>,
    /// Where everything stalls: the way, and all bytes that have gone it by then.
    stall: Option<(Way, u64)>,
    up: u64,
    down: u64,
    accepted: u64,
    cuts: u64,
    is_refusing: bool,
}

/// Told to all connections.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
struct Orders {
    /// Grows with each order to cut all connections.
    cuts: u64,
    is_stalled: bool,
}

/// A proxy; ends with all its connections when it is dropped.
#[derive(Debug)]
pub struct Proxy {
    endpoint: Endpoint,
    shared: Arc<Mutex<Shared>>,
    orders: Arc<watch::Sender<Orders>>,
    end: Option<oneshot::Sender<()>>,
    thread: Option<JoinHandle<()>>,
    /// The folder of its socket.
    folder: Option<tempfile::TempDir>,
}

impl Proxy {
    /// One on a Unix socket of its own, named as that of a server on port 5432.
    ///
    /// # Panics
    ///
    /// If it can't listen.
    #[must_use]
    pub fn unix(server: Endpoint) -> Self {
        let folder = tempfile::Builder::new()
            .prefix("ralph-proxy-")
            .tempdir_in("/tmp")
            .expect("a folder can be made");
        let socket = socket_in(folder.path(), 5432);
        let listener = std::os::unix::net::UnixListener::bind(&socket).expect("it can listen");
        listener.set_nonblocking(true).expect("it is a socket");
        Self::start(
            Endpoint::Unix(socket),
            Listener::Unix(listener),
            server,
            Some(folder),
        )
    }

    /// One on a free port of 127.0.0.1.
    ///
    /// # Panics
    ///
    /// If it can't listen.
    #[must_use]
    pub fn tcp(server: Endpoint) -> Self {
        let listener = std::net::TcpListener::bind(("127.0.0.1", 0)).expect("a port is free");
        let port = listener.local_addr().expect("it has an address").port();
        listener.set_nonblocking(true).expect("it is a socket");
        Self::start(Endpoint::Tcp(port), Listener::Tcp(listener), server, None)
    }

    fn start(
        endpoint: Endpoint,
        listener: Listener,
        server: Endpoint,
        folder: Option<tempfile::TempDir>,
    ) -> Self {
        let shared = Arc::new(Mutex::new(Shared::default()));
        let orders = Arc::new(watch::Sender::new(Orders::default()));
        let (end, ended) = oneshot::channel();
        let pass = Passage {
            shared: Arc::clone(&shared),
            orders: Arc::clone(&orders),
            server,
        };
        let thread = std::thread::spawn(move || {
            let runtime = tokio::runtime::Builder::new_current_thread()
                .enable_all()
                .build()
                .expect("a runtime can be made");
            runtime.block_on(async {
                tokio::select! {
                    _ = ended => {}
                    () = listen(listener, pass) => {}
                }
            });
        });
        Self {
            endpoint,
            shared,
            orders,
            end: Some(end),
            thread: Some(thread),
            folder,
        }
    }

    #[must_use]
    pub fn endpoint(&self) -> &Endpoint {
        &self.endpoint
    }

    /// The folder with its Unix socket, which stands as the host in a URL.
    ///
    /// # Panics
    ///
    /// If it listens on TCP.
    #[must_use]
    pub fn socket_folder(&self) -> &Path {
        let folder = self.folder.as_ref();
        folder.expect("this proxy has a Unix socket").path()
    }

    /// Cuts all connections that there are. New ones are taken.
    pub fn cut(&self) {
        lock(&self.shared).cuts += 1;
        self.orders.send_modify(|orders| orders.cuts += 1);
    }

    /// Cuts all connections once so many more bytes have gone that way, however they are spread over connections.
    pub fn cut_after(&self, way: Way, bytes: u64) {
        lock(&self.shared).cut = Some(Cut::After(way, bytes));
    }

    /// Cuts all connections in the middle of this text, the next time that it goes that way.
    pub fn cut_within(&self, way: Way, text: &str) {
        lock(&self.shared).cut = Some(Cut::Within(way, text.as_bytes().to_vec()));
    }

    /// Cuts all connections right before this text.
    pub fn cut_before(&self, way: Way, text: &str) {
        lock(&self.shared).cut = Some(Cut::Before(way, text.as_bytes().to_vec()));
    }

    /// Takes back what was asked for and did not happen yet.
    pub fn spare(&self) {
        lock(&self.shared).cut = None;
    }

    /// Lets nothing through any more, and keeps the connections.
    pub fn stall(&self) {
        self.orders.send_modify(|orders| orders.is_stalled = true);
    }

    /// The same, once so many more bytes have gone that way.
    pub fn stall_after(&self, way: Way, bytes: u64) {
        let passed = self.passed(way);
        lock(&self.shared).stall = Some((way, passed + bytes));
    }

    pub fn resume(&self) {
        self.orders.send_modify(|orders| orders.is_stalled = false);
    }

    /// Cuts every new connection at once, as a server that is not there.
    pub fn refuse(&self, is_refusing: bool) {
        lock(&self.shared).is_refusing = is_refusing;
    }

    /// The bytes that have gone that way.
    #[must_use]
    pub fn passed(&self, way: Way) -> u64 {
        let shared = lock(&self.shared);
        match way {
            Way::Up => shared.up,
            Way::Down => shared.down,
        }
    }

    /// The connections that were ever made.
    #[must_use]
    pub fn accepted(&self) -> u64 {
        lock(&self.shared).accepted
    }

    /// The number of times that connections were cut.
    #[must_use]
    pub fn cuts(&self) -> u64 {
        lock(&self.shared).cuts
    }
}

impl Drop for Proxy {
    fn drop(&mut self) {
        if let Some(end) = self.end.take() {
            let _ = end.send(());
        }
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

fn lock(shared: &Mutex<Shared>) -> MutexGuard<'_, Shared> {
    shared.lock().unwrap_or_else(PoisonError::into_inner)
}

enum Listener {
    Unix(std::os::unix::net::UnixListener),
    Tcp(std::net::TcpListener),
}

/// The parts that each connection needs.
#[derive(Clone)]
struct Passage {
    shared: Arc<Mutex<Shared>>,
    orders: Arc<watch::Sender<Orders>>,
    server: Endpoint,
}

async fn listen(listener: Listener, pass: Passage) {
    match listener {
        Listener::Unix(listener) => {
            let listener = UnixListener::from_std(listener).expect("it is a socket");
            while let Ok((client, _)) = listener.accept().await {
                tokio::spawn(serve(client, pass.clone()));
            }
        }
        Listener::Tcp(listener) => {
            let listener = TcpListener::from_std(listener).expect("it is a socket");
            while let Ok((client, _)) = listener.accept().await {
                let _ = client.set_nodelay(true);
                tokio::spawn(serve(client, pass.clone()));
            }
        }
    }
}

async fn serve<C>(client: C, pass: Passage)
where
    C: AsyncRead + AsyncWrite + Unpin,
{
    {
        let mut shared = lock(&pass.shared);
        shared.accepted += 1;
        if shared.is_refusing {
            return;
        }
    }
    match &pass.server {
        Endpoint::Unix(path) => {
            if let Ok(server) = UnixStream::connect(path).await {
                between(client, server, &pass).await;
            }
        }
        Endpoint::Tcp(port) => {
            if let Ok(server) = TcpStream::connect(("127.0.0.1", *port)).await {
                let _ = server.set_nodelay(true);
                between(client, server, &pass).await;
            }
        }
    }
}

/// Both ways, until one has ended or connections are cut: both are closed then.
async fn between<C, S>(client: C, server: S, pass: &Passage)
where
    C: AsyncRead + AsyncWrite + Unpin,
    S: AsyncRead + AsyncWrite + Unpin,
{
    let (mut from_client, mut to_client) = tokio::io::split(client);
    let (mut from_server, mut to_server) = tokio::io::split(server);
    let mut orders = pass.orders.subscribe();
    let cuts = orders.borrow_and_update().cuts;
    tokio::select! {
        _ = orders.wait_for(|now| now.cuts != cuts) => {}
        _ = pump(Way::Up, &mut from_client, &mut to_server, pass) => {}
        _ = pump(Way::Down, &mut from_server, &mut to_client, pass) => {}
    }
}

async fn pump(
    way: Way,
    from: &mut (impl AsyncRead + Unpin),
    to: &mut (impl AsyncWrite + Unpin),
    pass: &Passage,
) -> io::Result<()> {
    let mut orders = pass.orders.subscribe();
    let mut bytes = vec![0; 16 * 1024];
    loop {
        let n = from.read(&mut bytes).await?;
        if n == 0 {
            return Ok(());
        }
        // A stall ends with the proxy at the latest.
        if orders.wait_for(|now| !now.is_stalled).await.is_err() {
            return Ok(());
        }
        let (through, is_cut) = allowed(&pass.shared, way, &bytes[..n]);
        // Before these bytes go on, so that no answer to them comes through.
        if stalls_now(&pass.shared) {
            pass.orders.send_modify(|orders| orders.is_stalled = true);
        }
        to.write_all(&bytes[..through]).await?;
        to.flush().await?;
        if is_cut {
            lock(&pass.shared).cuts += 1;
            pass.orders.send_modify(|orders| orders.cuts += 1);
            return Ok(());
        }
    }
}

/// Tells, once, that so many bytes have gone as it was to stall after.
fn stalls_now(shared: &Mutex<Shared>) -> bool {
    let mut shared = lock(shared);
    let (up, down) = (shared.up, shared.down);
    let is_reached = |(way, bytes): &mut (Way, u64)| match way {
        Way::Up => up >= *bytes,
        Way::Down => down >= *bytes,
    };
    shared.stall.take_if(is_reached).is_some()
}

/// Counts the bytes that go through, and says if connections are cut behind them.
fn allowed(shared: &Mutex<Shared>, way: Way, bytes: &[u8]) -> (usize, bool) {
    let mut shared = lock(shared);
    let find = |text: &[u8]| bytes.windows(text.len()).position(|part| part == text);
    let through = match &mut shared.cut {
        Some(Cut::After(of, left)) if *of == way => {
            let n = bytes.len();
            match usize::try_from(*left) {
                Ok(left) if left <= n => Some(left),
                Ok(_) | Err(_) => {
                    *left -= n as u64;
                    None
                }
            }
        }
        Some(Cut::Within(of, text)) if *of == way => find(text).map(|at| at + text.len() / 2),
        Some(Cut::Before(of, text)) if *of == way => find(text),
        Some(Cut::After(..) | Cut::Within(..) | Cut::Before(..)) | None => None,
    };
    let passed = through.unwrap_or(bytes.len());
    match way {
        Way::Up => shared.up += passed as u64,
        Way::Down => shared.down += passed as u64,
    }
    if through.is_some() {
        shared.cut = None;
    }
    (passed, through.is_some())
}
