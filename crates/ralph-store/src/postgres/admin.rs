//! Setting a store up and keeping it: its schema, its tenants, its roles, and what a tenant may spend.
//!
//! For `ralph db`. Plain functions that take a URL, do one thing in one transaction and return data. They need a role
//! that may become `ralph_owner`, as the one that ran [`init`] may; [`set_budget`] does not.

use ralph_core::dollars::Dollars;
use sqlx::{PgConnection, Row as _};
use uuid::Uuid;

use super::{
    Scope, StoreConnection, StoreError, StoreTransaction, StoreUrl,
    audit::{self, NewAuditEntry},
    catalog::TABLES,
    connect::code,
    password,
    schema::{self, SCHEMAS, run},
};

/// The work of setting up or bringing forward.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SchemaReport {
    /// The versions that were missing.
    pub applied: Vec<i64>,
    /// The version that it has now.
    pub version: i64,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Tenant {
    pub id: Uuid,
    pub name: String,
    /// In UTC, as RFC 3339.
    pub created_at: String,
}

/// The conditions under which a tenant is removed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Removal {
    /// It is only removed where it has none.
    Empty,
    WithRows,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RemovedTenant {
    pub rows: u64,
    /// Roles that were bound to it: they see nothing any more, and can still log in.
    pub roles: Vec<String>,
}

/// A role to be made.
#[derive(Debug, Clone, Copy)]
pub struct NewRole<'a> {
    pub name: &'a str,
    /// The one tenant that it may see; none for a role that may choose any.
    pub tenant: Option<&'a str>,
    /// One is made up where there is none.
    pub password: Option<&'a str>,
}

/// A role that was made. The password is known here alone.
#[derive(Clone, PartialEq, Eq)]
pub struct AddedRole {
    pub name: String,
    pub password: String,
}

/// Not its password.
impl std::fmt::Debug for AddedRole {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("AddedRole")
            .field("name", &self.name)
            .finish_non_exhaustive()
    }
}

/// The time that a budget is for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum BudgetTerm {
    Day,
    Month,
    Total,
}

impl BudgetTerm {
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Day => "day",
            Self::Month => "month",
            Self::Total => "total",
        }
    }
}

/// The oldest server that has everything: views that ask as their reader.
const OLDEST: i32 = 150_000;

/// Makes roles, schemas and tables; what is there already stays. Repeatable, and two at once do no harm, in one
/// database or in two of a cluster.
pub async fn init(url: &StoreUrl) -> Result<SchemaReport, StoreError> {
    let what = "be set up";
    let mut connection = StoreConnection::open(url).await?;
    refuse_old_server(&mut connection).await?;
    make_roles(&mut connection).await?;
    let mut tx = connection.begin(what, &Scope::default()).await?;
    schema::lock(&mut tx).await?;
    make_schemas(&mut tx).await?;
    let report = forward(tx, what).await?;
    connection.close().await?;
    Ok(report)
}

/// Brings a store forward that is set up already.
pub async fn migrate(url: &StoreUrl) -> Result<SchemaReport, StoreError> {
    let what = "be brought forward";
    let mut connection = StoreConnection::open(url).await?;
    let peer = connection.peer().clone();
    let mut tx = connection.begin(what, &Scope::default()).await?;
    schema::lock(&mut tx).await?;
    if schema::version(tx.db(), &peer).await?.is_none() {
        tx.rollback().await?;
        return Err(StoreError::SchemaAbsent {
            database: peer.database,
        });
    }
    let report = forward(tx, what).await?;
    connection.close().await?;
    Ok(report)
}

async fn forward(mut tx: StoreTransaction<'_>, what: &str) -> Result<SchemaReport, StoreError> {
    let applied = schema::bring_forward(&mut tx, schema::KNOWN).await?;
    tx.commit(what).await?;
    Ok(SchemaReport {
        applied,
        version: schema::KNOWN,
    })
}

async fn refuse_old_server(connection: &mut StoreConnection) -> Result<(), StoreError> {
    let text =
        "SELECT current_setting('server_version_num')::int, current_setting('server_version')";
    let asked = sqlx::query(text).persistent(false);
    let found = asked.fetch_one(connection.db()).await;
    let found = found.map_err(|error| connection.failed("be set up", error))?;
    let read = |error| connection.failed("be set up", error);
    if found.try_get::<i32, _>(0).map_err(read)? >= OLDEST {
        return Ok(());
    }
    Err(StoreError::OldServer {
        server: connection.peer().server.clone(),
        version: found.try_get(1).map_err(read)?,
    })
}

