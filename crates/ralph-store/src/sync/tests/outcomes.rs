//! The cases that a person may meet: copies, backups, clocks, servers that are gone, other, full or newer. Each has one outcome.

use std::{
    os::unix::{fs::MetadataExt as _, process::CommandExt as _},
    sync::Arc,
};

use ralph_testkit::postgres::Cluster;

use super::ground::{
    Machine, Store, TENANT, assert_same, content_there, options, origin_of, parse_url, real_clock,
};
use crate::{
    postgres::{StoreError, admin},
    sync::{SyncError, SyncFinding, SyncOptions, SyncReport, Syncer, new_identity, status},
};

async fn round(machine: &Machine, store: &Store) -> Result<SyncReport, SyncError> {
    let mut syncer = Syncer::open(machine.path(), options(store.url())).await?;
    let done = syncer.round().await;
    syncer.close().await?;
    done
}

fn assert_diverged(done: Result<SyncReport, SyncError>) {
    let error = done.unwrap_err();
    assert!(matches!(error, SyncError::Diverged { .. }), "{error}");
    let text = error.to_string();
    let expected = "of this journal that this journal does not know: it was restored from a backup, \
                    or its data folder was copied; nothing was sent";
    assert!(text.ends_with(expected), "{text}");
    let hint = error.hint().unwrap();
    assert!(hint.starts_with("`ralph sync --new-identity` "), "{hint}");
}

#[tokio::test]
async fn a_copied_data_folder_is_refused_once_it_differs_and_goes_on_under_a_new_name() {
    let store = Store::new(Cluster::shared()).await;
    let mut machine = Machine::new(20).await;
    machine.begin().await;
    machine.work(50).await;
    machine.sync(&store).await;
    let mut copy = machine.copy().await;
    // The same loop on both: one of them is first.
    machine.work(30).await;
    copy.work(30).await;
    machine.sync(&store).await;
    let origin = origin_of(&mut machine.db().await).await;
    let before = content_there(&store, &origin).await;
    assert_diverged(round(&copy, &store).await);
    assert_diverged(round(&copy, &store).await);
    assert_eq!(
        content_there(&store, &origin).await,
        before,
        "nothing was sent"
    );
    // Its loops go on meanwhile, and `ralph status` says it.
    copy.work(10).await;
    let said = status(copy.path(), real_clock()).await.unwrap().unwrap();
    assert!(said.last_error.unwrap().contains("was copied"));

    let name = new_identity(copy.path()).await.unwrap();
    assert_ne!(name, origin);
    let report = round(&copy, &store).await.unwrap();
    assert_eq!(report.findings, []);
    assert_same(&copy, &store, "the copy").await;
    machine.work(10).await;
    machine.sync(&store).await;
    assert_same(&machine, &store, "the first").await;
}

#[tokio::test]
async fn a_journal_that_was_restored_from_a_backup_is_refused_by_name() {
    let store = Store::new(Cluster::shared()).await;
    let mut machine = Machine::new(21).await;
    machine.begin().await;
    machine.sync(&store).await;
    let backup = machine.copy().await;
    machine.work(50).await;
    machine.sync(&store).await;
    backup.write_back(&machine);
    assert_diverged(round(&machine, &store).await);
    machine.work(80).await;
    assert_diverged(round(&machine, &store).await);
    new_identity(machine.path()).await.unwrap();
    round(&machine, &store).await.unwrap();
    assert_same(&machine, &store, "under a new name").await;
}

/// The database as it is now, to come back to.
fn backup_of(store: &Store, cluster: &Cluster, name: &str) -> String {
    let name = format!("{}_{name}", store.database.name());
    cluster.sql(
        "postgres",
        &format!(
            "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = '{0}';
             CREATE DATABASE {name} TEMPLATE {0}",
            store.database.name()
        ),
    );
    name
}

fn restore(store: &Store, cluster: &Cluster, backup: &str) {
    let name = store.database.name();
    cluster.sql(
        "postgres",
        &format!("SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = '{name}'"),
    );
    cluster.sql("postgres", &format!("DROP DATABASE {name}"));
    cluster.sql(
        "postgres",
        &format!("ALTER DATABASE {backup} RENAME TO {name}"),
    );
}

