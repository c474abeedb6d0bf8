//! One monitor a data folder: two would ask, tell and start everything twice.

use std::{
    fs::File,
    io::{Read as _, Seek as _, Write as _},
    path::{Path, PathBuf},
};

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
        let fail = |source| MonitorLockError::Io {
            path: path.clone(),
            source,
        };
        let mut file = File::options()
            .create(true)
            .truncate(false)
            .read(true)
            .write(true)
            .open(&path)
            .map_err(fail)?;
        match file.try_lock() {
            Ok(()) => {}
            Err(std::fs::TryLockError::WouldBlock) => {
                let mut owner = String::new();
                let _ = file.read_to_string(&mut owner);
                return Err(MonitorLockError::Held {
                    data_dir: data_dir.to_owned(),
                    owner: owner.trim().to_owned(),
                });
            }
            Err(std::fs::TryLockError::Error(source)) => return Err(fail(source)),
        }
        let write = |file: &mut File| {
            file.set_len(0)?;
            file.rewind()?;
            writeln!(file, "process {}", std::process::id())
        };
        write(&mut file).map_err(fail)?;
        Ok(Self { _file: file })
    }
}
