//! The address of a store: a URL, its password and how the server is told from another one.
//!
//! A password never stands in a configuration file, and is never shown. Looks at no environment itself: it is given
//! one.

use std::{
    ffi::OsString,
    fmt,
    net::IpAddr,
    path::{Path, PathBuf},
    time::Duration,
};

use sqlx::postgres::{PgConnectOptions, PgSslMode};

use super::StoreError;

const PORT: u16 = 5432;
/// The longest that a connection may take, where the URL does not say.
const CONNECTING: Duration = Duration::from_secs(10);

/// Where a URL comes from, as far as passwords go.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum UrlSource {
    /// The environment or the command line: it may hold a password.
    Environment,
    /// A configuration file: it may not.
    File(PathBuf),
}

/// Where a password is looked for when the URL has none, in this order.
#[derive(Clone, Default)]
pub struct PasswordSources {
    /// `PGPASSWORD`.
    pub value: Option<String>,
    /// `RALPH_STORE_PASSWORD_FILE`: its first line.
    pub file: Option<PathBuf>,
    /// `PGPASSFILE`, or `.pgpass` in the home folder.
    pub pgpass: Option<PathBuf>,
}

impl PasswordSources {
    /// Those of an environment, in which `get` looks a variable up.
    pub fn from_environment(get: impl Fn(&str) -> Option<OsString>) -> Self {
        let set = |name: &str| get(name).filter(|value| !value.is_empty());
        let home = || Some(PathBuf::from(set("HOME")?).join(".pgpass"));
        Self {
            value: set("PGPASSWORD").and_then(|value| value.into_string().ok()),
            file: set("RALPH_STORE_PASSWORD_FILE").map(PathBuf::from),
            pgpass: set("PGPASSFILE").map(PathBuf::from).or_else(home),
        }
    }
}

/// Not what they hold.
impl fmt::Debug for PasswordSources {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("PasswordSources")
            .field("value", &self.value.as_ref().map(|_| "…"))
            .field("file", &self.file)
            .field("pgpass", &self.pgpass)
            .finish()
    }
}

#[derive(Debug, Clone, PartialEq, Eq)]
enum Place {
    /// The folder of a Unix socket.
    Socket(PathBuf),
    Host(String),
}

/// The address of a database. Shown without its password.
#[derive(Clone, PartialEq, Eq)]
pub struct StoreUrl {
    place: Place,
    port: u16,
    role: String,
    database: String,
    password: Option<String>,
    tls: Option<TlsMode>,
    root_certificate: Option<PathBuf>,
    timeout: Duration,
}

/// `sslmode`, as libpq names it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum TlsMode {
    Disable,
    Allow,
    Prefer,
    Require,
    VerifyCa,
    VerifyFull,
}

impl TlsMode {
    const ALL: [(&str, Self, PgSslMode); 6] = [
        ("disable", Self::Disable, PgSslMode::Disable),
        ("allow", Self::Allow, PgSslMode::Allow),
        ("prefer", Self::Prefer, PgSslMode::Prefer),
        ("require", Self::Require, PgSslMode::Require),
        ("verify-ca", Self::VerifyCa, PgSslMode::VerifyCa),
        ("verify-full", Self::VerifyFull, PgSslMode::VerifyFull),
    ];

    fn parse(name: &str) -> Option<Self> {
        Self::ALL
            .iter()
            .find(|(n, ..)| *n == name)
            .map(|(_, mode, _)| *mode)
    }

    fn name(self) -> &'static str {
        match self {
            Self::Disable => "disable",
            Self::Allow => "allow",
            Self::Prefer => "prefer",
            Self::Require => "require",
            Self::VerifyCa => "verify-ca",
            Self::VerifyFull => "verify-full",
        }
    }
}

