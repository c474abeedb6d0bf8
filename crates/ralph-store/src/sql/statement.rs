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

use super::{JournalError, Result, failed};
use crate::{IterationStart, RepositoryId, RewriteBody};

/// A statement with its values. Made by [`sql!`].
pub(super) struct Statement {
    /// Completes "the journal can't …".
    pub(super) what: &'static str,
    sql: String,
    values: Vec<Value>,
}

/// Makes a [`Statement`]: its purpose, its text, and a value for each `?`.
macro_rules! sql {
    ($what:expr, $text:expr $(, $value:expr)* $(,)?) => {
        $crate::sqlite::statement::Statement::new($what, $text, vec![$($value.into()),*])
    };
}
pub(super) use sql;

impl Statement {
    pub(super) fn new(what: &'static str, sql: impl Into<String>, values: Vec<Value>) -> Self {
        Self {
            what,
            sql: sql.into(),
            values,
        }
    }

    /// One statement after the other, within a transaction: each by itself goes to the database's thread and back.
    pub(super) fn then(mut self, next: Self) -> Self {
        let first = number_values(&self.sql, 0);
        let second = number_values(&next.sql, self.values.len());
        self.sql = format!("{first}; {second}");
        self.values.extend(next.values);
        self
    }

    fn query(self) -> sqlx::query::Query<'static, sqlx::Sqlite, SqliteArguments> {
        let mut arguments = SqliteArguments::default();
        for value in self.values {
            let added = match value {
                Value::Null => arguments.add(None::<i64>),
                Value::Integer(number) => arguments.add(number),
                Value::Text(text) => arguments.add(text),
            };
            debug_assert!(added.is_ok(), "numbers and texts can always be bound");
        }
        sqlx::query_with(AssertSqlSafe(self.sql), arguments)
    }

    pub(super) async fn all<T: FromColumns>(self, db: &mut SqliteConnection) -> Result<Vec<T>> {
        let what = self.what;
        let rows = self.query().fetch_all(db).await.map_err(failed(what))?;
        rows.iter().map(read).collect()
    }

    pub(super) async fn first<T: FromColumns>(
        self,
        db: &mut SqliteConnection,
    ) -> Result<Option<T>> {
        let what = self.what;
        let row = self.query().fetch_optional(db).await;
        let row = row.map_err(failed(what))?;
        row.as_ref().map(read).transpose()
    }

    /// The one row that there always is.
    pub(super) async fn one<T: FromColumns>(self, db: &mut SqliteConnection) -> Result<T> {
        let what = self.what;
        let row = self.query().fetch_one(db).await.map_err(failed(what))?;
        read(&row)
    }

    /// Changes rows, and counts them.
    pub(super) async fn run(self, db: &mut SqliteConnection) -> Result<u64> {
        let what = self.what;
        self.execute(db).await.map_err(failed(what))
    }

    pub(super) async fn execute(self, db: &mut SqliteConnection) -> Result<u64, sqlx::Error> {
        Ok(self.query().execute(db).await?.rows_affected())
    }
}

/// Gives each `?` the number of its value, and moves those that have one on. No text has one in quotes.
fn number_values(sql: &str, before: usize) -> String {
    let mut parts = sql.split('?');
    let mut numbered = parts.next().unwrap_or_default().to_owned();
    for (at, part) in parts.enumerate() {
        let rest = part.trim_start_matches(|c: char| c.is_ascii_digit());
        let own = part[..part.len() - rest.len()].parse();
        let number = before + own.unwrap_or(at + 1);
        numbered.push_str(&format!("?{number}{rest}"));
    }
    numbered
}

/// A value on its way into the database.
pub(super) enum Value {
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

/// The columns of a row that are not read yet.
pub(super) struct Columns<'r> {
    row: &'r SqliteRow,
    next: usize,
}

impl Columns<'_> {
    /// Reads the next column, or as many as the type takes.
    pub(super) fn next<T: FromColumns>(&mut self) -> Result<T> {
        T::from_columns(self)
    }

    fn value<T>(&mut self) -> Result<T>
    where
        T: for<'a> sqlx::Decode<'a, sqlx::Sqlite> + sqlx::Type<sqlx::Sqlite>,
    {
        self.next += 1;
        let value = self.row.try_get(self.next - 1);
        value.map_err(failed("read a row"))
    }
}

fn read<T: FromColumns>(row: &SqliteRow) -> Result<T> {
    Columns { row, next: 0 }.next()
}

/// A value of one column, or of several in a row. The derive macro of sqlx would bring a second sqlx and a
/// second SQLite into every build, for the machine that compiles.
pub(super) trait FromColumns: Sized {
    fn from_columns(row: &mut Columns<'_>) -> Result<Self>;
}

/// Defines the columns of a struct, in the order of a `SELECT`, and `COLUMNS` with their names. A field whose column
/// has another name, or is an expression, says so.
macro_rules! columns {
    ($type:ident: $($field:ident),+) => {
        impl $crate::sqlite::statement::FromColumns for $type {
            fn from_columns(
                row: &mut $crate::sqlite::statement::Columns<'_>,
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
pub(super) use columns;

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
        let value = row.row.try_get_raw(row.next);
        if value.map_err(failed("read a row"))?.is_null() {
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
pub(super) trait Stored: Serialize + DeserializeOwned {
    /// Completes "the journal holds a row that can't be read (…)".
    const NAME: &'static str;
}

/// Writes what is kept as JSON.
pub(super) fn json<T: Stored>(value: &T) -> Result<String> {
    serde_json::to_string(value).map_err(unreadable(T::NAME))
}

/// Parses what is kept as JSON.
fn parse<T: Stored>(text: &str) -> Result<T> {
    serde_json::from_str(text).map_err(unreadable(T::NAME))
}

pub(super) fn unreadable(what: &'static str) -> impl FnOnce(serde_json::Error) -> JournalError {
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
        assert_eq!(
            all.sql,
            "INSERT INTO a VALUES (?1, ?2); UPDATE b SET c = ?4 WHERE d = ?3; DELETE FROM e WHERE f = ?5"
        );
        assert_eq!(all.values.len(), 5);
    }
}
