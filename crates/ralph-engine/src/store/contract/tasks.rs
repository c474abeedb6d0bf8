//! The histories of tasks.

use ralph_core::task::TaskId;

use super::*;

pub(in crate::store) async fn tasks_that_wait_for_a_person_are_found_by_task_file(
    store: &dyn TestStore,
) {
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
    let held = journal.held_tasks(&repository, "prd.json").await.unwrap();
    assert_eq!(held, [("B".to_owned(), asked), ("C".to_owned(), blocked)]);
}
