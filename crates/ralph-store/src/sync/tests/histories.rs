//! Histories by a seed: work in a journal, and rounds of sync in which one side or the other dies, is cut off, is
//! repeated, or has company. After each history the server holds what the journal does: nothing lost, nothing twice,
//! in order.
//!
//! `RALPH_SYNC_ROUNDS` is how many rounds there are; `RALPH_SYNC_SEED` repeats one history.

#![allow(
    clippy::print_stderr,
    reason = "a history that failed is repeated by its seed"
)]

use ralph_testkit::{
    postgres::Cluster,
    proxy::{Endpoint, Proxy, Way},
};
use sqlx::{AssertSqlSafe, Connection as _, SqliteConnection};

use super::{
    ground::{Machine, Random, Store, assert_prefix, assert_same_as, options, origin_of, run},
    interrupt,
};
use crate::sync::{
    SyncError, SyncOptions, Syncer,
    local::Local,
    outgoing::Outgoing,
    server::{Sent, Server},
};

const ROUNDS_OF_A_HISTORY: u64 = 25;

#[tokio::test]
async fn whatever_ends_a_round_nothing_is_lost_nothing_is_there_twice_and_order_is_kept() {
    let number = |name: &str| {
        std::env::var(name)
            .ok()
            .and_then(|text| text.parse::<u64>().ok())
    };
    let rounds = number("RALPH_SYNC_ROUNDS").unwrap_or(1_000);
    let cluster = Cluster::start();
    let store = Store::new(&cluster).await;
    let proxy = Proxy::unix(Endpoint::Unix(cluster.socket()));
    let seeds = match number("RALPH_SYNC_SEED") {
        Some(seed) => seed..seed + 1,
        None => 0..rounds.div_ceil(ROUNDS_OF_A_HISTORY),
    };
    let mut tally = Tally::default();
    for seed in seeds {
        // Said where it fails: a test shows what it printed only then.
        eprintln!("repeat this history by RALPH_SYNC_SEED={seed}");
        let mut history = History::begin(&store, &proxy, seed).await;
        for round in 0..ROUNDS_OF_A_HISTORY {
            history.step(round, &mut tally).await;
        }
        history.end().await;
    }
    eprintln!("{tally:?}");
    // It would prove nothing if nothing went wrong.
    if rounds >= 1_000 {
        assert!(
            tally.ended > 50 && tally.failed > 100 && tally.company > 20,
            "{tally:?}"
        );
    }
}

/// The events of all histories.
#[derive(Debug, Default)]
struct Tally {
    ended: u64,
    failed: u64,
    passed: u64,
    company: u64,
    replayed: u64,
}

struct History<'a> {
    store: &'a Store,
    proxy: &'a Proxy,
    machine: Machine,
    random: Random,
    db: SqliteConnection,
    syncer: Option<Syncer>,
    /// Commands by their order on the server.
    commands: Vec<String>,
    seed: u64,
}

impl<'a> History<'a> {
    async fn begin(store: &'a Store, proxy: &'a Proxy, seed: u64) -> Self {
        let mut machine = Machine::new(seed).await;
        machine.begin().await;
        machine.work(20).await;
        let db = machine.db().await;
        Self {
            store,
            proxy,
            machine,
            random: Random(seed ^ 0xfeed),
            db,
            syncer: None,
            commands: Vec::new(),
            seed,
        }
    }

    fn options(&self) -> SyncOptions {
        options(self.store.url_through(self.proxy))
    }

    async fn step(&mut self, round: u64, tally: &mut Tally) {
        let changes = self.random.below(30);
        self.machine.work_on(&mut self.db, changes).await;
        self.command_and_obey().await;
        let what = format!("seed {}, round {round}", self.seed);
        match self.random.below(10) {
            0 => self.interrupted(tally).await,
            1 => self.interrupted(tally).await,
            2 => {
                let bytes = self.random.below(20_000);
                self.cut(|proxy| proxy.cut_after(Way::Up, bytes), tally)
                    .await;
            }
            3 => {
                let bytes = self.random.below(6_000);
                self.cut(|proxy| proxy.cut_after(Way::Down, bytes), tally)
                    .await;
            }
            4 => {
                self.cut(|proxy| proxy.cut_within(Way::Up, "INSERT INTO"), tally)
                    .await
            }
            5 => {
                self.cut(|proxy| proxy.cut_within(Way::Up, "COMMIT"), tally)
                    .await
            }
            6 => {
                self.cut(|proxy| proxy.cut_before(Way::Down, "COMMIT"), tally)
                    .await
            }
            7 => self.terminated(tally).await,
            8 => self.repeated(tally).await,
            _ => self.in_company(tally).await,
        }
        assert_prefix(&mut self.db, self.store, &what).await;
    }