/// The roles belong to the whole cluster, whose other databases may be set up at this moment: no lock of one database
/// keeps them apart.
const MAKE_ROLES: &str = "DO $$
DECLARE
    name text;
BEGIN
    FOREACH name IN ARRAY ARRAY['ralph_owner', 'ralph_app'] LOOP
        IF NOT EXISTS (SELECT FROM pg_catalog.pg_roles WHERE rolname = name) THEN
            EXECUTE format('CREATE ROLE %I NOLOGIN NOSUPERUSER NOCREATEDB NOCREATEROLE NOREPLICATION NOBYPASSRLS', name);
        END IF;
    END LOOP;
    -- From PostgreSQL 16 on, who makes a role may grant it, and may not become it yet.
    IF NOT pg_catalog.pg_has_role(current_user, 'ralph_owner',
        CASE WHEN current_setting('server_version_num')::int >= 160000 THEN 'SET' ELSE 'MEMBER' END) THEN
        EXECUTE format('GRANT ralph_owner TO %I', current_user);
    END IF;
END
$$";

const ROLE_TRIES: u32 = 20;

async fn make_roles(connection: &mut StoreConnection) -> Result<(), StoreError> {
    let what = "make its roles";
    let mut tries = 0;
    loop {
        tries += 1;
        let error = match run(connection.db(), MAKE_ROLES).await {
            Ok(()) => break,
            Err(error) => error,
        };
        // Another one made the role, or granted it, at the same moment.
        let is_race = match code(&error).as_deref() {
            Some("23505" | "42710") => true,
            Some("XX000") => error.to_string().contains("concurrently"),
            Some(_) | None => false,
        };
        if !is_race || tries == ROLE_TRIES {
            return Err(connection.failed(what, error));
        }
    }
    let text = "SELECT rolname::text FROM pg_catalog.pg_roles
         WHERE rolname IN ('ralph_owner', 'ralph_app') AND (rolsuper OR rolbypassrls OR rolcanlogin)";
    let asked = sqlx::query_scalar(text).persistent(false);
    let unfit = asked.fetch_optional(connection.db()).await;
    let unfit: Option<String> = unfit.map_err(|error| connection.failed(what, error))?;
    match unfit {
        Some(role) => Err(StoreError::Wrong {
            why: format!(
                "the role {role} is there already, and can log in or pass by row-level security"
            ),
        }),
        None => Ok(()),
    }
}

async fn make_schemas(tx: &mut StoreTransaction<'_>) -> Result<(), StoreError> {
    let what = "make its schemas";
    for name in SCHEMAS {
        let text = "SELECT pg_catalog.pg_get_userbyid(nspowner)::text FROM pg_catalog.pg_namespace WHERE nspname = $1";
        let asked = sqlx::query_scalar(text).bind(name).persistent(false);
        let owner = asked.fetch_optional(tx.db()).await;
        let owner: Option<String> = tx.fail(what, owner)?;
        match owner.as_deref() {
            Some("ralph_owner") => {}
            Some(owner) => {
                return Err(StoreError::Wrong {
                    why: format!("the schema {name} is there already, and belongs to {owner}"),
                });
            }
            None => {
                let made = run(
                    tx.db(),
                    &format!("CREATE SCHEMA {name} AUTHORIZATION ralph_owner"),
                )
                .await;
                tx.fail(what, made)?;
            }
        }
    }
    Ok(())
}

/// A transaction as `ralph_owner`, on a store of this schema.
async fn as_owner<'c>(
    connection: &'c mut StoreConnection,
    what: &str,
    scope: &Scope,
) -> Result<StoreTransaction<'c>, StoreError> {
    let mut tx = connection.begin(what, scope).await?;
    schema::require(&mut tx).await?;
    let become_owner = run(tx.db(), "SET LOCAL ROLE ralph_owner").await;
    tx.fail(what, become_owner)?;
    Ok(tx)
}

