//! Real kills: a process that syncs is killed at each place of a round, and the server is.

use std::{os::unix::process::ExitStatusExt as _, process::Stdio};

use ralph_testkit::postgres::Cluster;

use super::{
    ground::{Machine, Store, assert_prefix, assert_same, options, origin_of},
    interrupt,
};
use crate::{
    failpoint::OF_SYNC,
    sync::{LogKind, LogSource, SyncOptions, Syncer, WaitingLog, new_identity},
};

const FOLDER: &str = "RALPH_TEST_SYNC_FOLDER";
const URL: &str = "RALPH_TEST_SYNC_URL";
const CHILD: &str = "sync::tests::killed::a_process_that_syncs_until_it_is_killed";

struct Logs;

impl LogSource for Logs {
    fn logs_of(&self, of: &WaitingLog) -> std::io::Result<Vec<(LogKind, String)>> {
        Ok(vec![(LogKind::Log, format!("log of {}", of.n))])
    }
}

fn with_logs(url: &str) -> SyncOptions {
    SyncOptions {
        logs: Some(std::sync::Arc::new(Logs)),
        ..options(super::ground::parse_url(url))
    }
}

/// Started by the tests of this file, and does nothing by itself.
#[tokio::test]
async fn a_process_that_syncs_until_it_is_killed() {
    let (Ok(folder), Ok(url)) = (std::env::var(FOLDER), std::env::var(URL)) else {
        return;
    };
    let folder = std::path::PathBuf::from(folder);
    if std::env::var("RALPH_FAILPOINT").is_ok_and(|place| place.starts_with("sync-renamed")) {
        new_identity(&folder).await.unwrap();
    }
    let mut syncer = Syncer::open(&folder, with_logs(&url)).await.unwrap();
    syncer.round().await.unwrap();
}

/// Returns whether it was killed.
fn sync_in_a_child(machine: &Machine, store: &Store, failpoint: &str) -> bool {
    let ended = std::process::Command::new(std::env::current_exe().unwrap())
        .args(["--exact", CHILD])
        .env(FOLDER, machine.path())
        .env(URL, store.url_text())
        .env("RALPH_FAILPOINT", failpoint)
        .stdin(Stdio::null())
        .output()
        .unwrap();
    let (killed, said) = (ended.status.signal() == Some(9), &ended.stdout);
    assert!(
        ended.status.success() || killed,
        "{failpoint}: {}",
        String::from_utf8_lossy(said)
    );
    killed
}

#[tokio::test]
async fn a_process_that_is_killed_anywhere_loses_nothing_and_sends_nothing_twice() {
    let store = Store::new(Cluster::shared()).await;
    for (seed, place) in OF_SYNC.iter().enumerate() {
        let mut machine = Machine::new(seed as u64).await;
        machine.begin().await;
        machine.work(30).await;
        if *place != "sync-enabled" {
            something_of_everything(&mut machine, &store).await;
        }
        if *place == "sync-went-back" {
            lose(&machine, &store).await;
        }
        // Of those that are passed more than once, not the first.
        let nth = if *place == "sync-rows-written" { 3 } else { 1 };
        let failpoint = format!("{place}:{nth}");
        assert!(
            sync_in_a_child(&machine, &store, &failpoint),
            "{failpoint} was not passed"
        );
        assert_prefix(&mut machine.db().await, &store, &failpoint).await;
        assert!(!sync_in_a_child(&machine, &store, "none"));
        assert!(!sync_in_a_child(&machine, &store, "none"));
        assert_same(&machine, &store, &failpoint).await;
        let origin = origin_of(&mut machine.db().await).await;
        let ended = machine
            .ask("SELECT CAST(COUNT(*) AS TEXT) FROM iteration WHERE ended_at IS NOT NULL")
            .await;
        let logs = store
            .number(&format!(
                "SELECT count(*) FROM ralph.iteration_log WHERE origin = '{origin}'"
            ))
            .await;
        assert_eq!(ended, Some(logs.to_string()), "{failpoint}");
        let commands = machine
            .ask("SELECT (SELECT COUNT(*) FROM command WHERE who = 'ann' AND body LIKE '%say%') || ' ' || COUNT(*) FROM team_command")
            .await;
        let expected = match *place {
            "sync-enabled" => "0 0",
            // What was told to the old name stays there.
            "sync-renamed" => "1 1",
            _ => "2 2",
        };
        assert_eq!(commands.as_deref(), Some(expected), "{failpoint}");
        let open = store
            .number(&format!(
                "SELECT count(*) FROM ralph.team_command WHERE origin = '{origin}' AND (taken_at IS NULL OR (done_at IS NULL AND body LIKE '%one%'))"
            ))
            .await;
        assert_eq!(open, 0, "{failpoint}");
    }
}

