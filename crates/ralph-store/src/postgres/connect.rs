//! Connections to a team's store.
//!
//! Everything happens in an explicit transaction that begins with its settings, so that it works the same through a
//! pooler in transaction pooling. Nothing is prepared by name and nothing is set for the session.

use std::{path::PathBuf, time::Duration};

use sqlx::{
    AssertSqlSafe, ConnectOptions as _, Connection as _, PgConnection, Postgres, Transaction,
    postgres::{PgArguments, PgListener, PgPoolOptions},
    query::Query,
};
use uuid::Uuid;

use super::StoreUrl;
use crate::BoxedError;

/// An error of a team's store. Each is one line; what the server said is the source.
#[derive(Debug, thiserror::Error)]
pub enum StoreError {
    #[error("the store's URL can't be used: {why}")]
    Url { why: String },
    #[error("the store's URL in {} holds a password", path.display())]
    PasswordInFile { path: PathBuf },
    #[error("can't read the store's password from {}", path.display())]
    PasswordFile {
        path: PathBuf,
        source: std::io::Error,
    },
    #[error("others can read {}, which holds the store's password", path.display())]
    OpenPasswordFile { path: PathBuf },
    #[error("sslmode={mode} does not make sure who {host} is")]
    WeakTls { host: String, mode: &'static str },
    #[error("can't reach the store at {server}")]
    Unreachable { server: String, source: BoxedError },
    #[error("the store at {server} did not answer within {} s", within.as_secs())]
    Silent { server: String, within: Duration },
    #[error("no safe connection to the store at {server}")]
    Tls { server: String, source: BoxedError },
    #[error("the store at {server} refuses {role}: wrong password, or no such role")]
    WrongPassword {
        server: String,
        role: String,
        source: BoxedError,
    },
    #[error("the store at {server} refuses connections of {role}")]
    Refused {
        server: String,
        role: String,
        source: BoxedError,
    },
    #[error("the store at {server} has no database {database}")]
    NoDatabase {
        server: String,
        database: String,
        source: BoxedError,
    },
    #[error("the store at {server} has no connection left")]
    TooManyConnections { server: String, source: BoxedError },
    #[error("the store at {server} runs PostgreSQL {version}, and needs to be 15 or newer")]
    OldServer { server: String, version: String },
    #[error("the store {database} has no tenant {tenant} for {role}")]
    NoTenant {
        database: String,
        tenant: String,
        role: String,
    },
    #[error("the store's role {role} may not {what}")]
    NoRight {
        role: String,
        what: String,
        source: BoxedError,
    },
    #[error("the store {database} is not set up")]
    SchemaAbsent { database: String },
    #[error(
        "the store {database} was set up by an older ralph (schema {found}, this one needs {known})"
    )]
    SchemaOlder {
        database: String,
        found: i64,
        known: i64,
    },
    #[error(
        "the store {database} was set up by a newer ralph (schema {found}, this one knows {known})"
    )]
    SchemaNewer {
        database: String,
        found: i64,
        known: i64,
    },
    #[error("the store can't {what}: the disk of {server} is full")]
    DiskFull {
        server: String,
        what: String,
        source: BoxedError,
    },
    #[error("the store can't {what}: the connection to {server} was lost")]
    Lost {
        server: String,
        what: String,
        source: BoxedError,
    },
    /// Another transaction was in the way: it goes well when it is tried again.
    #[error("the store can't {what}: another transaction was in the way")]
    Conflict { what: String, source: BoxedError },
    #[error("the store can't {what}: the server can't be written, it is read-only")]
    ReadOnly { what: String, source: BoxedError },
    #[error("the store can't {what}")]
    Query { what: String, source: BoxedError },
    /// Something that was asked for and makes no sense.
    #[error("{why}")]
    Wrong { why: String },
}

