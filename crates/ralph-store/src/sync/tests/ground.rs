//! A data folder and a server for a test, work in the journal by a seed, and what both hold.

use std::{
    collections::BTreeMap,
    path::Path,
    sync::{
        Arc,
        atomic::{AtomicI64, Ordering},
    },
};

use ralph_testkit::{
    postgres::{Cluster, Database},
    proxy::Proxy,
};
use sqlx::{
    AssertSqlSafe, ConnectOptions as _, Connection as _, PgConnection, SqliteConnection,
    postgres::PgConnectOptions, sqlite::SqliteConnectOptions,
};

use crate::{
    postgres::{StoreUrl, UrlSource, admin},
    sync::{Include, SyncOptions, Syncer, tables::TABLES},
};

/// The tenant of these tests.
pub(super) const TENANT: &str = "acme";
pub(super) const PASSWORD: &str = "secret";

/// A database with the schema of a team's store, and one tenant.
pub(super) struct Store {
    pub(super) database: Database,
    /// As the superuser, who sees all rows.
    control: tokio::sync::Mutex<PgConnection>,
}

impl Store {
    pub(super) async fn new(cluster: &Cluster) -> Self {
        let database = cluster.database();
        let url = parse_url(&database.url());
        admin::init(&url).await.unwrap();
        admin::add_tenant(&url, TENANT).await.unwrap();
        let role = admin::NewRole {
            name: &format!("laptop_{}", database.name()),
            tenant: Some(TENANT),
            password: Some(PASSWORD),
        };
        admin::add_role(&url, role).await.unwrap();
        Self::of(database).await
    }

    pub(super) async fn of(database: Database) -> Self {
        let control = control(&database).await;
        Self {
            database,
            control: tokio::sync::Mutex::new(control),
        }
    }

    /// Asks over a new connection from now on: the server was away.
    pub(super) async fn connect_again(&self) {
        *self.control.lock().await = control(&self.database).await;
    }

    pub(super) fn url(&self) -> StoreUrl {
        parse_url(&self.url_text())
    }

    pub(super) fn url_text(&self) -> String {
        self.database.url_of(&self.role(), PASSWORD)
    }

    /// The role of machines: bound to the tenant, as one that is not trusted.
    pub(super) fn role(&self) -> String {
        format!("laptop_{}", self.database.name())
    }

    /// Where it is found through a proxy.
    pub(super) fn url_through(&self, proxy: &Proxy) -> StoreUrl {
        let url = self
            .database
            .url_at(proxy.socket_folder(), 5432, &self.role(), PASSWORD);
        parse_url(&url)
    }

    /// The rows of a question, whose one column is a text.
    pub(super) async fn ask(&self, sql: &str) -> Vec<String> {
        let mut control = self.control.lock().await;
        let rows: Vec<(String,)> = sqlx::query_as(AssertSqlSafe(sql.to_owned()))
            .fetch_all(&mut *control)
            .await
            .unwrap_or_else(|error| panic!("{error}: {sql}"));
        rows.into_iter().map(|(row,)| row).collect()
    }

    pub(super) async fn number(&self, sql: &str) -> i64 {
        let found = self.ask(&format!("SELECT ({sql})::text")).await;
        found[0].parse().unwrap()
    }

    pub(super) async fn run(&self, sql: &str) {
        let mut control = self.control.lock().await;
        let done = sqlx::raw_sql(AssertSqlSafe(sql.to_owned()))
            .execute(&mut *control)
            .await;
        done.unwrap_or_else(|error| panic!("{error}: {sql}"));
    }

    /// Ends every other connection to this database, as an administrator would.
    pub(super) async fn terminate_others(&self) {
        self.ask(
            "SELECT pg_terminate_backend(pid)::text FROM pg_stat_activity
             WHERE datname = current_database() AND pid <> pg_backend_pid()",
        )
        .await;
    }

    /// A command of a person's for a journal.
    pub(super) async fn command(&self, origin: &str, body: &str) -> String {
        let id = uuid::Uuid::now_v7().to_string();
        self.run(&format!(
            "INSERT INTO ralph.team_command (tenant, id, origin, repository_id, worktree, source, who, body)
             SELECT id, '{id}', '{origin}', 'R', '/w', 'prd.json', 'ann', '{body}' FROM ralph.tenant WHERE name = '{TENANT}'"
        ))
        .await;
        id
    }
}

