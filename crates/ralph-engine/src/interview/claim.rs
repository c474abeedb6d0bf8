//! One interview about a project at a time: a lock on the folder of its history, which leaves nothing
//! behind and goes with the process that holds it.

use std::fs::{File, TryLockError};

use ralph_core::artefacts::Folder;

use super::InterviewError;

/// Held until dropped, or until the process is gone.
#[derive(Debug)]
pub struct Claim {
    _folder: File,
}

impl Claim {
    /// `None`: another process leads one.
    pub fn take(folder: &Folder) -> Result<Option<Self>, InterviewError> {
        let history = folder.history();
        let opened = std::fs::create_dir_all(&history).and_then(|()| File::open(&history));
        let opened = opened.map_err(InterviewError::write(history.clone()))?;
        match opened.try_lock() {
            Ok(()) => Ok(Some(Self { _folder: opened })),
            Err(TryLockError::WouldBlock) => Ok(None),
            Err(TryLockError::Error(error)) => Err(InterviewError::write(history)(error)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use ralph_core::artefacts::ProjectName;

    #[test]
    fn a_second_one_is_refused_until_the_first_is_gone() {
        let root = tempfile::tempdir().unwrap();
        let folder = Folder::new(root.path(), &ProjectName::parse("shop").unwrap());
        let first = Claim::take(&folder).unwrap();
        assert!(first.is_some());
        assert!(Claim::take(&folder).unwrap().is_none());
        drop(first);
        assert!(Claim::take(&folder).unwrap().is_some());
    }
}