impl StoreError {
    /// A way out, where there is one.
    #[must_use]
    pub fn hint(&self) -> Option<&'static str> {
        Some(match self {
            Self::Url { .. } => "as in postgres://ROLE@HOST/DATABASE",
            Self::PasswordInFile { .. } | Self::WrongPassword { .. } => {
                "the password comes from RALPH_STORE_URL, PGPASSWORD, the file that RALPH_STORE_PASSWORD_FILE names, or ~/.pgpass"
            }
            Self::PasswordFile { .. } => "RALPH_STORE_PASSWORD_FILE or PGPASSFILE names it",
            Self::OpenPasswordFile { .. } => "chmod 600 makes it yours alone",
            Self::WeakTls { .. } => {
                "leave sslmode out, and name the authority's certificate by sslrootcert=FILE where it is your own"
            }
            Self::Tls { .. } => {
                "the server needs TLS with a certificate for this host; sslrootcert=FILE names an authority of your own"
            }
            Self::NoDatabase { .. } => "createdb makes one, then run `ralph db init`",
            Self::NoTenant { .. } => {
                "the keeper of the server lists them by `ralph db tenant list` and adds one by `ralph db tenant add`; a role that is bound to a tenant sees that one alone"
            }
            Self::SchemaAbsent { .. } => "run `ralph db init`",
            Self::SchemaOlder { .. } => "run `ralph db migrate`",
            Self::SchemaNewer { .. } => "use that one",
            Self::NoRight { .. } => {
                "`ralph db role add` makes a role for machines; what keeps the store needs one that may make databases and roles, named by `--url`"
            }
            Self::Unreachable { .. }
            | Self::Silent { .. }
            | Self::Refused { .. }
            | Self::TooManyConnections { .. }
            | Self::OldServer { .. }
            | Self::DiskFull { .. }
            | Self::Lost { .. }
            | Self::Conflict { .. }
            | Self::ReadOnly { .. }
            | Self::Query { .. }
            | Self::Wrong { .. } => return None,
        })
    }

    /// True if it is for a person to set right.
    #[must_use]
    pub fn is_users(&self) -> bool {
        match self {
            Self::Url { .. }
            | Self::PasswordInFile { .. }
            | Self::PasswordFile { .. }
            | Self::OpenPasswordFile { .. }
            | Self::WeakTls { .. }
            | Self::Tls { .. }
            | Self::WrongPassword { .. }
            | Self::Refused { .. }
            | Self::NoDatabase { .. }
            | Self::OldServer { .. }
            | Self::NoTenant { .. }
            | Self::NoRight { .. }
            | Self::SchemaAbsent { .. }
            | Self::SchemaOlder { .. }
            | Self::SchemaNewer { .. }
            | Self::Wrong { .. } => true,
            Self::Unreachable { .. }
            | Self::Silent { .. }
            | Self::TooManyConnections { .. }
            | Self::DiskFull { .. }
            | Self::Lost { .. }
            | Self::Conflict { .. }
            | Self::ReadOnly { .. }
            | Self::Query { .. } => false,
        }
    }

    /// True where the same may go well a moment later, in a new transaction: it did not happen.
    #[must_use]
    pub fn is_conflict(&self) -> bool {
        matches!(self, Self::Conflict { .. })
    }

    /// True where the server can't be talked to just now: waiting may help, and what was under way may have been done or
    /// not.
    #[must_use]
    pub fn is_away(&self) -> bool {
        matches!(
            self,
            Self::Unreachable { .. }
                | Self::Silent { .. }
                | Self::TooManyConnections { .. }
                | Self::Lost { .. }
        )
    }
}

/// The server and the role of a connection, for messages.
#[derive(Debug, Clone)]
pub struct Peer {
    pub server: String,
    pub database: String,
    pub role: String,
}

impl Peer {
    fn of(url: &StoreUrl) -> Self {
        Self {
            server: url.server(),
            database: url.database().to_owned(),
            role: url.role().to_owned(),
        }
    }

    /// The error of a statement; `what` completes "the store can't …".
    pub fn failed(&self, what: &str, error: sqlx::Error) -> StoreError {
        let (server, what) = (self.server.clone(), what.to_owned());
        let code = code(&error);
        let is_lost_before_an_answer = matches!(
            error,
            sqlx::Error::Io(_)
                | sqlx::Error::Tls(_)
                | sqlx::Error::Protocol(_)
                | sqlx::Error::BeginFailed
        );
        let source = plain(error);
        match code.as_deref() {
            Some("42501") => StoreError::NoRight {
                role: self.role.clone(),
                what,
                source,
            },
            // Also where the file system is full of something else, or a quota is used up.
            Some("53100") => StoreError::DiskFull {
                server,
                what,
                source,
            },
            Some("40001" | "40P01") => StoreError::Conflict { what, source },
            Some("25006") => StoreError::ReadOnly { what, source },
            Some("53300") => StoreError::TooManyConnections { server, source },
            Some("3F000" | "42P01" | "42883") if is_about_schema(&source) => {
                StoreError::SchemaAbsent {
                    database: self.database.clone(),
                }
            }
            Some(code) if is_lost(code) => StoreError::Lost {
                server,
                what,
                source,
            },
            Some(_) => StoreError::Query { what, source },
            None if is_lost_before_an_answer => StoreError::Lost {
                server,
                what,
                source,
            },
            None => StoreError::Query { what, source },
        }
    }

