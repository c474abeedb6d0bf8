//! Writes into an upper folder before a run: a kept attempt to go on from, or a tree to be verified.
//!
//! The folder must not be mounted meanwhile. Follows no symbolic link in it.

use std::ffi::OsStr;
use std::fs::{File, FileTimes};
use std::io::{self, Write as _};
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::ffi::OsStrExt;
use std::path::{Component, Path, PathBuf};
use std::time::SystemTime;

use rustix::fs::{
    AtFlags, CWD, Dir, FileType, Gid, Mode, OFlags, Stat, Uid, XattrFlags, chownat, fchmod,
    fsetxattr, fstat, mkdirat, openat, statat, symlinkat, unlinkat,
};
use rustix::io::Errno;

use super::removal::remove_tree_at;
use super::sys::{make_whiteout, open_beneath};
use super::upper::attribute_name;
use crate::process::OverlayXattrs;

const FOLDER: OFlags = OFlags::RDONLY.union(OFlags::DIRECTORY);

/// An upper folder that is being written. What is written replaces what was there.
#[derive(Debug)]
pub struct Prefill {
    root: OwnedFd,
    lower: OwnedFd,
    xattrs: OverlayXattrs,
}

/// The result of copying a folder.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FolderCopy {
    Copied(CopySize),
    /// It holds more than was allowed, or something that can't be copied. Nothing was changed.
    LeftAlone,
}

/// A number of entries and bytes: a budget, or what was copied.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct CopySize {
    pub entries: u64,
    pub bytes: u64,
}

/// A file to be written.
#[derive(Debug, Clone, Copy)]
pub struct PrefillFile<'a> {
    pub content: &'a [u8],
    /// The permissions.
    pub mode: u32,
    /// Now, if none is given.
    pub modified: Option<SystemTime>,
}

impl Prefill {
    /// Opens an upper folder for writing. Folders that it has to make get modes and, for root, owners
    /// from `lower`; so do files.
    pub fn open(upper: &Path, lower: &Path, xattrs: OverlayXattrs) -> io::Result<Self> {
        let flags = FOLDER | OFlags::CLOEXEC | OFlags::NOFOLLOW;
        Ok(Self {
            root: openat(CWD, upper, flags, Mode::empty())?,
            lower: openat(CWD, lower, flags, Mode::empty())?,
            xattrs,
        })
    }

    pub fn file(&self, path: &Path, file: &PrefillFile<'_>) -> io::Result<()> {
        let (folder, name) = self.make_room(path)?;
        let flags = OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL | OFlags::CLOEXEC;
        let mut written = File::from(openat(&folder, name, flags, Mode::RUSR | Mode::WUSR)?);
        written.write_all(file.content)?;
        self.take_owner(&folder, name, path)?;
        fchmod(&written, Mode::from_raw_mode(raw_mode(file.mode)))?;
        if let Some(modified) = file.modified {
            written.set_times(FileTimes::new().set_modified(modified))?;
        }
        Ok(())
    }

    /// Hides the lower's entry of this name.
    pub fn whiteout(&self, path: &Path) -> io::Result<()> {
        let (folder, name) = self.make_room(path)?;
        make_whiteout(folder.as_fd(), name)
    }

    /// Makes an empty folder that shows nothing of the lower's.
    pub fn opaque_folder(&self, path: &Path) -> io::Result<()> {
        let (folder, name) = self.make_room(path)?;
        let made = self.make_folder(&folder, name, path)?;
        self.mark_opaque(&made)
    }

    /// Makes a folder that shows what the lower's of this name has.
    pub fn folder(&self, path: &Path) -> io::Result<()> {
        self.enter(path).map(|_| ())
    }

    /// Takes over a folder of another upper folder of the same place, with its marks: folders are made, and
    /// files get a second name.
    pub fn link_folder(&self, from: &Path, path: &Path) -> io::Result<()> {
        self.forget(path)?;
        self.lay_over(from, path)
    }

