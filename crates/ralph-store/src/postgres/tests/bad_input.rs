//! Bad URLs, passwords, tenants, roles and servers: each is said in one line.

use std::{error::Error as _, time::Duration};

use ralph_testkit::{
    postgres::Pgbouncer,
    proxy::{Endpoint, Proxy, Way},
};

use super::{
    super::{PasswordSources, Scope, StoreConnection, StoreError, schema},
    *,
};

#[test]
fn a_url_is_read_or_refused_by_what_is_wrong_with_it() {
    let read = |text: &str| StoreUrl::parse(text, &UrlSource::Environment);
    for (text, shown, server) in [
        (
            "postgres://ann@db.test/work",
            "postgres://ann@db.test:5432/work",
            "db.test",
        ),
        (
            "postgresql://ann:s3cret@db.test:6432/work",
            "postgres://ann@db.test:6432/work",
            "db.test:6432",
        ),
        (
            "postgres://ann@%2Frun%2Fpg/work",
            "postgres://ann@%2Frun%2Fpg:5432/work",
            "/run/pg",
        ),
        (
            "postgres:///work?host=/run/pg&user=ann&port=5433",
            "postgres://ann@%2Frun%2Fpg:5433/work",
            "/run/pg",
        ),
        (
            "postgres://a%40b:%2F%3A%40@[::1]/w%20k",
            "postgres://a%40b@[::1]:5432/w%20k",
            "::1",
        ),
        (
            "postgres://ann@db.test/work?sslmode=verify-full&sslrootcert=/ca.pem",
            "postgres://ann@db.test:5432/work",
            "db.test",
        ),
        (
            "postgres://ann@localhost/work?sslmode=disable",
            "postgres://ann@localhost:5432/work",
            "localhost",
        ),
    ] {
        let url = read(text).unwrap();
        assert_eq!(
            (url.to_string().as_str(), url.server().as_str()),
            (shown, server)
        );
        assert!(!format!("{url:?}").contains("s3cret"));
    }
    for (text, why) in [
        (
            "mysql://ann@db.test/work",
            "it does not begin with postgres://",
        ),
        ("db.test", "it does not begin with postgres://"),
        ("postgres://db.test/work", "it names no role"),
        ("postgres://ann@db.test", "it names no database"),
        ("postgres://ann@/work", "it names no host"),
        ("postgres://ann@one,two/work", "it names several hosts"),
        (
            "postgres://ann:a/b@db.test/work",
            "its port is no number (a / or @ in a password is written %2F or %40)",
        ),
        (
            "postgres://ann@db.test:0/work",
            "its port is no number (a / or @ in a password is written %2F or %40)",
        ),
        (
            "postgres://ann:50%@db.test/work",
            "it has a % without two digits behind it, which is written %25",
        ),
        (
            "postgres://ann@db.test/work?sslmode=yes",
            "there is no sslmode yes",
        ),
        (
            "postgres://ann@db.test/work?options=-cx",
            "it has the parameter options, and only host, port, user, dbname, sslmode, sslrootcert and connect_timeout are known",
        ),
    ] {
        let refused = read(text).unwrap_err();
        assert_eq!(
            refused.to_string(),
            format!("the store's URL can't be used: {why}")
        );
        assert!(refused.hint().is_some());
    }
    let file = UrlSource::File("/project/ralph.yaml".into());
    let refused = StoreUrl::parse("postgres://ann:s3cret@db.test/work", &file).unwrap_err();
    assert_eq!(
        refused.to_string(),
        "the store's URL in /project/ralph.yaml holds a password"
    );
    StoreUrl::parse("postgres://ann@db.test/work", &file).unwrap();
    for mode in ["disable", "allow", "prefer", "require", "verify-ca"] {
        let refused = read(&format!("postgres://ann@db.test/work?sslmode={mode}")).unwrap_err();
        assert_eq!(
            refused.to_string(),
            format!("sslmode={mode} does not make sure who db.test is")
        );
    }
}

