//! A real PostgreSQL server of a test's own, and the real pgbouncer in front of it.
//!
//! Unix sockets alone unless TCP is asked for, and then 127.0.0.1 alone. Both run as a user that is not root, since
//! neither starts as root, and end with the test, however that ends: a shell holds each of them and reads from a pipe
//! that only the test process has open. Never talks to a server that was there before, and ends no process but its
//! own.

use std::{
    fs::{self, File},
    io::Write as _,
    os::unix::fs::{PermissionsExt as _, chown},
    path::{Path, PathBuf},
    process::{Child, ChildStdin, Command, Stdio},
    sync::{
        OnceLock,
        atomic::{AtomicU32, Ordering},
    },
    time::{Duration, Instant},
};

/// The port in the name of the Unix socket.
const PORT: u16 = 5432;
const POOLER_PORT: u16 = 6432;
/// The longest that a server may take to start: the machine may be busy with other tests.
const STARTING: Duration = Duration::from_secs(60);
const LOOK_AGAIN: Duration = Duration::from_millis(5);

/// The superuser of each cluster. It needs no password over the Unix socket, and this one over TCP.
pub const SUPERUSER: &str = "postgres";
pub const SUPERUSER_PASSWORD: &str = "postgres";

/// Roles without a right to become superuser have to give their password.
const HBA: &str = "local all postgres trust
local all all scram-sha-256
host all all 127.0.0.1/32 scram-sha-256
";

/// The settings of a new cluster.
#[derive(Debug, Clone, Default)]
pub struct ClusterOptions {
    /// It listens on 127.0.0.1 too.
    tcp: bool,
    /// A certificate and its key, in PEM: connections over TCP may have TLS.
    tls: Option<(String, String)>,
    /// Commits reach the disk, as on a real server.
    durable: bool,
    settings: Vec<String>,
}

impl ClusterOptions {
    #[must_use]
    pub fn tcp(mut self) -> Self {
        self.tcp = true;
        self
    }

    #[must_use]
    pub fn tls(mut self, certificate: &str, key: &str) -> Self {
        self.tls = Some((certificate.to_owned(), key.to_owned()));
        self.tcp()
    }

    #[must_use]
    pub fn durable(mut self) -> Self {
        self.durable = true;
        self
    }

    /// A setting of `postgresql.conf`.
    #[must_use]
    pub fn set(mut self, name: &str, value: &str) -> Self {
        self.settings.push(format!("{name} = '{value}'"));
        self
    }

    /// # Panics
    ///
    /// If a program is missing or the server does not start.
    #[must_use]
    pub fn start(self) -> Cluster {
        Cluster::with(&self)
    }
}

/// A server with an empty cluster. Ends, and is deleted, when it is dropped.
#[derive(Debug)]
pub struct Cluster {
    folder: PathBuf,
    port: u16,
    has_tcp: bool,
    server: Option<Held>,
    databases: AtomicU32,
}

impl Cluster {
    /// One that answers on its Unix socket, and that need not outlive a power cut.
    ///
    /// # Panics
    ///
    /// If a program is missing or the server does not start.
    #[must_use]
    pub fn start() -> Self {
        ClusterOptions::default().start()
    }

    #[must_use]
    pub fn options() -> ClusterOptions {
        ClusterOptions::default()
    }

