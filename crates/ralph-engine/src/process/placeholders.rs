//! Placeholders for paths that are not there and that a program must not make: a mount needs something to lie on.
//!
//! A file's is a socket without any rights, a folder's an empty folder. git sees neither, no program can read or
//! write the socket, and no person has one in such a place, so that it is known again. They stay as long as a program
//! runs: a mount goes with what it lies on. Knows nothing of what the paths are for.
//!
//! A list is written before the first one is made, and emptied when the last one is gone. A shared lock on it is held
//! for each program that needs them: by ralph until the program has begun, then by its keeper, which lives on when
//! ralph is killed. Who can lock it alone is the last one, and takes them away: a keeper, or after the death of both
//! the next ralph.

use std::collections::BTreeSet;
use std::ffi::{CStr, CString, OsString};
use std::fs::File;
use std::io::{self, Read as _};
use std::os::fd::{AsFd, AsRawFd, OwnedFd, RawFd};
use std::os::unix::ffi::{OsStrExt as _, OsStringExt as _};
use std::os::unix::fs::{FileTypeExt as _, MetadataExt as _, PermissionsExt as _};
use std::path::{Path, PathBuf};
use std::sync::Mutex;

use rustix::fs::{AtFlags, CWD, FileType, FlockOperation, Mode, OFlags};
use rustix::io::Errno;

/// The most that is read of a list.
const LONGEST_LIST: u64 = 1024 * 1024;

/// The kind of a path that is to be kept free.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum PlaceholderKind {
    Folder,
    File,
}

/// The placeholders of one program, from before it starts. Dropping them takes away what no program needs.
#[derive(Debug)]
pub struct Placeholders {
    list: PathBuf,
    made: BTreeSet<(PathBuf, PlaceholderKind)>,
    /// The lock; none once the keeper alone has it.
    lock: Mutex<Option<OwnedFd>>,
}

/// Two are the same if they stand in the same places.
impl PartialEq for Placeholders {
    fn eq(&self, other: &Self) -> bool {
        self.list == other.list && self.made == other.made
    }
}

impl Eq for Placeholders {}

impl Placeholders {
    /// Makes one at each of the paths, each of which stands behind the folder that it lies in. What is there stays as
    /// it is, and so does a place in which none can be made.
    pub fn make(list: &Path, wanted: &[(PathBuf, PlaceholderKind)]) -> io::Result<Self> {
        let flags = OFlags::RDWR | OFlags::CREATE | OFlags::CLOEXEC | OFlags::NOFOLLOW;
        let lock = rustix::fs::open(list, flags, Mode::from_raw_mode(0o600))?;
        rustix::fs::flock(&lock, FlockOperation::LockShared)?;
        let known = read_list(&lock)?;
        let is_ours = |path: &Path, kind| match (path.symlink_metadata(), kind) {
            (Err(error), _) => error.kind() == io::ErrorKind::NotFound,
            (Ok(_), PlaceholderKind::File) => is_placeholder(path),
            (Ok(_), PlaceholderKind::Folder) => known.contains(&(path.to_owned(), kind)),
        };
        let wanted = wanted.iter().filter(|(path, kind)| is_ours(path, *kind));
        // Others may still be in use, and this may be the one that takes them away.
        let mut made: BTreeSet<(PathBuf, PlaceholderKind)> = wanted.cloned().collect();
        made.extend(known.iter().cloned());
        let placeholders = Self {
            list: list.to_owned(),
            made,
            lock: Mutex::new(None),
        };
        if placeholders.made != known {
            write_list(&lock, &placeholders.made)?;
        }
        for (path, kind) in &placeholders.made {
            // One that can't be made is not there: its place stays as it is.
            let _ = make_one(path, *kind);
        }
        if let Ok(mut held) = placeholders.lock.lock() {
            *held = Some(lock);
        }
        Ok(placeholders)
    }

    /// Tells whether a path is kept free, or a folder is there only for that.
    pub fn hold(&self, path: &Path, kind: PlaceholderKind) -> bool {
        self.made.contains(&(path.to_owned(), kind)) && path.symlink_metadata().is_ok()
    }

    /// Lets the keeper of a program that has begun be the one that holds them.
    pub(super) fn release_lock(&self) {
        if let Ok(mut held) = self.lock.lock() {
            *held = None;
        }
    }

    /// The form in which a keeper takes them away.
    pub(super) fn removal(&self) -> io::Result<PlaceholderRemoval> {
        let lock = self.lock.lock().ok();
        let lock = lock.and_then(|held| held.as_ref().map(AsRawFd::as_raw_fd));
        PlaceholderRemoval::new(&self.made, lock)
    }
}

impl Drop for Placeholders {
    fn drop(&mut self) {
        // The keeper has a copy of this lock, which would not be in its own way.
        self.release_lock();
        sweep_placeholders(&self.list);
    }
}

/// Tells whether a path is one that a program must not make, and nothing else.
pub fn is_placeholder(path: &Path) -> bool {
    path.symlink_metadata().is_ok_and(|meta| {
        meta.file_type().is_socket() && meta.permissions().mode().trailing_zeros() >= 12
    })
}

