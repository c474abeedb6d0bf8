//! Requests of many tenants through the real pooler, in transaction pooling, of which every tenth one ends badly in
//! mid-transaction: no row of another tenant is ever read or written, and none is lost.
//!
//! `RALPH_STORM_REQUESTS` is their number, `RALPH_STORM_SEED` repeats a storm.

#![allow(clippy::print_stdout, reason = "a storm says its seed and its figures")]

use std::collections::HashMap;

use ralph_testkit::postgres::Pgbouncer;
use uuid::Uuid;

use super::*;

const TENANTS: usize = 10;
/// More clients than the pooler has connections to the server.
const CLIENTS: u64 = 16;
const POOL: u32 = 4;

/// A small generator: a storm is repeated by its seed.
struct Dice(u64);

impl Dice {
    fn roll(&mut self, sides: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        usize::try_from(self.0 >> 16).unwrap_or_default() % sides
    }
}

fn number(name: &str, default: u64) -> u64 {
    let text = std::env::var(name).ok();
    text.map_or(default, |text| text.parse().expect(name))
}

/// The work of a client.
#[derive(Default)]
struct Done {
    /// Rows that were committed, by tenant.
    written: HashMap<Uuid, u64>,
    read: u64,
    aborted: u64,
    conflicts: u64,
}

#[tokio::test]
async fn no_foreign_row_is_read_or_written_through_a_pooler() {
    let requests = number("RALPH_STORM_REQUESTS", 2_000);
    let seed = number(
        "RALPH_STORM_SEED",
        0x9e37_79b9_7f4a_7c15 ^ u64::from(std::process::id()),
    );
    println!("RALPH_STORM_SEED={seed}");
    let cluster = Cluster::start();
    let store = Store::on(&cluster).await;
    let mut tenants = Vec::new();
    for n in 0..TENANTS {
        let name = format!("t{n}");
        tenants.push(admin::add_tenant(&store.admin, &name).await.unwrap().id);
    }
    let any = store.role("any", None).await;
    let bound = store.role("bound", Some("t0")).await;
    let roles = [(&*any.0, &*any.1), (&*bound.0, &*bound.1)];
    let pooler = Pgbouncer::start(&cluster, &roles, POOL);
    let mut clients = tokio::task::JoinSet::new();
    let began = std::time::Instant::now();
    for client in 0..CLIENTS {
        // Every fourth one is a machine that is not trusted, and lies about its tenant.
        let (is_bound, (role, password)) = match client % 4 {
            3 => (true, roles[1]),
            _ => (false, roles[0]),
        };
        let storm = Client {
            url: url(&pooler.url_of(&store.database, role, password)),
            tenants: tenants.clone(),
            is_bound,
            dice: Dice(seed ^ (client + 1).wrapping_mul(0xd134_2543_de82_ef95)),
            done: Done::default(),
        };
        clients.spawn(storm.run(requests / CLIENTS));
    }
    let mut written: HashMap<Uuid, u64> = HashMap::new();
    let (mut read, mut aborted, mut conflicts) = (0, 0, 0);
    for done in clients.join_all().await {
        for (tenant, rows) in done.written {
            *written.entry(tenant).or_default() += rows;
        }
        read += done.read;
        aborted += done.aborted;
        conflicts += done.conflicts;
    }
    println!(
        "{requests} requests in {:.1} s, {aborted} aborted, {conflicts} in one another's way, {read} rows read",
        began.elapsed().as_secs_f64()
    );
    assert!(
        read > requests / 4 && aborted * 20 > requests,
        "{read} {aborted}"
    );
    // Every row is its tenant's, and each that was committed is there once.
    let foreign = store
        .database
        .sql("SELECT count(*) FROM ralph.loop_event WHERE body <> tenant::text");
    assert_eq!(foreign, "0");
    for tenant in tenants {
        let expected = written
            .get(&tenant)
            .copied()
            .unwrap_or_default()
            .to_string();
        let events = store.database.sql(&format!(
            "SELECT count(*) FROM ralph.loop_event WHERE tenant = '{tenant}'"
        ));
        assert_eq!(events, expected, "{tenant}");
        let taken = store.database.sql(&format!(
            "SELECT coalesce(sum(taken), 0) FROM ralph.budget_period WHERE tenant = '{tenant}'"
        ));
        assert_eq!(taken, expected, "{tenant}");
    }
    // A client that was cut off holds nothing any more.
    let open = "SELECT count(*) FROM pg_stat_activity WHERE application_name = 'ralph' AND state = 'idle in transaction'";
    assert_eq!(store.database.sql(open), "0");
}

