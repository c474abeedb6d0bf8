//! `check` names what is wrong, and that alone: everything that keeps tenants apart is dropped once.

use super::{
    super::{
        StoreConnection, StoreUrl,
        check::{self, Check, CheckResult, EXPECTED},
    },
    *,
};

/// What the catalog says of a fresh store. With `RALPH_UPDATE_EXPECTED=1` the file is written, after a migration was
/// added; the difference is for a person to read.
#[tokio::test]
async fn what_is_expected_is_what_the_migrations_make() {
    let store = Store::new().await;
    let mut connection = StoreConnection::open(&store.admin).await.unwrap();
    let lines = check::catalog_lines(connection.db()).await.unwrap();
    let text: String = lines.iter().map(|line| format!("{line}\n")).collect();
    if std::env::var_os("RALPH_UPDATE_EXPECTED").is_some() {
        let path = concat!(env!("CARGO_MANIFEST_DIR"), "/src/postgres/expected.txt");
        std::fs::write(path, &text).unwrap();
        return;
    }
    let expected: Vec<&str> = EXPECTED.lines().collect();
    assert_eq!(text.lines().collect::<Vec<_>>(), expected);
}

/// The checks that did not come out well.
async fn bad(url: &StoreUrl) -> Vec<Check> {
    let checks = check::check(url).await.unwrap();
    let bad = checks
        .into_iter()
        .filter(|check| check.result != CheckResult::Ok);
    bad.collect()
}

#[tokio::test]
async fn a_fresh_store_has_nothing_that_is_not_proven() {
    let store = Store::new().await;
    assert_eq!(bad(&store.admin).await, []);
    // Nothing of it stays.
    assert_eq!(store.database.sql("SELECT count(*) FROM ralph.tenant"), "2");
    assert_eq!(
        store
            .database
            .sql("SELECT count(*) FROM pg_roles WHERE rolname = 'ralph_probe'"),
        "0"
    );
}

#[tokio::test]
async fn a_role_of_the_app_is_told_what_it_can_not_prove() {
    let store = Store::new().await;
    let app = store.url_of("any", None).await;
    let found = bad(&app).await;
    let names: Vec<&str> = found.iter().map(|check| check.name.as_str()).collect();
    assert_eq!(names, ["rows of one tenant are out of reach of another"]);
    assert!(
        matches!(found[0].result, CheckResult::NotProven(_)),
        "{found:?}"
    );
}