    /// The one that all tests of this process share: for tests that only need a database.
    ///
    /// # Panics
    ///
    /// If a program is missing or the server does not start.
    pub fn shared() -> &'static Self {
        static SHARED: OnceLock<Cluster> = OnceLock::new();
        SHARED.get_or_init(Self::start)
    }

    fn with(options: &ClusterOptions) -> Self {
        let user = ServiceUser::find();
        let folder = user.folder("ralph-pg");
        let data = folder.join("data");
        copy(&template(&user), &data);
        let port = if options.tcp { free_port() } else { PORT };
        let mut settings = vec![
            format!("port = {port}"),
            format!("unix_socket_directories = '{}'", folder.display()),
            "shared_buffers = 32MB".to_owned(),
            "max_connections = 200".to_owned(),
            "log_min_messages = warning".to_owned(),
        ];
        settings.push(if options.tcp {
            "listen_addresses = '127.0.0.1'".to_owned()
        } else {
            "listen_addresses = ''".to_owned()
        });
        if !options.durable {
            // What is committed outlives the server's crash all the same, and not the machine's.
            let lines = ["fsync = off", "full_page_writes = off"];
            settings.extend(lines.map(str::to_owned));
        }
        if let Some((certificate, key)) = &options.tls {
            user.write(&data.join("server.crt"), certificate);
            user.write(&data.join("server.key"), key);
            settings.push("ssl = on".to_owned());
        }
        settings.extend(options.settings.iter().cloned());
        user.write(
            &data.join("postgresql.auto.conf"),
            &(settings.join("\n") + "\n"),
        );
        user.write(&data.join("pg_hba.conf"), HBA);
        let mut cluster = Self {
            folder,
            port,
            has_tcp: options.tcp,
            server: None,
            databases: AtomicU32::new(0),
        };
        cluster.start_again();
        cluster
    }

    /// Starts the server after [`Cluster::crash`].
    ///
    /// # Panics
    ///
    /// If it does not start.
    pub fn start_again(&mut self) {
        assert!(self.server.is_none(), "the server runs already");
        let data = self.folder.join("data");
        // Of what it says from now on: a server that crashed has told its clients why.
        let told = self.log().len();
        let server = [program("postgres"), "-D".into(), data.clone()];
        self.server = Some(Held::run(
            &ServiceUser::find(),
            &self.folder,
            "QUIT",
            &server,
        ));
        let until = Instant::now() + STARTING;
        let state = data.join("postmaster.pid");
        // The eighth line of it is the server's state.
        while !fs::read_to_string(&state)
            .is_ok_and(|text| text.lines().nth(7).is_some_and(|l| l.trim() == "ready"))
        {
            let log = self.log().split_off(told);
            assert!(
                Instant::now() < until && !log.contains("FATAL:  "),
                "the server does not start: {log}"
            );
            std::thread::sleep(LOOK_AGAIN);
        }
    }

    /// Ends the server as a crash would: nothing is written any more, and connections are cut.
    pub fn crash(&mut self) {
        if let Some(server) = self.server.take() {
            server.end();
        }
    }

    /// Everything that the server has said.
    #[must_use]
    pub fn log(&self) -> String {
        fs::read_to_string(self.folder.join("log")).unwrap_or_default()
    }

    /// The folder with the Unix socket.
    #[must_use]
    pub fn socket_folder(&self) -> &Path {
        &self.folder
    }

    #[must_use]
    pub fn port(&self) -> u16 {
        self.port
    }

    /// The Unix socket.
    #[must_use]
    pub fn socket(&self) -> PathBuf {
        socket_in(&self.folder, self.port)
    }

    /// Makes a new database.
    ///
    /// # Panics
    ///
    /// If it can't be made.
    #[must_use]
    pub fn database(&self) -> Database {
        let n = self.databases.fetch_add(1, Ordering::Relaxed) + 1;
        let name = format!("test_{n}");
        self.sql("postgres", &format!("CREATE DATABASE {name}"));
        Database {
            host: self.folder.clone(),
            port: self.port,
            has_tcp: self.has_tcp,
            name,
        }
    }

    /// Runs statements as the superuser by `psql`, and returns what it printed: columns with `|` between them.
    ///
    /// # Panics
    ///
    /// If one fails.
    pub fn sql(&self, database: &str, text: &str) -> String {
        psql(&self.folder, self.port, database, text)
            .unwrap_or_else(|said| panic!("{said}: {text}"))
    }
}

impl Drop for Cluster {
    fn drop(&mut self) {
        self.crash();
        let _ = fs::remove_dir_all(&self.folder);
    }
}

/// A database of a cluster.
#[derive(Debug, Clone)]
pub struct Database {
    host: PathBuf,
    port: u16,
    has_tcp: bool,
    name: String,
}

impl Database {
    #[must_use]
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Where the superuser finds it.
    #[must_use]
    pub fn url(&self) -> String {
        let (host, port, name) = (in_url(&self.host), self.port, &self.name);
        format!("postgres://{SUPERUSER}@{host}:{port}/{name}")
    }

    /// Where a role finds it, by a password of letters and digits.
    #[must_use]
    pub fn url_of(&self, role: &str, password: &str) -> String {
        self.url_at(&self.host, self.port, role, password)
    }

    /// Where a role finds it over TCP.
    ///
    /// # Panics
    ///
    /// If the cluster was made without TCP.
    #[must_use]
    pub fn tcp_url_of(&self, role: &str, password: &str) -> String {
        assert!(self.has_tcp, "the cluster was made without TCP");
        let (port, name) = (self.port, &self.name);
        format!("postgres://{role}:{password}@127.0.0.1:{port}/{name}")
    }

