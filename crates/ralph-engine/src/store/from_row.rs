//! Reads a row of a query into a struct whose fields are named like its columns.
//!
//! Written out instead of derived: the derive macro of sqlx brings a second copy of sqlx and of SQLite
//! into every build, for the machine that compiles.

macro_rules! from_row {
    ($row:ident { $($field:ident),+ $(,)? }) => {
        impl sqlx::FromRow<'_, sqlx::sqlite::SqliteRow> for $row {
            fn from_row(row: &sqlx::sqlite::SqliteRow) -> Result<Self, sqlx::Error> {
                use sqlx::Row as _;
                Ok(Self { $($field: row.try_get(stringify!($field))?),+ })
            }
        }
    };
}

pub(in crate::store) use from_row;
