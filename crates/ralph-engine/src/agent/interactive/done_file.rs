//! The file by which an agent says that it is done.
//!
//! Looked at by a timer: that costs a microsecond, and works for a folder that is not there yet, on a
//! network, and where all watches are used up. Never removes the file: it is its caller's.

use std::{
    os::unix::fs::MetadataExt as _,
    path::{Path, PathBuf},
    time::Duration,
};

/// How often it is looked for.
const EVERY: Duration = Duration::from_millis(200);

/// Enough of a file to see that it is another, or was written to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Look {
    device: u64,
    inode: u64,
    size: u64,
    written: (i64, i64),
    changed: (i64, i64),
}

pub(super) struct DoneFile {
    path: Option<PathBuf>,
    /// What was there before the agent was: it says nothing about this conversation.
    stale: Option<Look>,
}

impl DoneFile {
    pub(super) fn new(path: Option<PathBuf>) -> Self {
        Self {
            stale: path.as_deref().and_then(look),
            path,
        }
    }

    pub(super) fn is_there(&self) -> bool {
        self.fresh().is_some()
    }

    /// Waits until the file has come or changed, and is as it was at the look before: its writer has
    /// finished.
    pub(super) async fn appeared(&self) {
        if self.path.is_none() {
            return std::future::pending().await;
        }
        let mut timer = tokio::time::interval(EVERY);
        timer.set_missed_tick_behavior(tokio::time::MissedTickBehavior::Delay);
        let mut last = None;
        loop {
            timer.tick().await;
            let now = self.fresh();
            if now.is_some() && now == last {
                return;
            }
            last = now;
        }
    }

    fn fresh(&self) -> Option<Look> {
        let now = self.path.as_deref().and_then(look);
        now.filter(|now| Some(*now) != self.stale)
    }
}

fn look(path: &Path) -> Option<Look> {
    let found = std::fs::metadata(path).ok().filter(|m| m.is_file())?;
    Some(Look {
        device: found.dev(),
        inode: found.ino(),
        size: found.size(),
        written: (found.mtime(), found.mtime_nsec()),
        changed: (found.ctime(), found.ctime_nsec()),
    })
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