    /// Where a role finds it through a pooler or a proxy with a socket in that folder.
    #[must_use]
    pub fn url_at(&self, folder: &Path, port: u16, role: &str, password: &str) -> String {
        let (host, name) = (in_url(folder), &self.name);
        format!("postgres://{role}:{password}@{host}:{port}/{name}")
    }

    /// Runs statements as the superuser by `psql`, and returns what it printed: columns with `|` between them.
    ///
    /// # Panics
    ///
    /// If one fails.
    pub fn sql(&self, text: &str) -> String {
        self.try_sql(text)
            .unwrap_or_else(|said| panic!("{said}: {text}"))
    }

    /// The same, with what `psql` said where one fails.
    ///
    /// # Errors
    ///
    /// The server's message.
    pub fn try_sql(&self, text: &str) -> Result<String, String> {
        psql(&self.host, self.port, &self.name, text)
    }
}

/// The real pgbouncer in front of a cluster, in transaction pooling: a connection to the server is another client's
/// after each transaction.
#[derive(Debug)]
pub struct Pgbouncer {
    folder: PathBuf,
    server: Option<Held>,
}

impl Pgbouncer {
    /// Starts one for these roles, each with its password, with at most so many connections to the server for a role
    /// and a database.
    ///
    /// # Panics
    ///
    /// If it is missing or does not start.
    #[must_use]
    pub fn start(cluster: &Cluster, roles: &[(&str, &str)], pool: u32) -> Self {
        let user = ServiceUser::find();
        let folder = user.folder("ralph-pgb");
        let users: String = roles
            .iter()
            .map(|(role, password)| format!("\"{role}\" \"{password}\"\n"))
            .collect();
        user.write(&folder.join("users"), &users);
        let config = format!(
            "[databases]
* = host={host} port={port}
[pgbouncer]
listen_addr =
listen_port = {POOLER_PORT}
unix_socket_dir = {own}
auth_type = scram-sha-256
auth_file = {own}/users
pool_mode = transaction
default_pool_size = {pool}
max_client_conn = 1000
ignore_startup_parameters = extra_float_digits
log_connections = 0
log_disconnections = 0
",
            host = cluster.folder.display(),
            port = cluster.port,
            own = folder.display(),
        );
        let file = folder.join("pgbouncer.ini");
        user.write(&file, &config);
        let pooler = Path::new("/usr/sbin/pgbouncer");
        assert!(
            pooler.exists(),
            "{} is missing: install Debian's package pgbouncer",
            pooler.display()
        );
        let server = Held::run(
            &user,
            &folder,
            "KILL",
            &[pooler.to_owned(), "-q".into(), file],
        );
        let pooler = Self {
            folder,
            server: Some(server),
        };
        let until = Instant::now() + STARTING;
        while std::os::unix::net::UnixStream::connect(pooler.socket()).is_err() {
            assert!(
                Instant::now() < until,
                "pgbouncer does not start: {}",
                pooler.log()
            );
            std::thread::sleep(LOOK_AGAIN);
        }
        pooler
    }

    /// Where a role finds a database through it.
    #[must_use]
    pub fn url_of(&self, database: &Database, role: &str, password: &str) -> String {
        database.url_at(&self.folder, POOLER_PORT, role, password)
    }

    #[must_use]
    pub fn socket(&self) -> PathBuf {
        socket_in(&self.folder, POOLER_PORT)
    }

    #[must_use]
    pub fn log(&self) -> String {
        fs::read_to_string(self.folder.join("log")).unwrap_or_default()
    }
}

impl Drop for Pgbouncer {
    fn drop(&mut self) {
        if let Some(server) = self.server.take() {
            server.end();
        }
        let _ = fs::remove_dir_all(&self.folder);
    }
}

/// The socket's name in its folder, as the server and its clients know it.
pub(crate) fn socket_in(folder: &Path, port: u16) -> PathBuf {
    folder.join(format!(".s.PGSQL.{port}"))
}

/// A folder as the host of a URL.
fn in_url(folder: &Path) -> String {
    folder.display().to_string().replace('/', "%2F")
}