async fn control(database: &Database) -> PgConnection {
    let options: PgConnectOptions = database.url().parse().unwrap();
    options.connect().await.unwrap()
}

pub(super) fn parse_url(url: &str) -> StoreUrl {
    StoreUrl::parse(url, &UrlSource::Environment).unwrap()
}

/// Options that send everything as it is, with a clock that a test can move.
pub(super) fn options(url: StoreUrl) -> SyncOptions {
    SyncOptions {
        url,
        tenant: TENANT.into(),
        machine: "laptop".into(),
        include: Include::ALL.into_iter().collect(),
        filter: Arc::new(|text| std::borrow::Cow::Borrowed(text)),
        clock: Arc::new(real_clock),
        logs: None,
    }
}

#[allow(clippy::disallowed_methods, reason = "the clock of these tests")]
pub(super) fn real_clock() -> jiff::Timestamp {
    jiff::Timestamp::now()
}

/// A data folder with a journal in it.
pub(super) struct Machine {
    pub(super) dir: tempfile::TempDir,
    random: Random,
    made: i64,
}

static MACHINES: AtomicI64 = AtomicI64::new(0);

impl Machine {
    /// In memory where there is a place for it: these tests write as they would on a disk, and need not wait for one.
    pub(super) async fn new(seed: u64) -> Self {
        let memory = Path::new("/dev/shm");
        let builder = tempfile::Builder::new();
        let dir = if memory.is_dir() {
            { builder }.prefix("ralph-sync-").tempdir_in(memory)
        } else {
            { builder }.prefix("ralph-sync-").tempdir()
        };
        let dir = dir.unwrap();
        crate::open(dir.path())
            .await
            .unwrap()
            .close()
            .await
            .unwrap();
        Self {
            dir,
            random: Random(seed),
            // No two machines make the same names.
            made: MACHINES.fetch_add(1, Ordering::Relaxed) * 1_000_000,
        }
    }

    pub(super) fn path(&self) -> &Path {
        self.dir.path()
    }

    pub(super) async fn db(&self) -> SqliteConnection {
        open_journal(&self.dir.path().join("ralph.db")).await
    }

    pub(super) async fn run(&self, sql: &str) {
        let mut db = self.db().await;
        run(&mut db, sql).await;
        db.close().await.unwrap();
    }

    /// One value, as a text.
    pub(super) async fn ask(&self, sql: &str) -> Option<String> {
        let mut db = self.db().await;
        let found: (Option<String>,) = sqlx::query_as(AssertSqlSafe(sql.to_owned()))
            .fetch_one(&mut db)
            .await
            .unwrap();
        db.close().await.unwrap();
        found.0
    }

    pub(super) async fn syncer(&self, store: &Store) -> Syncer {
        Syncer::open(self.path(), options(store.url()))
            .await
            .unwrap()
    }

    /// Rounds until nothing is left to send.
    pub(super) async fn sync(&self, store: &Store) {
        let mut syncer = self.syncer(store).await;
        while syncer.round().await.unwrap().more {}
        syncer.close().await.unwrap();
    }

    /// Some changes of the journal, each in a transaction, as loops make them.
    pub(super) async fn work(&mut self, changes: u64) {
        let mut db = self.db().await;
        self.work_on(&mut db, changes).await;
        db.close().await.unwrap();
    }

    pub(super) async fn work_on(&mut self, db: &mut SqliteConnection, changes: u64) {
        for _ in 0..changes {
            self.made += 1;
            let sql = self.change();
            run(db, &sql).await;
        }
    }

