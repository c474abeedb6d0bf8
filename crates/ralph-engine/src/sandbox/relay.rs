//! The way out of a sandbox with a network of its own: ralph listens at doors inside, and connects to listed hosts.
//!
//! Each listed host has an address on the loopback of the sandbox, where a file of hosts leads, so that programs
//! need not know of a proxy; a proxy is there for names that only a pattern lists. A name is looked up once, and
//! its address kept for the run.

use std::{
    collections::HashMap,
    fmt::Write as _,
    io,
    net::{IpAddr, Ipv4Addr, SocketAddr, SocketAddrV4},
    sync::{Arc, Mutex, PoisonError},
    time::Duration,
};

use ralph_core::agent::Connection;
use tokio::{
    io::{AsyncReadExt as _, AsyncWriteExt as _, copy_bidirectional},
    net::{TcpListener, TcpStream, lookup_host},
    task::JoinSet,
    time::timeout,
};

use super::hosts::{AllowedHost, USUAL_PORTS, may_lead_to, normal_name, split_port};

/// The proxy of a sandbox. Its loopback is its own, so that the number is never taken.
const PROXY: SocketAddrV4 = SocketAddrV4::new(Ipv4Addr::LOCALHOST, 3128);
/// The most hosts that have an address of their own.
const MOST_HOSTS: usize = 250;
/// The first lines of a request to a proxy are no longer than this.
const LONGEST_HEAD: usize = 16 * 1024;
/// The time that a name, a connection or the head of a request may take.
const PATIENCE: Duration = Duration::from_secs(30);

/// The doors of a sandbox, before it is there.
#[derive(Debug, Clone)]
pub(super) struct RelayPlan {
    allowed: Vec<AllowedHost>,
    doors: Vec<Door>,
}

#[derive(Debug, Clone)]
struct Door {
    address: SocketAddrV4,
    /// The host behind it; `None` for the proxy.
    target: Option<(String, u16)>,
}

impl RelayPlan {
    pub(super) fn new(allowed: Vec<AllowedHost>) -> Self {
        let mut doors = vec![Door {
            address: PROXY,
            target: None,
        }];
        let exact = allowed
            .iter()
            .filter(|host| !host.is_below)
            .take(MOST_HOSTS);
        for (index, host) in (1..).zip(exact) {
            let ip = match host.literal() {
                Some(IpAddr::V4(ip)) if ip.is_loopback() => ip,
                // Only the proxy leads to other addresses.
                Some(_) => continue,
                None if host.name == "localhost" => Ipv4Addr::LOCALHOST,
                None => Ipv4Addr::new(127, 77, 0, index),
            };
            let ports = host
                .port
                .map_or_else(|| USUAL_PORTS.to_vec(), |port| vec![port]);
            for port in ports {
                let address = SocketAddrV4::new(ip, port);
                if doors.iter().all(|door| door.address != address) {
                    let target = Some((host.name.clone(), port));
                    doors.push(Door { address, target });
                }
            }
        }
        Self { allowed, doors }
    }

    pub(super) fn addresses(&self) -> Vec<SocketAddrV4> {
        self.doors.iter().map(|door| door.address).collect()
    }

    /// The file of hosts that leads listed names to their doors.
    pub(super) fn hosts_file(&self) -> String {
        let mut text = String::from("127.0.0.1 localhost\n::1 localhost\n");
        let mut seen: Vec<&str> = vec!["localhost"];
        for door in &self.doors {
            if let Some((name, _)) = &door.target
                && !seen.contains(&name.as_str())
                && name.parse::<IpAddr>().is_err()
            {
                seen.push(name);
                let _ = writeln!(text, "{} {name}", door.address.ip());
            }
        }
        text
    }