fn psql(host: &Path, port: u16, database: &str, text: &str) -> Result<String, String> {
    let mut psql = Command::new(program("psql"))
        .args(["-X", "-q", "-A", "-t", "-v", "ON_ERROR_STOP=1", "-f", "-"])
        .arg("-h")
        .arg(host)
        .args(["-p", &port.to_string(), "-U", SUPERUSER, "-d", database])
        .env_remove("PGOPTIONS")
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("psql can be started");
    let mut input = psql.stdin.take().expect("its input is a pipe");
    // One that ended early says why.
    let _ = input.write_all(text.as_bytes());
    drop(input);
    let output = psql.wait_with_output().expect("psql ends");
    let said = String::from_utf8_lossy(&output.stderr).trim().to_owned();
    if !output.status.success() {
        return Err(said);
    }
    Ok(String::from_utf8_lossy(&output.stdout)
        .trim_end()
        .to_owned())
}

/// A program of the newest PostgreSQL that is here. Debian keeps them outside of the `PATH`.
///
/// # Panics
///
/// If there is none, or none that is new enough.
#[must_use]
pub fn program(name: &str) -> PathBuf {
    static FOLDER: OnceLock<PathBuf> = OnceLock::new();
    let folder = FOLDER.get_or_init(|| {
        if let Some(folder) = std::env::var_os("RALPH_POSTGRES_BIN") {
            return folder.into();
        }
        let versions = fs::read_dir("/usr/lib/postgresql").into_iter().flatten();
        versions
            .filter_map(|entry| entry.ok()?.file_name().to_str()?.parse::<u32>().ok())
            .filter(|version| *version >= 15)
            .max()
            .map(|version| PathBuf::from(format!("/usr/lib/postgresql/{version}/bin")))
            .expect("PostgreSQL 15 or newer is missing: install Debian's package postgresql")
    });
    let path = folder.join(name);
    assert!(
        path.exists(),
        "{} is missing: install Debian's package postgresql, or name the folder in RALPH_POSTGRES_BIN",
        path.display()
    );
    path
}

/// A cluster as `initdb` leaves it, made once for all tests and copied by each: that takes a tenth of the time.
fn template(user: &ServiceUser) -> PathBuf {
    let workspace = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let workspace = workspace.canonicalize().expect("the workspace is there");
    let target = match std::env::var_os("CARGO_TARGET_DIR").filter(|value| !value.is_empty()) {
        Some(folder) => workspace.join(folder),
        None => workspace.join("target"),
    };
    let folder = target.join("postgres");
    fs::create_dir_all(&folder).expect("a folder for the template can be made");
    let version = Command::new(program("postgres")).arg("--version").output();
    let version = version.expect("postgres can be started").stdout;
    let version: String = String::from_utf8_lossy(&version)
        .chars()
        .map(|c| if c.is_ascii_alphanumeric() { c } else { '-' })
        .collect();
    let version = version.trim_matches('-');
    let made = folder.join(format!("{version}-of-{}", user.uid));
    let lock = File::create(folder.join("lock")).expect("the lock of the template can be made");
    lock.lock().expect("the template can be locked");
    if made.exists() {
        return made;
    }
    // The service's user may not be able to reach the target folder.
    let scratch = user.folder("ralph-initdb");
    let data = scratch.join("data");
    let password = scratch.join("password");
    user.write(&password, SUPERUSER_PASSWORD);
    // Sorted as people sort, as most servers do: what relies on the order of bytes has to say so itself.
    let mut initdb = user.command(&program("initdb"), "KILL");
    let output = initdb
        .arg("-D")
        .arg(&data)
        .args(["-U", SUPERUSER, "-E", "UTF8", "--no-sync"])
        .args(["--locale=C.UTF-8", "--locale-provider=icu"])
        .args(["--icu-locale=en-US", "--wal-segsize=1"])
        .args(["--auth=scram-sha-256", "--pwfile"])
        .arg(&password)
        .current_dir(&scratch)
        .output()
        .expect("initdb can be started");
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "initdb failed: {said}");
    // Whole or not there: a test that is killed meanwhile leaves no half of one under its name.
    let half = folder.join("half");
    let _ = fs::remove_dir_all(&half);
    copy(&data, &half);
    fs::rename(&half, &made).expect("the template can be renamed");
    let _ = fs::remove_dir_all(&scratch);
    made
}

fn copy(from: &Path, to: &Path) {
    let copied = Command::new("cp")
        .args(["-a", "--reflink=auto", "--"])
        .args([from, to])
        .status();
    assert!(
        copied.is_ok_and(|status| status.success()),
        "can't copy {} to {}",
        from.display(),
        to.display()
    );
}