impl StoreUrl {
    /// Reads `postgres://ROLE[:PASSWORD]@HOST[:PORT]/DATABASE[?sslrootcert=FILE…]`. The folder of a Unix socket stands
    /// as the host with its `/` written `%2F`, or as the parameter `host`.
    pub fn parse(text: &str, source: &UrlSource) -> Result<Self, StoreError> {
        let parsed = parse(text).map_err(|why| StoreError::Url { why })?;
        if parsed.password.is_some()
            && let UrlSource::File(path) = source
        {
            return Err(StoreError::PasswordInFile { path: path.clone() });
        }
        if let (Place::Host(host), Some(mode)) = (&parsed.place, parsed.tls)
            && mode != TlsMode::VerifyFull
            && !is_loopback(host)
        {
            return Err(StoreError::WeakTls {
                host: host.clone(),
                mode: mode.name(),
            });
        }
        Ok(parsed)
    }

    /// The same with its password, where one is found and the URL has none.
    pub fn with_password(mut self, from: &PasswordSources) -> Result<Self, StoreError> {
        if self.password.is_none() {
            self.password = self.find_password(from)?;
        }
        Ok(self)
    }

    fn find_password(&self, from: &PasswordSources) -> Result<Option<String>, StoreError> {
        if let Some(value) = &from.value {
            return Ok(Some(value.clone()));
        }
        if let Some(path) = &from.file {
            let text = read_private(path)?.ok_or_else(|| StoreError::PasswordFile {
                path: path.clone(),
                source: rustix::io::Errno::NOENT.into(),
            })?;
            return Ok(Some(text.lines().next().unwrap_or_default().to_owned()));
        }
        let Some(path) = &from.pgpass else {
            return Ok(None);
        };
        // It need not be there.
        let text = read_private(path)?.unwrap_or_default();
        let (host, socket) = match &self.place {
            Place::Host(host) => (host.clone(), false),
            Place::Socket(folder) => (folder.display().to_string(), true),
        };
        let port = self.port.to_string();
        let wanted = [host.as_str(), &port, &self.database, &self.role];
        Ok(text
            .lines()
            .filter(|line| !line.starts_with('#'))
            .filter_map(pgpass_fields)
            .find(|(fields, _)| {
                fields
                    .iter()
                    .zip(wanted)
                    .enumerate()
                    .all(|(at, (field, wanted))| {
                        let is_local = at == 0 && socket && field.value == "localhost";
                        field.is_any || field.value == wanted || is_local
                    })
            })
            .map(|(_, password)| password))
    }

    pub fn role(&self) -> &str {
        &self.role
    }

    pub fn database(&self) -> &str {
        &self.database
    }

    /// The server, as messages name it.
    pub fn server(&self) -> String {
        match &self.place {
            Place::Socket(folder) => folder.display().to_string(),
            Place::Host(host) if self.port == PORT => host.clone(),
            Place::Host(host) => format!("{host}:{}", self.port),
        }
    }

    /// True once it has a password.
    pub fn has_password(&self) -> bool {
        self.password.is_some()
    }

    /// The same for another role.
    #[must_use]
    pub fn for_role(mut self, role: &str, password: &str) -> Self {
        self.role = role.to_owned();
        self.password = Some(password.to_owned());
        self
    }

    /// The same for another database.
    #[must_use]
    pub fn in_database(mut self, name: &str) -> Self {
        self.database = name.to_owned();
        self
    }

    /// True if it is on this machine.
    pub fn is_local(&self) -> bool {
        match &self.place {
            Place::Socket(_) => true,
            Place::Host(host) => is_loopback(host),
        }
    }

    pub(crate) fn timeout(&self) -> Duration {
        self.timeout
    }

    pub(crate) fn options(&self) -> PgConnectOptions {
        let options = PgConnectOptions::new_without_pgpass()
            .port(self.port)
            .username(&self.role)
            .database(&self.database)
            .password(self.password.as_deref().unwrap_or_default())
            .application_name("ralph")
            // Not known to poolers.
            .extra_float_digits(None)
            // A pooler gives the next transaction another session, which knows no statement of this one.
            .statement_cache_capacity(0);
        let options = match &self.place {
            Place::Socket(folder) => options.socket(folder).ssl_mode(PgSslMode::Disable),
            Place::Host(host) => options.host(host).ssl_mode(self.tls_mode(host)),
        };
        match &self.root_certificate {
            Some(path) => options.ssl_root_cert(path),
            None => options,
        }
    }