/// A journal that was synced, and for which there is a command to take and a result to tell.
async fn something_of_everything(machine: &mut Machine, store: &Store) {
    machine.sync(store).await;
    let origin = origin_of(&mut machine.db().await).await;
    store
        .command(&origin, r#"{"command":"say","text":"one","when":"now"}"#)
        .await;
    machine.sync(store).await;
    machine
        .run("UPDATE command SET done_at = 'at', result = '{\"state\":\"done\",\"sentence\":\"x\",\"hint\":null}' WHERE id > 1")
        .await;
    store
        .command(&origin, r#"{"command":"say","text":"two","when":"now"}"#)
        .await;
    machine.work(30).await;
}

/// The server forgets a journal, as one that lost its data does; commands of people apart.
async fn lose(machine: &Machine, store: &Store) {
    let origin = origin_of(&mut machine.db().await).await;
    let tables = crate::sync::tables::TABLES
        .iter()
        .rev()
        .map(|table| table.name);
    let tables = tables.chain(["sync_batch", "machine", "audit_seal", "audit_head"]);
    let all: Vec<String> = tables
        .map(|name| format!("DELETE FROM ralph.\"{name}\" WHERE origin = '{origin}'"))
        .collect();
    store.run(&all.join("; ")).await;
}

#[tokio::test]
async fn a_server_whose_backend_is_ended_anywhere_loses_nothing() {
    let store = Store::new(Cluster::shared()).await;
    let mut machine = Machine::new(77).await;
    machine.begin().await;
    machine.work(30).await;
    for nth in 1..60 {
        something_of_everything_again(&mut machine, &store).await;
        let mut syncer = Syncer::open(machine.path(), with_logs(&store.url_text()))
            .await
            .unwrap();
        let event = store.terminate_others();
        let _ = interrupt::with_event_at(nth, event, syncer.round()).await;
        drop(syncer);
        assert_prefix(&mut machine.db().await, &store, &format!("at place {nth}")).await;
    }
    machine.sync(&store).await;
    machine.sync(&store).await;
    assert_same(&machine, &store, "in the end").await;
}

async fn something_of_everything_again(machine: &mut Machine, store: &Store) {
    machine.work(10).await;
    machine
        .run("UPDATE command SET done_at = 'at', result = '{\"state\":\"done\",\"sentence\":\"x\",\"hint\":null}' WHERE done_at IS NULL")
        .await;
    let mut db = machine.db().await;
    let origin: (Option<String>,) = sqlx::query_as("SELECT origin FROM sync_state")
        .fetch_one(&mut db)
        .await
        .unwrap();
    if let Some(origin) = origin.0 {
        store
            .command(&origin, r#"{"command":"say","text":"x","when":"now"}"#)
            .await;
    }
}

/// A server takes a moment to start again: at some places of a round, and in a storm at all of them.
#[tokio::test]
async fn a_server_that_is_killed_goes_on_where_it_was() {
    let mut cluster = Cluster::options().durable().start();
    let store = Store::new(&cluster).await;
    let mut machine = Machine::new(78).await;
    machine.begin().await;
    let mut syncer = machine.syncer(&store).await;
    syncer.round().await.unwrap();
    let places: Vec<i64> = match std::env::var_os("RALPH_SYNC_ROUNDS") {
        Some(_) => (1..45).collect(),
        None => vec![2, 6, 11],
    };
    let mut kills = 0;
    for nth in places {
        something_of_everything_again(&mut machine, &store).await;
        let mut is_killed = false;
        let kill = async {
            cluster.crash();
            is_killed = true;
        };
        let ended = interrupt::with_event_at(nth, kill, syncer.round()).await;
        machine.work(20).await;
        if is_killed {
            kills += 1;
            cluster.start_again();
            store.connect_again().await;
        } else {
            ended.unwrap().unwrap();
        }
        // A connection that was lost is found out, and made again.
        let mut rounds = 0;
        while !syncer.round().await.is_ok_and(|report| !report.more) {
            rounds += 1;
            assert!(rounds < 10, "it does not go on after place {nth}");
        }
        syncer.round().await.unwrap();
        assert_same(&machine, &store, &format!("killed at place {nth}")).await;
    }
    assert!(kills >= 3, "{kills}");
}
