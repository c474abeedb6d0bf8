//! The file by which an agent says that it is done.
//!
//! Its folder is watched. A timer looks too, as a folder may not be there yet, be on a network, or find
//! all watches used up. Never removes the file: it is its caller's.

mod folder_watch;

use std::{
    path::{Path, PathBuf},
    time::Duration,
};

use crate::plain_file::FileStamp;
use folder_watch::FolderWatch;

/// The number of times it is looked for where nothing watches, and how long its writer may take to finish it.
const EVERY: Duration = Duration::from_millis(200);
/// The number of times it is looked for beside a watch.
const SELDOM: Duration = Duration::from_secs(5);

pub struct DoneFile {
    path: Option<PathBuf>,
    /// What was there before the agent was: it says nothing about this conversation.
    stale: Option<FileStamp>,
}

impl DoneFile {
    pub(crate) fn new(path: Option<PathBuf>) -> Self {
        Self {
            stale: path.as_deref().and_then(look),
            path,
        }
    }

    pub(crate) fn path(&self) -> Option<&Path> {
        self.path.as_deref()
    }

    pub(crate) fn is_there(&self) -> bool {
        self.fresh().is_some()
    }

    /// Waits until the file has come or changed, and is as it was at the look before: its writer has
    /// finished.
    pub(crate) async fn appeared(&self) {
        let Some(path) = &self.path else {
            return std::future::pending().await;
        };
        let mut watch = None;
        let mut last = None;
        loop {
            // A folder that came, or was made again, is watched from now on.
            if watch.is_none() {
                watch = path.parent().and_then(FolderWatch::of);
            }
            let now = self.fresh();
            if now.is_some() && now == last {
                return;
            }
            last = now;
            let patience = match (&watch, &last) {
                (Some(_), None) => SELDOM,
                (Some(_) | None, _) => EVERY,
            };
            tokio::select! {
                seen = folder_watch::written(watch.as_ref()) => if seen.is_err() {
                    watch = None;
                    // Never without a pause: a folder that can't be watched must not keep ralph busy.
                    tokio::time::sleep(EVERY).await;
                },
                () = tokio::time::sleep(patience) => {}
            }
        }
    }

    fn fresh(&self) -> Option<FileStamp> {
        let now = self.path.as_deref().and_then(look);
        now.filter(|now| Some(*now) != self.stale)
    }
}

fn look(path: &Path) -> Option<FileStamp> {
    let found = std::fs::metadata(path).ok().filter(|m| m.is_file())?;
    Some(FileStamp::new(&found))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(folder: &tempfile::TempDir) -> (PathBuf, DoneFile) {
        let path = folder.path().join("new/done.md");
        (path.clone(), DoneFile::new(Some(path)))
    }

    fn write(path: &Path, text: &str) {
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, text).unwrap();
    }

    #[tokio::test]
    async fn a_file_that_comes_is_noticed_in_a_folder_that_was_not_there() {
        let folder = tempfile::tempdir().unwrap();
        let (path, done) = at(&folder);
        assert!(!done.is_there());
        write(&path, "");
        assert!(done.is_there());
        let limit = Duration::from_secs(20);
        tokio::time::timeout(limit, done.appeared()).await.unwrap();
    }

    #[test]
    fn a_file_from_before_counts_only_once_it_was_written_again() {
        let folder = tempfile::tempdir().unwrap();
        let (path, _) = at(&folder);
        write(&path, "old");
        let (_, done) = at(&folder);
        assert!(!done.is_there());
        std::fs::remove_file(&path).unwrap();
        assert!(!done.is_there());
        write(&path, "newer");
        assert!(done.is_there());
    }

    #[test]
    fn a_folder_of_that_name_is_no_word_from_the_agent() {
        let folder = tempfile::tempdir().unwrap();
        let (path, done) = at(&folder);
        std::fs::create_dir_all(&path).unwrap();
        assert!(!done.is_there());
    }
}