    fn tls_mode(&self, host: &str) -> PgSslMode {
        let local = || is_loopback(host).then_some(TlsMode::Prefer);
        let mode = self.tls.or_else(local).unwrap_or(TlsMode::VerifyFull);
        let found = TlsMode::ALL.iter().find(|(_, of, _)| *of == mode);
        found.map_or(PgSslMode::VerifyFull, |(_, _, mode)| *mode)
    }
}

/// Without the password, so that it can be written down.
impl fmt::Display for StoreUrl {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let host = match &self.place {
            Place::Socket(folder) => encode(&folder.display().to_string()),
            Place::Host(host) if host.contains(':') => format!("[{host}]"),
            Place::Host(host) => host.clone(),
        };
        let (role, database) = (encode(&self.role), encode(&self.database));
        write!(f, "postgres://{role}@{host}:{}/{database}", self.port)
    }
}

impl fmt::Debug for StoreUrl {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "StoreUrl({self})")
    }
}

/// This machine, by any of its names.
fn is_loopback(host: &str) -> bool {
    host == "localhost" || host.parse().is_ok_and(|ip: IpAddr| ip.is_loopback())
}

/// Reads a file with a password; one that others can read is refused. `None` where there is no such file.
fn read_private(path: &Path) -> Result<Option<String>, StoreError> {
    use std::os::unix::fs::MetadataExt as _;
    let failed = |source| StoreError::PasswordFile {
        path: path.to_owned(),
        source,
    };
    let metadata = match std::fs::metadata(path) {
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(None),
        found => found.map_err(failed)?,
    };
    if metadata.is_file() && metadata.mode() & 0o077 != 0 {
        return Err(StoreError::OpenPasswordFile {
            path: path.to_owned(),
        });
    }
    std::fs::read_to_string(path).map(Some).map_err(failed)
}

/// A field of a line of `.pgpass`.
#[derive(Default)]
struct Field {
    value: String,
    is_any: bool,
}

/// The four fields of a line, and its password. A `\` takes the character behind it as it is.
fn pgpass_fields(line: &str) -> Option<([Field; 4], String)> {
    let mut fields: [String; 5] = Default::default();
    let mut is_any = [false; 5];
    let mut at = 0;
    let mut raw = String::new();
    let mut chars = line.chars();
    while let Some(c) = chars.next() {
        match c {
            '\\' => fields[at].extend(chars.next()),
            ':' if at < 4 => {
                is_any[at] = raw == "*";
                raw.clear();
                at += 1;
                continue;
            }
            _ => fields[at].push(c),
        }
        raw.push(c);
    }
    if at < 4 {
        return None;
    }
    let [host, port, database, role, password] = fields;
    let mut any = is_any.into_iter();
    let fields = [host, port, database, role].map(|value| Field {
        value,
        is_any: any.next().unwrap_or_default(),
    });
    Some((fields, password))
}

