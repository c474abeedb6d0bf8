//! Statements and rows: how values go into the database, and how what is read becomes a type. The only place that
//! binds, fetches, and turns JSON columns into what they hold.

use jiff::Timestamp;
use ralph_core::{
    board::TaskHistory,
    command::{Command, CommandReport},
    dollars::Dollars,
    economics::{KeptForecast, TokenRecord},
    escalation::Answered,
    event::KeptEvent,
    id::{CheckpointId, CommandId, IterationId, LoopId, QuestionId},
    iteration::StepDone,
    record::IterationRecord,
    signal::Escalation,
    task::TaskId,
    termination::Stop,
    verify::CleanResult,
};
use serde::{Serialize, de::DeserializeOwned};
use sqlx::{
    Arguments as _, AssertSqlSafe, Row as _, SqliteConnection, ValueRef as _,
    sqlite::{SqliteArguments, SqliteRow},
};
#[cfg(feature = "postgres")]
use sqlx::{
    PgConnection,
    postgres::{PgArguments, PgRow},
};

use super::{WriteTransaction, dialect};
use crate::{IterationStart, JournalError, RepositoryId, Result, RewriteBody};

/// A connection that statements are sent on.
pub(crate) enum Connection<'c> {
    Sqlite(&'c mut SqliteConnection),
    #[cfg(feature = "postgres")]
    Postgres(&'c mut PgConnection),
}

/// A statement with its values, or several that are sent in a row. Made by [`sql!`].
#[derive(Debug, Clone)]
pub(crate) struct Statement {
    /// Completes "the journal can't …".
    pub(crate) what: &'static str,
    parts: Vec<Part>,
}

/// One statement. The text is that of SQLite; `dialect` has what differs in PostgreSQL.
#[derive(Debug, Clone)]
struct Part {
    sql: String,
    values: Vec<Value>,
}

/// Makes a [`Statement`]: its purpose, its text, and a value for each `?`.
macro_rules! sql {
    ($what:expr, $text:expr $(, $value:expr)* $(,)?) => {
        $crate::sql::statement::Statement::new($what, $text, vec![$($value.into()),*])
    };
}
pub(crate) use sql;

impl Statement {
    pub(crate) fn new(what: &'static str, sql: impl Into<String>, values: Vec<Value>) -> Self {
        let sql = sql.into();
        Self {
            what,
            parts: vec![Part { sql, values }],
        }
    }

    /// One statement after the other, within a transaction: each by itself goes to SQLite's thread and back.
    pub(crate) fn then(mut self, next: Self) -> Self {
        self.parts.extend(next.parts);
        self
    }

    /// All parts as one text, with the values of all.
    fn in_a_row(&self) -> (String, Vec<Value>) {
        let mut sql = String::new();
        let mut values: Vec<Value> = Vec::new();
        for part in &self.parts {
            if !sql.is_empty() {
                sql.push_str("; ");
            }
            sql.push_str(&dialect::number_values(&part.sql, values.len()));
            values.extend(part.values.iter().cloned());
        }
        (sql, values)
    }

    fn query(&self) -> sqlx::query::Query<'static, sqlx::Sqlite, SqliteArguments> {
        let (sql, values) = match &self.parts[..] {
            [one] => (one.sql.clone(), one.values.clone()),
            _ => self.in_a_row(),
        };
        let mut arguments = SqliteArguments::default();
        for value in values {
            let added = match value {
                Value::Null => arguments.add(None::<i64>),
                Value::Integer(number) => arguments.add(number),
                Value::Text(text) => arguments.add(text),
            };
            debug_assert!(added.is_ok(), "numbers and texts can always be bound");
        }
        sqlx::query_with(AssertSqlSafe(dialect::sqlite(sql)), arguments)
    }

    pub(super) async fn rows(
        &self,
        connection: Connection<'_>,
    ) -> Result<Vec<DatabaseRow>, sqlx::Error> {
        match connection {
            Connection::Sqlite(db) => {
                let rows = self.query().fetch_all(db).await?;
                Ok(rows.into_iter().map(DatabaseRow::Sqlite).collect())
            }
            #[cfg(feature = "postgres")]
            Connection::Postgres(db) => {
                let mut rows = Vec::new();
                for part in &self.parts {
                    rows.extend(part.postgres().fetch_all(&mut *db).await?);
                }
                Ok(rows.into_iter().map(DatabaseRow::Postgres).collect())
            }
        }
    }

    pub(super) async fn all<T: FromColumns>(&self, connection: Connection<'_>) -> Result<Vec<T>> {
        read_all(&self.rows(connection).await.map_err(failed(self.what))?)
    }

    /// All rows, within a transaction.
    pub(crate) async fn list<T: FromColumns>(
        &self,
        tx: &mut WriteTransaction<'_>,
    ) -> Result<Vec<T>> {
        self.all(tx.connection()).await
    }

    pub(crate) async fn first<T: FromColumns>(
        &self,
        tx: &mut WriteTransaction<'_>,
    ) -> Result<Option<T>> {
        Ok(self.list(tx).await?.into_iter().next())
    }

    /// The one row that there always is.
    pub(crate) async fn one<T: FromColumns>(&self, tx: &mut WriteTransaction<'_>) -> Result<T> {
        let found = self.first(tx).await?;
        found.ok_or_else(|| failed(self.what)(sqlx::Error::RowNotFound))
    }

    /// Changes rows, and counts them.
    pub(crate) async fn run(&self, tx: &mut WriteTransaction<'_>) -> Result<u64> {
        self.execute(tx.connection())
            .await
            .map_err(failed(self.what))
    }

    pub(super) async fn execute(&self, connection: Connection<'_>) -> Result<u64, sqlx::Error> {
        match connection {
            Connection::Sqlite(db) => Ok(self.query().execute(db).await?.rows_affected()),
            #[cfg(feature = "postgres")]
            Connection::Postgres(db) => {
                let mut changed = 0;
                for part in &self.parts {
                    changed += part.postgres().execute(&mut *db).await?.rows_affected();
                }
                Ok(changed)
            }
        }
    }
}

