//! The upper folder of a layer: what a program wrote, relative to the lower folder.
//!
//! Reads what an agent made: follows no symbolic link, opens nothing but folders and plain files, and
//! trusts no name. Never looks at the lower folder.

use std::collections::{HashSet, VecDeque};
use std::ffi::{OsStr, OsString};
use std::fs::File;
use std::io;
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::ffi::OsStrExt;
use std::path::{Component, Path, PathBuf};

use rustix::fs::{AtFlags, CWD, Dir, FileType, Mode, OFlags, Stat, fgetxattr, openat, statat};

use super::sys::open_beneath;
use crate::process::OverlayXattrs;

/// The longest path below an upper folder that is read. No longer one can be checked out.
const LONGEST_PATH: usize = 4000;
/// The longest redirect: a path.
const LONGEST_VALUE: usize = 4096;

/// An open upper folder.
#[derive(Debug)]
pub struct UpperFolder {
    root: OwnedFd,
    xattrs: OverlayXattrs,
}

/// One thing that the upper folder holds.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct UpperEntry {
    /// From the root of the layer.
    pub path: PathBuf,
    pub kind: UpperKind,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum UpperKind {
    /// New, or instead of what the lower has there.
    File {
        /// The permissions alone.
        mode: u32,
        size: u64,
    },
    Symlink,
    Folder {
        mode: u32,
        /// The folder of the lower that shows through here, if the lower has it: this path, or the
        /// one that it was renamed from. `None` where nothing shows through.
        lower: Option<PathBuf>,
    },
    /// The lower's entry of this name is deleted.
    Whiteout,
    Other(SpecialFile),
    /// A folder that ralph may not read. It is not descended into.
    UnreadableFolder,
    /// The beginning of a path that is longer than any that can be checked out. What is there is not listed.
    TooLong,
}

/// An entry that is neither file, folder nor link.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SpecialFile {
    Fifo,
    Socket,
    Device,
}

/// The answer to whether a scan goes into a folder.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Descent {
    Enter,
    /// The folder is listed, what it holds is not.
    Prune,
}

/// The space that an upper folder takes.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct UpperUsage {
    /// As allocated on the disk. A file with several names counts once.
    pub bytes: u64,
    pub entries: u64,
}

#[derive(Debug, thiserror::Error)]
pub enum ScanError {
    #[error("a folder in the layer says that it was renamed from a path that leaves it: {}", path.display())]
    OddRedirect { path: PathBuf },
    #[error("cannot read {} in the layer: {source}", path.display())]
    Io { path: PathBuf, source: io::Error },
}

/// The entries of one folder, each with its kind; none for a folder.
pub(super) type FolderEntries = Vec<(OsString, Option<UpperKind>)>;

/// The look of a path in one of several folders that are laid over each other.
pub(super) enum FolderLook {
    /// Lets show what lies below.
    Absent,
    /// A file, a mark, or a folder that can't be read: nothing of what lies below shows.
    Hiding,
    Folder {
        entries: FolderEntries,
        is_opaque: bool,
    },
}

/// The marks of an overlay on a folder.
struct FolderMarks {
    opaque: Opaque,
    redirect: Option<Vec<u8>>,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Opaque {
    No,
    Yes,
    /// Files in it may be whiteouts by an attribute.
    HoldsWhiteouts,
}

struct PendingFolder {
    path: PathBuf,
    lower: Option<PathBuf>,
}

impl UpperFolder {
    /// Opens it. `xattrs` is what it was or will be mounted with: other attributes mean nothing, and
    /// may be an agent's.
    pub fn open(path: &Path, xattrs: OverlayXattrs) -> io::Result<Self> {
        let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC | OFlags::NOFOLLOW;
        let root = openat(CWD, path, flags, Mode::empty())?;
        Ok(Self { root, xattrs })
    }

    /// Lists what it holds, each folder before what is in it, in no other order.
    pub fn scan(&self, descend: impl Fn(&Path) -> Descent) -> Result<Vec<UpperEntry>, ScanError> {
        let mut found = Vec::new();
        let mut pending = VecDeque::from([PendingFolder {
            path: PathBuf::new(),
            lower: Some(PathBuf::new()),
        }]);
        while let Some(folder) = pending.pop_front() {
            self.scan_folder(folder, &mut found, &mut pending, &descend)?;
        }
        Ok(found)
    }