    fn refused(&self, error: sqlx::Error) -> StoreError {
        let (server, role) = (self.server.clone(), self.role.clone());
        let code = code(&error);
        let text = match error.as_database_error() {
            Some(said) => said.message().to_owned(),
            None => error.to_string(),
        };
        let is_tls = matches!(error, sqlx::Error::Tls(_));
        let source = plain(error);
        let says = |part: &str| text.contains(part);
        match code.as_deref() {
            Some("28P01") => StoreError::WrongPassword {
                server,
                role,
                source,
            },
            Some("3D000") => self.no_database(source),
            // A pooler has one code for everything.
            Some("08P01") if says("database") => self.no_database(source),
            Some("08P01") if says("auth") || says("password") || says("no such user") => {
                StoreError::WrongPassword {
                    server,
                    role,
                    source,
                }
            }
            Some("53300") => StoreError::TooManyConnections { server, source },
            Some("28000") => StoreError::Refused {
                server,
                role,
                source,
            },
            Some(_) => StoreError::Unreachable { server, source },
            None if is_tls || says("TLS") || says("certificate") => {
                StoreError::Tls { server, source }
            }
            None => StoreError::Unreachable { server, source },
        }
    }

    fn no_database(&self, source: BoxedError) -> StoreError {
        StoreError::NoDatabase {
            server: self.server.clone(),
            database: self.database.clone(),
            source,
        }
    }
}

/// The server's own words, or the system's, without those of the library around them.
pub(super) fn plain(error: sqlx::Error) -> BoxedError {
    match error {
        sqlx::Error::Database(said) => said.message().into(),
        sqlx::Error::Io(source) => source.into(),
        other => other.into(),
    }
}

/// The five characters by which PostgreSQL names an error.
pub(super) fn code(error: &sqlx::Error) -> Option<String> {
    Some(error.as_database_error()?.code()?.into_owned())
}

/// The server shuts down, a pooler lost it, or a person ended the session.
fn is_lost(code: &str) -> bool {
    code.starts_with("57P") || code.starts_with("08") || code == "25P03"
}

fn is_about_schema(error: &BoxedError) -> bool {
    let text = error.to_string();
    ["ralph.", "ralph_journal.", "ralph_team.", "\"ralph"]
        .iter()
        .any(|name| text.contains(name))
}

/// The isolation of a transaction from others that end meanwhile.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Isolation {
    #[default]
    ReadCommitted,
    RepeatableRead,
    Serializable,
}

impl Isolation {
    fn as_sql(self) -> &'static str {
        match self {
            Self::ReadCommitted => "READ COMMITTED",
            Self::RepeatableRead => "REPEATABLE READ",
            Self::Serializable => "SERIALIZABLE",
        }
    }
}

/// The settings of a transaction, which end with it.
#[derive(Debug, Clone, Copy, Default)]
pub struct Scope {
    /// None where no row of a tenant is to be seen.
    pub tenant: Option<Uuid>,
    /// Where tables are looked for; none where each is named with its schema.
    pub search_path: Option<&'static str>,
    pub isolation: Isolation,
}

impl Scope {
    /// Tables are named with their schemas.
    #[must_use]
    pub fn of(tenant: Uuid) -> Self {
        Self {
            tenant: Some(tenant),
            ..Self::default()
        }
    }

    /// The statements of the SQLite journal, on the rows of journals that have no SQLite.
    #[must_use]
    pub fn journal(tenant: Uuid) -> Self {
        Self {
            search_path: Some("ralph_journal, pg_catalog"),
            ..Self::of(tenant)
        }
    }

    /// The statements that begin the transaction: together one way to the server and back.
    pub(crate) fn begin(&self) -> String {
        let tenant = self.tenant.map(|id| id.to_string()).unwrap_or_default();
        let path = self.search_path.unwrap_or("pg_catalog");
        let isolation = self.isolation.as_sql();
        format!(
            "BEGIN ISOLATION LEVEL {isolation}; SELECT set_config('ralph.tenant', '{tenant}', true), \
             set_config('search_path', '{path}', true), \
             set_config('idle_in_transaction_session_timeout', '{IDLE}', true)"
        )
    }
}

/// A machine that falls asleep in mid-transaction keeps others from their rows for no longer.
const IDLE: &str = "60s";

/// A statement with its values. Never prepared by name: sqlx prepares others so even without a cache, and behind a
/// pooler the name may be taken in the next session, or unknown.
pub fn statement(
    sql: impl Into<String>,
    values: PgArguments,
) -> Query<'static, Postgres, PgArguments> {
    sqlx::query_with(AssertSqlSafe(sql.into()), values).persistent(false)
}