#[tokio::test]
async fn a_server_that_comes_back_from_an_older_backup_is_sent_what_it_misses() {
    let cluster = Cluster::start();
    let store = Store::new(&cluster).await;
    let mut machine = Machine::new(22).await;
    machine.begin().await;
    machine.work(100).await;
    machine.sync(&store).await;
    let at = store.number("SELECT seq FROM ralph.machine").await;
    let near = backup_of(&store, &cluster, "near");
    let far = backup_of(&store, &cluster, "far");
    store.connect_again().await;
    for _ in 0..3 {
        machine.work(60).await;
        machine.sync(&store).await;
    }
    restore(&store, &cluster, &near);
    store.connect_again().await;
    machine.work(5).await;
    let report = round(&machine, &store).await.unwrap();
    let is_all = false;
    assert_eq!(report.findings, [SyncFinding::ServerIsOlder { at, is_all }]);
    let said = format!(
        "the server came back from an older backup (at change {at}): what it misses is sent again"
    );
    assert_eq!(report.findings[0].to_string(), said);
    assert_same(&machine, &store, "a backup that is near").await;

    // Of one that is older than what is kept here, everything is sent; what was deleted since is deleted there too.
    machine.run("DELETE FROM task_state; DELETE FROM sync_change WHERE seq <= (SELECT acked_seq FROM sync_state)").await;
    machine
        .run("UPDATE sync_state SET pruned_to = acked_seq")
        .await;
    restore(&store, &cluster, &far);
    store.connect_again().await;
    assert!(store.number("SELECT count(*) FROM ralph.task_state").await > 0);
    let report = round(&machine, &store).await.unwrap();
    let is_all = true;
    assert_eq!(report.findings, [SyncFinding::ServerIsOlder { at, is_all }]);
    assert_same(&machine, &store, "a backup that is far").await;
    assert_eq!(round(&machine, &store).await.unwrap().findings, []);
}

#[tokio::test]
async fn a_server_that_lost_everything_is_sent_everything() {
    let store = Store::new(Cluster::shared()).await;
    let mut machine = Machine::new(23).await;
    machine.begin().await;
    machine.work(100).await;
    machine.sync(&store).await;
    let other = Store::new(Cluster::shared()).await;
    machine.work(10).await;
    let report = round(&machine, &other).await.unwrap();
    assert_eq!(report.findings, [SyncFinding::ServerIsEmpty]);
    assert_same(&machine, &other, "another server").await;
    // And the first is known again where it was left.
    machine.work(10).await;
    let report = round(&machine, &store).await.unwrap();
    assert!(
        matches!(report.findings[..], [SyncFinding::ServerIsOlder { .. }]),
        "{report:?}"
    );
    assert_same(&machine, &store, "the first server").await;
}

