//! One syncer a data folder: a lock on a file, which goes away with its process.
//!
//! Knows nothing of the journal.

use std::{
    fs::{File, TryLockError},
    io::{self, Read as _, Seek as _, Write as _},
    path::{Path, PathBuf},
};

/// Held as long as it lives.
#[derive(Debug)]
pub(super) struct SyncLock {
    _file: File,
}

#[derive(Debug, thiserror::Error)]
pub enum LockError {
    #[error("{} is synced by process {pid} already", folder.display())]
    Held { folder: PathBuf, pid: String },
    #[error("can't lock {}", path.display())]
    Io { path: PathBuf, source: io::Error },
}

impl SyncLock {
    pub(super) fn take(data_dir: &Path) -> Result<Self, LockError> {
        let path = data_dir.join("sync.lock");
        let cant = |source| LockError::Io {
            path: path.clone(),
            source,
        };
        let mut file = File::options()
            .create(true)
            .truncate(false)
            .read(true)
            .write(true)
            .open(&path)
            .map_err(cant)?;
        match file.try_lock() {
            Ok(()) => {}
            Err(TryLockError::Error(error)) => return Err(cant(error)),
            Err(TryLockError::WouldBlock) => {
                let mut pid = String::new();
                let read = file.read_to_string(&mut pid);
                let pid = pid.trim();
                let known = read.is_ok() && !pid.is_empty();
                return Err(LockError::Held {
                    folder: data_dir.to_owned(),
                    pid: if known { pid } else { "?" }.to_owned(),
                });
            }
        }
        // For the one that is told to wait.
        let pid = std::process::id();
        file.set_len(0).map_err(cant)?;
        file.rewind().map_err(cant)?;
        writeln!(file, "{pid}").map_err(cant)?;
        Ok(Self { _file: file })
    }
}