/// A connection. Dropped, it is cut, and the server takes back what was under way.
#[derive(Debug)]
pub struct StoreConnection {
    db: PgConnection,
    peer: Peer,
}

impl StoreConnection {
    /// Connects, within the time that the URL allows.
    pub async fn open(url: &StoreUrl) -> Result<Self, StoreError> {
        let peer = Peer::of(url);
        let options = url.options().disable_statement_logging();
        let connecting = tokio::time::timeout(url.timeout(), options.connect());
        let db = connecting.await.map_err(|_| StoreError::Silent {
            server: url.server(),
            within: url.timeout(),
        })?;
        Ok(Self {
            db: db.map_err(|error| peer.refused(error))?,
            peer,
        })
    }

    pub fn peer(&self) -> &Peer {
        &self.peer
    }

    /// The error of a statement; `what` completes "the store can't …".
    pub fn failed(&self, what: &str, error: sqlx::Error) -> StoreError {
        self.peer.failed(what, error)
    }

    /// For statements outside of a transaction: there are few that may be.
    pub(crate) fn db(&mut self) -> &mut PgConnection {
        &mut self.db
    }

    /// Begins a transaction with its settings; `what` completes "the store can't …".
    pub async fn begin(
        &mut self,
        what: &str,
        scope: &Scope,
    ) -> Result<StoreTransaction<'_>, StoreError> {
        let begun = self.db.begin_with(AssertSqlSafe(scope.begin())).await;
        match begun {
            Ok(tx) => Ok(StoreTransaction {
                tx,
                peer: &self.peer,
            }),
            Err(error) => Err(self.peer.failed(what, error)),
        }
    }

    /// The id of a tenant, as this role may know it.
    pub async fn tenant(&mut self, name: &str) -> Result<Uuid, StoreError> {
        let what = "look up the tenant";
        let peer = self.peer.clone();
        let mut tx = self.begin(what, &Scope::default()).await?;
        let asked = sqlx::query_scalar("SELECT ralph.tenant_id($1)")
            .bind(name)
            .persistent(false);
        let id = asked.fetch_one(tx.db()).await;
        let id: Option<Uuid> = tx.fail(what, id)?;
        tx.commit(what).await?;
        id.ok_or(StoreError::NoTenant {
            database: peer.database,
            tenant: name.to_owned(),
            role: peer.role,
        })
    }

    /// Ends the connection in order.
    pub async fn close(self) -> Result<(), StoreError> {
        let closed = self.db.close().await;
        closed.map_err(|error| self.peer.failed("be closed", error))
    }
}

/// Hears what the server tells of commands for any journal: `TENANT/ORIGIN`, ids alone. Connects again by itself, and
/// loses what is told meanwhile. Hears nothing through a pooler in transaction pooling, where a poll has to do.
pub async fn listen(url: &StoreUrl) -> Result<PgListener, StoreError> {
    let peer = Peer::of(url);
    let pool = PgPoolOptions::new()
        .max_connections(1)
        .max_lifetime(None)
        .idle_timeout(None)
        .acquire_timeout(url.timeout())
        .connect_lazy_with(url.options().disable_statement_logging());
    let connected = PgListener::connect_with(&pool).await;
    let mut listener = connected.map_err(|error| peer.refused(error))?;
    let heard = listener.listen("ralph_command").await;
    heard.map_err(|error| peer.failed("be listened to", error))?;
    Ok(listener)
}

/// A transaction. It must be ended by one of its two functions: dropped, it is only taken back with the next use of
/// its connection, and holds its locks until then.
#[derive(Debug)]
#[must_use]
pub struct StoreTransaction<'c> {
    tx: Transaction<'c, Postgres>,
    peer: &'c Peer,
}

impl StoreTransaction<'_> {
    /// The connection, for statements.
    pub fn db(&mut self) -> &mut PgConnection {
        &mut self.tx
    }

    /// Names what failed; `what` completes "the store can't …".
    pub fn fail<T>(&self, what: &str, result: Result<T, sqlx::Error>) -> Result<T, StoreError> {
        result.map_err(|error| self.peer.failed(what, error))
    }

    /// The server and the role, for messages.
    pub fn peer(&self) -> &Peer {
        self.peer
    }

    /// Durable when it returns.
    pub async fn commit(self, what: &str) -> Result<(), StoreError> {
        let peer = self.peer;
        let committed = self.tx.commit().await;
        committed.map_err(|error| peer.failed(what, error))
    }

    pub async fn rollback(self) -> Result<(), StoreError> {
        let peer = self.peer;
        let ended = self.tx.rollback().await;
        ended.map_err(|error| peer.failed("take a transaction back", error))
    }
}