fn free_port() -> u16 {
    let listener = std::net::TcpListener::bind(("127.0.0.1", 0)).expect("a port is free");
    listener.local_addr().expect("it has an address").port()
}

/// Whom the servers run as: the caller, or a user without rights where the caller is root.
struct ServiceUser {
    uid: u32,
    gid: u32,
    is_other: bool,
}

impl ServiceUser {
    fn find() -> Self {
        let is_root = rustix::process::getuid().is_root();
        if !is_root {
            return Self {
                uid: rustix::process::getuid().as_raw(),
                gid: rustix::process::getgid().as_raw(),
                is_other: false,
            };
        }
        let users = fs::read_to_string("/etc/passwd").expect("/etc/passwd can be read");
        let ids_by = |at: usize, value: &str| {
            let is_it = |line: &&str| line.split(':').nth(at) == Some(value);
            let line = users.lines().find(is_it)?;
            let mut fields = line.split(':').skip(2).map(str::parse::<u32>);
            Some((fields.next()?.ok()?, fields.next()?.ok()?))
        };
        let (uid, gid) = ids_by(0, "postgres")
            .or_else(|| ids_by(2, "65534"))
            .expect("PostgreSQL does not run as root, and there is no user postgres and none with uid 65534");
        Self {
            uid,
            gid,
            is_other: true,
        }
    }

    /// A command that runs as this user and gets a signal when its parent ends.
    fn command(&self, program: &Path, signal: &str) -> Command {
        let mut command = Command::new("setpriv");
        if self.is_other {
            command.arg(format!("--reuid={}", self.uid));
            command.arg(format!("--regid={}", self.gid));
            command.arg("--clear-groups");
        }
        command.args(["--pdeathsig", signal, "--"]).arg(program);
        command
            .env_clear()
            .env("PATH", "/usr/sbin:/usr/bin:/sbin:/bin");
        command.env("LC_ALL", "C.UTF-8");
        command
    }

    /// A new folder that this user can reach: a socket's path has to be short.
    fn folder(&self, name: &str) -> PathBuf {
        let folder = tempfile::Builder::new()
            .prefix(&format!("{name}-"))
            .tempdir_in("/tmp")
            .expect("a folder can be made")
            .keep();
        fs::set_permissions(&folder, fs::Permissions::from_mode(0o700)).expect("it is our own");
        self.give(&folder);
        folder
    }

    fn write(&self, path: &Path, text: &str) {
        fs::write(path, text).expect("a file can be written");
        fs::set_permissions(path, fs::Permissions::from_mode(0o600)).expect("it is our own");
        self.give(path);
    }

    fn give(&self, path: &Path) {
        if self.is_other {
            chown(path, Some(self.uid), Some(self.gid)).expect("root can give a file away");
        }
    }
}

/// The script of the shell that holds a server: it waits for a word on its input, or for the end of the process that has the other end, and
/// signals the server, which is its own child. Where no word came it deletes the folder too.
const HOLDER: &str = r#"
trap '' INT TERM HUP
folder=$1
signal=$2
shift 2
"$@" </dev/null >>"$folder/log" 2>&1 &
pid=$!
read -r word
kill -s "$signal" "$pid" 2>/dev/null
wait "$pid"
[ -n "$word" ] || rm -rf -- "$folder"
"#;

/// A server and the shell that holds it.
#[derive(Debug)]
struct Held {
    shell: Child,
    input: ChildStdin,
}

impl Held {
    /// Runs a server that this signal ends, with all that it has started.
    fn run(user: &ServiceUser, folder: &Path, signal: &str, server: &[PathBuf]) -> Self {
        let (program, arguments) = server.split_first().expect("there is a program");
        let command = user.command(program, signal);
        let mut shell = Command::new("/bin/sh")
            .args(["-c", HOLDER, "sh"])
            .arg(folder)
            .arg(signal)
            .arg(command.get_program())
            .args(command.get_args())
            .args(arguments)
            .current_dir(folder)
            .env_clear()
            .envs(
                command
                    .get_envs()
                    .filter_map(|(key, value)| Some((key, value?))),
            )
            .stdin(Stdio::piped())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .expect("a shell can be started");
        let input = shell.stdin.take().expect("its input is a pipe");
        Self { shell, input }
    }

    /// Ends the server and waits until it is gone. Its folder stays.
    fn end(mut self) {
        let _ = writeln!(self.input, "end");
        let _ = self.shell.wait();
    }
}
