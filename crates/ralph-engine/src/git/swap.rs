//! Moves a ref from the value that was seen to another, by git's own protocol and without a process.
//!
//! Takes git's lock, compares under it, and puts the new value in place by a rename: whoever else
//! moves the ref takes the same lock, so one of the two is told that it came too late. The value is
//! on the disk when this returns. Makes no ref that is not there.

use std::fs;
use std::io::{self, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};

use super::config::{Setting, last_value};
use super::refs::{lock_of, read_ref};
use super::{GitError, LockOwner, Oid, Repo};
use crate::durable::write_out;

/// The number of times a lock that was let go may be taken by others before that is said.
const TRIES: usize = 20;

/// Which refs get a log of their moves, if they have none.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Reflogs {
    Never,
    Branches,
    Always,
}

impl Reflogs {
    pub(super) fn of(settings: &[Setting]) -> Self {
        match last_value(settings, "core.logallrefupdates") {
            Some(b"always") => Self::Always,
            Some(b"false" | b"no" | b"off" | b"0") => Self::Never,
            _ => Self::Branches,
        }
    }

    fn wants(self, name: &str) -> bool {
        match self {
            Self::Never => false,
            Self::Branches => name.starts_with("refs/heads/"),
            Self::Always => true,
        }
    }
}

/// What became of one try.
enum Swap {
    Done,
    /// It has another value.
    Found(Option<Oid>),
    Locked,
}

impl Repo {
    pub(super) async fn swap_ref(
        &self,
        name: &str,
        to: &Oid,
        from: &Oid,
        why: &str,
    ) -> Result<(), GitError> {
        let who = &self.identity().await?.committer;
        let path = self.common_dir.join(name);
        for _ in 0..TRIES {
            let line = format!("{from} {to} {who} {}\t{why}\n", self.now());
            match self.try_swap(name, to, from, &line)? {
                Swap::Done => return Ok(()),
                Swap::Found(found) => {
                    return Err(GitError::RefMoved {
                        name: name.to_owned(),
                        expected: from.to_string(),
                        found: found.map_or_else(|| "nothing".to_owned(), |oid| oid.to_string()),
                    });
                }
                Swap::Locked => self.clear_lock(&path).await?,
            }
        }
        Err(GitError::Locked {
            path: lock_of(&path),
            owner: LockOwner::Unknown,
        })
    }

    fn try_swap(&self, name: &str, to: &Oid, from: &Oid, line: &str) -> Result<Swap, GitError> {
        let path = self.common_dir.join(name);
        let mut lock = match RefLock::take(&path) {
            Ok(Some(lock)) => lock,
            Ok(None) => return Ok(Swap::Locked),
            Err(error) => return Err(GitError::io("lock", &path)(error)),
        };
        let found = read_ref(&self.common_dir, name)?;
        if found.as_ref() != Some(from) {
            return Ok(Swap::Found(found));
        }
        let write = GitError::io("write", &path);
        let ready = writeln!(lock.file, "{to}")
            .and_then(|()| write_out(&lock.file))
            .and_then(|()| clear_empty_folder(&path));
        if let Err(error) = ready {
            return Err(write(error));
        }
        self.log_move(name, line)?;
        lock.put_in_place(&path).map_err(write)?;
        Ok(Swap::Done)
    }

    /// Follows no link and never waits: what stands in place of a log is not ours to write to.
    fn log_move(&self, name: &str, line: &str) -> Result<(), GitError> {
        let path = self.common_dir.join("logs").join(name);
        let open = |make: bool| {
            fs::OpenOptions::new()
                .append(true)
                .create(make)
                .custom_flags(libc::O_NOFOLLOW | libc::O_NONBLOCK)
                .open(&path)
        };
        let opened = match open(false) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => {
                if !self.reflogs.wants(name) {
                    return Ok(());
                }
                let folder = path.parent().unwrap_or(&path);
                fs::create_dir_all(folder).and_then(|()| open(true))
            }
            other => other,
        };
        opened
            .and_then(|mut file| file.write_all(line.as_bytes()))
            .map_err(GitError::io("write", &path))
    }
}

/// Git's lock of a ref. Gone when this is dropped, unless it was put in place.
struct RefLock {
    path: PathBuf,
    /// Open as long as the lock is held: by that others see that it has an owner.
    file: fs::File,
    held: bool,
}

impl RefLock {
    /// `None` if another process holds it.
    fn take(of: &Path) -> io::Result<Option<Self>> {
        let path = lock_of(of);
        let mut taken = fs::File::create_new(&path);
        if taken
            .as_ref()
            .is_err_and(|error| error.kind() == io::ErrorKind::NotFound)
        {
            // The folder of a ref that is packed may be gone.
            fs::create_dir_all(of.parent().unwrap_or(of))?;
            taken = fs::File::create_new(&path);
        }
        match taken {
            Ok(file) => Ok(Some(Self {
                path,
                file,
                held: true,
            })),
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => Ok(None),
            Err(error) => Err(error),
        }
    }

    fn put_in_place(mut self, of: &Path) -> io::Result<()> {
        fs::rename(&self.path, of)?;
        self.held = false;
        // The name too must outlive a loss of power.
        fs::File::open(of.parent().unwrap_or(of))?.sync_all()
    }
}

impl Drop for RefLock {
    fn drop(&mut self) {
        if self.held {
            let _ = fs::remove_file(&self.path);
        }
    }
}

/// Where a ref is packed, folders of longer names that are gone may still stand.
fn clear_empty_folder(path: &Path) -> io::Result<()> {
    let is_folder = fs::symlink_metadata(path).is_ok_and(|meta| meta.is_dir());
    if !is_folder {
        return Ok(());
    }
    for entry in fs::read_dir(path)? {
        clear_empty_folder(&entry?.path())?;
    }
    fs::remove_dir(path)
}
