//! Rows of checkpoints that were changed or taken out by hand.

use ralph_core::checkpoint::{Chain, Damage, Found, Trigger, verify};

use super::*;
use crate::contract::checkpoints::{chain, moment, work};

async fn sql(journal: &mut SqlJournal, sql: &'static str) {
    sqlx::query(sql).execute(journal.sqlite()).await.unwrap();
}

#[tokio::test]
async fn a_row_that_was_changed_is_named_and_still_followed() {
    let (_dir, mut journal, repository) = journal().await;
    begin_loop(&mut journal, &repository, "L1").await;
    for id in ["a", "b"] {
        let moment = moment("L1", id, Trigger::Manual);
        journal.add_checkpoint(&repository, &moment).await.unwrap();
    }
    sql(
        &mut journal,
        "UPDATE checkpoint SET body = 'nonsense' WHERE id = 'b'",
    )
    .await;
    let third = moment("L1", "c", Trigger::Manual);
    journal.add_checkpoint(&repository, &third).await.unwrap();
    let links = chain(&mut journal, "L1").await;
    assert_eq!(links.len(), 3);
    let damage = verify(&links).unwrap_err();
    assert!(matches!(damage, Damage::Content { .. }), "{damage}");
    assert_eq!(damage.id(), Some(&"b".into()));
    assert_eq!(links[2].prev_hash.as_deref(), Some(links[1].hash.as_str()));
}

#[tokio::test]
async fn a_newest_row_that_is_gone_is_missed() {
    let (_dir, mut journal, repository) = journal().await;
    begin_loop(&mut journal, &repository, "L1").await;
    for (id, iteration) in [("a", 1), ("b", 2)] {
        let mut moment = moment("L1", id, Trigger::Iteration);
        moment.work = work(iteration, Found::Complete);
        journal.add_checkpoint(&repository, &moment).await.unwrap();
        let begun = start("L1", id);
        journal.begin_iteration(&repository, &begun).await.unwrap();
    }
    sql(&mut journal, "UPDATE iteration SET record = '{}'").await;
    sql(&mut journal, "DELETE FROM checkpoint WHERE id = 'b'").await;
    let mut seen = Chain::default();
    for link in chain(&mut journal, "L1").await {
        seen.take(&link).unwrap();
    }
    let newest = journal.newest_record(&"L1".into()).await.unwrap();
    assert_eq!(newest, Some(2));
    let (n, iteration) = (1, 2);
    assert_eq!(seen.end(newest, 2), Err(Damage::End { n, iteration }));
}

#[tokio::test]
async fn a_number_is_not_given_again_where_the_newest_row_is_gone() {
    let (_dir, mut journal, repository) = journal().await;
    begin_loop(&mut journal, &repository, "L1").await;
    for id in ["a", "b"] {
        let moment = moment("L1", id, Trigger::Manual);
        journal.add_checkpoint(&repository, &moment).await.unwrap();
    }
    sql(&mut journal, "DELETE FROM checkpoint WHERE id = 'b'").await;
    assert_eq!(
        journal.checkpoints_made(&"L1".into()).await.unwrap(),
        2,
        "what is gone is counted"
    );
    let third = moment("L1", "c", Trigger::Manual);
    journal.add_checkpoint(&repository, &third).await.unwrap();
    let damage = verify(&chain(&mut journal, "L1").await).unwrap_err();
    assert!(
        matches!(
            damage,
            Damage::Order {
                n: 3,
                expected: 2,
                ..
            }
        ),
        "{damage}"
    );
    sql(&mut journal, "DELETE FROM checkpoint").await;
    let listed = journal.checkpointed_loops(&repository).await.unwrap();
    assert_eq!(listed, ["L1".into()], "a loop that lost all is looked at");
}

#[tokio::test]
async fn a_journal_without_checkpoints_gets_them_and_keeps_its_loops() {
    let (dir, mut journal, repository) = journal().await;
    begin_loop(&mut journal, &repository, "L1").await;
    // As an older ralph left it.
    sql(&mut journal, "DROP TABLE checkpoint").await;
    sql(
        &mut journal,
        "DELETE FROM _sqlx_migrations WHERE version = 6",
    )
    .await;
    drop(journal);
    let mut journal = open(dir.path()).await.unwrap();
    assert_eq!(
        journal.last_checkpoint_id(&"L1".into()).await.unwrap(),
        None
    );
    let first = moment("L1", "a", Trigger::Manual);
    journal.add_checkpoint(&repository, &first).await.unwrap();
    assert_eq!(verify(&chain(&mut journal, "L1").await), Ok(()));
}
