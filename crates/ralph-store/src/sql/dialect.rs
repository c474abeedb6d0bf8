//! The texts of statements in both databases: written once, as SQLite has them, and translated by what differs.
//!
//! Looks at texts alone. What can't be said in both is left to the statement's own place.

/// Gives each `?` the number of its value, as `$1`, and moves those that have one on by `before`. No text has one in
/// quotes. Not `?1`: of several statements in a row each has only some of the values, and those in between would be
/// bound too.
pub(super) fn number_values(sql: &str, before: usize) -> String {
    let mut parts = sql.split('?');
    let mut numbered = parts.next().unwrap_or_default().to_owned();
    for (at, part) in parts.enumerate() {
        let rest = part.trim_start_matches(|c: char| c.is_ascii_digit());
        let own = part[..part.len() - rest.len()].parse();
        let number = before + own.unwrap_or(at + 1);
        numbered.push_str(&format!("${number}{rest}"));
    }
    numbered
}

/// The text for SQLite. `json_texts(X)` is the list of texts in a JSON array.
pub(super) fn sqlite(sql: String) -> String {
    if !sql.contains(TEXTS) {
        return sql;
    }
    call(&sql, TEXTS, |array| {
        format!("(SELECT value FROM json_each({array}))")
    })
}

const TEXTS: &str = "json_texts(";

/// Replaces each call of a function whose argument has no parentheses.
fn call(sql: &str, function: &str, by: impl Fn(&str) -> String) -> String {
    let mut parts = sql.split(function);
    let mut made = parts.next().unwrap_or_default().to_owned();
    for part in parts {
        let (argument, rest) = part.split_once(')').unwrap_or((part, ""));
        made.push_str(&by(argument));
        made.push_str(rest);
    }
    made
}

/// The text for PostgreSQL.
///
/// Tables are views of the rows of one journal, whose keys begin with the tenant and the origin. JSON is kept as text;
/// an element of an array is a row with `key` and `value`, as `json_each` has it.
#[cfg(feature = "postgres")]
pub(super) fn postgres(sql: &str) -> String {
    let sql = number_values(sql, 0);
    let sql = without_indexes(&sql);
    let sql = sql.replace("ON CONFLICT (", "ON CONFLICT (tenant, origin, ");
    let sql = json_paths(&sql);
    let sql = call(&sql, "json_each(", |array| {
        format!(
            "(SELECT value, place - 1 AS key
              FROM json_array_elements(CAST({array} AS json)) WITH ORDINALITY AS given (value, place)) AS each"
        )
    });
    call(&sql, TEXTS, |array| {
        format!("(SELECT json_array_elements_text(CAST({array} AS json)))")
    })
}

/// Takes out which index SQLite is to use.
#[cfg(feature = "postgres")]
fn without_indexes(sql: &str) -> String {
    let mut parts = sql.split(" INDEXED BY ");
    let mut made = parts.next().unwrap_or_default().to_owned();
    for part in parts {
        let name = part.find(char::is_whitespace).unwrap_or(part.len());
        made.push_str(&part[name..]);
    }
    made
}

/// `record ->> '$.a.b'` becomes `json_extract(record, '$.a.b')`: a function of the schema, which bears a NUL in a text.
#[cfg(feature = "postgres")]
fn json_paths(sql: &str) -> String {
    let mut parts = sql.split(" ->> '$.");
    let mut made = parts.next().unwrap_or_default().to_owned();
    for part in parts {
        let (path, rest) = part.split_once('\'').unwrap_or((part, ""));
        let is_name = |c: char| c.is_ascii_alphanumeric() || c == '_' || c == '.';
        let column = made.trim_end_matches(is_name).len();
        let column = made.split_off(column);
        made.push_str(&format!("json_extract({column}, '$.{path}'){rest}"));
    }
    made
}

/// A value that is not there, whatever its type.
#[cfg(feature = "postgres")]
pub(super) struct Null;

#[cfg(feature = "postgres")]
impl sqlx::Type<sqlx::Postgres> for Null {
    fn type_info() -> sqlx::postgres::PgTypeInfo {
        // Not said: the server finds out from where it stands.
        sqlx::postgres::PgTypeInfo::with_oid(sqlx::postgres::types::Oid(0))
    }
}

#[cfg(feature = "postgres")]
impl sqlx::Encode<'_, sqlx::Postgres> for Null {
    fn encode_by_ref(
        &self,
        _: &mut sqlx::postgres::PgArgumentBuffer,
    ) -> Result<sqlx::encode::IsNull, sqlx::error::BoxDynError> {
        Ok(sqlx::encode::IsNull::Yes)
    }
}

#[cfg(test)]
mod tests {
    #[test]
    fn lists_of_texts_are_a_select_in_sqlite() {
        let sql = "SELECT 1 WHERE id IN json_texts(?3) AND x = ?1";
        assert_eq!(
            super::sqlite(sql.to_owned()),
            "SELECT 1 WHERE id IN (SELECT value FROM json_each(?3)) AND x = ?1"
        );
    }

    #[cfg(feature = "postgres")]
    #[test]
    fn what_differs_is_translated_for_postgresql() {
        let cases = [
            (
                "SELECT a FROM b WHERE c = ? AND d = ?",
                "SELECT a FROM b WHERE c = $1 AND d = $2",
            ),
            ("SELECT ?2, ?1", "SELECT $2, $1"),
            (
                "FROM loop AS l INDEXED BY loop_open WHERE x",
                "FROM loop AS l WHERE x",
            ),
            (
                "ON CONFLICT (id) DO UPDATE SET a = excluded.a",
                "ON CONFLICT (tenant, origin, id) DO UPDATE SET a = excluded.a",
            ),
            ("ON CONFLICT DO NOTHING", "ON CONFLICT DO NOTHING"),
            (
                "SELECT record ->> '$.usage.cost' = 1",
                "SELECT json_extract(record, '$.usage.cost') = 1",
            ),
            ("SELECT value ->> 0", "SELECT value ->> 0"),
            (
                "id IN json_texts(?)",
                "id IN (SELECT json_array_elements_text(CAST($1 AS json)))",
            ),
        ];
        for (sqlite, expected) in cases {
            assert_eq!(super::postgres(sqlite), expected);
        }
    }
}