#[cfg(feature = "postgres")]
impl Part {
    /// Never a prepared statement by name: a pooler gives the next transaction another connection.
    fn postgres(&self) -> sqlx::query::Query<'static, sqlx::Postgres, PgArguments> {
        let mut arguments = PgArguments::default();
        for value in &self.values {
            let added = match value {
                Value::Null => arguments.add(dialect::Null),
                Value::Integer(number) => arguments.add(*number),
                // PostgreSQL keeps no NUL in a text.
                Value::Text(text) => arguments.add(text.replace('\0', "\u{fffd}")),
            };
            debug_assert!(added.is_ok(), "numbers and texts can always be bound");
        }
        sqlx::query_with(AssertSqlSafe(dialect::postgres(&self.sql)), arguments).persistent(false)
    }
}

pub(crate) fn failed(what: &'static str) -> impl FnOnce(sqlx::Error) -> JournalError {
    move |source| JournalError::Query {
        what,
        source: Box::new(source),
    }
}

/// A value on its way into the database.
#[derive(Debug, Clone)]
pub(crate) enum Value {
    Null,
    Integer(i64),
    Text(String),
}

/// Defines how values are written, by an expression each.
macro_rules! written {
    ($($type:ty: |$value:ident| $made:expr,)+) => {
        $(impl From<$type> for Value {
            fn from($value: $type) -> Self {
                $made
            }
        })+
    };
}

written! {
    i64: |n| Self::Integer(n),
    u32: |n| Self::Integer(n.into()),
    u64: |n| Self::Integer(i64::try_from(n).unwrap_or(i64::MAX)),
    usize: |n| Self::Integer(i64::try_from(n).unwrap_or(i64::MAX)),
    String: |text| Self::Text(text),
    &String: |text| Self::Text(text.clone()),
    &str: |text| Self::Text(text.to_owned()),
    Timestamp: |at| Self::Text(at.to_string()),
    &RepositoryId: |id| Self::Text(id.0.clone()),
    &LoopId: |id| Self::Text(id.to_string()),
    &IterationId: |id| Self::Text(id.to_string()),
    &CheckpointId: |id| Self::Text(id.to_string()),
    &TaskId: |id| Self::Text(id.to_string()),
    QuestionId: |id| id.get().into(),
    CommandId: |id| id.get().into(),
}