/// Tells whether placeholders are, or were, in use. Cheap, as every command asks.
pub fn has_placeholders(list: &Path) -> bool {
    list.symlink_metadata().is_ok_and(|meta| meta.len() > 0)
}

/// Takes away those that no program needs any more. What can't be taken away is left to the next one.
pub fn sweep_placeholders(list: &Path) {
    let flags = OFlags::RDWR | OFlags::CLOEXEC | OFlags::NOFOLLOW;
    let Ok(lock) = rustix::fs::open(list, flags, Mode::empty()) else {
        return;
    };
    if rustix::fs::flock(&lock, FlockOperation::NonBlockingLockExclusive).is_err() {
        return;
    }
    let Ok(known) = read_list(&lock) else { return };
    if let Ok(removal) = PlaceholderRemoval::new(&known, None) {
        removal.take_away(&lock);
    }
}

/// Placeholders ready to be taken away by system calls alone, as a keeper has to.
pub(super) struct PlaceholderRemoval {
    /// A folder stands behind all that lies in it.
    paths: Vec<(CString, PlaceholderKind)>,
    /// The lock that the keeper gets a copy of.
    lock: Option<RawFd>,
}

impl PlaceholderRemoval {
    fn new(made: &BTreeSet<(PathBuf, PlaceholderKind)>, lock: Option<RawFd>) -> io::Result<Self> {
        let made = made.iter().rev();
        let paths = made
            .map(|(path, kind)| Ok((CString::new(path.as_os_str().as_bytes())?, *kind)))
            .collect::<io::Result<_>>()?;
        Ok(Self { paths, lock })
    }

    #[cfg(target_os = "linux")]
    pub(super) fn lock(&self) -> Option<RawFd> {
        self.lock
    }

    /// Takes them away if no one else needs them: the lock is exclusive then. No allocation.
    #[cfg(target_os = "linux")]
    pub(super) fn take_away_if_last(&self, lock: std::os::fd::BorrowedFd<'_>) {
        if rustix::fs::flock(lock, FlockOperation::NonBlockingLockExclusive).is_ok() {
            self.take_away(lock);
        }
    }

    fn take_away(&self, lock: impl AsFd) {
        let mut is_all_gone = true;
        for (path, kind) in &self.paths {
            is_all_gone &= match kind {
                PlaceholderKind::File => remove_file(path),
                PlaceholderKind::Folder => remove_folder(path),
            }
            .is_ok();
        }
        if is_all_gone {
            let _ = rustix::fs::ftruncate(lock, 0);
        }
    }
}

/// A file that a person put there instead stays.
fn remove_file(path: &CStr) -> Result<(), Errno> {
    let found = match rustix::fs::statat(CWD, path, AtFlags::SYMLINK_NOFOLLOW) {
        Err(Errno::NOENT | Errno::NOTDIR) => return Ok(()),
        found => found?,
    };
    let is_ours = FileType::from_raw_mode(found.st_mode) == FileType::Socket
        && Mode::from_raw_mode(found.st_mode).is_empty();
    if is_ours {
        rustix::fs::unlinkat(CWD, path, AtFlags::empty())?;
    }
    Ok(())
}

/// A folder that holds something by now stays.
fn remove_folder(path: &CStr) -> Result<(), Errno> {
    match rustix::fs::unlinkat(CWD, path, AtFlags::REMOVEDIR) {
        Ok(()) | Err(Errno::NOENT | Errno::NOTDIR | Errno::NOTEMPTY | Errno::EXIST) => Ok(()),
        Err(error) => Err(error),
    }
}

fn make_one(path: &Path, kind: PlaceholderKind) -> io::Result<()> {
    let made = match kind {
        PlaceholderKind::Folder => rustix::fs::mkdirat(CWD, path, Mode::from_raw_mode(0o777)),
        PlaceholderKind::File => make_socket(path),
    };
    made?;
    // In another user's folder root makes what is theirs.
    if rustix::process::geteuid().is_root()
        && let Some(above) = path.parent()
    {
        let above = above.symlink_metadata()?;
        std::os::unix::fs::lchown(path, Some(above.uid()), Some(above.gid()))?;
    }
    Ok(())
}

#[cfg(target_os = "linux")]
fn make_socket(path: &Path) -> Result<(), Errno> {
    rustix::fs::mknodat(CWD, path, FileType::Socket, Mode::empty(), 0)
}

/// Elsewhere nothing is mounted, so that nothing needs one.
#[cfg(not(target_os = "linux"))]
fn make_socket(_path: &Path) -> Result<(), Errno> {
    Err(Errno::NOTSUP)
}