#[tokio::test]
async fn clocks_that_differ_by_a_day_change_nothing_and_are_told_of_once() {
    let store = Store::new(Cluster::shared()).await;
    for (hours, said) in [
        (24, "is 1440 minutes behind"),
        (-24, "is 1440 minutes ahead of"),
    ] {
        let mut machine = Machine::new(24).await;
        machine.begin().await;
        machine.work(50).await;
        let shifted = SyncOptions {
            clock: Arc::new(move || real_clock() + jiff::SignedDuration::from_hours(hours)),
            ..options(store.url())
        };
        let mut syncer = Syncer::open(machine.path(), shifted).await.unwrap();
        let report = syncer.round().await.unwrap();
        let found: Vec<String> = report.findings.iter().map(ToString::to_string).collect();
        assert!(found.len() == 1 && found[0].contains(said), "{found:?}");
        let origin = origin_of(&mut machine.db().await).await;
        store.command(&origin, r#"{"command":"ping"}"#).await;
        machine.work(50).await;
        let report = syncer.round().await.unwrap();
        assert_eq!((report.findings.len(), report.commands.len()), (0, 1));
        syncer.round().await.unwrap();
        assert_same(&machine, &store, said).await;
    }
}

/// The one line of an error.
async fn refusal(machine: &Machine, store: &Store) -> StoreError {
    match round(machine, store).await.unwrap_err() {
        SyncError::Store(error) => {
            assert!(!error.to_string().contains('\n'), "{error}");
            error
        }
        other => panic!("{other:?}"),
    }
}

#[tokio::test]
async fn a_store_that_can_not_be_used_is_named_and_everything_waits_for_it() {
    let store = Store::new(Cluster::shared()).await;
    let mut machine = Machine::new(25).await;
    machine.begin().await;
    machine.work(50).await;
    machine.sync(&store).await;
    machine.work(50).await;

    store
        .run("INSERT INTO ralph.schema_version (version, description, checksum) VALUES (9999, 'of the future', '')")
        .await;
    let error = refusal(&machine, &store).await;
    assert!(
        matches!(error, StoreError::SchemaNewer { found: 9999, .. }),
        "{error}"
    );
    store
        .run("DELETE FROM ralph.schema_version WHERE version = 9999")
        .await;

    let role = store.role();
    store.run(&format!("REVOKE ralph_app FROM {role}")).await;
    let error = refusal(&machine, &store).await;
    assert!(matches!(error, StoreError::NoRight { .. }), "{error}");
    store.run(&format!("GRANT ralph_app TO {role}")).await;
    store
        .run("REVOKE INSERT ON ralph.step FROM ralph_app")
        .await;
    machine
        .run("INSERT INTO step SELECT id, 99, 'at', 'done', '{}' FROM iteration LIMIT 1")
        .await;
    let error = refusal(&machine, &store).await;
    assert!(matches!(error, StoreError::NoRight { .. }), "{error}");
    assert!(
        error
            .to_string()
            .ends_with("may not take a batch of changes"),
        "{error}"
    );
    store.run("GRANT INSERT ON ralph.step TO ralph_app").await;

    let wrong = SyncOptions {
        tenant: "unknown".into(),
        ..options(store.url())
    };
    let mut syncer = Syncer::open(machine.path(), wrong).await.unwrap();
    let error = syncer.round().await.unwrap_err();
    assert!(
        matches!(error, SyncError::Store(StoreError::NoTenant { .. })),
        "{error}"
    );
    syncer.close().await.unwrap();

    let password = options(parse_url(&store.database.url_of(&role, "guessed")));
    let mut syncer = Syncer::open(machine.path(), password).await.unwrap();
    let error = syncer.round().await.unwrap_err();
    assert!(
        matches!(error, SyncError::Store(StoreError::WrongPassword { .. })),
        "{error}"
    );
    let said = status(machine.path(), real_clock()).await.unwrap().unwrap();
    assert!(!said.server.contains("guessed"), "{said:?}");
    syncer.close().await.unwrap();

    round(&machine, &store).await.unwrap();
    assert_same(&machine, &store, "in the end").await;
}

#[tokio::test]
async fn a_tenant_that_is_gone_is_named() {
    let store = Store::new(Cluster::shared()).await;
    let mut machine = Machine::new(26).await;
    machine.begin().await;
    let mut syncer = machine.syncer(&store).await;
    syncer.round().await.unwrap();
    let owner = parse_url(&store.database.url());
    admin::remove_tenant(&owner, TENANT, admin::Removal::WithRows)
        .await
        .unwrap();
    machine.work(5).await;
    // The connection was made while it was there.
    for _ in 0..2 {
        let error = syncer.round().await.unwrap_err();
        let text = error.to_string();
        assert!(
            matches!(error, SyncError::Store(StoreError::NoTenant { .. })),
            "{text}"
        );
        assert!(text.contains("no tenant acme"), "{text}");
    }
}

/// The postmaster's children may write files of so many bytes and no more: the disk is full, for them.
fn limit_files(cluster: &Cluster, limit: &str) {
    let pid = cluster.sql(
        "postgres",
        "SELECT split_part(pg_read_file('postmaster.pid'), E'\\n', 1)",
    );
    // As its own user: root may not everywhere.
    let owner = std::fs::metadata(format!("/proc/{}", pid.trim())).unwrap();
    let done = std::process::Command::new("prlimit")
        .args(["--pid", pid.trim(), &format!("--fsize={limit}:")])
        .uid(owner.uid())
        .gid(owner.gid())
        .status()
        .unwrap();
    assert!(done.success());
}

#[tokio::test]
async fn a_full_disk_on_the_server_is_named_and_nothing_is_half_done() {
    let cluster = Cluster::start();
    let store = Store::new(&cluster).await;
    let mut machine = Machine::new(27).await;
    machine.begin().await;
    machine.sync(&store).await;
    machine
        .run(
            "WITH RECURSIVE numbers (n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM numbers WHERE n < 2000)
             INSERT INTO audit (at, actor_kind, actor, machine, action, detail)
             SELECT 'at', 'ralph', 'ralph', 'laptop', 'begin', hex(randomblob(6000)) FROM numbers",
        )
        .await;
    // More than a file of the server's log, and no multiple of a page: the last write is cut short.
    limit_files(&cluster, "17829000");
    let mut syncer = machine.syncer(&store).await;
    let error = syncer.round().await.unwrap_err();
    let SyncError::Store(StoreError::DiskFull { .. }) = &error else {
        panic!("{error:?}");
    };
    let text = error.to_string();
    assert!(
        text.starts_with("the store can't take a batch of changes: the disk of "),
        "{text}"
    );
    // Batches before it are there as a whole, and no more.
    let rows = "SELECT coalesce(sum(rows), 0) FROM ralph.sync_batch WHERE from_seq > 0";
    let audit = store.number("SELECT count(*) FROM ralph.audit").await;
    assert_eq!(store.number(rows).await, audit);
    assert!(audit > 0 && audit < 2_000, "{audit}");
    assert!(syncer.round().await.is_err());

    limit_files(&cluster, "unlimited");
    while syncer.round().await.unwrap().more {}
    assert_same(&machine, &store, "there is room again").await;
}