struct Client {
    url: StoreUrl,
    tenants: Vec<Uuid>,
    is_bound: bool,
    dice: Dice,
    done: Done,
}

impl Client {
    async fn run(mut self, requests: u64) -> Done {
        let mut connection = None;
        for _ in 0..requests {
            let db = match connection.take() {
                Some(db) => db,
                None => StoreConnection::open(&self.url).await.unwrap(),
            };
            connection = self.request(db).await;
        }
        self.done
    }

    /// One request. The connection is given back unless it was cut.
    async fn request(&mut self, mut db: StoreConnection) -> Option<StoreConnection> {
        let tenant = self.tenants[self.dice.roll(TENANTS)];
        let own = match self.is_bound {
            true => self.tenants[0],
            false => tenant,
        };
        if self.dice.roll(50) == 0 {
            self.careless(&mut db).await;
        }
        let is_lie = self.is_bound && tenant != own;
        let mut tx = db.begin("test", &Scope::of(tenant)).await.unwrap();
        for table in ["loop_event", "budget_period"] {
            let text = format!("SELECT tenant FROM ralph.{table} LIMIT 20");
            let asked = sqlx::query_scalar(sqlx::AssertSqlSafe(text)).persistent(false);
            let rows: Vec<Uuid> = asked.fetch_all(tx.db()).await.unwrap();
            assert!(rows.iter().all(|row| *row == own), "{tenant} read {rows:?}");
            assert!(
                !is_lie || rows.is_empty(),
                "a role of {own} read {rows:?} as {tenant}"
            );
            self.done.read += rows.len() as u64;
        }
        // Into what it is not allowed to see, by name: nothing is found.
        let other = self.tenants[self.dice.roll(TENANTS)];
        if other != own {
            let steal =
                format!("UPDATE ralph.budget_period SET taken = 0 WHERE tenant = '{other}'");
            let stolen = sqlx::query(sqlx::AssertSqlSafe(steal)).persistent(false);
            assert_eq!(stolen.execute(tx.db()).await.unwrap().rows_affected(), 0);
        }
        let write = format!(
            "INSERT INTO ralph.loop_event (loop_id, at, kind, body) VALUES ('L', 't', 'k', '{tenant}');
             INSERT INTO ralph.budget_period AS p (per, period, taken) VALUES ('total', 'total', 1)
             ON CONFLICT (tenant, per, period) DO UPDATE SET taken = p.taken + 1"
        );
        let written = schema::run(tx.db(), &write).await;
        if is_lie {
            let refused = written.expect_err("a role writes for a tenant that it is not bound to");
            assert!(matches!(
                super::super::connect::code(&refused).as_deref(),
                Some("42501" | "23502")
            ));
            self.done.aborted += 1;
            tx.rollback().await.unwrap();
            return Some(db);
        }
        written.unwrap();
        match self.dice.roll(40) {
            // The connection is gone in mid-transaction.
            0 => {
                self.done.aborted += 1;
                drop(tx);
                drop(db);
                None
            }
            1 => {
                self.done.aborted += 1;
                tx.rollback().await.unwrap();
                Some(db)
            }
            2 => {
                self.done.aborted += 1;
                assert!(schema::run(tx.db(), "SELECT 1 / 0").await.is_err());
                tx.rollback().await.unwrap();
                Some(db)
            }
            // Forgotten: it is taken back with the next use of its connection.
            3 => {
                self.done.aborted += 1;
                drop(tx);
                Some(db)
            }
            _ => {
                match tx.commit("test").await {
                    Ok(()) => *self.done.written.entry(own).or_default() += 1,
                    Err(error) if error.is_conflict() => self.done.conflicts += 1,
                    Err(error) => panic!("{error:?}"),
                }
                Some(db)
            }
        }
    }

    /// A statement without a transaction and without a tenant, on whatever session the pooler has at hand.
    async fn careless(&mut self, db: &mut StoreConnection) {
        let asked = sqlx::raw_sql("SELECT count(*) FROM ralph.loop_event");
        let row = sqlx::Executor::fetch_one(db.db(), asked).await.unwrap();
        let seen: i64 = sqlx::Row::try_get(&row, 0).unwrap();
        if !self.is_bound {
            assert_eq!(seen, 0, "rows are seen without a tenant");
        }
    }
}