#[test]
fn a_password_is_found_where_it_may_be_in_their_order() {
    use std::os::unix::fs::PermissionsExt as _;
    let folder = tempfile::tempdir().unwrap();
    let write = |name: &str, text: &str, mode: u32| {
        let path = folder.path().join(name);
        std::fs::write(&path, text).unwrap();
        std::fs::set_permissions(&path, std::fs::Permissions::from_mode(mode)).unwrap();
        path
    };
    let file = write("password", "of-file\nrest\n", 0o600);
    let pgpass = write(
        "pgpass",
        "# a comment\nother:*:*:*:no\ndb.test:5432:work:bob:no\ndb.test:*:work:ann:with\\:colon\\\\\n*:*:*:*:any\n",
        0o600,
    );
    let found = |text: &str, from: &PasswordSources| {
        let url = url(text).with_password(from).unwrap();
        sqlx::ConnectOptions::to_url_lossy(&url.options())
            .password()
            .map(str::to_owned)
    };
    let all = PasswordSources {
        value: Some("of-variable".into()),
        file: Some(file.clone()),
        pgpass: Some(pgpass.clone()),
    };
    let without_value = PasswordSources {
        value: None,
        ..all.clone()
    };
    let pgpass_alone = PasswordSources {
        file: None,
        ..without_value.clone()
    };
    let plain = "postgres://ann@db.test/work";
    assert_eq!(
        found("postgres://ann:own@db.test/work", &all).as_deref(),
        Some("own")
    );
    assert_eq!(found(plain, &all).as_deref(), Some("of%2Dvariable"));
    assert_eq!(found(plain, &without_value).as_deref(), Some("of%2Dfile"));
    assert_eq!(
        found(plain, &pgpass_alone).as_deref(),
        Some("with%3Acolon%5C")
    );
    assert_eq!(
        found("postgres://eve@db.test/work", &pgpass_alone).as_deref(),
        Some("any")
    );
    let none = PasswordSources::default();
    assert!(!url(plain).with_password(&none).unwrap().has_password());
    // One that is named has to be there, and a secret is its owner's alone.
    let missing = PasswordSources {
        file: Some(folder.path().join("missing")),
        ..PasswordSources::default()
    };
    let refused = url(plain).with_password(&missing).unwrap_err();
    assert!(
        refused
            .to_string()
            .starts_with("can't read the store's password from "),
        "{refused}"
    );
    let open = PasswordSources {
        file: Some(write("open", "x", 0o640)),
        ..PasswordSources::default()
    };
    let refused = url(plain).with_password(&open).unwrap_err();
    assert!(
        matches!(refused, StoreError::OpenPasswordFile { .. }),
        "{refused}"
    );
    let environment = |name: &str| match name {
        "PGPASSWORD" => Some("s3cret".into()),
        "HOME" => Some("/users/ann".into()),
        _ => None,
    };
    let sources = PasswordSources::from_environment(environment);
    assert_eq!(sources.pgpass, Some("/users/ann/.pgpass".into()));
    assert!(!format!("{sources:?}").contains("s3cret"));
}

async fn refusal(text: &str) -> StoreError {
    StoreConnection::open(&url(text)).await.unwrap_err()
}

#[tokio::test]
async fn what_keeps_a_connection_from_being_made_is_said_in_one_line() {
    let cluster = Cluster::options().tcp().start();
    let store = Store::on(&cluster).await;
    let (role, password) = store.role("any", None).await;
    let database = &store.database;
    let server = cluster.socket_folder().display().to_string();
    let refused = refusal(&database.url_of(&role, "wrong")).await;
    assert_eq!(
        refused.to_string(),
        format!("the store at {server} refuses {role}: wrong password, or no such role")
    );
    let refused = refusal(&database.url_of("stranger", "x")).await;
    assert!(
        matches!(refused, StoreError::WrongPassword { .. }),
        "{refused:?}"
    );
    let refused = refusal(&database.url().replace(database.name(), "absent")).await;
    assert_eq!(
        refused.to_string(),
        format!("the store at {server} has no database absent")
    );
    let refused = refusal("postgres://ann@%2Fnowhere/work").await;
    assert_eq!(refused.to_string(), "can't reach the store at /nowhere");
    assert!(refused.is_away() && refused.source().is_some());
    let refused = refusal("postgres://ann@localhost:1/work").await;
    assert_eq!(refused.to_string(), "can't reach the store at localhost:1");
    // No TLS there, and a host that is not this machine would need it.
    let strict = format!(
        "{}?sslmode=verify-full",
        database.tcp_url_of(&role, &password)
    );
    let refused = refusal(&strict).await;
    assert!(matches!(refused, StoreError::Tls { .. }), "{refused:?}");
    StoreConnection::open(&url(&database.tcp_url_of(&role, &password)))
        .await
        .unwrap();
    // A server that says nothing.
    let proxy = Proxy::unix(Endpoint::Unix(cluster.socket()));
    proxy.stall();
    let silent = database.url_at(proxy.socket_folder(), 5432, &role, &password);
    let refused = refusal(&format!("{silent}?connect_timeout=1")).await;
    assert!(matches!(refused, StoreError::Silent { .. }), "{refused:?}");
}

