//! The rows that a round sends and takes, with nothing going wrong.

use std::{
    borrow::Cow,
    collections::{BTreeMap, BTreeSet},
    sync::{Arc, Mutex},
    time::Duration,
};

use ralph_testkit::{
    postgres::{Cluster, Pgbouncer},
    proxy::{Endpoint, Proxy, Way},
};
use serde_json::Value;

use super::ground::{
    Machine, PASSWORD, Store, TENANT, assert_same, open_journal, options, origin_of, parse_url,
    real_clock, run,
};
use crate::sync::{
    Include, LockError, LogKind, LogSource, SyncError, SyncFinding, SyncOptions, Syncer,
    WaitingLog, Wake, disable,
    local::Local,
    outgoing::Outgoing,
    preview,
    server::{Sent, Server},
    status,
};

#[tokio::test]
async fn what_was_there_before_sync_was_turned_on_goes_up_and_so_does_each_change_since() {
    let store = Store::new(Cluster::shared()).await;
    let mut machine = Machine::new(1).await;
    machine.begin().await;
    machine.work(300).await;
    let mut syncer = machine.syncer(&store).await;
    let report = syncer.round().await.unwrap();
    assert_eq!((report.batches, report.more), (1, false));
    assert_eq!(report.rows["repository"], 1);
    assert_same(&machine, &store, "the past").await;
    machine.work(100).await;
    syncer.round().await.unwrap();
    assert_same(&machine, &store, "a change since").await;
    let report = syncer.round().await.unwrap();
    assert_eq!((report.batches, report.lag.changes), (0, 0));
    syncer.close().await.unwrap();

    // Turned off, nothing is written down; turned on again, everything is.
    disable(machine.path()).await.unwrap();
    machine.work(20).await;
    assert_eq!(status(machine.path(), real_clock()).await.unwrap(), None);
    let changes = machine
        .ask("SELECT CAST(COUNT(*) AS TEXT) FROM sync_change")
        .await;
    assert_eq!(changes.as_deref(), Some("0"));
    machine.sync(&store).await;
    assert_same(&machine, &store, "turned on again").await;
}

#[tokio::test]
async fn many_rows_go_in_batches_and_a_round_ends_after_some() {
    let store = Store::new(Cluster::shared()).await;
    let mut machine = Machine::new(2).await;
    machine.begin().await;
    machine
        .run(
            "WITH RECURSIVE numbers (n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM numbers WHERE n < 36000)
             INSERT INTO loop_event (loop_id, at, kind, body) SELECT 'L', 'at', 'health', json_object('n', n) FROM numbers;
             WITH RECURSIVE numbers (n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM numbers WHERE n < 2000)
             INSERT INTO audit (at, actor_kind, actor, machine, action, detail)
             SELECT 'at', 'ralph', 'ralph', 'laptop', 'begin', hex(randomblob(2000)) FROM numbers",
        )
        .await;
    let mut syncer = machine.syncer(&store).await;
    let report = syncer.round().await.unwrap();
    assert_eq!((report.batches, report.more), (8, true));
    assert!(report.lag.changes > 0);
    // There is more, so it need not wait.
    assert_eq!(syncer.wait().await, Wake::Time);
    let report = syncer.round().await.unwrap();
    assert!(!report.more);
    assert!((2..=4).contains(&report.batches), "{report:?}");
    assert_same(&machine, &store, "all of them").await;
    let most = store.number("SELECT max(rows) FROM ralph.sync_batch").await;
    assert!((4_000..4_600).contains(&most), "{most}");
}