    /// Lays a folder of another upper folder of the same place over what is here, so that both show as one
    /// would over the other.
    pub fn lay_over(&self, from: &Path, path: &Path) -> io::Result<()> {
        let opaque = attribute_name(self.xattrs, "opaque");
        let mut pending = vec![path.to_owned()];
        while let Some(path) = pending.pop() {
            let flags = FOLDER | OFlags::NOFOLLOW | OFlags::CLOEXEC;
            let source = openat(CWD, from.join(&path), flags, Mode::empty())?;
            let mut value = [0; 8];
            let mark = rustix::fs::fgetxattr(&source, &opaque, &mut value);
            let mark = mark.ok().and_then(|length| value.get(..length));
            if mark == Some(b"y") {
                self.forget(&path)?;
            }
            let made = self.enter(&path)?;
            let mode = Mode::from_raw_mode(fstat(&source)?.st_mode & 0o7777);
            fchmod(&made, mode | Mode::RWXU)?;
            if let Some(mark) = mark {
                fsetxattr(&made, &opaque, mark, XattrFlags::empty())?;
            }
            for entry in Dir::read_from(&source)? {
                let entry = entry?;
                let name = OsStr::from_bytes(entry.file_name().to_bytes());
                if name == "." || name == ".." {
                    continue;
                }
                let stat = statat(&source, name, AtFlags::SYMLINK_NOFOLLOW)?;
                if is_folder(&stat) {
                    pending.push(path.join(name));
                } else {
                    self.forget(&path.join(name))?;
                    rustix::fs::linkat(&source, name, &made, name, AtFlags::empty())?;
                }
            }
        }
        Ok(())
    }

    /// Copies a folder of the lower with all that is in it, so that nothing of the lower's shows there.
    /// Such a folder can be renamed also within a user namespace. Must be called before anything else
    /// is written below it.
    pub fn copy_folder(&self, path: &Path, budget: CopySize) -> io::Result<FolderCopy> {
        let mut copied = CopySize::default();
        let mut pending = vec![path.to_owned()];
        while let Some(folder) = pending.pop() {
            if !self.copy_one_folder(&folder, budget, &mut copied, &mut pending)? {
                self.forget(path)?;
                return Ok(FolderCopy::LeftAlone);
            }
        }
        Ok(FolderCopy::Copied(copied))
    }

    /// Copies the files of one folder; `false` if that can't be done within the budget.
    fn copy_one_folder(
        &self,
        path: &Path,
        budget: CopySize,
        copied: &mut CopySize,
        pending: &mut Vec<PathBuf>,
    ) -> io::Result<bool> {
        self.opaque_folder(path)?;
        let made = self.enter(path)?;
        let source = open_beneath(self.lower.as_fd(), path, FOLDER)?;
        for entry in Dir::read_from(&source)? {
            let entry = entry?;
            let name = OsStr::from_bytes(entry.file_name().to_bytes());
            if name == "." || name == ".." {
                continue;
            }
            let stat = statat(&source, name, AtFlags::SYMLINK_NOFOLLOW)?;
            copied.entries += 1;
            match FileType::from_raw_mode(stat.st_mode) {
                FileType::Directory => pending.push(path.join(name)),
                FileType::Symlink => {
                    let target = rustix::fs::readlinkat(&source, name, Vec::new())?;
                    symlinkat(target.as_c_str(), &made, name)?;
                    self.take_owner(&made, name, &path.join(name))?;
                }
                FileType::RegularFile => {
                    copied.bytes += u64::try_from(stat.st_size).unwrap_or(u64::MAX);
                    if copied.bytes > budget.bytes {
                        return Ok(false);
                    }
                    self.copy_from((&source, name), (&made, name), &path.join(name))?;
                }
                _ => return Ok(false),
            }
            if copied.entries > budget.entries {
                return Ok(false);
            }
        }
        Ok(true)
    }

    fn copy_from(
        &self,
        (source, old_name): (&OwnedFd, &OsStr),
        (made, name): (&OwnedFd, &OsStr),
        path: &Path,
    ) -> io::Result<()> {
        let flags = OFlags::RDONLY | OFlags::NONBLOCK;
        let mut from = File::from(open_beneath(source.as_fd(), Path::new(old_name), flags)?);
        let flags = OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL | OFlags::CLOEXEC;
        let mut to = File::from(openat(made, name, flags, Mode::RUSR | Mode::WUSR)?);
        io::copy(&mut from, &mut to)?;
        self.take_owner(made, name, path)?;
        let meta = from.metadata()?;
        to.set_permissions(meta.permissions())?;
        to.set_times(FileTimes::new().set_modified(meta.modified()?))
    }

    /// Copies a file or a link from elsewhere.
    pub fn copy(&self, from: &Path, path: &Path) -> io::Result<()> {
        let (folder, name) = self.make_room(path)?;
        let (Some(parent), Some(old_name)) = (from.parent(), from.file_name()) else {
            return Err(io::Error::from(io::ErrorKind::InvalidInput));
        };
        let source = openat(CWD, parent, FOLDER | OFlags::CLOEXEC, Mode::empty())?;
        let stat = statat(&source, old_name, AtFlags::SYMLINK_NOFOLLOW)?;
        if FileType::from_raw_mode(stat.st_mode) == FileType::Symlink {
            let target = rustix::fs::readlinkat(&source, old_name, Vec::new())?;
            symlinkat(target.as_c_str(), &folder, name)?;
            return self.take_owner(&folder, name, path);
        }
        self.copy_from((&source, old_name), (&folder, name), path)
    }