#[tokio::test]
async fn a_pooler_refuses_in_the_same_words() {
    let cluster = Cluster::start();
    let store = Store::on(&cluster).await;
    let (role, password) = store.role("any", None).await;
    let pooler = Pgbouncer::start(&cluster, &[(&role, &password)], 2);
    let good = pooler.url_of(&store.database, &role, &password);
    let mut connection = StoreConnection::open(&url(&good)).await.unwrap();
    connection.tenant("a").await.unwrap();
    let refused = refusal(&pooler.url_of(&store.database, &role, "wrong")).await;
    assert!(
        matches!(refused, StoreError::WrongPassword { .. }),
        "{refused:?}"
    );
    let refused = refusal(&pooler.url_of(&store.database, "stranger", "x")).await;
    assert!(
        matches!(refused, StoreError::WrongPassword { .. }),
        "{refused:?}"
    );
    let absent = url(&good).in_database("absent");
    let refused = StoreConnection::open(&absent).await.unwrap_err();
    assert!(
        matches!(refused, StoreError::NoDatabase { .. }),
        "{refused:?}"
    );
}

#[tokio::test]
async fn tls_makes_sure_who_the_server_is() {
    let folder = tempfile::tempdir().unwrap();
    let (certificate, key) = (folder.path().join("crt"), folder.path().join("key"));
    let made = std::process::Command::new("openssl")
        .args([
            "req",
            "-x509",
            "-newkey",
            "ec",
            "-pkeyopt",
            "ec_paramgen_curve:prime256v1",
            "-nodes",
        ])
        .args([
            "-days",
            "3650",
            "-subj",
            "/CN=localhost",
            "-addext",
            "subjectAltName=DNS:localhost",
        ])
        .args(["-addext", "basicConstraints=critical,CA:FALSE"])
        .arg("-out")
        .arg(&certificate)
        .arg("-keyout")
        .arg(&key)
        .output()
        .expect("openssl is missing: install Debian's package openssl");
    assert!(made.status.success());
    let text = |path: &std::path::Path| std::fs::read_to_string(path).unwrap();
    let cluster = Cluster::options()
        .tls(&text(&certificate), &text(&key))
        .start();
    let store = Store::on(&cluster).await;
    let (role, password) = store.role("any", None).await;
    let plain = store.database.tcp_url_of(&role, &password);
    let strict = format!("{plain}?sslmode=verify-full");
    let trusted = format!("{strict}&sslrootcert={}", certificate.display());
    // An authority that was not named, another host's name, and the right one.
    assert!(matches!(refusal(&strict).await, StoreError::Tls { .. }));
    let refused = refusal(&trusted).await;
    assert!(matches!(refused, StoreError::Tls { .. }), "{refused:?}");
    assert!(refused.hint().is_some());
    let by_name = trusted.replace("127.0.0.1", "localhost");
    let mut connection = StoreConnection::open(&url(&by_name)).await.unwrap();
    let asked = sqlx::query_scalar("SELECT ssl FROM pg_stat_ssl WHERE pid = pg_backend_pid()");
    let is_safe: bool = asked.fetch_one(connection.db()).await.unwrap();
    assert!(is_safe);
}

#[tokio::test]
async fn what_a_role_may_not_or_does_not_find_is_named() {
    let store = Store::new().await;
    let bound = store.url_of("bound", Some("a")).await;
    let mut connection = StoreConnection::open(&bound).await.unwrap();
    let refused = connection.tenant("b").await.unwrap_err();
    let (database, role) = (store.database.name(), bound.role());
    assert_eq!(
        refused.to_string(),
        format!("the store {database} has no tenant b for {role}")
    );
    let refused = admin::add_tenant(&bound, "c").await.unwrap_err();
    assert_eq!(
        refused.to_string(),
        format!("the store's role {role} may not add a tenant")
    );
    // One without any right here.
    store.database.sql(&format!(
        "CREATE ROLE {database}_stranger LOGIN PASSWORD 'x'"
    ));
    let stranger = url(&store.database.url_of(&format!("{database}_stranger"), "x"));
    let mut connection = StoreConnection::open(&stranger).await.unwrap();
    let refused = connection.tenant("a").await.unwrap_err();
    assert!(matches!(refused, StoreError::NoRight { .. }), "{refused:?}");
    assert!(refused.hint().is_some());
    // A database that was never set up.
    let empty = Cluster::shared().database();
    let mut connection = StoreConnection::open(&url(&empty.url())).await.unwrap();
    let mut tx = connection.begin("test", &Scope::default()).await.unwrap();
    let refused = schema::require(&mut tx).await.unwrap_err();
    assert_eq!(
        refused.to_string(),
        format!("the store {} is not set up", empty.name())
    );
    assert_eq!(refused.hint(), Some("run `ralph db init`"));
    tx.rollback().await.unwrap();
    let refused = connection.tenant("a").await.unwrap_err();
    assert!(
        matches!(refused, StoreError::SchemaAbsent { .. }),
        "{refused:?}"
    );
}