#[tokio::test]
async fn a_row_that_names_a_newer_one_is_sent_with_it_where_a_batch_ends_between_the_two() {
    let store = Store::new(Cluster::shared()).await;
    let mut machine = Machine::new(14).await;
    machine.begin().await;
    machine.sync(&store).await;
    machine
        .run(
            "INSERT INTO iteration (id, repository_id, loop_id, n, task_id, attempt, base_commit, start, started_at)
             VALUES ('i', 'R', 'L', 1, 'T', 1, 'b', '{}', 'at')",
        )
        .await;
    let mut local = Local::open(machine.path()).await.unwrap();
    let between = local.state().await.unwrap().last_change;
    machine
        .run(
            "INSERT INTO rewrite (id, repository_id, worktree, kind, branch, from_commit, to_commit, body, started_at)
             VALUES ('w', 'R', '/w', 'revert', 'ralph/x', 'f', 't', '{}', 'at');
             UPDATE iteration SET reverted_by = 'w'",
        )
        .await;
    let options = options(store.url());
    let out = Outgoing {
        include: options.include.clone(),
        filter: options.filter.clone(),
    };
    let state = local.state().await.unwrap();
    let batch = local
        .next_batch(state.acked, between, &out)
        .await
        .unwrap()
        .unwrap();
    local.note_sent(&batch.to).await.unwrap();
    let mut server = Server::connect(&store.url(), TENANT, &state.origin)
        .await
        .unwrap();
    assert_eq!(
        server.send(&batch, "laptop", 0).await.unwrap(),
        Sent::Committed
    );
    let there = store.ask("SELECT i.reverted_by FROM ralph.iteration AS i JOIN ralph.rewrite AS r ON r.id = i.reverted_by");
    assert_eq!(there.await, ["w"]);
    machine.sync(&store).await;
    assert_same(&machine, &store, "the rest").await;
}

