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
/// The map of a namespace that knows all users.
const EVERYONE: &str = "0 0 4294967295";
/// The user that stands for those that a namespace does not know.
const OVERFLOW_ID: u32 = 65534;
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
    let mut reasons: Vec<InPlaceReason> = foreign_owners(request).into_iter().collect();
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

/// The users or groups that can own what is written in a layer.
enum KnownIds {
    /// A user namespace of one program knows its own alone.
    Own(u32),
    /// The ranges that the namespace of this process has, each a first one and a count.
    Ranges(Vec<(u32, u32)>),
}

impl KnownIds {
    /// Reads those that this process knows.
    fn read(map: &str) -> Self {
        let text = fs::read_to_string(map).unwrap_or_else(|_| EVERYONE.to_owned());
        Self::parse(&text)
    }

    fn parse(text: &str) -> Self {
        let ranges = text.lines().filter_map(|line| {
            let mut words = line.split_whitespace();
            let first = words.next()?.parse().ok()?;
            Some((first, words.nth(1)?.parse().ok()?))
        });
        Self::Ranges(ranges.collect())
    }

    fn hold(&self, id: u32) -> bool {
        match self {
            Self::Own(own) => id == *own,
            Self::Ranges(ranges) => {
                let is_in = |(first, count): &(u32, u32)| id >= *first && id - first < *count;
                // In a part of them the overflow id stands for all that are not known.
                self.are_all() || id != OVERFLOW_ID && ranges.iter().any(is_in)
            }
        }
    }

    fn are_all(&self) -> bool {
        matches!(self, Self::Ranges(ranges) if matches!(ranges.as_slice(), [(0, u32::MAX)]))
    }
}

/// Finds tracked files, and folders that hold some, whose user or group a namespace does not know: the
/// kernel refuses to copy them with EOVERFLOW.
fn foreign_owners(request: &CheckRequest<'_>) -> Option<InPlaceReason> {
    let CheckRequest { root, tracked, .. } = *request;
    let (users, groups) = if request.containment == Containment::UserNamespace {
        let (user, group) = (rustix::process::geteuid(), rustix::process::getegid());
        (KnownIds::Own(user.as_raw()), KnownIds::Own(group.as_raw()))
    } else {
        (
            KnownIds::read("/proc/self/uid_map"),
            KnownIds::read("/proc/self/gid_map"),
        )
    };
    if users.are_all() && groups.are_all() {
        return None;
    }
    let mut folders = HashSet::new();
    let mut first = None;
    let mut count = 0;
    let mut look = |path: &Path| {
        let Ok(meta) = fs::symlink_metadata(root.join(path)) else {
            return;
        };
        if !users.hold(meta.uid()) || !groups.hold(meta.gid()) {
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_namespace_knows_the_users_that_its_map_names() {
        let everyone = KnownIds::parse("         0          0 4294967295\n");
        for id in [0, 1000, OVERFLOW_ID] {
            assert!(everyone.hold(id), "{id}");
        }
        let container = KnownIds::parse("0 1000 1\n1 100000 65536\n");
        for (id, is_known) in [
            (0, true),
            (1, true),
            (65536, true),
            (65537, false),
            (OVERFLOW_ID, false),
        ] {
            assert_eq!(container.hold(id), is_known, "{id}");
        }
        assert!(KnownIds::Own(5).hold(5) && !KnownIds::Own(5).hold(0));
    }
}