#[tokio::test]
async fn a_lost_connection_and_a_conflict_are_told_apart() {
    let store = Store::new().await;
    let proxy = Proxy::unix(Endpoint::Unix(Cluster::shared().socket()));
    let (role, password) = store.role("any", None).await;
    let through = url(&store
        .database
        .url_at(proxy.socket_folder(), 5432, &role, &password));
    let mut connection = StoreConnection::open(&through).await.unwrap();
    let id = connection.tenant("a").await.unwrap();
    for cut in ["INSERT INTO ralph.budget", "COMMIT"] {
        proxy.cut_within(Way::Up, cut);
        let written = write_budget(&mut connection, id).await;
        let lost = written.unwrap_err();
        assert!(matches!(lost, StoreError::Lost { .. }), "{lost:?}");
        assert!(lost.is_away() && !lost.is_conflict());
        connection = StoreConnection::open(&through).await.unwrap();
    }
    assert_eq!(store.database.sql("SELECT count(*) FROM ralph.budget"), "0");
    write_budget(&mut connection, id).await.unwrap();
    // Two serializable transactions that read what the other one writes.
    let scope = Scope {
        isolation: super::super::Isolation::RepeatableRead,
        ..Scope::of(id)
    };
    let mut other = StoreConnection::open(&through).await.unwrap();
    let mut tx = connection.begin("test", &scope).await.unwrap();
    let read = "SELECT usd FROM ralph.budget";
    sqlx::query(read)
        .persistent(false)
        .fetch_all(tx.db())
        .await
        .unwrap();
    let mut first = other.begin("test", &scope).await.unwrap();
    let write = "UPDATE ralph.budget SET usd = usd + 1";
    schema::run(first.db(), write).await.unwrap();
    first.commit("test").await.unwrap();
    let result = schema::run(tx.db(), write).await;
    let conflict = tx.fail("test", result).unwrap_err();
    assert!(conflict.is_conflict(), "{conflict:?}");
    tx.rollback().await.unwrap();
}

async fn write_budget(connection: &mut StoreConnection, id: uuid::Uuid) -> Result<(), StoreError> {
    let mut tx = connection.begin("test", &Scope::of(id)).await?;
    let insert = "INSERT INTO ralph.budget (per, usd, set_by) VALUES ('day', 1, 'ann')";
    let inserted = schema::run(tx.db(), insert).await;
    tx.fail("test", inserted)?;
    tx.commit("test").await
}

#[tokio::test]
async fn a_full_disk_is_said_as_such_and_nothing_is_half_done() {
    let store = Store::new().await;
    let app = store.url_of("any", None).await;
    let mut connection = StoreConnection::open(&app).await.unwrap();
    let id = connection.tenant("a").await.unwrap();
    // What the server says then, said by a trigger: the disk itself is everyone's.
    store.database.sql(
        "CREATE FUNCTION public.full() RETURNS trigger LANGUAGE plpgsql AS $$
         BEGIN RAISE EXCEPTION 'could not extend file' USING ERRCODE = 'disk_full'; END $$;
         CREATE TRIGGER full_disk AFTER INSERT ON ralph.budget FOR EACH ROW EXECUTE FUNCTION public.full()",
    );
    let refused = write_budget(&mut connection, id).await.unwrap_err();
    let server = Cluster::shared().socket_folder().display();
    assert_eq!(
        refused.to_string(),
        format!("the store can't test: the disk of {server} is full")
    );
    assert_eq!(store.database.sql("SELECT count(*) FROM ralph.budget"), "0");
}

#[tokio::test]
async fn a_transaction_that_sleeps_holds_its_rows_no_longer_than_a_minute() {
    let store = Store::new().await;
    let mut connection = StoreConnection::open(&store.admin).await.unwrap();
    let mut tx = connection.begin("test", &Scope::default()).await.unwrap();
    let show = "SELECT current_setting('idle_in_transaction_session_timeout')";
    let shown: String = sqlx::query_scalar(show).fetch_one(tx.db()).await.unwrap();
    assert_eq!(shown, "1min");
    tx.commit("test").await.unwrap();
    let shown: String = sqlx::query_scalar(show)
        .fetch_one(connection.db())
        .await
        .unwrap();
    assert_eq!(shown, "0");
    assert!(Duration::from_secs(60) > connection_time());
}

/// The URL's own limit is far below it.
fn connection_time() -> Duration {
    url("postgres://ann@db.test/work").timeout()
}
