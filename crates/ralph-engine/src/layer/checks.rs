//! Looks at a repository before a run: what of it a layer can't show as it is.
//!
//! Only asks; what follows is the caller's to decide.

use std::collections::{BTreeSet, HashSet, VecDeque};
use std::ffi::OsStr;
use std::fs;
use std::io;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::{FileTypeExt, MetadataExt};
use std::path::{Path, PathBuf};

use super::mountinfo::{MountEntry, mount_of, read_mounts};
use super::reason::InPlaceReason;
use crate::process::Containment;

/// Kinds of mounts that no overlay can be laid over.
const NO_LOWER: [&str; 9] = [
    "proc",
    "sysfs",
    "autofs",
    "devpts",
    "devtmpfs",
    "cgroup",
    "cgroup2",
    "mqueue",
    "securityfs",
];
/// The sockets that are bound to a path now.
const BOUND_SOCKETS: &str = "/proc/net/unix";

/// A repository to look at.
#[derive(Debug, Clone, Copy)]
pub struct CheckRequest<'a> {
    /// Without symbolic links.
    pub root: &'a Path,
    /// The tracked files, from the root.
    pub tracked: &'a [PathBuf],
    pub containment: Containment,
    /// The number of entries that may be looked at in search of sockets.
    pub socket_budget: usize,
}

/// The state of a repository, as far as a layer is concerned.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RepositoryCheck {
    /// None where a layer can be used.
    pub reasons: Vec<InPlaceReason>,
    /// Folders below the root that are mounts: each needs to be a target of the layer.
    pub sub_mounts: Vec<PathBuf>,
    pub sockets: SocketSearch,
}

/// Sockets in a repository. A program in a layer can't connect to them.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct SocketSearch {
    pub found: BTreeSet<PathBuf>,
    pub extent: SearchExtent,
}

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum SearchExtent {
    #[default]
    Whole,
    /// The budget was spent first.
    Partial,
}

/// Looks at all of it.
pub fn check_repository(request: &CheckRequest<'_>) -> io::Result<RepositoryCheck> {
    let mut reasons = Vec::new();
    if request.containment == Containment::UserNamespace {
        reasons.extend(foreign_owners(request.root, request.tracked));
    }
    let mut sub_mounts = Vec::new();
    for mount in mounts_below(&read_mounts()?, request.root) {
        if can_lie_below(&mount, request.containment) {
            sub_mounts.push(mount.point);
        } else {
            reasons.push(InPlaceReason::SubMount {
                path: mount.point,
                kind: mount.kind,
            });
        }
    }
    Ok(RepositoryCheck {
        reasons,
        sub_mounts,
        sockets: find_sockets(request.root, request.socket_budget),
    })
}

/// Finds tracked files, and folders that hold some, whose user or group is not ralph's: a user
/// namespace knows no other, and the kernel refuses to copy them with EOVERFLOW.
pub fn foreign_owners(root: &Path, tracked: &[PathBuf]) -> Option<InPlaceReason> {
    let own_user = rustix::process::geteuid().as_raw();
    let own_group = rustix::process::getegid().as_raw();
    let mut folders = HashSet::new();
    let mut first = None;
    let mut count = 0;
    let mut look = |path: &Path| {
        let Ok(meta) = fs::symlink_metadata(root.join(path)) else {
            return;
        };
        if meta.uid() != own_user || meta.gid() != own_group {
            count += 1;
            first.get_or_insert_with(|| (path.to_owned(), meta.uid(), meta.gid()));
        }
    };
    for path in tracked {
        look(path);
        for folder in path.ancestors().skip(1) {
            if !folders.insert(folder) {
                break;
            }
            look(folder);
        }
    }
    let (first, uid, gid) = first?;
    Some(InPlaceReason::ForeignOwner {
        // The root itself has an empty path.
        first: root.join(first),
        uid,
        gid,
        count,
    })
}

/// A user namespace may not lay bare what a mount hides: the kernel then refuses an overlay over the
/// folder around it with EINVAL.
fn can_lie_below(mount: &MountEntry, containment: Containment) -> bool {
    containment != Containment::UserNamespace
        && mount.point.is_dir()
        && !NO_LOWER.contains(&mount.kind.as_str())
}