    fn scan_folder(
        &self,
        mut folder: PendingFolder,
        found: &mut Vec<UpperEntry>,
        pending: &mut VecDeque<PendingFolder>,
        descend: &impl Fn(&Path) -> Descent,
    ) -> Result<(), ScanError> {
        let is_root = folder.path.as_os_str().is_empty();
        let fail = |source: io::Error| ScanError::Io {
            path: folder.path.clone(),
            source,
        };
        let flags = OFlags::RDONLY | OFlags::DIRECTORY;
        let opened = match open_beneath(self.root.as_fd(), &folder.path, flags) {
            Err(error) if error.kind() == io::ErrorKind::PermissionDenied && !is_root => {
                found.push(UpperEntry {
                    path: folder.path,
                    kind: UpperKind::UnreadableFolder,
                });
                return Ok(());
            }
            opened => opened.map_err(fail)?,
        };
        let marks = self.marks(&opened).map_err(fail)?;
        folder.lower = lower_of(&folder, &marks)?;
        if !is_root {
            let mode = rustix::fs::fstat(&opened).map_err(|e| fail(e.into()))?;
            found.push(UpperEntry {
                path: folder.path.clone(),
                kind: UpperKind::Folder {
                    mode: permissions(&mode),
                    lower: folder.lower.clone(),
                },
            });
            if descend(&folder.path) == Descent::Prune {
                return Ok(());
            }
        }
        for (name, kind) in self.entries_of(&opened, &marks).map_err(fail)? {
            let path = folder.path.join(&name);
            if path.as_os_str().len() > LONGEST_PATH {
                found.push(UpperEntry {
                    path: path.iter().take(3).collect(),
                    kind: UpperKind::TooLong,
                });
                continue;
            }
            match kind {
                Some(kind) => found.push(UpperEntry { path, kind }),
                None => {
                    let lower = folder.lower.as_ref().map(|lower| lower.join(&name));
                    pending.push_back(PendingFolder { path, lower });
                }
            }
        }
        Ok(())
    }

    /// Lists the entries of an open folder, each with its kind; `None` for a folder.
    fn entries_of(&self, opened: &OwnedFd, marks: &FolderMarks) -> io::Result<FolderEntries> {
        let mut found = Vec::new();
        for entry in Dir::read_from(opened)? {
            let entry = entry?;
            let name = OsStr::from_bytes(entry.file_name().to_bytes());
            if name == "." || name == ".." {
                continue;
            }
            let stat = statat(opened, name, AtFlags::SYMLINK_NOFOLLOW)?;
            let kind = FileType::from_raw_mode(stat.st_mode);
            let is_mark = kind == FileType::RegularFile
                && marks.opaque == Opaque::HoldsWhiteouts
                && self.is_whiteout_by_attribute(opened, name);
            let kind = match kind {
                FileType::Directory => None,
                _ if is_mark => Some(UpperKind::Whiteout),
                kind => Some(kind_of(kind, &stat)),
            };
            found.push((name.to_owned(), kind));
        }
        Ok(found)
    }

    /// Looks at one folder as the layer below another.
    pub(super) fn look(&self, path: &Path) -> io::Result<FolderLook> {
        let flags = OFlags::RDONLY | OFlags::DIRECTORY;
        let opened = match open_beneath(self.root.as_fd(), path, flags) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(FolderLook::Absent),
            Err(_) => return Ok(FolderLook::Hiding),
            Ok(opened) => opened,
        };
        let marks = self.marks(&opened)?;
        Ok(FolderLook::Folder {
            entries: self.entries_of(&opened, &marks)?,
            is_opaque: marks.opaque == Opaque::Yes,
        })
    }

    /// Opens a plain file that it holds, for reading.
    pub fn open_file(&self, path: &Path) -> io::Result<File> {
        // A FIFO would otherwise wait for its writer.
        let flags = OFlags::RDONLY | OFlags::NONBLOCK;
        let file = File::from(open_beneath(self.root.as_fd(), path, flags)?);
        if file.metadata()?.is_file() {
            Ok(file)
        } else {
            Err(io::Error::new(
                io::ErrorKind::InvalidInput,
                "not a plain file",
            ))
        }
    }

    /// Measures it, also while a program writes to it.
    pub fn usage(&self) -> io::Result<UpperUsage> {
        let mut usage = UpperUsage::default();
        let mut seen = HashSet::new();
        let mut pending = vec![PathBuf::new()];
        while let Some(path) = pending.pop() {
            let flags = OFlags::RDONLY | OFlags::DIRECTORY;
            let folder = match open_beneath(self.root.as_fd(), &path, flags) {
                Ok(folder) => folder,
                // It is gone by now, can't be read, or is too deep.
                Err(_) if !path.as_os_str().is_empty() => continue,
                Err(error) => return Err(error),
            };
            for entry in Dir::read_from(&folder)?.flatten() {
                let name = OsStr::from_bytes(entry.file_name().to_bytes());
                if name == "." || name == ".." {
                    continue;
                }
                let Ok(stat) = statat(&folder, name, AtFlags::SYMLINK_NOFOLLOW) else {
                    continue;
                };
                usage.entries += 1;
                if FileType::from_raw_mode(stat.st_mode) == FileType::Directory {
                    pending.push(path.join(name));
                } else if stat.st_nlink > 1 && !seen.insert(stat.st_ino) {
                    continue;
                }
                usage.bytes += u64::try_from(stat.st_blocks).unwrap_or(0) * 512;
            }
        }
        Ok(usage)
    }

