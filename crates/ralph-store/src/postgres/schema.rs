//! The schema of a team's store: brought forward by its owner, in one transaction and one at a time.
//!
//! Never goes back: a store that a newer ralph has set up is refused by name, and stays as it is.

use sha2::{Digest as _, Sha256};
use sqlx::{AssertSqlSafe, Executor as _, PgConnection};

use super::{
    StoreError,
    connect::{Peer, StoreTransaction},
};

/// The files in `migrations/postgres/` with their texts.
macro_rules! migrations {
    ($($version:literal $description:literal $file:literal,)+) => {
        [$(Migration {
            version: $version,
            description: $description,
            text: include_str!(concat!("../../migrations/postgres/", $file)),
        }),+]
    };
}

/// A step from one schema to the next. Its text is never changed once it was released.
pub(super) struct Migration {
    pub(super) version: i64,
    pub(super) description: &'static str,
    pub(super) text: &'static str,
}

impl Migration {
    pub(super) fn checksum(&self) -> String {
        hex(&Sha256::digest(self.text))
    }
}

#[rustfmt::skip]
pub(super) const MIGRATIONS: [Migration; 5] = migrations![
    1 "tenants" "0001_tenants.sql",
    2 "journal" "0002_journal.sql",
    3 "sync" "0003_sync.sql",
    4 "audit" "0004_audit.sql",
    5 "team" "0005_team.sql",
];

/// The schema that this ralph works with.
pub const KNOWN: i64 = MIGRATIONS[MIGRATIONS.len() - 1].version;

/// The schemas that hold everything.
pub(super) const SCHEMAS: [&str; 3] = ["ralph", "ralph_journal", "ralph_team"];

/// Names the key of the lock, of which there is one in each database.
const LOCK: i64 = 0x7261_6c70_685f_6462;

/// Refuses a store that is absent, older or newer. Only looks.
pub async fn require(tx: &mut StoreTransaction<'_>) -> Result<(), StoreError> {
    let peer = tx.peer().clone();
    match version(tx.db(), &peer).await? {
        Some(KNOWN) => Ok(()),
        None => Err(absent(&peer)),
        Some(found) if found < KNOWN => Err(StoreError::SchemaOlder {
            database: peer.database,
            found,
            known: KNOWN,
        }),
        Some(found) => Err(newer(&peer, found)),
    }
}

/// The newest migration that the store has; none if it was never set up.
pub(super) async fn version(db: &mut PgConnection, peer: &Peer) -> Result<Option<i64>, StoreError> {
    let what = "look at its schema";
    let found = sqlx::query_scalar(
        "SELECT EXISTS (SELECT FROM pg_catalog.pg_class c JOIN pg_catalog.pg_namespace n ON n.oid = c.relnamespace
                        WHERE n.nspname = 'ralph' AND c.relname = 'schema_version')",
    )
    .persistent(false)
    .fetch_one(&mut *db)
    .await;
    let is_there: bool = found.map_err(|error| peer.failed(what, error))?;
    if !is_there {
        return Ok(None);
    }
    sqlx::query_scalar("SELECT max(version) FROM ralph.schema_version")
        .persistent(false)
        .fetch_one(db)
        .await
        .map_err(|error| peer.failed(what, error))
}

/// Waits until this transaction is the only one that sets the database up. The next one finds everything done.
pub(super) async fn lock(tx: &mut StoreTransaction<'_>) -> Result<(), StoreError> {
    let lock = sqlx::query("SELECT pg_catalog.pg_advisory_xact_lock($1)").bind(LOCK);
    let locked = lock.persistent(false).execute(tx.db()).await;
    tx.fail("be set up", locked).map(drop)
}

/// Applies the missing ones up to a version, as `ralph_owner`, and returns those that it applied. Under [`lock`].
pub(super) async fn bring_forward(
    tx: &mut StoreTransaction<'_>,
    up_to: i64,
) -> Result<Vec<i64>, StoreError> {
    let what = "bring its schema forward";
    let peer = tx.peer().clone();
    let failed = |error| peer.failed(what, error);
    run(tx.db(), "SET LOCAL ROLE ralph_owner")
        .await
        .map_err(failed)?;
    let found = version(tx.db(), &peer).await?;
    if let Some(found) = found.filter(|found| *found > KNOWN) {
        return Err(newer(&peer, found));
    }
    let mut applied = Vec::new();
    for migration in MIGRATIONS
        .iter()
        .filter(|m| m.version > found.unwrap_or(0) && m.version <= up_to)
    {
        run(tx.db(), migration.text).await.map_err(failed)?;
        sqlx::query(
            "INSERT INTO ralph.schema_version (version, description, checksum) VALUES ($1, $2, $3)",
        )
        .bind(migration.version)
        .bind(migration.description)
        .bind(migration.checksum())
        .persistent(false)
        .execute(tx.db())
        .await
        .map_err(failed)?;
        applied.push(migration.version);
    }
    Ok(applied)
}

/// Runs statements without values, in one way to the server and back.
pub(super) async fn run(db: &mut PgConnection, sql: &str) -> Result<(), sqlx::Error> {
    db.execute(sqlx::raw_sql(AssertSqlSafe(sql.to_owned())))
        .await
        .map(drop)
}

fn absent(peer: &Peer) -> StoreError {
    StoreError::SchemaAbsent {
        database: peer.database.clone(),
    }
}

fn newer(peer: &Peer, found: i64) -> StoreError {
    StoreError::SchemaNewer {
        database: peer.database.clone(),
        found,
        known: KNOWN,
    }
}

pub(super) fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}
