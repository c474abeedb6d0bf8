//! The servers that tests start: they answer, end with their test, and what stands between fails as it is told to.

#![allow(clippy::unwrap_used, clippy::print_stdout)]

use std::{
    io::{Read as _, Write as _},
    os::unix::net::UnixStream,
    path::PathBuf,
    time::{Duration, Instant},
};

use ralph_testkit::{
    postgres::{Cluster, Pgbouncer},
    proxy::{Endpoint, Proxy, Way},
};

const LIMIT: Duration = Duration::from_secs(20);

/// Waits until nothing listens there any more.
fn wait_until_gone(socket: &PathBuf) {
    let until = Instant::now() + LIMIT;
    while UnixStream::connect(socket).is_ok() {
        assert!(Instant::now() < until, "{} still answers", socket.display());
        std::thread::yield_now();
    }
}

#[test]
fn a_cluster_answers_and_is_gone_with_its_test() {
    let cluster = Cluster::start();
    let database = cluster.database();
    assert_eq!(database.sql("SELECT 1 + 1"), "2");
    // Sorted as people sort: what needs another order has to say so.
    assert_eq!(
        database.sql("SELECT 'a' < 'B', 'a' < 'B' COLLATE \"C\""),
        "t|f"
    );
    assert!(
        database
            .try_sql("SELECT 1 / 0")
            .unwrap_err()
            .contains("division by zero")
    );
    assert_ne!(cluster.database().name(), database.name());
    let (socket, folder) = (cluster.socket(), cluster.socket_folder().to_owned());
    drop(cluster);
    wait_until_gone(&socket);
    assert!(!folder.exists());
}

#[test]
fn a_cluster_that_crashed_starts_again_with_what_was_committed() {
    let mut cluster = Cluster::start();
    let database = cluster.database();
    database.sql("CREATE TABLE kept (n int); INSERT INTO kept VALUES (7)");
    cluster.crash();
    assert!(database.try_sql("SELECT 1").is_err());
    cluster.start_again();
    assert_eq!(database.sql("SELECT n FROM kept"), "7");
}

#[test]
fn a_cluster_ends_with_a_test_process_that_is_killed() {
    // This test once more, as a process that is killed while its cluster runs.
    if std::env::var_os("RALPH_TEST_HOLDS_A_CLUSTER").is_some() {
        let cluster = Cluster::start();
        println!("socket={}", cluster.socket().display());
        std::io::stdout().flush().unwrap();
        std::thread::sleep(LIMIT);
        return;
    }
    let mut test = std::process::Command::new(std::env::current_exe().unwrap())
        .args([
            "--exact",
            "a_cluster_ends_with_a_test_process_that_is_killed",
            "--nocapture",
        ])
        .env("RALPH_TEST_HOLDS_A_CLUSTER", "1")
        .stdout(std::process::Stdio::piped())
        .spawn()
        .unwrap();
    let mut output = test.stdout.take().unwrap();
    let mut said = String::new();
    let socket = loop {
        let mut more = [0; 256];
        let n = output.read(&mut more).unwrap();
        assert_ne!(n, 0, "it ended: {said}");
        said.push_str(&String::from_utf8_lossy(&more[..n]));
        if let Some((_, rest)) = said.split_once("socket=")
            && let Some((path, _)) = rest.split_once('\n')
        {
            break PathBuf::from(path.trim());
        }
    };
    UnixStream::connect(&socket).unwrap();
    test.kill().unwrap();
    test.wait().unwrap();
    wait_until_gone(&socket);
    let until = Instant::now() + LIMIT;
    while socket.parent().unwrap().exists() {
        assert!(Instant::now() < until, "its folder stayed");
        std::thread::yield_now();
    }
}

#[test]
fn tcp_needs_a_password_and_is_loopback_alone() {
    let cluster = Cluster::options().tcp().start();
    let database = cluster.database();
    let url = database.tcp_url_of("postgres", "postgres");
    assert!(url.contains("@127.0.0.1:"), "{url}");
    assert_eq!(database.sql("SHOW listen_addresses"), "127.0.0.1");
    let methods =
        database.sql("SELECT DISTINCT auth_method FROM pg_hba_file_rules WHERE type = 'host'");
    assert_eq!(methods, "scram-sha-256");
}