    /// A person gives a command now and then, and the loop carries some of them out.
    async fn command_and_obey(&mut self) {
        let origin: (Option<String>,) = sqlx::query_as("SELECT origin FROM sync_state")
            .fetch_one(&mut self.db)
            .await
            .unwrap();
        if let (Some(origin), 0) = (origin.0, self.random.below(3)) {
            let body = format!(
                r#"{{"command":"say","text":"{}","when":"now"}}"#,
                self.commands.len()
            );
            self.commands.push(self.store.command(&origin, &body).await);
        }
        run(
            &mut self.db,
            "UPDATE command SET done_at = 'at', result = '{\"state\":\"done\",\"sentence\":\"' || id || '\",\"hint\":null}'
             WHERE id = (SELECT id FROM command WHERE done_at IS NULL ORDER BY random() LIMIT 1)",
        )
        .await;
    }

    async fn syncer(&mut self) -> Syncer {
        match self.syncer.take() {
            Some(syncer) => syncer,
            None => Syncer::open(self.machine.path(), self.options())
                .await
                .unwrap(),
        }
    }

    async fn interrupted(&mut self, tally: &mut Tally) {
        let nth = i64::try_from(self.random.below(45) + 1).unwrap();
        let (path, options) = (self.machine.path().to_owned(), self.options());
        let before = self.syncer.take();
        let work = async move {
            let mut syncer = match before {
                Some(syncer) => syncer,
                None => Syncer::open(&path, options).await.unwrap(),
            };
            syncer.round().await.unwrap();
            syncer
        };
        match interrupt::until(nth, work).await {
            Some(syncer) => {
                tally.passed += 1;
                self.syncer = Some(syncer);
            }
            None => tally.ended += 1,
        }
    }

    async fn cut(&mut self, order: impl FnOnce(&Proxy), tally: &mut Tally) {
        let mut syncer = self.syncer().await;
        order(self.proxy);
        match syncer.round().await {
            Ok(_) => tally.passed += 1,
            Err(SyncError::Diverged { .. }) => panic!("it was refused"),
            Err(_) => tally.failed += 1,
        }
        self.proxy.spare();
        // The same one goes on, as it does beside a loop.
        self.syncer = Some(syncer);
    }

    async fn terminated(&mut self, tally: &mut Tally) {
        let nth = i64::try_from(self.random.below(45) + 1).unwrap();
        let mut syncer = self.syncer().await;
        let event = self.store.terminate_others();
        let done = interrupt::with_event_at(nth, event, syncer.round()).await;
        match done.expect("it goes on") {
            Ok(_) => tally.passed += 1,
            Err(SyncError::Diverged { .. }) => panic!("it was refused"),
            Err(_) => tally.failed += 1,
        }
        self.syncer = Some(syncer);
    }

    /// Batches are sent twice, too early and too late, and nothing of it is noted here.
    async fn repeated(&mut self, tally: &mut Tally) {
        // There is no lock between two in one process that are told so.
        let options = self.options();
        let out = Outgoing {
            include: options.include.clone(),
            filter: options.filter.clone(),
        };
        if self.syncer.is_none() {
            self.syncer = Some(self.syncer().await);
        }
        let mut local = Local::open(self.machine.path()).await.unwrap();
        let origin = origin_of(&mut self.db).await;
        let mut server = Server::connect(&self.store.url(), super::ground::TENANT, &origin)
            .await
            .unwrap();
        let Ok(standing) = server.standing(&*options.clock).await else {
            panic!("the server is there");
        };
        let last = local.state().await.unwrap().last_change;
        let middle = standing.cursor.as_ref().map_or(0, |cursor| cursor.seq);
        let middle = middle + (last - middle) / 2;
        let first = local
            .next_batch(standing.cursor, middle, &out)
            .await
            .unwrap();
        let Some(first) = first else {
            return local.close().await.unwrap();
        };
        local.note_sent(&first.to).await.unwrap();
        let second = local
            .next_batch(Some(first.to.clone()), last, &out)
            .await
            .unwrap();
        if let Some(second) = &second {
            local.note_sent(&second.to).await.unwrap();
            let early = server.send(second, "laptop", 0).await.unwrap();
            assert_eq!(early, Sent::CursorMoved, "before its time");
        }
        assert_eq!(
            server.send(&first, "laptop", 0).await.unwrap(),
            Sent::Committed
        );
        assert_eq!(
            server.send(&first, "laptop", 0).await.unwrap(),
            Sent::CursorMoved,
            "twice"
        );
        if let Some(second) = &second {
            assert_eq!(
                server.send(second, "laptop", 0).await.unwrap(),
                Sent::Committed
            );
            assert_eq!(
                server.send(&first, "laptop", 0).await.unwrap(),
                Sent::CursorMoved,
                "too late"
            );
        }
        tally.replayed += 1;
        local.close().await.unwrap();
    }

