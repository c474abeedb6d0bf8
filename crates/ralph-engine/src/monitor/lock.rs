//! One monitor a data folder: two would ask, tell and start everything twice.

use std::{
    fs::File,
    path::{Path, PathBuf},
};

use crate::lock::{Hold, hold};

/// Held until dropped, or until the process is gone.
#[derive(Debug)]
pub struct MonitorLock {
    _file: File,
}

#[derive(Debug, thiserror::Error)]
pub enum MonitorLockError {
    #[error("another `ralph monitor` watches the loops of {} ({owner})", data_dir.display())]
    Held { data_dir: PathBuf, owner: String },
    #[error("can't lock {}", path.display())]
    Io {
        path: PathBuf,
        source: std::io::Error,
    },
}

impl MonitorLock {
    pub fn acquire(data_dir: &Path) -> Result<Self, MonitorLockError> {
        let path = data_dir.join("monitor.lock");
        match hold(&path) {
            Ok(Hold::Ours(file)) => Ok(Self { _file: file }),
            Ok(Hold::Anothers { owner }) => Err(MonitorLockError::Held {
                data_dir: data_dir.to_owned(),
                owner,
            }),
            Err(source) => Err(MonitorLockError::Io { path, source }),
        }
    }
}