impl<T: Into<Value>> From<Option<T>> for Value {
    fn from(value: Option<T>) -> Self {
        value.map_or(Self::Null, Into::into)
    }
}

/// A row as it comes from the database.
pub(crate) enum DatabaseRow {
    Sqlite(SqliteRow),
    #[cfg(feature = "postgres")]
    Postgres(PgRow),
}

impl DatabaseRow {
    fn value<T: RawValue>(&self, at: usize) -> Result<T> {
        let value = match self {
            Self::Sqlite(row) => T::of_sqlite(row, at),
            #[cfg(feature = "postgres")]
            Self::Postgres(row) => T::of_postgres(row, at),
        };
        value.map_err(failed("read a row"))
    }

    fn is_null(&self, at: usize) -> Result<bool> {
        let is_null = match self {
            Self::Sqlite(row) => row.try_get_raw(at).map(|value| value.is_null()),
            #[cfg(feature = "postgres")]
            Self::Postgres(row) => row.try_get_raw(at).map(|value| value.is_null()),
        };
        is_null.map_err(failed("read a row"))
    }
}

/// A type that both databases give as it is.
trait RawValue: Sized {
    fn of_sqlite(row: &SqliteRow, at: usize) -> Result<Self, sqlx::Error>;
    #[cfg(feature = "postgres")]
    fn of_postgres(row: &PgRow, at: usize) -> Result<Self, sqlx::Error>;
}

macro_rules! raw {
    ($($type:ty),+) => {
        $(impl RawValue for $type {
            fn of_sqlite(row: &SqliteRow, at: usize) -> Result<Self, sqlx::Error> {
                row.try_get(at)
            }

            #[cfg(feature = "postgres")]
            fn of_postgres(row: &PgRow, at: usize) -> Result<Self, sqlx::Error> {
                row.try_get(at)
            }
        })+
    };
}

raw! { String, i64, bool }

/// The columns of a row that are not read yet.
pub(crate) struct Columns<'r> {
    row: &'r DatabaseRow,
    next: usize,
}

impl Columns<'_> {
    /// Reads the next column, or as many as the type takes.
    pub(crate) fn next<T: FromColumns>(&mut self) -> Result<T> {
        T::from_columns(self)
    }

    fn value<T: RawValue>(&mut self) -> Result<T> {
        self.next += 1;
        self.row.value(self.next - 1)
    }
}

pub(super) fn read_all<T: FromColumns>(rows: &[DatabaseRow]) -> Result<Vec<T>> {
    rows.iter().map(read).collect()
}

fn read<T: FromColumns>(row: &DatabaseRow) -> Result<T> {
    Columns { row, next: 0 }.next()
}

