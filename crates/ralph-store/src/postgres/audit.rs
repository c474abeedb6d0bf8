//! The audit trail: entries that are written without a SQLite journal, reading it, and verifying its seals.
//!
//! The server seals each batch when it comes in. Verification computes all seals once more, from the rows, and names the
//! first place where the two differ. It shows what was changed behind the server's back; who can write a server's files
//! can also write a new chain, which only a hash that was noted elsewhere gives away ([`AuditChain::hash`]).

use jiff::Timestamp;
use sha2::{Digest as _, Sha256};
use sqlx::{PgConnection, Row as _, postgres::PgRow};
use uuid::Uuid;

use super::{Scope, StoreConnection, StoreError, StoreUrl, schema, schema::hex};

/// The kind of actor that did something.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ActorKind {
    Person,
    Agent,
    Ralph,
}

impl ActorKind {
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Person => "person",
            Self::Agent => "agent",
            Self::Ralph => "ralph",
        }
    }
}

/// Something that was done on the server itself.
#[derive(Debug, Clone, Copy)]
pub struct NewAuditEntry<'a> {
    pub at: Timestamp,
    pub actor_kind: ActorKind,
    pub actor: &'a str,
    pub machine: &'a str,
    pub action: &'a str,
    pub subject: Option<&'a str>,
    /// JSON.
    pub detail: Option<&'a str>,
}

/// Adds an entry in the transaction of what it is about.
pub async fn add(
    db: &mut PgConnection,
    tenant: Uuid,
    entry: &NewAuditEntry<'_>,
) -> Result<(), sqlx::Error> {
    sqlx::query(
        "INSERT INTO ralph.audit (tenant, at, actor_kind, actor, machine, action, subject, detail)
         VALUES ($1, $2, $3, $4, $5, $6, $7, $8)",
    )
    .bind(tenant)
    .bind(entry.at.to_string())
    .bind(entry.actor_kind.as_str())
    .bind(entry.actor)
    .bind(entry.machine)
    .bind(entry.action)
    .bind(entry.subject)
    .bind(entry.detail)
    .persistent(false)
    .execute(db)
    .await
    .map(drop)
}

/// A row of the trail.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AuditRow {
    /// The journal that it came from; empty where it was written on the server.
    pub origin: String,
    pub n: i64,
    pub at: String,
    pub actor_kind: String,
    pub actor: String,
    pub machine: String,
    pub action: String,
    pub repository_id: Option<String>,
    pub loop_id: Option<String>,
    pub task_id: Option<String>,
    pub subject: Option<String>,
    pub detail: Option<String>,
    /// When the server took it, by its own clock.
    pub received_at: String,
}

const ROW: &str = "origin, n, at, actor_kind, actor, machine, action, repository_id, loop_id, task_id, subject, detail,
     ralph.audit_time(received_at) AS received_at";

impl AuditRow {
    fn read(row: &PgRow) -> Result<Self, sqlx::Error> {
        Ok(Self {
            origin: row.try_get("origin")?,
            n: row.try_get("n")?,
            at: row.try_get("at")?,
            actor_kind: row.try_get("actor_kind")?,
            actor: row.try_get("actor")?,
            machine: row.try_get("machine")?,
            action: row.try_get("action")?,
            repository_id: row.try_get("repository_id")?,
            loop_id: row.try_get("loop_id")?,
            task_id: row.try_get("task_id")?,
            subject: row.try_get("subject")?,
            detail: row.try_get("detail")?,
            received_at: row.try_get("received_at")?,
        })
    }

    /// The form that is sealed, as migration 4 writes it.
    fn seal_into(&self, text: &mut String) {
        let optional = [
            &self.repository_id,
            &self.loop_id,
            &self.task_id,
            &self.subject,
            &self.detail,
        ];
        field(text, Some(&self.n.to_string()));
        for value in [
            &self.at,
            &self.actor_kind,
            &self.actor,
            &self.machine,
            &self.action,
        ] {
            field(text, Some(value));
        }
        for value in optional {
            field(text, value.as_deref());
        }
        field(text, Some(&self.received_at));
    }
}

/// A field with its length before it: no field can be taken for another.
fn field(text: &mut String, value: Option<&str>) {
    match value {
        Some(value) => {
            text.push_str(&value.len().to_string());
            text.push(':');
            text.push_str(value);
        }
        None => text.push('~'),
    }
}

