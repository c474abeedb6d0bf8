//! Repositories: a move is told from a copy, and a choice of tasks is kept.

use super::*;

pub(crate) async fn a_moved_repository_keeps_its_id_and_a_copy_gets_its_own(store: &dyn TestStore) {
    let (mut journal, _) = fresh(store).await;
    let dir = tempfile::tempdir().unwrap();
    let (id, moved) = journal.repository(dir.path(), None, at()).await.unwrap();
    assert_eq!(moved, RepositoryMove::Stayed);
    let other = dir.path().join("other");
    let (copy, moved) = journal.repository(&other, Some(&id.0), at()).await.unwrap();
    assert_ne!(copy, id);
    assert!(matches!(moved, RepositoryMove::CopyOf(_)));

    let gone = dir.path().join("gone");
    let (third, _) = journal.repository(&gone, None, at()).await.unwrap();
    let (same, moved) = journal
        .repository(&dir.path().join("new"), Some(&third.0), at())
        .await
        .unwrap();
    assert_eq!(same, third);
    assert_eq!(
        moved,
        RepositoryMove::From(gone.to_string_lossy().into_owned())
    );
}

pub(crate) async fn the_chosen_task_source_is_kept_by_repository_until_it_is_forgotten(
    store: &dyn TestStore,
) {
    let (mut journal, one) = fresh(store).await;
    let place = Path::new("/other/.git");
    let (other, _) = journal.repository(place, None, at()).await.unwrap();
    assert_eq!(journal.chosen_source(&one).await.unwrap(), None);
    let todo = Some("TODO.md".to_owned());
    journal.choose_source(&one, todo.as_deref()).await.unwrap();
    journal
        .choose_source(&other, Some("prd.json"))
        .await
        .unwrap();
    let mut again = store.open().await;
    assert_eq!(again.chosen_source(&one).await.unwrap(), todo);
    again.choose_source(&other, None).await.unwrap();
    assert_eq!(journal.chosen_source(&other).await.unwrap(), None);
    assert_eq!(journal.chosen_source(&one).await.unwrap(), todo);
}