/// A value of one column, or of several in a row. The derive macro of sqlx would bring a second sqlx and a
/// second SQLite into every build, for the machine that compiles.
pub(crate) trait FromColumns: Sized {
    fn from_columns(row: &mut Columns<'_>) -> Result<Self>;
}

/// Defines the columns of a struct, in the order of a `SELECT`, and `COLUMNS` with their names. A field whose column
/// has another name, or is an expression, says so.
macro_rules! columns {
    ($type:ident: $($field:ident),+) => {
        impl $crate::sql::statement::FromColumns for $type {
            fn from_columns(
                row: &mut $crate::sql::statement::Columns<'_>,
            ) -> $crate::Result<Self> {
                Ok(Self { $($field: row.next()?),+ })
            }
        }
    };
    ($type:ident as $names:ident: $first:ident $(= $first_sql:literal)? $(, $field:ident $(= $sql:literal)?)* $(,)?) => {
        const $names: &str = concat!(
            columns!(@name $first $($first_sql)?)
            $(, ", ", columns!(@name $field $($sql)?))*
        );

        columns!($type: $first $(, $field)*);
    };
    (@name $field:ident) => { stringify!($field) };
    (@name $field:ident $sql:literal) => { $sql };
}
pub(crate) use columns;

/// Defines how single values are read, by an expression each.
macro_rules! read_as {
    ($($type:ty: |$value:ident: $raw:ty| $made:expr,)+) => {
        $(impl FromColumns for $type {
            fn from_columns(row: &mut Columns<'_>) -> Result<Self> {
                let $value: $raw = row.value()?;
                Ok($made)
            }
        })+
    };
}

read_as! {
    String: |text: String| text,
    i64: |n: i64| n,
    bool: |is: bool| is,
    // Nothing is below 0 but what was put there by hand.
    u64: |n: i64| u64::try_from(n).unwrap_or_default(),
    usize: |n: i64| usize::try_from(n).unwrap_or_default(),
    u32: |n: i64| u32::try_from(n).unwrap_or_default(),
    Timestamp: |text: String| text.parse().unwrap_or_default(),
    Dollars: |n: i64| Dollars::from_millionths(u64::try_from(n).unwrap_or_default()),
    LoopId: |text: String| text.into(),
    IterationId: |text: String| text.into(),
    CheckpointId: |text: String| text.into(),
    QuestionId: |n: i64| Self::new(u64::try_from(n).unwrap_or_default()),
    CommandId: |n: i64| Self::new(u64::try_from(n).unwrap_or_default()),
}

/// For types of one column.
impl<T: FromColumns> FromColumns for Option<T> {
    fn from_columns(row: &mut Columns<'_>) -> Result<Self> {
        if row.row.is_null(row.next)? {
            row.next += 1;
            return Ok(None);
        }
        row.next().map(Some)
    }
}

macro_rules! tuples {
    ($(($($part:ident),+))+) => {
        $(impl<$($part: FromColumns),+> FromColumns for ($($part,)+) {
            fn from_columns(row: &mut Columns<'_>) -> Result<Self> {
                Ok(($(row.next::<$part>()?,)+))
            }
        })+
    };
}

tuples! { (A, B) (A, B, C) (A, B, C, D) (A, B, C, D, E) }

/// Kept as JSON in one column.
pub(crate) trait Stored: Serialize + DeserializeOwned {
    /// Completes "the journal holds a row that can't be read (…)".
    const NAME: &'static str;
}

/// Writes what is kept as JSON.
pub(crate) fn json<T: Stored>(value: &T) -> Result<String> {
    serde_json::to_string(value).map_err(unreadable(T::NAME))
}

/// Parses what is kept as JSON.
fn parse<T: Stored>(text: &str) -> Result<T> {
    serde_json::from_str(text).map_err(unreadable(T::NAME))
}

pub(crate) fn unreadable(what: &'static str) -> impl FnOnce(serde_json::Error) -> JournalError {
    move |source| JournalError::Row { what, source }
}

macro_rules! stored {
    ($($type:ty: $name:literal,)+) => {
        $(impl Stored for $type {
            const NAME: &'static str = $name;
        }

        impl FromColumns for $type {
            fn from_columns(row: &mut Columns<'_>) -> Result<Self> {
                parse(&row.next::<String>()?)
            }
        })+
    };
}

stored! {
    IterationStart: "an iteration's start",
    IterationRecord: "an iteration's record",
    CleanResult: "a clean check",
    StepDone: "a step",
    TaskHistory: "a task's history",
    Command: "a command",
    CommandReport: "a command's result",
    Escalation: "a question",
    Answered: "an answer",
    RewriteBody: "a rewrite",
    KeptForecast: "a forecast",
    Stop: "why a loop stopped",
    Vec<TokenRecord>: "a call to a model",
    Vec<TaskId>: "a list of tasks",
    KeptEvent: "an event of a loop",
}

#[cfg(test)]
mod tests {
    #[test]
    fn values_of_statements_in_a_row_are_numbered_on() {
        let first = sql!("test", "INSERT INTO a VALUES (?, ?)", 1_i64, 2_i64);
        let second = sql!("test", "UPDATE b SET c = ?2 WHERE d = ?1", 3_i64, 4_i64);
        let third = sql!("test", "DELETE FROM e WHERE f = ?", 5_i64);
        let all = first.then(second).then(third);
        let (text, values) = all.in_a_row();
        assert_eq!(
            text,
            "INSERT INTO a VALUES ($1, $2); UPDATE b SET c = $4 WHERE d = $3; DELETE FROM e WHERE f = $5"
        );
        assert_eq!(values.len(), 5);
    }
}