    /// The variables by which programs find the proxy. What a program serves itself it reaches without.
    pub(super) fn variables() -> Vec<(&'static str, String)> {
        let proxy = format!("http://{PROXY}");
        let mut variables: Vec<(&'static str, String)> = [
            "HTTP_PROXY",
            "HTTPS_PROXY",
            "ALL_PROXY",
            "http_proxy",
            "https_proxy",
            "all_proxy",
        ]
        .map(|name| (name, proxy.clone()))
        .into();
        for name in ["NO_PROXY", "no_proxy"] {
            variables.push((name, "localhost,127.0.0.0/8,127.0.0.1,::1".to_owned()));
        }
        variables
    }
}

/// Doors that are open. Dropping it closes them.
#[derive(Debug)]
pub(super) struct Relay {
    shared: Arc<Shared>,
    _doors: JoinSet<()>,
}

#[derive(Debug)]
struct Shared {
    allowed: Vec<AllowedHost>,
    /// The addresses that names led to when they were first asked for.
    pinned: Mutex<HashMap<(String, u16), Vec<SocketAddr>>>,
    seen: Mutex<Vec<Connection>>,
}

impl Relay {
    pub(super) fn open(
        plan: &RelayPlan,
        listeners: Vec<std::net::TcpListener>,
    ) -> io::Result<Self> {
        let shared = Arc::new(Shared {
            allowed: plan.allowed.clone(),
            pinned: Mutex::default(),
            seen: Mutex::default(),
        });
        let mut doors = JoinSet::new();
        for (door, listener) in plan.doors.iter().zip(listeners) {
            listener.set_nonblocking(true)?;
            let listener = TcpListener::from_std(listener)?;
            doors.spawn(attend(listener, door.target.clone(), Arc::clone(&shared)));
        }
        Ok(Self {
            shared,
            _doors: doors,
        })
    }

    /// The hosts that were asked for, and whether each was reached.
    pub(super) fn connections(&self) -> Vec<Connection> {
        let seen = self.shared.seen.lock();
        seen.unwrap_or_else(PoisonError::into_inner).clone()
    }
}

async fn attend(listener: TcpListener, target: Option<(String, u16)>, shared: Arc<Shared>) {
    let mut guests = JoinSet::new();
    loop {
        tokio::select! {
            accepted = listener.accept() => match accepted {
                Ok((guest, _)) => {
                    let (target, shared) = (target.clone(), Arc::clone(&shared));
                    guests.spawn(async move {
                        // A guest that goes away in the middle is in its rights.
                        let _ = match target {
                            Some((name, port)) => shared.lead(guest, &name, port).await,
                            None => shared.serve(guest).await,
                        };
                    });
                }
                Err(_) => return,
            },
            Some(_) = guests.join_next() => {}
        }
    }
}

impl Shared {
    /// Passes bytes between a guest and a host.
    async fn lead(&self, mut guest: TcpStream, name: &str, port: u16) -> io::Result<()> {
        let mut host = self.connect(name, port).await?;
        copy_bidirectional(&mut guest, &mut host).await.map(|_| ())
    }

    /// Speaks as a proxy: `CONNECT host:port`, or a request with a whole URL.
    async fn serve(&self, mut guest: TcpStream) -> io::Result<()> {
        let head = timeout(PATIENCE, read_head(&mut guest)).await??;
        let Some(asked) = asked_host(&head) else {
            return refuse(&mut guest, "400 Bad Request", "no host was asked for").await;
        };
        let host = match self.connect(&asked.name, asked.port).await {
            Ok(host) => host,
            Err(error) => {
                let status = match error.kind() {
                    io::ErrorKind::PermissionDenied => "403 Forbidden",
                    _ => "502 Bad Gateway",
                };
                return refuse(&mut guest, status, &error.to_string()).await;
            }
        };
        let mut host = host;
        if asked.is_tunnel {
            guest
                .write_all(b"HTTP/1.1 200 Connection established\r\n\r\n")
                .await?;
        } else {
            host.write_all(&head).await?;
        }
        copy_bidirectional(&mut guest, &mut host).await.map(|_| ())
    }

    async fn connect(&self, name: &str, port: u16) -> io::Result<TcpStream> {
        let result = self.connect_allowed(name, port).await;
        self.note(name, port, result.is_ok());
        result
    }