/// The rows of a tenant that the server took since then, in the order in which it did. Each is given to `take`, so that
/// a long trail is never in memory.
pub async fn read(
    url: &StoreUrl,
    tenant: &str,
    since: Option<Timestamp>,
    mut take: impl FnMut(AuditRow),
) -> Result<(), StoreError> {
    let what = "read the audit trail";
    let mut connection = StoreConnection::open(url).await?;
    let id = connection.tenant(tenant).await?;
    let mut tx = connection.begin(what, &Scope::of(id)).await?;
    schema::require(&mut tx).await?;
    let since = since.map_or_else(|| "-infinity".to_owned(), |at| at.to_string());
    // By pages: behind the last one, by what they are sorted by.
    let text = format!(
        "SELECT {ROW}, received_at::text AS place FROM ralph.audit
         WHERE tenant = $1 AND received_at >= $2::text::timestamptz
           AND (received_at, origin, n) > ($3::text::timestamptz, $4, $5)
         ORDER BY received_at, origin, n LIMIT {PAGE}"
    );
    let mut last = ("-infinity".to_owned(), String::new(), i64::MIN);
    loop {
        let rows = sqlx::query(sqlx::AssertSqlSafe(text.clone()))
            .bind(id)
            .bind(&since)
            .bind(&last.0)
            .bind(&last.1)
            .bind(last.2)
            .persistent(false)
            .fetch_all(tx.db())
            .await;
        let rows = tx.fail(what, rows)?;
        for row in &rows {
            let read = tx.fail(what, AuditRow::read(row))?;
            last = (
                tx.fail(what, row.try_get("place"))?,
                read.origin.clone(),
                read.n,
            );
            take(read);
        }
        if rows.len() < PAGE {
            break;
        }
    }
    tx.commit(what).await?;
    connection.close().await
}

const PAGE: usize = 1_000;

/// A chain that was verified up to its end, or up to where it is broken.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AuditChain {
    pub origin: String,
    /// The rows whose seals hold.
    pub rows: u64,
    pub seals: u64,
    /// The last seal that holds. Noted elsewhere, it shows later that the chain up to here is still the same.
    pub hash: String,
    pub broken: Option<BrokenAudit>,
}

/// The first place of a chain that does not hold.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum BrokenAudit {
    /// A row in this range was changed after it was sealed; it is one row where both are the same.
    Changed { first: i64, last: i64 },
    /// Rows are missing; the number is that of the first one where it is known, else of the seal's last row.
    Missing { n: i64, rows: u64 },
    /// There are more rows than were sealed.
    Added { n: i64 },
    /// No seal is over this row.
    Unsealed { n: i64 },
    /// The seal over these rows was changed, or one before it was taken out.
    SealChanged { first: i64, last: i64 },
    /// The chain ends before its last known seal.
    SealMissing { last: i64 },
}

impl std::fmt::Display for BrokenAudit {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Changed { first, last } if first == last => write!(f, "row {first} was changed"),
            Self::Changed { first, last } => {
                write!(f, "one of the rows {first} to {last} was changed")
            }
            Self::Missing { n, rows: 1 } => write!(f, "row {n} is missing"),
            Self::Missing { n, rows } => write!(f, "{rows} rows are missing, at row {n}"),
            Self::Added { n } => write!(f, "row {n} was put in later"),
            Self::Unsealed { n } => write!(f, "row {n} has no seal"),
            Self::SealChanged { first, last } => {
                write!(
                    f,
                    "the seal of the rows {first} to {last} was changed, or one before it is missing"
                )
            }
            Self::SealMissing { last } => write!(f, "the seals up to row {last} are missing"),
        }
    }
}

struct Seal {
    first: i64,
    last: i64,
    rows: i64,
    prev_hash: String,
    hash: String,
    at: String,
}

/// Verifies all chains of a tenant, at one moment. Any role that may see the tenant can.
pub async fn verify(url: &StoreUrl, tenant: &str) -> Result<Vec<AuditChain>, StoreError> {
    let what = "verify the audit trail";
    let mut connection = StoreConnection::open(url).await?;
    let id = connection.tenant(tenant).await?;
    let scope = Scope {
        isolation: super::Isolation::RepeatableRead,
        ..Scope::of(id)
    };
    let mut tx = connection.begin(what, &scope).await?;
    schema::require(&mut tx).await?;
    let text = "SELECT origin FROM ralph.audit WHERE tenant = $1
         UNION SELECT origin FROM ralph.audit_seal WHERE tenant = $1
         UNION SELECT origin FROM ralph.audit_head WHERE tenant = $1 ORDER BY 1";
    let origins = sqlx::query_scalar(text).bind(id).persistent(false);
    let origins = origins.fetch_all(tx.db()).await;
    let origins: Vec<String> = tx.fail(what, origins)?;
    let mut chains = Vec::new();
    for origin in origins {
        let chain = verify_chain(tx.db(), id, origin).await;
        chains.push(tx.fail(what, chain)?);
    }
    tx.commit(what).await?;
    connection.close().await?;
    Ok(chains)
}

