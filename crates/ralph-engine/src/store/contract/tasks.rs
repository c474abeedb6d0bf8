//! The histories of tasks.

use ralph_core::task::TaskId;

use super::*;

pub(in crate::store) async fn histories_of_tasks_are_kept_by_task_file(store: &dyn TestStore) {
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