    fn change(&mut self) -> String {
        let n = self.made;
        let some = self.random.below(1_000);
        let any_loop = "(SELECT id FROM loop ORDER BY random() LIMIT 1)";
        let any_open = "(SELECT id FROM iteration WHERE ended_at IS NULL ORDER BY id LIMIT 1)";
        match self.random.below(22) {
            0 => format!(
                "INSERT INTO loop (id, repository_id, worktree, source, branch, base_commit, agent, config, started_at)
                 SELECT 'L{n}', id, '/w', 'prd.json', 'ralph/x', 'b', 'claude', '{{\"named\":{{\"taskId\":\"T{n}\"}}}}', 'at'
                 FROM repository LIMIT 1"
            ),
            1..=4 => format!(
                "INSERT INTO iteration (id, repository_id, loop_id, n, task_id, attempt, base_commit, start, started_at)
                 SELECT 'I{n}', repository_id, id, {n}, 'T{some}', 1, 'b', '{{\"at\":\"x\\n\"}}', 'at'
                 FROM loop WHERE id = {any_loop};
                 UPDATE repository SET next_iteration = {n} + 1"
            ),
            5..=7 => format!(
                "INSERT INTO step (iteration_id, seq, at, kind, body)
                 SELECT id, (SELECT COUNT(*) FROM step WHERE iteration_id = i.id) + 1, 'at', 'done', '{{\"n\":{n}}}'
                 FROM iteration AS i ORDER BY random() LIMIT 1"
            ),
            8..=10 => format!(
                "INSERT INTO token_record (iteration_id, seq, run, agent, model, caller, input, output, cache_read,
                   cache_write, spent) SELECT id, 1, 1, 'claude', 'opus', 'agent', {some}, 2, 3, 4, {n}
                   FROM iteration WHERE id = {any_open};
                 INSERT INTO token_total VALUES ('R', 'task', 'T{0}', '2026-11-1{0}', 1, 1, {some}, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, {n}, 0, 0, 0)
                   ON CONFLICT DO UPDATE SET calls = calls + 1, spent = spent + excluded.spent;
                 UPDATE iteration SET ended_at = 'at', verdict = 'verified', outcome = 'success', result_commit = 'c{n}',
                   record = '{{\"title\":\"\\u00e9 {n}\",\"usage\":{{\"costUsd\":0.25,\"inputTokens\":{some}}}}}'
                 WHERE id = {any_open}",
                some % 4
            ),
            11 | 12 => format!(
                "INSERT INTO task_state VALUES ('R', 'prd.json', 'T{0}', '{{\"attempts\":{n}}}')
                 ON CONFLICT DO UPDATE SET state = excluded.state",
                some % 8
            ),
            13 => format!("DELETE FROM task_state WHERE task_id = 'T{}'", some % 8),
            14 => format!(
                "INSERT INTO escalation (repository_id, source, task_id, iteration, asked_by, question, asked_at)
                 VALUES ('R', 'prd.json', 'T1', {n}, 'agent', 'which way, {n}?', 'at')"
            ),
            15 => format!(
                "UPDATE escalation SET answer = '{{\"n\":{n}}}', answered_at = 'at'
                 WHERE id = (SELECT id FROM escalation WHERE answer IS NULL ORDER BY random() LIMIT 1)"
            ),
            16 => format!(
                "INSERT INTO rewrite (id, repository_id, worktree, kind, branch, from_commit, to_commit, body, started_at)
                 VALUES ('W{n}', 'R', '/w', 'revert', 'ralph/x', 'f', 't', '{{}}', 'at');
                 UPDATE iteration SET reverted_by = 'W{n}' WHERE id =
                   (SELECT id FROM iteration WHERE ended_at IS NOT NULL AND reverted_by IS NULL ORDER BY random() LIMIT 1);
                 UPDATE rewrite SET ended_at = 'at', outcome = 'done' WHERE id = 'W{n}'"
            ),
            17 => format!(
                "INSERT INTO checkpoint SELECT 'C{n}', 'R', id, {n}, NULL, 'working', 'at', '{{\"n\":{n}}}', 'h{n}', NULL, 'c'
                 FROM loop WHERE id = {any_loop}"
            ),
            18 => format!(
                "INSERT INTO loop_event (loop_id, iteration, at, kind, body)
                 SELECT id, {n}, 'at', 'health', '{{\"n\":{n}}}' FROM loop WHERE id = {any_loop}"
            ),
            19 => format!(
                "INSERT INTO audit (at, actor_kind, actor, machine, action, loop_id, detail)
                 VALUES ('at', 'ralph', 'ralph', 'laptop', 'begin', {any_loop}, 'a line\nand {n}')"
            ),
            20 => format!(
                "INSERT INTO guidance (repository_id, source, task_id, text, who, at)
                 VALUES ('R', 'prd.json', NULL, 'mind {n}\u{1}', 'ann', 'at')"
            ),
            _ => format!(
                "INSERT INTO suggestion (repository_id, iteration, title, description)
                 VALUES ('R', {n}, 'More {n}', 'of it')"
            ),
        }
    }

    /// The one repository that the work is about, and a loop.
    pub(super) async fn begin(&mut self) {
        self.run(
            "INSERT INTO repository (id, common_dir, created_at) VALUES ('R', '/r/.git', 'at');
             INSERT INTO loop (id, repository_id, worktree, source, branch, base_commit, agent, config, started_at)
             VALUES ('L', 'R', '/w', 'prd.json', 'ralph/x', 'b', 'claude', '{\"named\":{\"taskId\":\"T\"}}', 'at');
             INSERT INTO session_loop (id, repository_id, worktree, agent, session, prompt, max_iterations, started_at)
             VALUES ('S', 'R', '/w', 'claude', 's', 'go', 3, 'at');
             INSERT INTO session_iteration VALUES ('S', 1, 'at', 'at', 'ok', NULL, 2, '[]');
             INSERT INTO task_list VALUES ('R', 'prd.json', '[\"a\"]');
             INSERT INTO side_run VALUES ('P', 'R', 'plan', 'at', 1, '[]');
             INSERT INTO loop_note (loop_id, worktree, kind, sentence, at) VALUES ('L', '/w', 'asked', 'well', 'at');
             INSERT INTO command (repository_id, worktree, who, at, body)
             VALUES ('R', '/w', 'ann', 'at', '{\"command\":\"ping\"}')",
        )
        .await;
    }

    /// Copies the data folder as a person would, while nothing runs on it.
    pub(super) async fn copy(&self) -> Self {
        let copy = Self::new(self.made.unsigned_abs()).await;
        self.write_back(&copy);
        copy
    }

    /// Replaces the journal of another folder by this one's.
    pub(super) fn write_back(&self, other: &Self) {
        for name in ["ralph.db", "ralph.db-wal", "ralph.db-shm"] {
            let to = other.path().join(name);
            let _ = std::fs::remove_file(&to);
            let from = self.path().join(name);
            if from.exists() {
                std::fs::copy(from, to).unwrap();
            }
        }
    }
}