    async fn connect_allowed(&self, name: &str, port: u16) -> io::Result<TcpStream> {
        let denied = |why: String| io::Error::new(io::ErrorKind::PermissionDenied, why);
        let normal = normal_name(name).ok_or_else(|| denied(format!("`{name}` is no host")))?;
        let entry = self.allowed.iter().find(|host| host.covers(&normal, port));
        let Some(entry) = entry else {
            return Err(denied(format!(
                "{normal}:{port} is not among the hosts that this program may reach (`safety.allow_hosts`)"
            )));
        };
        // A person who lists an address, or this machine by its name, means it.
        let is_meant = entry.literal().is_some() || entry.name == "localhost";
        let addresses = self.addresses(&normal, port).await?;
        let addresses: Vec<SocketAddr> = addresses
            .into_iter()
            .filter(|address| is_meant || may_lead_to(address.ip()))
            .collect();
        if addresses.is_empty() {
            return Err(denied(format!("{normal} leads to this machine or nowhere")));
        }
        timeout(PATIENCE, TcpStream::connect(&addresses[..])).await?
    }

    async fn addresses(&self, name: &str, port: u16) -> io::Result<Vec<SocketAddr>> {
        let key = (name.to_owned(), port);
        let pinned = self
            .pinned
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .get(&key)
            .cloned();
        if let Some(pinned) = pinned {
            return Ok(pinned);
        }
        let found = timeout(PATIENCE, lookup_host((name, port))).await??;
        let found: Vec<SocketAddr> = found.collect();
        let mut all = self.pinned.lock().unwrap_or_else(PoisonError::into_inner);
        Ok(all.entry(key).or_insert(found).clone())
    }

    fn note(&self, name: &str, port: u16, is_reached: bool) {
        const MOST: usize = 1_000;
        let mut seen = self.seen.lock().unwrap_or_else(PoisonError::into_inner);
        let name: String = name.chars().take(253).collect();
        let is_same = |seen: &Connection| {
            seen.host == name && seen.port == port && seen.reached == is_reached
        };
        if let Some(known) = seen.iter_mut().find(|connection| is_same(connection)) {
            known.times += 1;
        } else if seen.len() < MOST {
            seen.push(Connection {
                host: name,
                port,
                reached: is_reached,
                times: 1,
            });
        }
    }
}

async fn refuse(guest: &mut TcpStream, status: &str, why: &str) -> io::Result<()> {
    let length = why.len() + 1;
    let answer = format!(
        "HTTP/1.1 {status}\r\nContent-Type: text/plain\r\nContent-Length: {length}\r\nConnection: close\r\n\r\n{why}\n"
    );
    guest.write_all(answer.as_bytes()).await?;
    guest.shutdown().await
}

/// Reads up to the empty line that ends the head of a request, and what came with it.
async fn read_head(guest: &mut TcpStream) -> io::Result<Vec<u8>> {
    let mut head = Vec::new();
    while !head.windows(4).any(|four| four == b"\r\n\r\n") {
        if head.len() > LONGEST_HEAD || guest.read_buf(&mut head).await? == 0 {
            return Err(io::ErrorKind::InvalidData.into());
        }
    }
    Ok(head)
}

struct AskedHost {
    name: String,
    port: u16,
    is_tunnel: bool,
}

fn asked_host(head: &[u8]) -> Option<AskedHost> {
    let line = head.split(|byte| *byte == b'\r').next()?;
    let line = std::str::from_utf8(line).ok()?;
    let mut words = line.split(' ');
    let (method, target) = (words.next()?, words.next()?);
    let is_tunnel = method == "CONNECT";
    if is_tunnel {
        let (name, port) = split_port(target)?;
        let name = name.to_owned();
        let port = port?;
        return Some(AskedHost {
            name,
            port,
            is_tunnel,
        });
    }
    let host = AllowedHost::of_url(target)?;
    Some(AskedHost {
        name: host.name,
        port: host.port?,
        is_tunnel,
    })
}
