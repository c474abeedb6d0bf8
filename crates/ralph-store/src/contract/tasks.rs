//! The histories of tasks.

use ralph_core::task::TaskId;

use super::*;

pub(crate) async fn histories_of_tasks_are_kept_by_task_file(store: &dyn TestStore) {
    let (mut journal, repository) = fresh(store).await;
    let task = |id: &str| TaskId::parse(id).unwrap();
    let asked = TaskHistory {
        question: Some("which?".into()),
        ..TaskHistory::default()
    };
    let blocked = TaskHistory {
        blocked: Some("out of attempts".into()),
        ..TaskHistory::default()
    };
    for (id, state) in [
        ("A", &TaskHistory::default()),
        ("B", &asked),
        ("C", &blocked),
    ] {
        journal
            .set_task_state(&repository, "prd.json", &task(id), state)
            .await
            .unwrap();
    }
    journal
        .set_task_state(&repository, "other.json", &task("D"), &asked)
        .await
        .unwrap();
    let mut found = journal.task_states(&repository, "prd.json").await.unwrap();
    found.sort_by(|one, other| one.0.cmp(&other.0));
    let expected = [("B".to_owned(), asked), ("C".to_owned(), blocked)];
    assert_eq!(found, expected);
}

pub(crate) async fn a_list_of_tasks_is_kept_and_histories_follow_new_ids(store: &dyn TestStore) {
    let (mut journal, repository) = fresh(store).await;
    let task = |id: &str| TaskId::parse(id).unwrap();
    let attempts = |attempts: u32| TaskHistory {
        attempts,
        ..TaskHistory::default()
    };
    assert_eq!(
        journal.task_list(&repository, "prd.json").await.unwrap(),
        None
    );
    for (id, count) in [("a", 1), ("a-2", 2)] {
        journal
            .set_task_state(&repository, "prd.json", &task(id), &attempts(count))
            .await
            .unwrap();
    }
    let ids = vec![task("b"), task("a"), task("c")];
    let moved = [(task("a"), task("b")), (task("a-2"), task("a"))];
    journal
        .set_task_list(&repository, "prd.json", &ids, &moved)
        .await
        .unwrap();
    let known = journal.task_list(&repository, "prd.json").await.unwrap();
    assert_eq!(known, Some(ids));
    let other = journal.task_list(&repository, "other.json").await.unwrap();
    assert_eq!(other, None);
    let mut found = journal.task_states(&repository, "prd.json").await.unwrap();
    found.sort_by(|one, other| one.0.cmp(&other.0));
    let expected = [("a".to_owned(), attempts(2)), ("b".to_owned(), attempts(1))];
    assert_eq!(found, expected);
}
