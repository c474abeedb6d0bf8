//! One ralph a worktree, one monitor a data folder: locks in the data folder, held as long as their process lives.

use std::{
    fs::File,
    io::{Read as _, Seek as _, Write as _},
    path::{Path, PathBuf},
};

use crate::identity::worktree_name;

/// Held until dropped, or until the process is gone, however it went.
#[derive(Debug)]
pub struct Lock {
    _file: File,
}

#[derive(Debug, thiserror::Error)]
pub enum LockError {
    #[error("another {what} ({owner})")]
    Held { what: String, owner: String },
    #[error("can't lock {path}")]
    Io {
        path: PathBuf,
        source: std::io::Error,
    },
}

/// The current holder of a lock file.
enum Hold {
    /// This process, as long as it has the file.
    Ours(File),
    /// Another one, in its own words.
    Anothers { owner: String },
}

/// Holds a lock file, and writes into it who does.
fn hold(path: &Path) -> std::io::Result<Hold> {
    let mut file = File::options()
        .create(true)
        .truncate(false)
        .read(true)
        .write(true)
        .open(path)?;
    match file.try_lock() {
        Ok(()) => {}
        Err(std::fs::TryLockError::WouldBlock) => {
            let mut owner = String::new();
            let _ = file.read_to_string(&mut owner);
            let owner = owner.trim().to_owned();
            return Ok(Hold::Anothers { owner });
        }
        Err(std::fs::TryLockError::Error(source)) => return Err(source),
    }
    file.set_len(0)?;
    file.rewind()?;
    writeln!(file, "process {}", std::process::id())?;
    Ok(Hold::Ours(file))
}

impl Lock {
    pub fn acquire(data_dir: &Path, worktree: &Path) -> Result<Self, LockError> {
        let what = || format!("ralph works in {}", worktree.display());
        Self::take(lock_file(data_dir, worktree), what)
    }

    /// One monitor a data folder: two would ask, tell and start everything twice.
    pub fn acquire_monitor(data_dir: &Path) -> Result<Self, LockError> {
        let what = || {
            format!(
                "`ralph monitor` watches the loops of {}",
                data_dir.display()
            )
        };
        Self::take(data_dir.join("monitor.lock"), what)
    }

    fn take(path: PathBuf, what: impl FnOnce() -> String) -> Result<Self, LockError> {
        let held = path
            .parent()
            .map_or(Ok(()), std::fs::create_dir_all)
            .and_then(|()| hold(&path));
        match held {
            Ok(Hold::Ours(file)) => Ok(Self { _file: file }),
            Ok(Hold::Anothers { owner }) => Err(LockError::Held {
                what: what(),
                owner,
            }),
            Err(source) => Err(LockError::Io { path, source }),
        }
    }

    /// The process that holds the lock of `worktree`, if a live one does.
    pub fn owner(data_dir: &Path, worktree: &Path) -> Option<u32> {
        if !Self::is_held(data_dir, worktree) {
            return None;
        }
        let text = std::fs::read_to_string(lock_file(data_dir, worktree)).ok()?;
        text.trim().strip_prefix("process ")?.parse().ok()
    }

    /// Returns whether a live process holds the lock of `worktree`.
    pub fn is_held(data_dir: &Path, worktree: &Path) -> bool {
        File::open(lock_file(data_dir, worktree)).is_ok_and(|file| {
            matches!(
                file.try_lock_shared(),
                Err(std::fs::TryLockError::WouldBlock)
            )
        })
    }
}

fn lock_file(data_dir: &Path, worktree: &Path) -> PathBuf {
    let name = worktree_name(worktree);
    data_dir.join("locks").join(format!("{name}.lock"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_second_ralph_in_the_same_worktree_is_refused_by_name() {
        let data = tempfile::tempdir().unwrap();
        let here = Path::new("/repo");
        let lock = Lock::acquire(data.path(), here).unwrap();
        assert!(Lock::is_held(data.path(), here));
        assert_eq!(Lock::owner(data.path(), here), Some(std::process::id()));
        let error = Lock::acquire(data.path(), here).unwrap_err().to_string();
        let expected = format!(
            "another ralph works in /repo (process {})",
            std::process::id()
        );
        assert_eq!(error, expected);
        Lock::acquire(data.path(), Path::new("/other")).unwrap();
        drop(lock);
        assert!(!Lock::is_held(data.path(), here));
        assert_eq!(Lock::owner(data.path(), here), None);
        Lock::acquire(data.path(), here).unwrap();
    }
}