#[tokio::test]
async fn commands_come_down_once_in_their_order_and_results_go_up() {
    let store = Store::new(Cluster::shared()).await;
    let mut machine = Machine::new(3).await;
    machine.begin().await;
    let mut syncer = machine.syncer(&store).await;
    syncer.round().await.unwrap();
    let origin = origin_of(&mut machine.db().await).await;
    let say = |n: u32| format!(r#"{{"command":"say","text":"{n}","when":"now"}}"#);
    let first = store.command(&origin, &say(1)).await;
    let unreadable = store.command(&origin, r#"{"command":"dance"}"#).await;
    let second = store.command(&origin, &say(2)).await;
    let elsewhere = store.command(&origin, &say(3)).await;
    store
        .run(&format!(
            "UPDATE ralph.team_command SET repository_id = 'X' WHERE id = '{elsewhere}'"
        ))
        .await;
    store.command("another machine", &say(4)).await;

    let report = syncer.round().await.unwrap();
    let taken: Vec<(&str, &str)> = report
        .commands
        .iter()
        .map(|c| (c.id.as_str(), c.worktree.as_str()))
        .collect();
    assert_eq!(taken, [(first.as_str(), "/w"), (second.as_str(), "/w")]);
    let refused: Vec<&String> = report
        .findings
        .iter()
        .map(|found| match found {
            SyncFinding::CommandRefused { id, .. } => id,
            other => panic!("{other}"),
        })
        .collect();
    assert_eq!(refused, [&unreadable, &elsewhere]);
    let queued = machine
        .ask("SELECT group_concat(who || ':' || body, ' ') FROM command WHERE id > 1")
        .await;
    let expected = format!("ann:{} ann:{}", say(1), say(2));
    assert_eq!(queued, Some(expected));
    let why = store
        .ask(&format!(
            "SELECT result FROM ralph.team_command WHERE id = '{elsewhere}' AND done_at IS NOT NULL"
        ))
        .await;
    let why: Value = serde_json::from_str(&why[0]).unwrap();
    assert_eq!(why["sentence"], "there is no repository X here");

    assert_eq!(syncer.round().await.unwrap().commands, []);
    let done = r#"{"state":"done","sentence":"it was said","hint":null}"#;
    machine
        .run(&format!(
            "UPDATE command SET done_at = 'at', result = '{done}' WHERE id = 2"
        ))
        .await;
    assert_eq!(syncer.round().await.unwrap().results, 1);
    assert_eq!(syncer.round().await.unwrap().results, 0);
    let result = store
        .ask(&format!(
            "SELECT result FROM ralph.team_command WHERE id = '{first}'"
        ))
        .await;
    assert_eq!(result, [done]);
    assert_same(&machine, &store, "commands are rows of the journal too").await;
}

#[tokio::test]
async fn shares_of_budgets_come_down() {
    let store = Store::new(Cluster::shared()).await;
    let mut machine = Machine::new(4).await;
    machine.begin().await;
    machine.sync(&store).await;
    let origin = origin_of(&mut machine.db().await).await;
    store
        .run(&format!(
            "INSERT INTO ralph.budget (tenant, per, usd, set_by, set_at)
               SELECT id, 'total', 5000000, 'ann', clock_timestamp() FROM ralph.tenant;
             INSERT INTO ralph.budget (tenant, per, usd, set_by, set_at)
               SELECT id, 'month', 9, 'ann', clock_timestamp() FROM ralph.tenant;
             INSERT INTO ralph.budget_share (tenant, origin, per, period, granted)
               SELECT id, '{origin}', 'total', 'total', 700 FROM ralph.tenant"
        ))
        .await;
    machine.sync(&store).await;
    let kept = machine
        .ask("SELECT group_concat(per || ' ' || granted || ' ' || cap, ', ') FROM (SELECT * FROM budget_share ORDER BY per)")
        .await;
    assert_eq!(kept.as_deref(), Some("month 0 9, total 700 5000000"));
}

#[tokio::test]
async fn only_what_is_chosen_leaves_and_what_is_chosen_later_follows() {
    let store = Store::new(Cluster::shared()).await;
    let mut machine = Machine::new(5).await;
    machine.begin().await;
    machine.work(200).await;
    let with = |include: &[Include]| SyncOptions {
        include: include.iter().copied().collect(),
        ..options(store.url())
    };
    let mut syncer = Syncer::open(machine.path(), with(&[Include::Costs]))
        .await
        .unwrap();
    let report = syncer.round().await.unwrap();
    let sent: BTreeSet<&str> = report.rows.keys().copied().collect();
    let expected = [
        "audit",
        "iteration",
        "loop",
        "repository",
        "rewrite",
        "side_run",
        "token_month",
        "token_record",
        "token_total",
    ];
    assert_eq!(sent, expected.into());
    let blank = store
        .ask("SELECT DISTINCT coalesce(record, 'none') || start FROM ralph.iteration")
        .await;
    assert_eq!(blank, ["none{}"]);
    syncer.close().await.unwrap();

    let mut syncer = Syncer::open(machine.path(), with(&Include::ALL))
        .await
        .unwrap();
    syncer.round().await.unwrap();
    assert_same(&machine, &store, "all of it now").await;
}

#[tokio::test]
async fn every_text_passes_the_filter() {
    let store = Store::new(Cluster::shared()).await;
    let machine = {
        let mut machine = Machine::new(6).await;
        machine.begin().await;
        machine
    };
    machine
        .run(
            "UPDATE loop SET goal = 'use s3cret' || char(0) || '!', config = '{\"named\":{\"taskId\":\"T\"},\"key\":\"x\"}';
             INSERT INTO task_state VALUES ('R', 's3cret', 's3cret', '{\"blocked\":\"s3cret\"}')",
        )
        .await;
    let hide = SyncOptions {
        filter: Arc::new(|text| {
            if text.contains("s3cret") {
                Cow::Owned(text.replace("s3cret", "[redacted]"))
            } else {
                Cow::Borrowed(text)
            }
        }),
        ..options(store.url())
    };
    let previewed = preview(machine.path(), &hide.include, &hide.filter, 3)
        .await
        .unwrap();
    assert!(
        !format!("{previewed:?}").contains("s3cret"),
        "{previewed:?}"
    );
    let mut syncer = Syncer::open(machine.path(), hide).await.unwrap();
    syncer.round().await.unwrap();
    assert_eq!(
        store
            .ask("SELECT goal || ' ' || config FROM ralph.loop")
            .await,
        ["use [redacted]\u{fffd}! {\"named\":{\"taskId\":\"T\"}}"]
    );
    let state = store
        .ask("SELECT source || ' ' || task_id || ' ' || state FROM ralph.task_state")
        .await;
    assert_eq!(
        state,
        ["[redacted]#1ec1c26b [redacted]#1ec1c26b {\"blocked\":\"[redacted]\"}"]
    );
    // What is gone is found again by the same name.
    machine.run("DELETE FROM task_state").await;
    syncer.round().await.unwrap();
    assert_eq!(
        store.number("SELECT count(*) FROM ralph.task_state").await,
        0
    );
}

#[tokio::test]
async fn a_dry_run_counts_and_shows_what_would_go_and_sends_nothing() {
    let mut machine = Machine::new(7).await;
    machine.begin().await;
    machine.work(50).await;
    let filter = options_without_server();
    let all: BTreeSet<Include> = Include::ALL.into_iter().collect();
    let previewed = preview(machine.path(), &all, &filter, 2).await.unwrap();
    assert_eq!(previewed.rows["repository"], 1);
    let shown = previewed
        .samples
        .iter()
        .find(|(table, _)| *table == "repository")
        .unwrap();
    let row: Value = serde_json::from_str(&shown.1).unwrap();
    assert_eq!(
        (&row["id"], &row["common_dir"]),
        (&"R".into(), &"/r/.git".into())
    );
    let enabled =
        machine.ask("SELECT enabled || ' ' || (SELECT COUNT(*) FROM sync_change) FROM sync_state");
    assert_eq!(enabled.await.as_deref(), Some("0 0"));

    let store = Store::new(Cluster::shared()).await;
    machine.sync(&store).await;
    let previewed = preview(machine.path(), &all, &filter, 2).await.unwrap();
    assert_eq!(previewed.rows, BTreeMap::new());
    machine
        .run("UPDATE loop SET goal = 'a'; UPDATE loop SET goal = 'b' WHERE id = 'L'")
        .await;
    let previewed = preview(machine.path(), &all, &filter, 0).await.unwrap();
    let loops: u64 = machine
        .ask("SELECT CAST(COUNT(*) AS TEXT) FROM loop")
        .await
        .unwrap()
        .parse()
        .unwrap();
    assert_eq!(previewed.rows, BTreeMap::from([("loop", loops)]));
}

fn options_without_server() -> crate::sync::TextFilter {
    Arc::new(|text| Cow::Borrowed(text))
}

/// Logs of every iteration but one, and what was asked for.
struct Logs(Mutex<Vec<i64>>);

impl LogSource for Logs {
    fn logs_of(&self, of: &WaitingLog) -> std::io::Result<Vec<(LogKind, String)>> {
        self.0.lock().unwrap().push(of.n);
        if of.n == 2 {
            return Err(std::io::ErrorKind::NotFound.into());
        }
        let log = format!("log of {} in {}\0", of.n, of.worktree);
        Ok(vec![(LogKind::Log, log), (LogKind::Prompt, "do it".into())])
    }
}

#[tokio::test]
async fn logs_of_iterations_that_ended_go_up_once_where_they_are_asked_for() {
    let store = Store::new(Cluster::shared()).await;
    let mut machine = Machine::new(8).await;
    machine.begin().await;
    let iteration = |n: i64| {
        format!(
            "INSERT INTO iteration (id, repository_id, loop_id, n, task_id, attempt, base_commit, start, started_at)
             VALUES ('i{n}', 'R', 'L', {n}, 'T', 1, 'b', '{{}}', 'at')"
        )
    };
    machine
        .run(&[iteration(1), iteration(2), iteration(3)].join(";"))
        .await;
    machine
        .run("UPDATE iteration SET ended_at = 'at', verdict = 'failed' WHERE n = 1")
        .await;
    let logs = Arc::new(Logs(Mutex::default()));
    let with = |include: &[Include]| SyncOptions {
        include: include.iter().copied().collect(),
        logs: Some(logs.clone()),
        ..options(store.url())
    };
    let mut syncer = Syncer::open(machine.path(), with(&[Include::Records]))
        .await
        .unwrap();
    assert_eq!(syncer.round().await.unwrap().logs, 0);
    syncer.close().await.unwrap();
    let mut syncer = Syncer::open(machine.path(), with(&[Include::Logs]))
        .await
        .unwrap();
    assert_eq!(syncer.round().await.unwrap().logs, 1);
    machine
        .run("UPDATE iteration SET ended_at = 'at', verdict = 'failed' WHERE n > 1")
        .await;
    assert_eq!(syncer.round().await.unwrap().logs, 1);
    assert_eq!(syncer.round().await.unwrap().logs, 0);
    assert_eq!(*logs.0.lock().unwrap(), [1, 2, 3]);
    let there = store
        .ask("SELECT concat_ws(' ', iteration_id, kind, body) FROM ralph.iteration_log ORDER BY 1")
        .await;
    assert_eq!(
        there,
        [
            "i1 log log of 1 in /w\u{fffd}",
            "i3 log log of 3 in /w\u{fffd}"
        ]
    );
}

#[tokio::test]
async fn a_second_syncer_of_a_folder_is_told_of_the_first() {
    let store = Store::new(Cluster::shared()).await;
    let machine = Machine::new(9).await;
    let first = machine.syncer(&store).await;
    let Err(SyncError::Lock(error)) = Syncer::open(machine.path(), options(store.url())).await
    else {
        panic!("it was opened twice");
    };
    assert!(matches!(error, LockError::Held { .. }), "{error}");
    let (folder, pid) = (machine.path().display(), std::process::id());
    assert_eq!(
        error.to_string(),
        format!("{folder} is synced by process {pid} already")
    );
    first.close().await.unwrap();
    machine.syncer(&store).await;
}

#[tokio::test]
async fn how_sync_stands_is_known_without_the_server() {
    let cluster = Cluster::shared();
    let store = Store::new(cluster).await;
    let proxy = Proxy::unix(Endpoint::Unix(cluster.socket()));
    let mut machine = Machine::new(10).await;
    assert_eq!(status(machine.path(), real_clock()).await.unwrap(), None);
    assert_eq!(
        status(&machine.path().join("nowhere"), real_clock())
            .await
            .unwrap(),
        None
    );
    machine.begin().await;
    let through = options(store.url_through(&proxy));
    let mut syncer = Syncer::open(machine.path(), through).await.unwrap();
    syncer.round().await.unwrap();
    let found = status(machine.path(), real_clock()).await.unwrap().unwrap();
    assert_eq!((found.tenant.as_str(), found.lag.changes), (TENANT, 0));
    assert!(
        found.last_ok_at.is_some() && found.last_error.is_none(),
        "{found:?}"
    );

    proxy.refuse(true);
    proxy.cut();
    machine
        .run("UPDATE loop SET goal = 'x'; UPDATE sync_change SET at = at - 100")
        .await;
    let error = syncer.round().await.unwrap_err();
    let found = status(machine.path(), real_clock()).await.unwrap().unwrap();
    assert_eq!(found.lag.changes, 1);
    assert!((100..110).contains(&found.lag.seconds), "{found:?}");
    assert!(found.last_error.unwrap().starts_with(&error.to_string()));
    assert!(found.last_error_at.is_some());

    proxy.refuse(false);
    syncer.round().await.unwrap();
    let found = status(machine.path(), real_clock()).await.unwrap().unwrap();
    assert_eq!((found.lag.changes, found.last_error), (0, None));
    assert_same(&machine, &store, "caught up").await;
}

#[tokio::test]
async fn nothing_of_the_journal_is_locked_while_the_server_is_waited_for() {
    let cluster = Cluster::shared();
    let store = Store::new(cluster).await;
    let proxy = Proxy::unix(Endpoint::Unix(cluster.socket()));
    let mut machine = Machine::new(11).await;
    machine.begin().await;
    machine.work(50).await;
    let through = options(store.url_through(&proxy));
    let mut syncer = Syncer::open(machine.path(), through).await.unwrap();
    syncer.round().await.unwrap();
    machine.work(50).await;
    for sent in [1, 400, 2_000] {
        machine.run("UPDATE loop SET goal = goal || 'x'").await;
        let before = proxy.passed(Way::Up);
        proxy.stall_after(Way::Up, sent);
        let round = syncer.round();
        tokio::pin!(round);
        // Some bytes of the round have gone, and now nothing does.
        let gone = async {
            while proxy.passed(Way::Up) < before + sent {
                tokio::time::sleep(Duration::from_micros(200)).await;
            }
        };
        tokio::select! {
            done = &mut round => panic!("it was over: {done:?}"),
            () = gone => {}
        }
        let mut db = open_journal(&machine.path().join("ralph.db")).await;
        // It would be refused at once.
        run(&mut db, "PRAGMA busy_timeout = 0").await;
        let others = async {
            // Whatever it was about to write is written: it waits for the server now.
            tokio::time::sleep(Duration::from_millis(50)).await;
            run(&mut db, "UPDATE loop SET goal = goal || 'y'").await;
            let (busy, ..): (i64, i64, i64) = sqlx::query_as("PRAGMA wal_checkpoint(TRUNCATE)")
                .fetch_one(&mut db)
                .await
                .unwrap();
            assert_eq!(busy, 0, "the file is still read");
        };
        tokio::select! {
            done = &mut round => panic!("it was over: {done:?}"),
            () = others => {}
        }
        proxy.resume();
        round.await.unwrap();
    }
    syncer.round().await.unwrap();
    assert_same(&machine, &store, "after all").await;
}

#[tokio::test]
async fn through_a_pooler_everything_works_but_hearing() {
    let cluster = Cluster::start();
    let store = Store::new(&cluster).await;
    let role = store.role();
    let pooler = Pgbouncer::start(&cluster, &[(&role, PASSWORD)], 2);
    let url = parse_url(&pooler.url_of(&store.database, &role, PASSWORD));
    let mut machine = Machine::new(13).await;
    machine.begin().await;
    machine.work(100).await;
    let mut syncer = Syncer::open(machine.path(), options(url)).await.unwrap();
    syncer.round().await.unwrap();
    assert_same(&machine, &store, "through a pooler").await;
    let origin = origin_of(&mut machine.db().await).await;
    let ping = r#"{"command":"ping"}"#;
    let (wake, _) = tokio::join!(syncer.wait(), store.command(&origin, ping));
    assert_eq!(wake, Wake::Time, "it is found by the next round");
    assert_eq!(syncer.round().await.unwrap().commands.len(), 1);
    let listening = "SELECT count(*) FROM pg_stat_activity WHERE query LIKE 'LISTEN%'";
    assert_eq!(store.number(listening).await, 0, "no other session listens");
}

#[tokio::test]
async fn a_command_is_heard_of_at_once() {
    let store = Store::new(Cluster::shared()).await;
    let mut machine = Machine::new(12).await;
    machine.begin().await;
    let mut syncer = machine.syncer(&store).await;
    syncer.round().await.unwrap();
    // It listens once it has waited for the first time.
    assert_eq!(syncer.wait().await, Wake::Time);
    let origin = origin_of(&mut machine.db().await).await;
    store
        .command("another machine", r#"{"command":"ping"}"#)
        .await;
    let began = std::time::Instant::now();
    let (wake, _) = tokio::join!(
        syncer.wait(),
        store.command(&origin, r#"{"command":"ping"}"#)
    );
    assert_eq!(wake, Wake::Command);
    assert!(
        began.elapsed() < Duration::from_secs(1),
        "{:?}",
        began.elapsed()
    );
    assert_eq!(syncer.round().await.unwrap().commands.len(), 1);

    // The connection that listens is lost, and comes back by itself.
    store.terminate_others().await;
    assert_eq!(
        syncer.wait().await,
        Wake::Command,
        "to look what was missed"
    );
    syncer.round().await.unwrap();
    let woken = async { while syncer.wait().await == Wake::Time {} };
    let command = async {
        while store.number("SELECT count(*) FROM pg_stat_activity WHERE query LIKE 'LISTEN%' AND datname = current_database()").await == 0 {
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
        store.command(&origin, r#"{"command":"ping"}"#).await;
    };
    tokio::join!(woken, command);
    assert_eq!(syncer.round().await.unwrap().commands.len(), 1);
}
