//! What a loop's iterations come to, counted as they end.

use super::*;

async fn end(journal: &mut SqliteJournal, id: &str, verdict: &str, cost: &str) {
    let record =
        format!("{{\"usage\":{{\"inputTokens\":100,\"outputTokens\":7,\"costUsd\":{cost}}}}}");
    sqlx::query("UPDATE iteration SET ended_at = 'e', verdict = ?, record = ? WHERE id = ?")
        .bind(verdict)
        .bind(record)
        .bind(id)
        .execute(&mut journal.db)
        .await
        .unwrap();
}

#[tokio::test]
async fn a_loop_counts_its_iterations_as_they_end_and_those_taken_back_no_more() {
    let (_dir, mut journal, repository) = journal().await;
    begin_loop(&mut journal, &repository, "L1").await;
    for id in ["I1", "I2", "I3", "I4"] {
        journal
            .begin_iteration(&repository, &start("L1", id))
            .await
            .unwrap();
    }
    let row = journal.listed_loop(&"L1".into()).await.unwrap().unwrap();
    assert_eq!((row.iterations, row.cost_millionths), (0, None));

    end(&mut journal, "I1", "verified", "0.1").await;
    end(&mut journal, "I2", "failed", "0.2").await;
    end(&mut journal, "I3", "progress", "null").await;
    journal.forget_iteration(&"I4".into(), at()).await.unwrap();
    let row = journal.listed_loop(&"L1".into()).await.unwrap().unwrap();
    assert_eq!((row.iterations, row.verified), (4, 2));
    assert_eq!(row.cost_millionths, Some(300_000));
    assert_eq!((row.input_tokens, row.output_tokens), (300, 21));

    sqlx::query("INSERT INTO rewrite (id, repository_id, worktree, kind, branch, from_commit, to_commit, body, started_at) VALUES ('R1', ?, '/w', 'revert', 'b', 'f', 't', '{}', 's')")
        .bind(&repository.0)
        .execute(&mut journal.db)
        .await
        .unwrap();
    sqlx::query("UPDATE iteration SET reverted_by = 'R1' WHERE id IN ('I1', 'I2')")
        .execute(&mut journal.db)
        .await
        .unwrap();
    let row = journal.listed_loop(&"L1".into()).await.unwrap().unwrap();
    assert_eq!((row.iterations, row.verified), (4, 1));
}

#[tokio::test]
async fn loops_are_listed_newest_first_and_no_more_than_asked_for() {
    let (_dir, mut journal, repository) = journal().await;
    for id in ["L1", "L2", "L3"] {
        begin_loop(&mut journal, &repository, id).await;
    }
    let listed = journal.loops(&repository, 2).await.unwrap();
    let ids: Vec<&str> = listed.iter().map(|row| row.id.as_str()).collect();
    assert_eq!(ids, ["L3", "L2"]);
    assert_eq!(listed[0].goal, "X");
}