/// Adds a tenant with an id of its own.
pub async fn add_tenant(url: &StoreUrl, name: &str) -> Result<Tenant, StoreError> {
    let what = "add a tenant";
    let is_plain = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '.');
    if name.is_empty() || name.len() > 63 || !name.chars().all(is_plain) {
        return Err(StoreError::Wrong {
            why: format!(
                "{name:?} is no name of a tenant: it has 1 to 63 letters, digits, -, _ and ."
            ),
        });
    }
    let mut connection = StoreConnection::open(url).await?;
    let mut tx = as_owner(&mut connection, what, &Scope::default()).await?;
    let added = sqlx::query("INSERT INTO ralph.tenant (id, name) VALUES ($1, $2) ON CONFLICT (name) DO NOTHING
         RETURNING id, name, to_char(created_at AT TIME ZONE 'UTC', 'YYYY-MM-DD\"T\"HH24:MI:SS\"Z\"') AS created_at")
        .bind(Uuid::now_v7())
        .bind(name)
        .persistent(false)
        .fetch_optional(tx.db())
        .await;
    let Some(row) = tx.fail(what, added)? else {
        tx.rollback().await?;
        return Err(StoreError::Wrong {
            why: format!("there is a tenant {name} already"),
        });
    };
    let tenant = tx.fail(what, tenant_of(&row))?;
    tx.commit(what).await?;
    connection.close().await?;
    Ok(tenant)
}

fn tenant_of(row: &sqlx::postgres::PgRow) -> Result<Tenant, sqlx::Error> {
    Ok(Tenant {
        id: row.try_get("id")?,
        name: row.try_get("name")?,
        created_at: row.try_get("created_at")?,
    })
}

/// All tenants, by name.
pub async fn tenants(url: &StoreUrl) -> Result<Vec<Tenant>, StoreError> {
    let what = "list its tenants";
    let mut connection = StoreConnection::open(url).await?;
    let mut tx = as_owner(&mut connection, what, &Scope::default()).await?;
    let text = "SELECT id, name, to_char(created_at AT TIME ZONE 'UTC', 'YYYY-MM-DD\"T\"HH24:MI:SS\"Z\"') AS created_at
         FROM ralph.tenant ORDER BY name";
    let rows = sqlx::query(text).persistent(false).fetch_all(tx.db()).await;
    let rows = tx.fail(what, rows)?;
    let tenants = rows.iter().map(tenant_of).collect::<Result<_, _>>();
    let tenants = tx.fail(what, tenants)?;
    tx.commit(what).await?;
    connection.close().await?;
    Ok(tenants)
}

/// Removes a tenant and all of its rows, its audit trail among them. What is written meanwhile waits, and is refused.
pub async fn remove_tenant(
    url: &StoreUrl,
    name: &str,
    removal: Removal,
) -> Result<RemovedTenant, StoreError> {
    let what = "remove a tenant";
    let mut connection = StoreConnection::open(url).await?;
    let id = connection.tenant(name).await?;
    let mut tx = as_owner(&mut connection, what, &Scope::of(id)).await?;
    // Rows of others refer to it: from here on no one adds any.
    let locked = sqlx::query("SELECT FROM ralph.tenant WHERE id = $1 FOR UPDATE").bind(id);
    let locked = locked.persistent(false).execute(tx.db()).await;
    tx.fail(what, locked)?;
    let mut rows = 0;
    for table in TABLES.iter().rev() {
        let text = format!("DELETE FROM ralph.{table} WHERE tenant = $1");
        let delete = sqlx::query(sqlx::AssertSqlSafe(text)).bind(id);
        let deleted = delete.persistent(false).execute(tx.db()).await;
        rows += tx.fail(what, deleted)?.rows_affected();
    }
    if rows > 0 && removal == Removal::Empty {
        tx.rollback().await?;
        return Err(StoreError::Wrong {
            why: format!("the tenant {name} has {rows} rows"),
        });
    }
    let text = "DELETE FROM ralph.role_tenant WHERE tenant = $1 RETURNING role::text";
    let unbound = sqlx::query_scalar(text).bind(id).persistent(false);
    let unbound = unbound.fetch_all(tx.db()).await;
    let roles = tx.fail(what, unbound)?;
    let removed = sqlx::query("DELETE FROM ralph.tenant WHERE id = $1").bind(id);
    let removed = removed.persistent(false).execute(tx.db()).await;
    tx.fail(what, removed)?;
    tx.commit(what).await?;
    connection.close().await?;
    Ok(RemovedTenant { rows, roles })
}