#[test]
fn pgbouncer_stands_in_front_of_a_cluster_and_goes_with_its_test() {
    let cluster = Cluster::start();
    let pooler = Pgbouncer::start(&cluster, &[("postgres", "postgres")], 2);
    let database = cluster.database();
    let psql = ralph_testkit::postgres::program("psql");
    let ask = |password: &str| {
        std::process::Command::new(&psql)
            .arg(pooler.url_of(&database, "postgres", password))
            .args(["-Atc", "SELECT current_database()"])
            .output()
            .unwrap()
    };
    assert_eq!(
        String::from_utf8(ask("postgres").stdout).unwrap().trim(),
        database.name()
    );
    assert!(!ask("wrong").status.success());
    let socket = pooler.socket();
    drop(pooler);
    wait_until_gone(&socket);
}

/// A server that says everything back, and its socket.
fn echo() -> (tempfile::TempDir, Endpoint) {
    let folder = tempfile::tempdir().unwrap();
    let socket = folder.path().join("echo");
    let listener = std::os::unix::net::UnixListener::bind(&socket).unwrap();
    std::thread::spawn(move || {
        for stream in listener.incoming().flatten() {
            std::thread::spawn(move || {
                let mut back = stream.try_clone().unwrap();
                let _ = std::io::copy(&mut &stream, &mut back);
            });
        }
    });
    (folder, Endpoint::Unix(socket))
}

fn connect(proxy: &Proxy) -> UnixStream {
    let Endpoint::Unix(socket) = proxy.endpoint() else {
        panic!("it has a Unix socket");
    };
    let stream = UnixStream::connect(socket).unwrap();
    stream.set_read_timeout(Some(LIMIT)).unwrap();
    stream
}

fn say(stream: &mut UnixStream, text: &str) -> std::io::Result<String> {
    stream.write_all(text.as_bytes())?;
    let mut back = vec![0; text.len()];
    stream.read_exact(&mut back)?;
    Ok(String::from_utf8(back).unwrap())
}

#[test]
fn a_proxy_passes_all_bytes_and_cuts_where_it_is_told_to() {
    let (_folder, server) = echo();
    let proxy = Proxy::unix(server);
    let mut stream = connect(&proxy);
    assert_eq!(say(&mut stream, "hello").unwrap(), "hello");
    assert_eq!((proxy.passed(Way::Up), proxy.passed(Way::Down)), (5, 5));

    proxy.cut_within(Way::Up, "COMMIT");
    stream.write_all(b"BEGIN COMMIT").unwrap();
    let mut back = Vec::new();
    let _ = stream.read_to_end(&mut back);
    // Up to the middle of it, and nothing behind.
    assert!(b"BEGIN COM".starts_with(&back[..]), "{back:?}");
    assert_eq!((proxy.passed(Way::Up), proxy.cuts()), (5 + 9, 1));

    let mut stream = connect(&proxy);
    proxy.cut_after(Way::Down, 7);
    assert_eq!(say(&mut stream, "12345").unwrap(), "12345");
    assert!(say(&mut stream, "67890").is_err());
    assert_eq!(proxy.accepted(), 2);

    let mut stream = connect(&proxy);
    assert_eq!(say(&mut stream, "a").unwrap(), "a");
    proxy.cut();
    assert!(say(&mut stream, "b").is_err());
    proxy.refuse(true);
    assert!(say(&mut connect(&proxy), "c").is_err());
    proxy.refuse(false);
    assert_eq!(say(&mut connect(&proxy), "d").unwrap(), "d");
}

#[test]
fn a_stalled_proxy_keeps_connections_and_passes_everything_later() {
    let (_folder, server) = echo();
    let proxy = Proxy::unix(server);
    let mut stream = connect(&proxy);
    proxy.stall();
    stream.write_all(b"late").unwrap();
    stream
        .set_read_timeout(Some(Duration::from_millis(100)))
        .unwrap();
    assert!(stream.read(&mut [0; 1]).is_err());
    stream.set_read_timeout(Some(LIMIT)).unwrap();
    proxy.resume();
    let mut back = [0; 4];
    stream.read_exact(&mut back).unwrap();
    assert_eq!(&back, b"late");
}
