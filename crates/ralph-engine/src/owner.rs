//! Owners of files in a repository that is not root's: what root writes there is left to them.
//!
//! Does nothing for other users, who can give nothing away, and nothing where the place is root's own. A file
//! with several names is left alone: another name of it may be anywhere.

use std::fs::{self, File};
use std::io;
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::ffi::OsStrExt as _;
use std::os::unix::fs::{MetadataExt as _, lchown};
use std::path::{Path, PathBuf};

use rustix::fs::{
    AtFlags, CWD, Dir, FileType, Gid, Mode, OFlags, Uid, fchown, fstat, openat, statat,
};

use crate::layer::open_beneath;

/// The user and the group that something is left to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Owner {
    user: u32,
    group: u32,
}

impl Owner {
    /// Returns the owner of what stands at a path, or of the nearest folder above; `None` where there is nothing
    /// to give.
    pub(crate) fn at(path: &Path) -> Option<Self> {
        if !rustix::process::geteuid().is_root() {
            return None;
        }
        let mut above = path.ancestors();
        let meta = above.find_map(|path| fs::symlink_metadata(path).ok())?;
        let owner = Self {
            user: meta.uid(),
            group: meta.gid(),
        };
        (owner.user != 0 || owner.group != 0).then_some(owner)
    }

    /// Gives them an open file or folder. Where that is refused, it stays root's.
    pub(crate) fn take(self, file: impl AsFd) {
        let _ = fchown(
            file,
            Some(Uid::from_raw(self.user)),
            Some(Gid::from_raw(self.group)),
        );
    }

    /// Gives them a symbolic link.
    pub(crate) fn take_link(self, path: &Path) {
        let _ = lchown(path, Some(self.user), Some(self.group));
    }

    /// Gives them the files and folders below a folder, and the folder itself, that are root's.
    pub(crate) fn take_tree(self, folder: &Path) {
        let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        let Ok(top) = openat(CWD, folder, flags, Mode::empty()) else {
            return;
        };
        self.take_if_roots(&top);
        let mut pending = vec![PathBuf::new()];
        while let Some(path) = pending.pop() {
            // What is gone meanwhile needs no owner.
            let _ = self.take_entries(&top, &path, &mut pending);
        }
    }

    fn take_entries(
        self,
        top: &OwnedFd,
        path: &Path,
        pending: &mut Vec<PathBuf>,
    ) -> io::Result<()> {
        let opened = open_beneath(top.as_fd(), path, OFlags::RDONLY | OFlags::DIRECTORY)?;
        for entry in Dir::read_from(&opened)? {
            let entry = entry?;
            let name = std::ffi::OsStr::from_bytes(entry.file_name().to_bytes());
            if name == "." || name == ".." {
                continue;
            }
            let Ok(stat) = statat(&opened, name, AtFlags::SYMLINK_NOFOLLOW) else {
                continue;
            };
            let kind = FileType::from_raw_mode(stat.st_mode);
            if stat.st_uid == 0 && matches!(kind, FileType::Directory | FileType::RegularFile) {
                let flags = OFlags::RDONLY | OFlags::NONBLOCK | OFlags::NOFOLLOW | OFlags::CLOEXEC;
                if let Ok(file) = openat(&opened, name, flags, Mode::empty()) {
                    self.take_if_roots(&file);
                }
            }
            if kind == FileType::Directory {
                pending.push(path.join(name));
            }
        }
        Ok(())
    }

    fn take_if_roots(self, file: &OwnedFd) {
        let Ok(stat) = fstat(file) else { return };
        let is_folder = FileType::from_raw_mode(stat.st_mode) == FileType::Directory;
        if stat.st_uid == 0 && (is_folder || stat.st_nlink == 1) {
            self.take(file);
        }
    }
}

/// Makes a folder and those above it. Each new one belongs to who owns the folder that it is in.
pub(crate) fn make_folders(folder: &Path) -> io::Result<()> {
    let owner = Owner::at(folder);
    let is_missing = |path: &&Path| fs::symlink_metadata(path).is_err();
    let missing: Vec<&Path> = folder.ancestors().take_while(is_missing).collect();
    fs::create_dir_all(folder)?;
    if let Some(owner) = owner {
        for made in missing {
            owner.take(File::open(made)?);
        }
    }
    Ok(())
}