fn parse(text: &str) -> Result<StoreUrl, String> {
    let rest = text
        .strip_prefix("postgres://")
        .or_else(|| text.strip_prefix("postgresql://"))
        .ok_or("it does not begin with postgres://")?;
    if rest.contains('#') {
        return Err("it holds a #, which is written %23".to_owned());
    }
    let (rest, query) = rest.split_once('?').unwrap_or((rest, ""));
    let (authority, path) = rest.split_once('/').unwrap_or((rest, ""));
    let (who, place) = authority.rsplit_once('@').unwrap_or(("", authority));
    let (role, password) = match who.split_once(':') {
        Some((role, password)) => (role, Some(decode(password)?)),
        None => (who, None),
    };
    let (host, port) = host_and_port(place)?;
    let mut url = StoreUrl {
        place: Place::Host(decode(host)?),
        port: PORT,
        role: decode(role)?,
        database: decode(path)?,
        password: password.filter(|password| !password.is_empty()),
        tls: None,
        root_certificate: None,
        timeout: CONNECTING,
    };
    if let Some(port) = port {
        url.port = parse_port(port)?;
    }
    for pair in query.split('&').filter(|pair| !pair.is_empty()) {
        let (name, value) = pair.split_once('=').unwrap_or((pair, ""));
        set(&mut url, name, decode(value)?)?;
    }
    if let Place::Host(host) = &url.place {
        if host.starts_with('/') {
            url.place = Place::Socket(host.into());
        } else if host.is_empty() {
            return Err("it names no host".to_owned());
        } else if host.contains(',') {
            return Err("it names several hosts".to_owned());
        }
    }
    if url.role.is_empty() {
        return Err("it names no role".to_owned());
    }
    if url.database.is_empty() {
        return Err("it names no database".to_owned());
    }
    Ok(url)
}

fn set(url: &mut StoreUrl, name: &str, value: String) -> Result<(), String> {
    match name {
        "host" => url.place = Place::Host(value),
        "port" => url.port = parse_port(&value)?,
        "user" => url.role = value,
        "dbname" => url.database = value,
        "password" => url.password = Some(value),
        "sslmode" => {
            let mode = TlsMode::parse(&value);
            url.tls = Some(mode.ok_or_else(|| format!("there is no sslmode {value}"))?);
        }
        "sslrootcert" => url.root_certificate = Some(value.into()),
        "connect_timeout" => {
            let seconds = value.parse().ok().filter(|seconds| *seconds > 0);
            let seconds = seconds.ok_or_else(|| format!("connect_timeout is not {value}"))?;
            url.timeout = Duration::from_secs(seconds);
        }
        // Programs name themselves; ours does so too.
        "application_name" => {}
        other => {
            return Err(format!(
                "it has the parameter {other}, and only host, port, user, dbname, sslmode, sslrootcert and connect_timeout are known"
            ));
        }
    }
    Ok(())
}

fn host_and_port(place: &str) -> Result<(&str, Option<&str>), String> {
    if let Some(rest) = place.strip_prefix('[') {
        let (host, rest) = rest.split_once(']').ok_or("the [ of its host has no ]")?;
        return Ok((host, rest.strip_prefix(':')));
    }
    Ok(match place.split_once(':') {
        Some((host, port)) => (host, Some(port)),
        None => (place, None),
    })
}

fn parse_port(text: &str) -> Result<u16, String> {
    let port = text.parse().ok().filter(|port| *port > 0);
    // Not what stands there: behind a password with a / in it, it is a part of that.
    port.ok_or_else(|| {
        "its port is no number (a / or @ in a password is written %2F or %40)".to_owned()
    })
}

fn decode(text: &str) -> Result<String, String> {
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text.bytes();
    while let Some(byte) = rest.next() {
        if byte != b'%' {
            bytes.push(byte);
            continue;
        }
        let mut digit = || rest.next().and_then(|byte| char::from(byte).to_digit(16));
        let code = digit().zip(digit()).map(|(high, low)| high * 16 + low);
        let byte = code
            .and_then(|code| u8::try_from(code).ok())
            .filter(|byte| *byte > 0);
        bytes.push(byte.ok_or("it has a % without two digits behind it, which is written %25")?);
    }
    String::from_utf8(bytes).map_err(|_| "it is not UTF-8".to_owned())
}

fn encode(text: &str) -> String {
    text.bytes()
        .map(|byte| match byte {
            b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'-' | b'_' | b'.' | b'~' => {
                char::from(byte).to_string()
            }
            _ => format!("%{byte:02X}"),
        })
        .collect()
}
