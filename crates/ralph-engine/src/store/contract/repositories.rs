//! Repositories: a move is told from a copy.

use super::*;

pub(in crate::store) async fn a_moved_repository_keeps_its_id_and_a_copy_gets_its_own(
    store: &dyn TestStore,
) {
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