async fn verify_chain(
    db: &mut PgConnection,
    tenant: Uuid,
    origin: String,
) -> Result<AuditChain, sqlx::Error> {
    let mut chain = AuditChain {
        origin,
        rows: 0,
        seals: 0,
        hash: String::new(),
        broken: None,
    };
    let mut behind = i64::MIN;
    loop {
        let seals = seals_behind(db, tenant, &chain.origin, behind).await?;
        let is_last = seals.len() < PAGE;
        for seal in seals {
            let rows = rows_between(db, tenant, &chain.origin, behind, seal.last).await?;
            chain.broken = judge(tenant, &chain, &seal, &rows);
            if chain.broken.is_some() {
                return Ok(chain);
            }
            chain.rows += rows.len() as u64;
            chain.seals += 1;
            chain.hash = seal.hash;
            behind = seal.last;
        }
        if is_last {
            break;
        }
    }
    let rows = rows_between(db, tenant, &chain.origin, behind, i64::MAX).await?;
    if let Some(row) = rows.first() {
        chain.broken = Some(BrokenAudit::Unsealed { n: row.n });
        return Ok(chain);
    }
    let text = "SELECT sealed, hash FROM ralph.audit_head WHERE tenant = $1 AND origin = $2";
    let head = sqlx::query(text).bind(tenant).bind(&chain.origin);
    if let Some(head) = head.persistent(false).fetch_optional(db).await? {
        let (sealed, hash): (i64, String) = (head.try_get(0)?, head.try_get(1)?);
        if hash != chain.hash {
            chain.broken = Some(BrokenAudit::SealMissing { last: sealed });
        }
    } else if chain.seals > 0 {
        chain.broken = Some(BrokenAudit::SealMissing { last: behind });
    }
    Ok(chain)
}

/// Compares a seal with the rows under it, and with the seal before.
fn judge(tenant: Uuid, chain: &AuditChain, seal: &Seal, rows: &[AuditRow]) -> Option<BrokenAudit> {
    let (first, last) = (seal.first, seal.last);
    if seal.prev_hash != chain.hash {
        return Some(BrokenAudit::SealChanged { first, last });
    }
    if seal_of(tenant, chain, seal, rows) == seal.hash {
        return None;
    }
    let sealed = u64::try_from(seal.rows).unwrap_or_default();
    let found = rows.len() as u64;
    if found < sealed {
        // Where no number was left out, the first one that is not there is the missing row.
        let has_no_gaps = u64::try_from(last - first).is_ok_and(|span| span + 1 == sealed);
        let missing = (first..=last).find(|n| rows.iter().all(|row| row.n != *n));
        return Some(BrokenAudit::Missing {
            n: missing.filter(|_| has_no_gaps).unwrap_or(last),
            rows: sealed - found,
        });
    }
    if found > sealed {
        let outside = rows.iter().find(|row| row.n < first);
        return Some(BrokenAudit::Added {
            n: outside.or(rows.last()).map_or(last, |row| row.n),
        });
    }
    if rows.first().map(|row| row.n) != Some(first) || rows.last().map(|row| row.n) != Some(last) {
        return Some(BrokenAudit::SealChanged { first, last });
    }
    Some(BrokenAudit::Changed { first, last })
}

fn seal_of(tenant: Uuid, chain: &AuditChain, seal: &Seal, rows: &[AuditRow]) -> String {
    let mut text = String::new();
    let [first, last, count] = [seal.first, seal.last, seal.rows].map(|n| n.to_string());
    for value in [
        &chain.hash,
        &tenant.to_string(),
        &chain.origin,
        &first,
        &last,
        &count,
        &seal.at,
    ] {
        field(&mut text, Some(value));
    }
    for row in rows {
        row.seal_into(&mut text);
    }
    hex(&Sha256::digest(&text))
}

async fn seals_behind(
    db: &mut PgConnection,
    tenant: Uuid,
    origin: &str,
    behind: i64,
) -> Result<Vec<Seal>, sqlx::Error> {
    let text = format!(
        "SELECT first_n, last_n, rows, prev_hash, hash, ralph.audit_time(at) FROM ralph.audit_seal
         WHERE tenant = $1 AND origin = $2 AND last_n > $3 ORDER BY last_n LIMIT {PAGE}"
    );
    let found = sqlx::query(sqlx::AssertSqlSafe(text)).bind(tenant);
    let found = found.bind(origin).bind(behind).persistent(false);
    let rows = found.fetch_all(db).await?;
    rows.iter()
        .map(|row| {
            Ok(Seal {
                first: row.try_get(0)?,
                last: row.try_get(1)?,
                rows: row.try_get(2)?,
                prev_hash: row.try_get(3)?,
                hash: row.try_get(4)?,
                at: row.try_get(5)?,
            })
        })
        .collect()
}

/// The rows behind one number, up to another.
async fn rows_between(
    db: &mut PgConnection,
    tenant: Uuid,
    origin: &str,
    behind: i64,
    last: i64,
) -> Result<Vec<AuditRow>, sqlx::Error> {
    let text = format!(
        "SELECT {ROW} FROM ralph.audit WHERE tenant = $1 AND origin = $2 AND n > $3 AND n <= $4 ORDER BY n"
    );
    let found = sqlx::query(sqlx::AssertSqlSafe(text)).bind(tenant);
    let found = found.bind(origin).bind(behind).bind(last).persistent(false);
    found
        .fetch_all(db)
        .await?
        .iter()
        .map(AuditRow::read)
        .collect()
}