pub(super) async fn open_journal(path: &Path) -> SqliteConnection {
    let options = SqliteConnectOptions::new()
        .filename(path)
        .foreign_keys(true);
    let options = options.busy_timeout(std::time::Duration::from_secs(60));
    options.connect().await.unwrap()
}

pub(super) async fn run(db: &mut SqliteConnection, sql: &str) {
    let mut tx = db.begin_with("BEGIN IMMEDIATE").await.unwrap();
    let done = sqlx::raw_sql(AssertSqlSafe(sql.to_owned()))
        .execute(&mut *tx)
        .await;
    done.unwrap_or_else(|error| panic!("{error}: {sql}"));
    tx.commit().await.unwrap();
}

/// The content of tables: rows as JSON arrays of the columns that are synced, in the order of their texts.
type Content = BTreeMap<&'static str, Vec<String>>;

/// The rows of a journal, by statements of this test's own.
pub(super) async fn content_here(db: &mut SqliteConnection) -> Content {
    let mut all = Content::new();
    for table in &TABLES {
        let columns: Vec<&str> = table.columns.iter().map(|column| column.name).collect();
        let sql = format!(
            "SELECT json_array({}) FROM {}",
            columns.join(", "),
            table.name
        );
        let rows: Vec<(String,)> = sqlx::query_as(AssertSqlSafe(sql))
            .fetch_all(&mut *db)
            .await
            .unwrap();
        all.insert(table.name, normal(rows.into_iter().map(|(row,)| row)));
    }
    all
}

/// The rows of a journal on the server.
pub(super) async fn content_there(store: &Store, origin: &str) -> Content {
    let mut questions = Vec::new();
    for (at, table) in TABLES.iter().enumerate() {
        let columns: Vec<String> = table
            .columns
            .iter()
            .map(|column| format!("\"{}\"", column.name))
            .collect();
        questions.push(format!(
            "SELECT {at} || ' ' || json_build_array({})::text FROM ralph.\"{}\" WHERE origin = '{origin}'",
            columns.join(", "),
            table.name
        ));
    }
    let mut all: Content = TABLES
        .iter()
        .map(|table| (table.name, Vec::new()))
        .collect();
    for line in store.ask(&questions.join(" UNION ALL ")).await {
        let (at, row) = line.split_once(' ').unwrap();
        let name = TABLES[at.parse::<usize>().unwrap()].name;
        all.entry(name).or_default().push(row.to_owned());
    }
    all.into_iter()
        .map(|(name, rows)| (name, normal(rows.into_iter())))
        .collect()
}