/// Each path with a letter before it and a zero behind it.
fn write_list(list: &OwnedFd, made: &BTreeSet<(PathBuf, PlaceholderKind)>) -> io::Result<()> {
    let mut text = Vec::new();
    for (path, kind) in made {
        text.push(match kind {
            PlaceholderKind::Folder => b'd',
            PlaceholderKind::File => b's',
        });
        text.extend_from_slice(path.as_os_str().as_bytes());
        text.push(0);
    }
    rustix::fs::ftruncate(list, 0)?;
    let mut at = 0;
    while at < text.len() {
        at += rustix::io::pwrite(list, &text[at..], at as u64)?;
    }
    Ok(())
}

fn read_list(list: &OwnedFd) -> io::Result<BTreeSet<(PathBuf, PlaceholderKind)>> {
    let mut text = Vec::new();
    let mut file = File::from(list.try_clone()?);
    io::Seek::rewind(&mut file)?;
    file.take(LONGEST_LIST).read_to_end(&mut text)?;
    let mut found = BTreeSet::new();
    // One that was not written to its end was not made.
    let mut rest = text.as_slice();
    while let Some(end) = rest.iter().position(|byte| *byte == 0) {
        let (line, behind) = rest.split_at(end);
        rest = &behind[1..];
        let (kind, path) = match line.split_first() {
            Some((b'd', path)) => (PlaceholderKind::Folder, path),
            Some((b's', path)) => (PlaceholderKind::File, path),
            Some(_) | None => continue,
        };
        let path = PathBuf::from(OsString::from_vec(path.to_vec()));
        if path.is_absolute() {
            found.insert((path, kind));
        }
    }
    Ok(found)
}

#[cfg(test)]
mod tests {
    use super::*;

    struct Ground {
        _folder: tempfile::TempDir,
        list: PathBuf,
        root: PathBuf,
    }

    impl Ground {
        fn new() -> Self {
            let folder = tempfile::tempdir().unwrap();
            let root = folder.path().canonicalize().unwrap();
            Self {
                list: root.join("list"),
                root: root.join("repo"),
                _folder: folder,
            }
        }

        fn wanted(&self) -> Vec<(PathBuf, PlaceholderKind)> {
            let folder = self.root.join("folder");
            std::fs::create_dir_all(&self.root).unwrap();
            vec![
                (self.root.join("file"), PlaceholderKind::File),
                (folder.clone(), PlaceholderKind::Folder),
                (folder.join("file"), PlaceholderKind::File),
            ]
        }

        fn make(&self) -> Placeholders {
            Placeholders::make(&self.list, &self.wanted()).unwrap()
        }

        fn names(&self) -> Vec<String> {
            let mut names: Vec<String> = std::fs::read_dir(&self.root)
                .unwrap()
                .map(|entry| entry.unwrap().file_name().into_string().unwrap())
                .collect();
            names.sort();
            names
        }
    }

    #[test]
    fn they_are_there_until_the_last_one_who_needs_them_is_gone() {
        let ground = Ground::new();
        let one = ground.make();
        assert!(is_placeholder(&ground.root.join("folder/file")));
        assert!(has_placeholders(&ground.list));
        let other = ground.make();
        assert!(other.hold(&ground.root.join("folder"), PlaceholderKind::Folder));
        drop(one);
        sweep_placeholders(&ground.list);
        assert_eq!(ground.names(), ["file", "folder"]);
        drop(other);
        assert_eq!(ground.names(), [""; 0]);
        assert!(!has_placeholders(&ground.list));
    }

    #[test]
    fn what_is_put_in_their_place_or_beside_them_stays() {
        let ground = Ground::new();
        let held = ground.make();
        std::fs::remove_file(ground.root.join("file")).unwrap();
        std::fs::write(ground.root.join("file"), "of a person").unwrap();
        std::fs::write(ground.root.join("folder/own"), "of a person").unwrap();
        drop(held);
        assert_eq!(ground.names(), ["file", "folder"]);
        assert!(!ground.root.join("folder/file").exists());
        assert!(!has_placeholders(&ground.list));
    }

    #[test]
    fn what_is_there_is_left_alone() {
        let ground = Ground::new();
        let wanted = ground.wanted();
        std::fs::write(ground.root.join("file"), "").unwrap();
        std::fs::create_dir(ground.root.join("folder")).unwrap();
        let held = Placeholders::make(&ground.list, &wanted).unwrap();
        assert!(!held.hold(&ground.root.join("file"), PlaceholderKind::File));
        assert!(held.hold(&ground.root.join("folder/file"), PlaceholderKind::File));
        drop(held);
        // Also an empty folder: it was there before.
        assert_eq!(ground.names(), ["file", "folder"]);
    }

    #[test]
    fn a_list_of_a_killed_ralph_is_finished_also_where_it_got_no_further() {
        let ground = Ground::new();
        let held = ground.make();
        held.release_lock();
        std::mem::forget(held);
        std::fs::remove_file(ground.root.join("folder/file")).unwrap();
        // A further one was to be written.
        let mut text = std::fs::read(&ground.list).unwrap();
        text.extend_from_slice(b"s/not/whole");
        std::fs::write(&ground.list, text).unwrap();
        sweep_placeholders(&ground.list);
        assert_eq!(ground.names(), [""; 0]);
        assert!(!has_placeholders(&ground.list));
    }
}