    fn marks(&self, folder: &OwnedFd) -> io::Result<FolderMarks> {
        let opaque = match self.attribute(folder, "opaque")?.as_deref() {
            None => Opaque::No,
            Some(b"x") => Opaque::HoldsWhiteouts,
            Some(_) => Opaque::Yes,
        };
        let redirect = self.attribute(folder, "redirect")?;
        Ok(FolderMarks { opaque, redirect })
    }

    fn attribute(&self, fd: &OwnedFd, name: &str) -> io::Result<Option<Vec<u8>>> {
        let mut value = vec![0; LONGEST_VALUE];
        match fgetxattr(fd, attribute_name(self.xattrs, name), &mut value) {
            Ok(length) => {
                value.truncate(length);
                Ok(Some(value))
            }
            Err(error) if is_absent(error) => Ok(None),
            Err(error) => Err(error.into()),
        }
    }

    /// Some tools make whiteouts that need no device node: an empty file with an attribute.
    fn is_whiteout_by_attribute(&self, folder: &OwnedFd, name: &OsStr) -> bool {
        let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::CLOEXEC;
        openat(folder, name, flags, Mode::empty())
            .is_ok_and(|file| matches!(self.attribute(&file, "whiteout"), Ok(Some(_))))
    }
}

/// The full name of an attribute of overlays.
pub(super) fn attribute_name(xattrs: OverlayXattrs, name: &str) -> String {
    match xattrs {
        OverlayXattrs::Trusted => format!("trusted.overlay.{name}"),
        OverlayXattrs::User => format!("user.overlay.{name}"),
    }
}

/// A file system without attributes has none.
#[cfg(target_os = "linux")]
fn is_absent(error: rustix::io::Errno) -> bool {
    matches!(
        error,
        rustix::io::Errno::NODATA | rustix::io::Errno::OPNOTSUPP
    )
}

#[cfg(not(target_os = "linux"))]
fn is_absent(_error: rustix::io::Errno) -> bool {
    true
}

/// Resolves the marks: `folder.lower` is where the folder would be if it had none.
fn lower_of(folder: &PendingFolder, marks: &FolderMarks) -> Result<Option<PathBuf>, ScanError> {
    if marks.opaque == Opaque::Yes {
        return Ok(None);
    }
    let Some(redirect) = &marks.redirect else {
        return Ok(folder.lower.clone());
    };
    // From the root of the layer, or a name beside where it would be.
    let target = Path::new(OsStr::from_bytes(redirect));
    let resolved = match target.strip_prefix("/") {
        Ok(path) => Some(path.to_owned()),
        Err(_) => folder
            .lower
            .as_ref()
            .and_then(|lower| lower.parent())
            .map(|beside| beside.join(target)),
    };
    let is_plain = |path: &PathBuf| path.components().all(|c| matches!(c, Component::Normal(_)));
    match resolved {
        Some(path) if !is_plain(&path) => Err(ScanError::OddRedirect {
            path: folder.path.clone(),
        }),
        resolved => Ok(resolved),
    }
}

fn kind_of(kind: FileType, stat: &Stat) -> UpperKind {
    match kind {
        FileType::RegularFile => UpperKind::File {
            mode: permissions(stat),
            size: u64::try_from(stat.st_size).unwrap_or(0),
        },
        FileType::Symlink => UpperKind::Symlink,
        FileType::CharacterDevice if stat.st_rdev == 0 => UpperKind::Whiteout,
        FileType::Fifo => UpperKind::Other(SpecialFile::Fifo),
        FileType::Socket => UpperKind::Other(SpecialFile::Socket),
        FileType::CharacterDevice
        | FileType::BlockDevice
        | FileType::Directory
        | FileType::Unknown => UpperKind::Other(SpecialFile::Device),
    }
}

#[allow(
    clippy::useless_conversion,
    reason = "the type differs between systems"
)]
fn permissions(stat: &Stat) -> u32 {
    u32::from(stat.st_mode) & 0o7777
}