fn normal(rows: impl Iterator<Item = String>) -> Vec<String> {
    let parse = |row: String| {
        serde_json::from_str::<serde_json::Value>(&row)
            .unwrap()
            .to_string()
    };
    let mut rows: Vec<String> = rows.map(parse).collect();
    rows.sort();
    rows
}

/// Fails unless the server holds exactly what the journal does, by a chain of batches without a gap.
pub(super) async fn assert_same(machine: &Machine, store: &Store, what: &str) {
    assert_same_as(&mut machine.db().await, store, what).await;
}

pub(super) async fn assert_same_as(db: &mut SqliteConnection, store: &Store, what: &str) {
    let origin = origin_of(db).await;
    let (here, there) = (content_here(db).await, content_there(store, &origin).await);
    for (table, rows) in &here {
        assert_eq!(&there[table], rows, "{what}: {table}");
    }
    assert_chain(store, &origin, what).await;
}

pub(super) async fn origin_of(db: &mut SqliteConnection) -> String {
    let found: (String,) = sqlx::query_as("SELECT origin FROM sync_state")
        .fetch_one(db)
        .await
        .unwrap();
    found.0
}

/// Fails unless each batch follows the one before, and the cursor is the last.
pub(super) async fn assert_chain(store: &Store, origin: &str, what: &str) {
    let batches = store
        .ask(&format!(
            "SELECT concat_ws(' ', from_seq, to_seq, coalesce(nullif(prev_hash, ''), '-'), hash)
         FROM ralph.sync_batch WHERE origin = '{origin}' ORDER BY to_seq"
        ))
        .await;
    let (mut at, mut hash) = ("0".to_owned(), "-".to_owned());
    for batch in &batches {
        let parts: Vec<&str> = batch.split(' ').collect();
        assert_eq!((parts[0], parts[2]), (&*at, &*hash), "{what}: {batches:#?}");
        (at, hash) = (parts[1].to_owned(), parts[3].to_owned());
    }
    let cursor = store
        .ask(&format!(
            "SELECT concat_ws(' ', seq, hash) FROM ralph.machine WHERE origin = '{origin}'"
        ))
        .await;
    let expected = if batches.is_empty() {
        vec![]
    } else {
        vec![format!("{at} {hash}")]
    };
    assert_eq!(cursor, expected, "{what}");
}

/// The tables that are only added to: the table, what its rows are a part of, and their place in that.
const ADDED_TO: [(&str, &str, &str); 4] = [
    ("step", "iteration_id", "seq"),
    ("checkpoint", "loop_id", "n"),
    ("loop_event", "loop_id", "id"),
    ("audit", "coalesce(loop_id, '')", "n"),
];

/// Fails unless, of what is only added to, the server has what came first: without a gap, loop by loop.
pub(super) async fn assert_prefix(db: &mut SqliteConnection, store: &Store, what: &str) {
    let origin = origin_of(db).await;
    let there: Vec<String> = ADDED_TO
        .iter()
        .map(|(table, parent, place)| {
            format!(
                "SELECT json_build_array('{table}', {parent}, max({place}), count(*))::text FROM ralph.{table}
                 WHERE origin = '{origin}' GROUP BY {parent}"
            )
        })
        .collect();
    let there = store.ask(&there.join(" UNION ALL ")).await;
    let here: Vec<String> = ADDED_TO
        .iter()
        .map(|(table, parent, place)| {
            format!(
                "SELECT json_array(t.value ->> 0, t.value ->> 1, t.value ->> 2,
                   (SELECT COUNT(*) FROM {table} WHERE {parent} = t.value ->> 1 AND {place} <= t.value ->> 2))
                 FROM there AS t WHERE t.value ->> 0 = '{table}'"
            )
        })
        .collect();
    let sql = format!(
        "WITH there AS (SELECT value FROM json_each(?)) {}",
        here.join(" UNION ALL ")
    );
    let here: Vec<(String,)> = sqlx::query_as(AssertSqlSafe(sql))
        .bind(format!("[{}]", there.join(",")))
        .fetch_all(&mut *db)
        .await
        .unwrap();
    let here = normal(here.into_iter().map(|(row,)| row));
    assert_eq!(
        here,
        normal(there.into_iter()),
        "{what}: up to the newest there"
    );
}

/// Numbers that follow from a seed.
pub(super) struct Random(pub(super) u64);

impl Random {
    pub(super) fn next(&mut self) -> u64 {
        // SplitMix64.
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    pub(super) fn below(&mut self, bound: u64) -> u64 {
        self.next() % bound
    }
}
