//! One ralph a worktree, one monitor a data folder: locks in the data folder, held as long as their process lives.

use std::{
    fs::File,
    io::{Read as _, Seek as _, Write as _},
    path::{Path, PathBuf},
};

use crate::{identity::worktree_name, process::pid_namespace};

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

/// Before the namespace that the number of the process is of.
const NAMESPACE: &str = "namespace ";

/// The reason for which a process holds the lock of a worktree.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LockUse {
    /// A loop: it obeys the queue, and stops when it is asked to.
    Loop,
    /// Anything that is over soon by itself.
    Command,
}

impl LockUse {
    fn line(self) -> &'static str {
        match self {
            Self::Loop => "for a loop",
            Self::Command => "for a command",
        }
    }
}

/// A live process that holds a lock.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct LockHolder {
    pub(crate) pid: u32,
    /// The namespace that the number is of, where there are such.
    pub(crate) namespace: Option<String>,
    held_for: LockUse,
}

impl LockHolder {
    fn parse(text: &str) -> Option<Self> {
        let mut lines = text.lines();
        let pid = lines
            .next()?
            .trim()
            .strip_prefix("process ")?
            .parse()
            .ok()?;
        let rest: Vec<&str> = lines.collect();
        let namespace = rest.iter().find_map(|line| line.strip_prefix(NAMESPACE));
        let held_for = if rest.contains(&LockUse::Command.line()) {
            LockUse::Command
        } else {
            LockUse::Loop
        };
        Some(Self {
            pid,
            namespace: namespace.map(|name| name.trim().to_owned()),
            held_for,
        })
    }

    /// Reads who holds a lock file; `None` if it is free.
    fn of(path: &Path) -> Option<Self> {
        if !is_held(path) {
            return None;
        }
        Self::parse(&std::fs::read_to_string(path).ok()?)
    }

    /// Tells if it runs in a namespace below this process's own, and so is seen from here.
    pub(crate) fn is_below(&self) -> bool {
        let processes = std::fs::read_dir("/proc").into_iter().flatten().flatten();
        let mut namespaces =
            processes.filter_map(|one| std::fs::read_link(one.path().join("ns/pid")).ok());
        namespaces.any(|link| link.to_str() == self.namespace.as_deref())
    }
}

/// The current holder of a lock file.
enum Hold {
    /// This process, as long as it has the file.
    Ours(File),
    /// Another one, in its own words.
    Anothers { owner: String },
}

/// Holds a lock file, and writes into it who does.
fn hold(path: &Path, held_for: LockUse) -> std::io::Result<Hold> {
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
            let owner = owner.lines().next().unwrap_or_default().to_owned();
            return Ok(Hold::Anothers { owner });
        }
        Err(std::fs::TryLockError::Error(source)) => return Err(source),
    }
    file.set_len(0)?;
    file.rewind()?;
    // In one piece: who reads it must not take one for the other.
    let mut text = format!("process {}\n", std::process::id());
    if let Some(namespace) = pid_namespace() {
        text.push_str(&format!("{NAMESPACE}{namespace}\n"));
    }
    text.push_str(held_for.line());
    text.push('\n');
    file.write_all(text.as_bytes())?;
    Ok(Hold::Ours(file))
}

impl Lock {
    pub fn acquire(data_dir: &Path, worktree: &Path, held_for: LockUse) -> Result<Self, LockError> {
        let what = || format!("ralph works in {}", worktree.display());
        Self::take(lock_file(data_dir, worktree), held_for, what)
    }

    /// One monitor a data folder: two would ask, tell and start everything twice.
    pub fn acquire_monitor(data_dir: &Path) -> Result<Self, LockError> {
        let what = || {
            format!(
                "`ralph monitor` watches the loops of {}",
                data_dir.display()
            )
        };
        Self::take(data_dir.join("monitor.lock"), LockUse::Loop, what)
    }

    fn take(
        path: PathBuf,
        held_for: LockUse,
        what: impl FnOnce() -> String,
    ) -> Result<Self, LockError> {
        let held = path
            .parent()
            .map_or(Ok(()), std::fs::create_dir_all)
            .and_then(|()| hold(&path, held_for));
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
        Self::holder(data_dir, worktree).map(|holder| holder.pid)
    }

    /// The same, where it is a loop.
    pub fn owner_loop(data_dir: &Path, worktree: &Path) -> Option<u32> {
        let holder = Self::holder(data_dir, worktree);
        let holder = holder.filter(|holder| holder.held_for == LockUse::Loop);
        holder.map(|holder| holder.pid)
    }

    /// The process that holds the lock, with the namespace of its number.
    pub(crate) fn holder(data_dir: &Path, worktree: &Path) -> Option<LockHolder> {
        LockHolder::of(&lock_file(data_dir, worktree))
    }

    /// The processes that hold locks of worktrees in this data folder.
    pub(crate) fn holders(data_dir: &Path) -> Vec<LockHolder> {
        let files = std::fs::read_dir(data_dir.join(LOCKS))
            .into_iter()
            .flatten();
        let files = files.flatten().map(|entry| entry.path());
        files.filter_map(|path| LockHolder::of(&path)).collect()
    }

    /// Returns whether a live process holds the lock of `worktree`.
    pub fn is_held(data_dir: &Path, worktree: &Path) -> bool {
        is_held(&lock_file(data_dir, worktree))
    }
}

fn is_held(path: &Path) -> bool {
    File::open(path).is_ok_and(|file| {
        matches!(
            file.try_lock_shared(),
            Err(std::fs::TryLockError::WouldBlock)
        )
    })
}

/// The folder of the worktrees' locks.
const LOCKS: &str = "locks";

fn lock_file(data_dir: &Path, worktree: &Path) -> PathBuf {
    let name = worktree_name(worktree);
    data_dir.join(LOCKS).join(format!("{name}.lock"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_second_ralph_in_the_same_worktree_is_refused_by_name() {
        let data = tempfile::tempdir().unwrap();
        let here = Path::new("/repo");
        let lock = Lock::acquire(data.path(), here, LockUse::Loop).unwrap();
        assert!(Lock::is_held(data.path(), here));
        assert_eq!(Lock::owner(data.path(), here), Some(std::process::id()));
        let again = Lock::acquire(data.path(), here, LockUse::Loop);
        let error = again.unwrap_err().to_string();
        let expected = format!(
            "another ralph works in /repo (process {})",
            std::process::id()
        );
        assert_eq!(error, expected);
        Lock::acquire(data.path(), Path::new("/other"), LockUse::Loop).unwrap();
        drop(lock);
        assert!(!Lock::is_held(data.path(), here));
        assert_eq!(Lock::owner(data.path(), here), None);
        Lock::acquire(data.path(), here, LockUse::Loop).unwrap();
    }

    #[test]
    fn a_loop_is_told_from_a_command_that_holds_the_lock_for_a_moment() {
        let data = tempfile::tempdir().unwrap();
        let here = Path::new("/repo");
        let own = Some(std::process::id());
        for (held_for, owner_loop) in [(LockUse::Loop, own), (LockUse::Command, None)] {
            let _lock = Lock::acquire(data.path(), here, held_for).unwrap();
            assert_eq!(Lock::owner(data.path(), here), own);
            assert_eq!(Lock::owner_loop(data.path(), here), owner_loop);
        }
    }
}
