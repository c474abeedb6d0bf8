//! Calls of Linux that layers need, and what stands in for them elsewhere.

use std::fmt;
use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::path::{Component, Path};

use rustix::fs::{Mode, OFlags, openat};

/// A kind of file system, by the number that the kernel gives it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct FileSystemKind(pub u64);

/// The kinds that matter here: those in wide use, and those that can't hold a layer.
const NAMES: [(u64, &str, LayerHold); 20] = [
    (0xEF53, "ext4", LayerHold::Maybe),
    (0x5846_5342, "xfs", LayerHold::Maybe),
    (0x9123_683E, "btrfs", LayerHold::Maybe),
    (0x0102_1994, "tmpfs", LayerHold::Maybe),
    (0xF2F5_2010, "f2fs", LayerHold::Maybe),
    (0x2FC1_2FC1, "zfs", LayerHold::Maybe),
    (0xCA45_1A4E, "bcachefs", LayerHold::Maybe),
    (0x794C_7630, "overlayfs", LayerHold::Never),
    (0x6969, "NFS", LayerHold::Never),
    (0xF15F, "ecryptfs", LayerHold::Never),
    (0x0102_1997, "9p", LayerHold::Never),
    (0xFF53_4D42, "CIFS", LayerHold::Never),
    (0xFE53_4D42, "SMB", LayerHold::Never),
    (0x6573_5546, "FUSE", LayerHold::Never),
    (0x00C3_6400, "ceph", LayerHold::Never),
    (0x4D44, "FAT", LayerHold::Never),
    (0x2011_BAB0, "exFAT", LayerHold::Never),
    (0x7366_746E, "NTFS", LayerHold::Never),
    (0x786F_4256, "vboxsf", LayerHold::Never),
    (0xBACB_ACBC, "vmhgfs", LayerHold::Never),
];

/// Tells if a kind can hold what is written to an overlay.
#[derive(Clone, Copy, PartialEq, Eq)]
enum LayerHold {
    Maybe,
    /// The kernel refuses it, or what it keeps there is not reliable.
    Never,
}

impl FileSystemKind {
    pub const TMPFS: Self = Self(0x0102_1994);

    /// The kind that a path is on.
    pub fn of(path: &Path) -> io::Result<Self> {
        kind_number(path).map(Self)
    }

    /// Tells if ralph does not even try to put a layer on it.
    pub fn never_holds_layers(self) -> bool {
        self.row()
            .is_some_and(|(_, holds)| holds == LayerHold::Never)
    }

    fn row(self) -> Option<(&'static str, LayerHold)> {
        let row = NAMES.into_iter().find(|(number, ..)| *number == self.0)?;
        Some((row.1, row.2))
    }
}

impl fmt::Display for FileSystemKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.row() {
            Some((name, _)) => f.write_str(name),
            None => write!(f, "a file system of kind {:#x}", self.0),
        }
    }
}

#[cfg(target_os = "linux")]
fn kind_number(path: &Path) -> io::Result<u64> {
    // Some kinds are negative as the signed number of 32 bits that they once were.
    let found = rustix::fs::statfs(path)?.f_type;
    Ok(u64::from(u32::try_from(found & 0xFFFF_FFFF).unwrap_or(0)))
}

#[cfg(not(target_os = "linux"))]
fn kind_number(_path: &Path) -> io::Result<u64> {
    Err(io::Error::from(io::ErrorKind::Unsupported))
}

/// Opens a path below a folder. Follows no symbolic link anywhere in it.
pub(crate) fn open_beneath(
    root: BorrowedFd<'_>,
    path: &Path,
    flags: OFlags,
) -> io::Result<OwnedFd> {
    let flags = flags | OFlags::CLOEXEC | OFlags::NOFOLLOW;
    if path.as_os_str().is_empty() {
        return Ok(openat(root, ".", flags, Mode::empty())?);
    }
    match open_at_once(root, path, flags) {
        Err(rustix::io::Errno::NOSYS) => open_in_steps(root, path, flags),
        opened => Ok(opened?),
    }
}

#[cfg(target_os = "linux")]
fn open_at_once(root: BorrowedFd<'_>, path: &Path, flags: OFlags) -> rustix::io::Result<OwnedFd> {
    use rustix::fs::ResolveFlags;

    let resolve = ResolveFlags::BENEATH | ResolveFlags::NO_SYMLINKS | ResolveFlags::NO_MAGICLINKS;
    rustix::fs::openat2(root, path, flags, Mode::empty(), resolve)
}

#[cfg(not(target_os = "linux"))]
fn open_at_once(_: BorrowedFd<'_>, _: &Path, _: OFlags) -> rustix::io::Result<OwnedFd> {
    Err(rustix::io::Errno::NOSYS)
}

fn open_in_steps(root: BorrowedFd<'_>, path: &Path, flags: OFlags) -> io::Result<OwnedFd> {
    let folder = OFlags::DIRECTORY | OFlags::CLOEXEC | OFlags::NOFOLLOW | OFlags::RDONLY;
    let mut at: Option<OwnedFd> = None;
    let mut parts = path.components().peekable();
    while let Some(part) = parts.next() {
        let Component::Normal(name) = part else {
            return Err(io::Error::from(io::ErrorKind::InvalidInput));
        };
        let flags = if parts.peek().is_some() {
            folder
        } else {
            flags
        };
        let from = at.as_ref().map_or(root, AsFd::as_fd);
        at = Some(openat(from, name, flags, Mode::empty())?);
    }
    at.ok_or_else(|| io::Error::from(io::ErrorKind::InvalidInput))
}

/// Makes the mark by which an overlay hides an entry of the lower. Any user may, since Linux 5.8.
#[cfg(target_os = "linux")]
pub(super) fn make_whiteout(folder: BorrowedFd<'_>, name: &std::ffi::OsStr) -> io::Result<()> {
    use rustix::fs::{FileType, makedev, mknodat};

    let device = makedev(0, 0);
    Ok(mknodat(
        folder,
        name,
        FileType::CharacterDevice,
        Mode::empty(),
        device,
    )?)
}

#[cfg(not(target_os = "linux"))]
pub(super) fn make_whiteout(_: BorrowedFd<'_>, _: &std::ffi::OsStr) -> io::Result<()> {
    Err(io::Error::from(io::ErrorKind::Unsupported))
}
