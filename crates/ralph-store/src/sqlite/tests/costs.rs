//! Totals in SQLite: months that triggers keep, and lists that an index answers.

use super::*;
use crate::contract::costs::fill_months;

#[tokio::test]
async fn a_month_is_the_sum_of_its_days() {
    let (_dir, mut journal, repository) = journal().await;
    fill_months(&mut journal, &repository).await;
    let rows: Vec<(String, String, i64)> = sqlx::query_as(
        "SELECT key, month, spent / 1000000 FROM token_month WHERE dimension = 'task'
         ORDER BY key, month",
    )
    .fetch_all(journal.sqlite())
    .await
    .unwrap();
    let rows: Vec<String> = rows
        .iter()
        .map(|(key, month, spent)| format!("{key} {month} {spent}"))
        .collect();
    let expected = [
        "even 2025-12 1",
        "even 2026-01 2",
        "even 2026-02 1",
        "new 2026-02 2",
        "new 2026-03 3",
        "old 2025-12 9",
        "old 2026-01 1",
    ];
    assert_eq!(rows, expected);
}

#[tokio::test]
async fn a_list_reads_only_what_it_shows() {
    let (_dir, mut journal, _) = journal().await;
    let sql = "EXPLAIN QUERY PLAN SELECT key FROM token_total
               WHERE repository_id = ?1 AND dimension = ?2 AND day = ?3 ORDER BY spent DESC LIMIT 20";
    let rows: Vec<(i64, i64, i64, String)> = sqlx::query_as(sql)
        .fetch_all(journal.sqlite())
        .await
        .unwrap();
    assert!(rows[0].3.contains("token_total_by_spent"), "{rows:?}");
    assert_eq!(rows.len(), 1, "nothing is sorted: {rows:?}");
}
