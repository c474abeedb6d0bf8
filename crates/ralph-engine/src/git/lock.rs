//! Lock files that were left behind.
//!
//! Removes one only if no live process owns it: none that has it open, and no git process at work in
//! the repository. Where processes can't be looked up, only what is old is taken for left behind.

use std::fmt;
use std::fs;
use std::io;
use std::path::Path;
use std::time::{Duration, SystemTime};

use super::GitError;
use super::wedge::changed_before;
use crate::plain_file;

/// The time that to wait for an owner to finish before saying that it is in the way.
const PATIENCE: Duration = Duration::from_secs(2);
const POLL: Duration = Duration::from_millis(50);
/// A lock this young may belong to a process that was not seen yet.
const YOUNG: Duration = Duration::from_secs(1);
/// Without a view of processes, nothing holds a lock for this long.
const OLD_ANYWHERE: Duration = Duration::from_secs(600);

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum LockOwner {
    Process { pid: u32, name: String },
    Unknown,
}

impl fmt::Display for LockOwner {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Process { pid, name } => write!(f, "{name} (process {pid})"),
            Self::Unknown => f.write_str("a process that could not be found"),
        }
    }
}

/// Returns when `lock` is gone, or says who holds it. `folders` are where its owner would work.
pub(super) async fn clear_stale(lock: &Path, folders: &[&Path]) -> Result<(), GitError> {
    let mut waited = Duration::ZERO;
    loop {
        if fs::symlink_metadata(lock).is_err() {
            return Ok(());
        }
        let owner = find_owner(lock, folders);
        let age = age_of(lock);
        let stale = match &owner {
            Sight::Nobody => age >= YOUNG,
            Sight::Somebody(_) => false,
            Sight::Blind => age >= OLD_ANYWHERE,
        };
        if stale {
            return match remove_lock(lock) {
                Err(error) if error.kind() != io::ErrorKind::NotFound => {
                    Err(GitError::io("remove", lock)(error))
                }
                _ => Ok(()),
            };
        }
        if waited >= PATIENCE {
            let owner = if let Sight::Somebody(owner) = owner {
                owner
            } else {
                LockOwner::Unknown
            };
            return Err(GitError::Locked {
                path: lock.to_owned(),
                owner,
            });
        }
        tokio::time::sleep(POLL).await;
        waited += POLL;
    }
}

/// Removes locks that programs left in git's folders since then and that no process holds.
pub(super) fn remove_left(git_dir: &Path, common_dir: &Path, since: SystemTime) {
    let mut left = Vec::new();
    let mut folders = vec![common_dir.to_owned()];
    if git_dir != common_dir {
        folders.push(git_dir.to_owned());
    }
    let refs = common_dir.join("refs");
    folders.push(refs.clone());
    while let Some(folder) = folders.pop() {
        let is_of_refs = folder.starts_with(&refs);
        for entry in fs::read_dir(&folder).into_iter().flatten().flatten() {
            let path = entry.path();
            if is_of_refs && entry.file_type().is_ok_and(|kind| kind.is_dir()) {
                folders.push(path.clone());
            }
            if path.extension().is_some_and(|end| end == "lock") {
                left.push(path);
            }
        }
    }
    left.retain(|lock| !changed_before(lock, since));
    for lock in left {
        if matches!(find_owner(&lock, &[git_dir, common_dir]), Sight::Nobody) {
            let _ = remove_lock(&lock);
        }
    }
}

/// No git makes a folder of one: what an agent made is moved aside.
fn remove_lock(lock: &Path) -> io::Result<()> {
    plain_file::remove(lock)
}

enum Sight {
    Somebody(LockOwner),
    Nobody,
    Blind,
}

/// By the clock of the file system, which stamped the lock too: no other clock is asked.
fn age_of(lock: &Path) -> Duration {
    let age = || {
        let stamped = fs::symlink_metadata(lock).ok()?.modified().ok()?;
        let now = tempfile::tempfile_in(lock.parent()?)
            .ok()?
            .metadata()
            .ok()?
            .modified()
            .ok()?;
        now.duration_since(stamped).ok()
    };
    age().unwrap_or_default()
}

fn find_owner(lock: &Path, folders: &[&Path]) -> Sight {
    let Ok(processes) = fs::read_dir("/proc") else {
        return Sight::Blind;
    };
    let mut seen_any = false;
    for process in processes.flatten() {
        let name = process.file_name();
        let Some(pid) = name.to_str().and_then(|name| name.parse::<u32>().ok()) else {
            continue;
        };
        seen_any = true;
        let place = process.path();
        let name = fs::read_to_string(place.join("comm"))
            .unwrap_or_default()
            .trim_end()
            .to_owned();
        if has_open(&place, lock) || (is_git(&name) && works_in(&place, folders)) {
            return Sight::Somebody(LockOwner::Process { pid, name });
        }
    }
    if seen_any {
        Sight::Nobody
    } else {
        Sight::Blind
    }
}

fn is_git(name: &str) -> bool {
    name == "git" || name.starts_with("git-")
}

fn works_in(process: &Path, folders: &[&Path]) -> bool {
    fs::read_link(process.join("cwd"))
        .is_ok_and(|cwd| folders.iter().any(|folder| cwd.starts_with(folder)))
}

fn has_open(process: &Path, lock: &Path) -> bool {
    fs::read_dir(process.join("fd")).is_ok_and(|mut files| {
        files.any(|file| {
            file.is_ok_and(|file| fs::read_link(file.path()).is_ok_and(|to| to == lock))
        })
    })
}