/// Makes a role that can log in, with the rights of `ralph_app`, for one tenant or for any.
pub async fn add_role(url: &StoreUrl, new: NewRole<'_>) -> Result<AddedRole, StoreError> {
    let what = "add a role";
    if new.name.is_empty()
        || new.name.len() > 63
        || new.name.starts_with("pg_")
        || new.name.contains('\0')
    {
        return Err(StoreError::Wrong {
            why: format!(
                "{:?} is no name of a role: it has 1 to 63 characters, and does not begin with pg_",
                new.name
            ),
        });
    }
    let random = |source| StoreError::PasswordFile {
        path: "/dev/urandom".into(),
        source,
    };
    let password = match new.password {
        Some(password) => password.to_owned(),
        None => password::generate().map_err(random)?,
    };
    let verifier = password::verifier(&password).map_err(random)?;
    let mut connection = StoreConnection::open(url).await?;
    let tenant = match new.tenant {
        Some(name) => Some(connection.tenant(name).await?),
        None => None,
    };
    let mut tx = connection.begin(what, &Scope::default()).await?;
    schema::require(&mut tx).await?;
    let text = format!(
        "CREATE ROLE {} LOGIN NOSUPERUSER NOCREATEDB NOCREATEROLE NOREPLICATION NOBYPASSRLS IN ROLE ralph_app PASSWORD '{}'",
        identifier(new.name),
        verifier.replace('\'', "''"),
    );
    match run(tx.db(), &text).await {
        Err(error) if code(&error).as_deref() == Some("42710") => {
            tx.rollback().await?;
            return Err(StoreError::Wrong {
                why: format!("there is a role {} already", new.name),
            });
        }
        made => tx.fail(what, made)?,
    }
    let become_owner = run(tx.db(), "SET LOCAL ROLE ralph_owner").await;
    tx.fail(what, become_owner)?;
    // A row of a role of this name may be left from one that was dropped.
    let text = "INSERT INTO ralph.role_tenant (role, tenant) VALUES ($1::text::name, $2)
         ON CONFLICT (role) DO UPDATE SET tenant = excluded.tenant";
    let bind = sqlx::query(text)
        .bind(new.name)
        .bind(tenant)
        .persistent(false);
    let bound = bind.execute(tx.db()).await;
    tx.fail(what, bound)?;
    tx.commit(what).await?;
    connection.close().await?;
    Ok(AddedRole {
        name: new.name.to_owned(),
        password,
    })
}

/// A name as the server reads it, whatever it holds.
pub(super) fn identifier(name: &str) -> String {
    format!("\"{}\"", name.replace('"', "\"\""))
}

/// A new budget, with its author for the trail.
#[derive(Debug, Clone, Copy)]
pub struct BudgetChange<'a> {
    pub tenant: &'a str,
    pub term: BudgetTerm,
    pub usd: Dollars,
    /// The person who sets it.
    pub by: &'a str,
    /// On which machine.
    pub machine: &'a str,
    pub at: jiff::Timestamp,
}

/// Sets what a tenant may spend, and writes it into the audit trail, with what it was before. A role of the tenant can
/// do this.
pub async fn set_budget(url: &StoreUrl, change: BudgetChange<'_>) -> Result<(), StoreError> {
    let what = "set a budget";
    let mut connection = StoreConnection::open(url).await?;
    let tenant = connection.tenant(change.tenant).await?;
    let mut tx = connection.begin(what, &Scope::of(tenant)).await?;
    schema::require(&mut tx).await?;
    let before = budget(tx.db(), tenant, change.term).await;
    let before = tx.fail(what, before)?;
    let text = "INSERT INTO ralph.budget (tenant, per, usd, set_by) VALUES ($1, $2, $3, $4)
         ON CONFLICT (tenant, per) DO UPDATE SET usd = excluded.usd, set_by = excluded.set_by, set_at = clock_timestamp()";
    let set = sqlx::query(text)
        .bind(tenant)
        .bind(change.term.as_str())
        .bind(i64::try_from(change.usd.millionths()).unwrap_or(i64::MAX))
        .bind(change.by)
        .persistent(false)
        .execute(tx.db())
        .await;
    tx.fail(what, set)?;
    let detail = serde_json::json!({
        "per": change.term.as_str(),
        "beforeMillionths": before,
        "millionths": change.usd.millionths(),
    });
    let entry = NewAuditEntry {
        at: change.at,
        actor_kind: audit::ActorKind::Person,
        actor: change.by,
        machine: change.machine,
        action: "budget_set",
        subject: Some(change.term.as_str()),
        detail: Some(&detail.to_string()),
    };
    let added = audit::add(tx.db(), tenant, &entry).await;
    tx.fail(what, added)?;
    tx.commit(what).await?;
    connection.close().await
}

/// The budget as it is, locked: of two who set it at once, the second one writes down what the first one set.
async fn budget(
    db: &mut PgConnection,
    tenant: Uuid,
    term: BudgetTerm,
) -> Result<Option<i64>, sqlx::Error> {
    sqlx::query_scalar("SELECT usd FROM ralph.budget WHERE tenant = $1 AND per = $2 FOR UPDATE")
        .bind(tenant)
        .bind(term.as_str())
        .persistent(false)
        .fetch_optional(db)
        .await
}
