//! Who cost most since a day: found by what is summed up already, months where they are whole, and
//! without reading the past before it.
//!
//! First who, by one figure from an index; then all figures, of those alone that are shown.

use super::{
    COLUMNS, Journal, JournalError, RepositoryId,
    ask::{Grouped, grouped},
    failed,
};

impl Journal {
    /// The sums of a dimension since a day, the dearest first.
    pub(super) async fn costs_since(
        &mut self,
        repository: &RepositoryId,
        dimension: &str,
        since: &str,
        most: u32,
    ) -> Result<Vec<Grouped>, JournalError> {
        let keys = self.dearest(repository, dimension, since, most).await?;
        let keys = serde_json::to_string(&keys).map_err(super::unreadable("a key of a sum"))?;
        let summed = COLUMNS
            .map(|name| format!("SUM({name}) AS {name}"))
            .join(", ");
        let sql = format!(
            "SELECT key, {summed} FROM token_total
             WHERE repository_id = ?1 AND dimension = ?2 AND day >= ?3
               AND key IN (SELECT value FROM json_each(?4))
             GROUP BY key ORDER BY SUM(spent) DESC, key"
        );
        let rows = sqlx::query(sqlx::AssertSqlSafe(sql))
            .bind(&repository.0)
            .bind(dimension)
            .bind(since)
            .bind(keys)
            .fetch_all(&mut self.db)
            .await
            .map_err(failed("sum up what was spent"))?;
        rows.iter().map(grouped).collect()
    }

    /// Whether a day is behind the first on which anything was spent.
    pub(super) async fn is_after_the_first(
        &mut self,
        repository: &RepositoryId,
        since: &str,
    ) -> Result<bool, JournalError> {
        let first: Option<String> = sqlx::query_scalar(
            "SELECT MIN(day) FROM token_total
             WHERE repository_id = ? AND dimension = 'total' AND key = '' AND day > ''",
        )
        .bind(&repository.0)
        .fetch_one(&mut self.db)
        .await
        .map_err(failed("look up the first day"))?;
        Ok(first.is_some_and(|first| since > first.as_str()))
    }

    async fn dearest(
        &mut self,
        repository: &RepositoryId,
        dimension: &str,
        since: &str,
        most: u32,
    ) -> Result<Vec<String>, JournalError> {
        let by_day = "SELECT key, spent FROM token_total INDEXED BY token_total_by_spent
             WHERE repository_id = ?1 AND dimension = ?2 AND day >= ?3";
        let parts = match (dimension, first_whole_month(since)) {
            ("task" | "loop", Some(month)) => format!(
                "{by_day} AND day < '{month}'
                 UNION ALL
                 SELECT key, spent FROM token_month
                 WHERE repository_id = ?1 AND dimension = ?2 AND month >= '{month}'"
            ),
            _ => by_day.to_owned(),
        };
        let sql = format!(
            "SELECT key FROM ({parts}) GROUP BY key ORDER BY SUM(spent) DESC, key LIMIT ?4"
        );
        sqlx::query_scalar(sqlx::AssertSqlSafe(sql))
            .bind(&repository.0)
            .bind(dimension)
            .bind(since)
            .bind(most)
            .fetch_all(&mut self.db)
            .await
            .map_err(failed("look for what was spent most on"))
    }
}

/// The first month of which every day counts, as in `2026-02`; none where `since` is no day.
fn first_whole_month(since: &str) -> Option<String> {
    let day: jiff::civil::Date = since.parse().ok()?;
    let first = match day.day() {
        1 => day,
        _ => day.last_of_month().tomorrow().ok()?,
    };
    Some(first.strftime("%Y-%m").to_string())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_whole_month_begins_on_the_day_or_after_it() {
        let cases = [
            ("2026-01-01", Some("2026-01")),
            ("2026-01-02", Some("2026-02")),
            ("2025-12-31", Some("2026-01")),
            ("2024-02-29", Some("2024-03")),
            ("soon", None),
        ];
        for (since, expected) in cases {
            assert_eq!(first_whole_month(since).as_deref(), expected, "{since}");
        }
    }
}