    /// Deletes what this folder holds at a path, so that the lower's shows again.
    pub fn forget(&self, path: &Path) -> io::Result<()> {
        self.make_room(path).map(|_| ())
    }

    /// Opens the folder that a path is in, with nothing at its name.
    fn make_room<'p>(&self, path: &'p Path) -> io::Result<(OwnedFd, &'p OsStr)> {
        let (Some(folder), Some(name)) = (path.parent(), path.file_name()) else {
            return Err(io::Error::from(io::ErrorKind::InvalidInput));
        };
        let folder = self.enter(folder)?;
        match statat(&folder, name, AtFlags::SYMLINK_NOFOLLOW) {
            Err(Errno::NOENT) => {}
            Ok(stat) if is_folder(&stat) => remove_tree_at(folder.as_fd(), name)?,
            Ok(_) => unlinkat(&folder, name, AtFlags::empty())?,
            Err(error) => return Err(error.into()),
        }
        Ok((folder, name))
    }

    /// Opens a folder, and makes it and those above where they are not.
    fn enter(&self, path: &Path) -> io::Result<OwnedFd> {
        let mut at = open_beneath(self.root.as_fd(), Path::new(""), FOLDER)?;
        let mut so_far = PathBuf::new();
        for part in path.components() {
            let Component::Normal(name) = part else {
                return Err(io::Error::from(io::ErrorKind::InvalidInput));
            };
            so_far.push(name);
            at = match statat(&at, name, AtFlags::SYMLINK_NOFOLLOW) {
                Err(Errno::NOENT) => self.make_folder(&at, name, &so_far)?,
                Ok(stat) if is_folder(&stat) => open_beneath(at.as_fd(), Path::new(name), FOLDER)?,
                Ok(_) => {
                    // The lower's folder, if it has one, is hidden by this already, and stays so.
                    unlinkat(&at, name, AtFlags::empty())?;
                    let made = self.make_folder(&at, name, &so_far)?;
                    self.mark_opaque(&made)?;
                    made
                }
                Err(error) => return Err(error.into()),
            };
        }
        Ok(at)
    }

    fn make_folder(&self, parent: &OwnedFd, name: &OsStr, path: &Path) -> io::Result<OwnedFd> {
        mkdirat(parent, name, Mode::RWXU)?;
        self.take_owner(parent, name, path)?;
        let made = open_beneath(parent.as_fd(), Path::new(name), FOLDER)?;
        let mode = open_beneath(self.lower.as_fd(), path, FOLDER)
            .and_then(|lower| Ok(fstat(lower)?))
            .map_or(Mode::from_raw_mode(0o755), |stat| {
                Mode::from_raw_mode(stat.st_mode & 0o7777)
            });
        // More is to be written into it.
        fchmod(&made, mode | Mode::RWXU)?;
        Ok(made)
    }

    fn mark_opaque(&self, folder: &OwnedFd) -> io::Result<()> {
        let name = attribute_name(self.xattrs, "opaque");
        Ok(fsetxattr(folder, name, b"y", XattrFlags::empty())?)
    }

    /// Gives an entry to the owner of the lower's, or of the nearest folder there. Only root can.
    fn take_owner(&self, folder: &OwnedFd, name: &OsStr, path: &Path) -> io::Result<()> {
        if !rustix::process::geteuid().is_root() {
            return Ok(());
        }
        let owner = path.ancestors().find_map(|path| self.lower_stat(path));
        let Some(owner) = owner else { return Ok(()) };
        let (user, group) = (Uid::from_raw(owner.st_uid), Gid::from_raw(owner.st_gid));
        Ok(chownat(
            folder,
            name,
            Some(user),
            Some(group),
            AtFlags::SYMLINK_NOFOLLOW,
        )?)
    }

    fn lower_stat(&self, path: &Path) -> Option<Stat> {
        let Some(name) = path.file_name() else {
            return fstat(&self.lower).ok();
        };
        let folder = open_beneath(self.lower.as_fd(), path.parent()?, FOLDER).ok()?;
        statat(&folder, name, AtFlags::SYMLINK_NOFOLLOW).ok()
    }
}

fn is_folder(stat: &Stat) -> bool {
    FileType::from_raw_mode(stat.st_mode) == FileType::Directory
}

#[allow(clippy::unnecessary_cast, reason = "the type differs between systems")]
fn raw_mode(mode: u32) -> rustix::fs::RawMode {
    (mode & 0o7777) as rustix::fs::RawMode
}