    /// Two sync one folder at once.
    async fn in_company(&mut self, tally: &mut Tally) {
        let mut one = self.syncer().await;
        let local = Local::open(self.machine.path()).await.unwrap();
        let origin = origin_of(&mut self.db).await;
        let mut other = Syncer::with(local, origin, self.options(), None);
        let (first, second) = tokio::join!(one.round(), other.round());
        for done in [first, second] {
            let report = match done {
                Ok(report) => report,
                Err(error) => panic!("{error:?}"),
            };
            let is_known = |found: &crate::sync::SyncFinding| {
                matches!(found, crate::sync::SyncFinding::AnswerWasLost)
            };
            assert!(
                report.findings.iter().all(is_known),
                "{:?}",
                report.findings
            );
        }
        tally.company += 1;
        other.close().await.unwrap();
        self.syncer = Some(one);
    }

    /// All is well at last: what is there is what should be.
    async fn end(mut self) {
        let mut syncer = self.syncer().await;
        for _ in 0..2 {
            // Commands that come down in a round go up as rows of the journal in the same, or in the next.
            while syncer.round().await.unwrap().more {}
        }
        let what = format!("seed {}", self.seed);
        assert_same_as(&mut self.db, self.store, &what).await;
        let kept: Vec<(String, String)> = sqlx::query_as(
            "SELECT t.id, c.body ->> '$.text' FROM team_command t JOIN command c ON c.id = t.command_id ORDER BY c.id",
        )
        .fetch_all(&mut self.db)
        .await
        .unwrap();
        let numbered = self.commands.iter().enumerate();
        let expected: Vec<(String, String)> = numbered
            .map(|(n, id)| (id.clone(), n.to_string()))
            .collect();
        assert_eq!(kept, expected, "{what}: each command once, in their order");
        let queued: (i64,) =
            sqlx::query_as("SELECT COUNT(*) FROM command WHERE body ->> '$.command' = 'say'")
                .fetch_one(&mut self.db)
                .await
                .unwrap();
        assert_eq!(
            queued.0,
            i64::try_from(self.commands.len()).unwrap(),
            "{what}"
        );
        self.assert_results(&what).await;
        syncer.close().await.unwrap();
        self.db.close().await.unwrap();
    }

    async fn assert_results(&mut self, what: &str) {
        let here: Vec<(String,)> = sqlx::query_as(AssertSqlSafe(
            "SELECT t.id || ' ' || c.result FROM team_command t JOIN command c ON c.id = t.command_id
             WHERE c.result IS NOT NULL ORDER BY t.id"
                .to_owned(),
        ))
        .fetch_all(&mut self.db)
        .await
        .unwrap();
        let here: Vec<String> = here.into_iter().map(|(row,)| row).collect();
        let origin = origin_of(&mut self.db).await;
        let there = self
            .store
            .ask(&format!(
                "SELECT id || ' ' || result FROM ralph.team_command WHERE origin = '{origin}' AND done_at IS NOT NULL ORDER BY id::text COLLATE \"C\""
            ))
            .await;
        assert_eq!(here, there, "{what}: results");
        let untaken = format!(
            "SELECT count(*) FROM ralph.team_command WHERE origin = '{origin}' AND taken_at IS NULL"
        );
        assert_eq!(self.store.number(&untaken).await, 0, "{what}");
    }
}