/// A mount inside a folder because of which no overlay can be mounted over that folder at all.
pub(super) fn refusing_mount(root: &Path, containment: Containment) -> Option<InPlaceReason> {
    let mounts = read_mounts().ok()?;
    let below = mounts_below(&mounts, root).into_iter().next()?;
    (containment == Containment::UserNamespace).then_some(InPlaceReason::SubMount {
        path: below.point,
        kind: below.kind,
    })
}

/// The mounts inside a folder that can be seen, outer ones first.
fn mounts_below(mounts: &[MountEntry], root: &Path) -> Vec<MountEntry> {
    let mut below: Vec<MountEntry> = mounts
        .iter()
        .filter(|mount| mount.point != root && mount.point.starts_with(root))
        .filter(|mount| fs::symlink_metadata(&mount.point).is_ok())
        .cloned()
        .collect();
    below.sort_by(|a, b| a.point.cmp(&b.point));
    // Of two on one folder the later one is seen. The sort keeps their order.
    below.reverse();
    below.dedup_by(|a, b| a.point == b.point);
    below.reverse();
    below
}

/// Finds other paths by which mounts show what is in these folders, or a part of it.
pub fn aliases(targets: &[&Path]) -> io::Result<Vec<PathBuf>> {
    let mounts = read_mounts()?;
    let mut found = BTreeSet::new();
    for target in targets {
        let Some(own) = mount_of(&mounts, target) else {
            continue;
        };
        let Ok(in_mount) = target.strip_prefix(&own.point) else {
            continue;
        };
        let in_file_system = own.root.join(in_mount);
        for mount in mounts.iter().filter(|mount| mount.device == own.device) {
            let alias = match in_file_system.strip_prefix(&mount.root) {
                Ok(rest) if is_same_folder(&mount.point.join(rest), target) => {
                    mount.point.join(rest)
                }
                Ok(_) => continue,
                Err(_) if mount.root.starts_with(&in_file_system) => mount.point.clone(),
                Err(_) => continue,
            };
            let is_in_target = targets.iter().any(|target| alias.starts_with(target));
            if !is_in_target && fs::symlink_metadata(&alias).is_ok() {
                found.insert(trimmed(&alias));
            }
        }
    }
    Ok(found.into_iter().collect())
}

/// A join with an empty path leaves a slash at the end.
fn trimmed(path: &Path) -> PathBuf {
    path.components().collect()
}

fn is_same_folder(a: &Path, b: &Path) -> bool {
    let identity = |path: &Path| {
        fs::symlink_metadata(path)
            .map(|meta| (meta.dev(), meta.ino()))
            .ok()
    };
    identity(a).is_some() && identity(a) == identity(b)
}

/// Finds Unix sockets in a folder: those that a process listens on by their full path, and others as
/// far as the budget goes, breadth first.
pub fn find_sockets(root: &Path, budget: usize) -> SocketSearch {
    let mut search = SocketSearch::default();
    if let Ok(list) = fs::read(BOUND_SOCKETS) {
        search.found.extend(
            bound_paths(&list)
                .filter(|path| path.starts_with(root))
                .map(Path::to_owned),
        );
    }
    let mut left = budget;
    let mut pending = VecDeque::from([root.to_owned()]);
    while let Some(folder) = pending.pop_front() {
        for entry in fs::read_dir(&folder).into_iter().flatten().flatten() {
            if left == 0 {
                search.extent = SearchExtent::Partial;
                return search;
            }
            left -= 1;
            let Ok(kind) = entry.file_type() else {
                continue;
            };
            if kind.is_dir() {
                pending.push_back(entry.path());
            } else if kind.is_socket() {
                search.found.insert(entry.path());
            }
        }
    }
    search
}

/// `Num RefCount Protocol Flags Type St Inode Path`
fn bound_paths(list: &[u8]) -> impl Iterator<Item = &Path> {
    list.split(|&byte| byte == b'\n').filter_map(|line| {
        let start = line.iter().position(|&byte| byte == b'/')?;
        Some(Path::new(OsStr::from_bytes(line.get(start..)?)))
    })
}
