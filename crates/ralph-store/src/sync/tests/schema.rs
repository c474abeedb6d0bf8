//! The table of what is synced, held against the schemas and the triggers.

use std::collections::{BTreeMap, BTreeSet};

use sqlx::{ConnectOptions as _, SqliteConnection, sqlite::SqliteConnectOptions};

use crate::sync::tables::{COLUMNS_LEFT_OUT, ColumnKind, Include, TABLES, TABLES_LEFT_OUT};

async fn journal(dir: &tempfile::TempDir) -> SqliteConnection {
    crate::open(dir.path())
        .await
        .unwrap()
        .close()
        .await
        .unwrap();
    let path = dir.path().join("ralph.db");
    let options = SqliteConnectOptions::new().filename(path);
    options.connect().await.unwrap()
}

async fn rows<T>(db: &mut SqliteConnection, sql: &'static str) -> Vec<T>
where
    T: for<'r> sqlx::FromRow<'r, sqlx::sqlite::SqliteRow> + Send + Unpin,
{
    sqlx::query_as(sql).fetch_all(db).await.unwrap()
}

#[tokio::test]
async fn every_column_of_the_journal_is_synced_or_left_out_with_a_reason() {
    let dir = tempfile::tempdir().unwrap();
    let mut db = journal(&dir).await;
    let found: Vec<(String, String, String)> = rows(
        &mut db,
        "SELECT t.name, c.name, c.type FROM sqlite_master AS t JOIN pragma_table_info(t.name) AS c
         WHERE t.type = 'table' AND t.name NOT LIKE 'sqlite_%' ORDER BY t.name, c.name",
    )
    .await;
    let there: BTreeSet<(String, String, bool)> = found
        .into_iter()
        .map(|(table, column, kind)| (table, column, kind == "INTEGER"))
        .filter(|(table, ..)| TABLES_LEFT_OUT.iter().all(|(name, _)| name != table))
        .filter(|(table, column, _)| {
            COLUMNS_LEFT_OUT
                .iter()
                .all(|(of, name, _)| (of, name) != (&&**table, &&**column))
        })
        .collect();
    let synced: BTreeSet<(String, String, bool)> = TABLES
        .iter()
        .flat_map(|table| {
            table.columns.iter().map(|column| {
                let is_number = column.kind == ColumnKind::Integer;
                (table.name.to_owned(), column.name.to_owned(), is_number)
            })
        })
        .collect();
    assert_eq!(synced, there);
    for (table, reason) in TABLES_LEFT_OUT {
        assert!(!reason.is_empty(), "{table}");
    }
}

#[tokio::test]
async fn keys_are_those_of_the_journal() {
    let dir = tempfile::tempdir().unwrap();
    let mut db = journal(&dir).await;
    let found: Vec<(String, String)> = rows(
        &mut db,
        "SELECT t.name, c.name FROM sqlite_master AS t JOIN pragma_table_info(t.name) AS c
         WHERE t.type = 'table' AND c.pk > 0 ORDER BY t.name, c.pk",
    )
    .await;
    let mut keys: BTreeMap<String, Vec<String>> = BTreeMap::new();
    for (table, column) in found {
        keys.entry(table).or_default().push(column);
    }
    for table in &TABLES {
        let mut key = keys[table.name].clone();
        let mut ours: Vec<String> = table.key.iter().map(|name| (*name).to_owned()).collect();
        key.sort();
        ours.sort();
        assert_eq!(ours, key, "{}", table.name);
        assert_eq!(table.key_places().len(), table.key.len(), "{}", table.name);
    }
}

#[tokio::test]
async fn parents_come_before_their_children() {
    let dir = tempfile::tempdir().unwrap();
    let mut db = journal(&dir).await;
    let found: Vec<(String, String)> = rows(
        &mut db,
        "SELECT t.name, f.\"table\" FROM sqlite_master AS t JOIN pragma_foreign_key_list(t.name) AS f
         WHERE t.type = 'table'",
    )
    .await;
    let place = |name: &str| TABLES.iter().position(|table| table.name == name);
    for (child, parent) in found {
        if let (Some(child_at), Some(parent_at)) = (place(&child), place(&parent)) {
            assert!(parent_at < child_at, "{parent} before {child}");
        }
    }
}

#[tokio::test]
async fn a_row_that_is_named_later_goes_along_with_the_row_that_names_it() {
    let dir = tempfile::tempdir().unwrap();
    let mut db = journal(&dir).await;
    let named_later: Vec<(String, String, String)> = rows(
        &mut db,
        "SELECT t.name, f.\"from\", f.\"table\" FROM sqlite_master AS t
         JOIN pragma_foreign_key_list(t.name) AS f JOIN pragma_table_info(t.name) AS c ON c.name = f.\"from\"
         WHERE t.type = 'table' AND NOT c.\"notnull\" AND c.pk = 0 ORDER BY 2",
    )
    .await;
    let ours: Vec<(String, String, String)> = TABLES
        .iter()
        .flat_map(|table| {
            let named = table.columns.iter();
            named.filter_map(|c| Some((table.name.into(), c.name.into(), c.takes_along?.into())))
        })
        .collect();
    assert_eq!(ours, named_later);
}

#[tokio::test]
async fn each_change_of_a_synced_table_is_written_down_by_a_trigger_as_the_table_says() {
    let dir = tempfile::tempdir().unwrap();
    let mut db = journal(&dir).await;
    let found: Vec<(String, String)> = rows(
        &mut db,
        "SELECT name, sql FROM sqlite_master WHERE type = 'trigger' AND name LIKE 'sync~_%' ESCAPE '~'
         AND name <> 'sync_log_waits'",
    )
    .await;
    let found: BTreeMap<String, String> = found.into_iter().collect();
    let expected: BTreeMap<String, String> =
        TABLES.iter().flat_map(|table| table.triggers()).collect();
    assert_eq!(found, expected);
}

#[test]
fn a_group_has_a_word_that_it_is_known_by() {
    for one in Include::ALL {
        assert_eq!(Include::from_word(one.as_str()), Some(one));
    }
    let usual: Vec<&str> = Include::usual().into_iter().map(Include::as_str).collect();
    assert_eq!(usual, ["records", "costs", "checkpoints", "questions"]);
}
