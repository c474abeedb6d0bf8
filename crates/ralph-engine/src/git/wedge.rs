//! Frees a working tree of what keeps git or ralph waiting or failing for ever: a pipe where git reads rules, a
//! folder that may not be opened, a path that is too long to be, a file of ralph's that may not be read.
//!
//! Follows no symlink, looks into no git folder, and takes away nothing that git could have stored.

use std::collections::HashSet;
use std::fs;
use std::io;
use std::os::unix::fs::{FileTypeExt, MetadataExt, OpenOptionsExt};
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use ralph_core::change::shown;

use super::reset::make_writable;

/// Files that git opens wherever it finds them.
const RULES: [&str; 3] = [".gitignore", ".gitattributes", ".gitmodules"];
/// Of a path that is named.
const SHOWN_CHARS: usize = 80;

/// Takes away or opens up what is in git's or ralph's way, and says what it was. `own` are ralph's files, relative
/// to the root. Folders that were closed before `since` are a person's, and stay as they are.
pub(crate) fn free_wedges(root: &Path, since: SystemTime, own: &[PathBuf]) -> Vec<String> {
    let mut found = Vec::new();
    if !changed_before(root, since) {
        make_writable(root);
    }
    let mut opened = HashSet::new();
    for path in own {
        found.extend(open_own(root, path, &mut opened));
    }
    let counts = device_that_counts(root);
    let mut folders = vec![root.to_owned()];
    while let Some(folder) = folders.pop() {
        if is_unchanged_leaf(&folder, since, counts) {
            continue;
        }
        let entries = match fs::read_dir(&folder) {
            Err(error) if error.kind() == io::ErrorKind::PermissionDenied => {
                if changed_before(&folder, since) {
                    continue;
                }
                make_writable(&folder);
                found.push(format!("{} can't be read", name(root, &folder)));
                fs::read_dir(&folder)
            }
            Err(error) if error.raw_os_error() == Some(libc::ENAMETOOLONG) => {
                // What can't be named from here can be removed from above.
                let above = folder.parent().filter(|above| *above != root);
                if let Some(above) = above.filter(|above| !changed_before(above, since)) {
                    let _ = fs::remove_dir_all(above);
                    found.push(format!("{} has a path that is too long", name(root, above)));
                }
                continue;
            }
            other => other,
        };
        for entry in entries.into_iter().flatten().flatten() {
            let Ok(kind) = entry.file_type() else {
                continue;
            };
            let file = entry.file_name();
            if kind.is_dir() {
                if file != ".git" {
                    folders.push(entry.path());
                }
            } else if !kind.is_file() && !kind.is_symlink() {
                let path = entry.path();
                if RULES.iter().any(|rules| file == *rules) {
                    let _ = fs::remove_file(&path);
                    let name = name(root, &path);
                    found.push(format!("{name} is a pipe, socket or device"));
                } else if !changed_before(&path, since) && is_left(&path, kind) {
                    // Git stores none of these, and does not see them either.
                    let _ = fs::remove_file(&path);
                }
            }
        }
    }
    found
}

/// Tells whether nothing was made or renamed in a folder since then, and no folder is in it: then it has two links,
/// for its name and for itself. `counts` is the device of a file system that has a link more for each folder in it.
fn is_unchanged_leaf(folder: &Path, since: SystemTime, counts: Option<u64>) -> bool {
    let is_leaf = |meta: fs::Metadata| {
        counts == Some(meta.dev()) && meta.nlink() == 2 && is_changed_before(&meta, since)
    };
    counts.is_some() && fs::symlink_metadata(folder).is_ok_and(is_leaf)
}

/// The device of a file system that is known to count the folders in a folder.
#[cfg(target_os = "linux")]
fn device_that_counts(root: &Path) -> Option<u64> {
    const EXT4: i64 = 0xef53;
    const XFS: i64 = 0x5846_5342;
    let kind = rustix::fs::statfs(root).ok()?.f_type;
    let device = fs::symlink_metadata(root).ok()?.dev();
    // The type of the field differs between processors.
    #[allow(clippy::useless_conversion)]
    [EXT4, XFS]
        .contains(&i64::try_from(kind).ok()?)
        .then_some(device)
}

#[cfg(not(target_os = "linux"))]
fn device_that_counts(_: &Path) -> Option<u64> {
    None
}

/// Tells whether a pipe or a socket has no program at its other end.
fn is_left(path: &Path, kind: fs::FileType) -> bool {
    if kind.is_socket() {
        let error = UnixStream::connect(path).err().map(|error| error.kind());
        // The second: its path is too long to be asked.
        return matches!(
            error,
            Some(io::ErrorKind::ConnectionRefused | io::ErrorKind::InvalidInput)
        );
    }
    let flags = i32::try_from(rustix::fs::OFlags::NONBLOCK.bits()).unwrap_or_default();
    let opened = fs::File::options()
        .write(true)
        .custom_flags(flags)
        .open(path);
    kind.is_fifo() && opened.is_err()
}

/// Makes a file of ralph's own one that it can read and write, with the folders that it lies in.
/// `opened` are the folders that were looked at already.
fn open_own<'a>(root: &Path, path: &'a Path, opened: &mut HashSet<&'a Path>) -> Option<String> {
    let mut folders: Vec<&Path> = path.ancestors().skip(1).collect();
    folders.retain(|folder| opened.insert(folder));
    folders.reverse();
    for folder in folders {
        let full = root.join(folder);
        let Ok(meta) = fs::symlink_metadata(&full) else {
            break;
        };
        if meta.is_dir() {
            make_writable(&full);
        } else if !meta.is_symlink() {
            let _ = fs::remove_file(&full);
            return Some(format!("{} is no folder", name(root, &full)));
        }
    }
    open_file(root, path)
}

/// Makes a file of ralph's own one that it can read.
pub(super) fn open_file(root: &Path, path: &Path) -> Option<String> {
    let full = root.join(path);
    let own = rustix::process::geteuid().as_raw();
    // Most can be read by what they say of themselves; the others are tried.
    let may_be_closed = fs::symlink_metadata(&full)
        .is_ok_and(|meta| meta.is_file() && (meta.uid() != own || meta.mode() & 0o400 == 0));
    let was_closed = may_be_closed && make_readable(&full);
    was_closed.then(|| format!("{} can't be read", shown(path)))
}

/// Gives the owner back the right to read a file; true if that had been taken away.
pub(super) fn make_readable(path: &Path) -> bool {
    use std::os::unix::fs::PermissionsExt;
    let denied = |error: &io::Error| error.kind() == io::ErrorKind::PermissionDenied;
    let is_denied = fs::File::open(path).is_err_and(|error| denied(&error));
    if let (true, Ok(meta)) = (is_denied, fs::symlink_metadata(path)) {
        let mode = meta.permissions().mode() | 0o600;
        let _ = fs::set_permissions(path, fs::Permissions::from_mode(mode));
    }
    is_denied
}

pub(super) fn changed_before(path: &Path, since: SystemTime) -> bool {
    let meta = fs::symlink_metadata(path);
    meta.map_or(true, |meta| is_changed_before(&meta, since))
}

fn is_changed_before(meta: &fs::Metadata, since: SystemTime) -> bool {
    let seconds = Duration::from_secs(u64::try_from(meta.ctime()).unwrap_or(0));
    let nanos = Duration::from_nanos(u64::try_from(meta.ctime_nsec()).unwrap_or(0));
    SystemTime::UNIX_EPOCH + seconds + nanos < since
}

fn name(root: &Path, path: &Path) -> String {
    let path: PathBuf = path.strip_prefix(root).unwrap_or(path).to_owned();
    if path.as_os_str().is_empty() {
        return "the repository's folder".into();
    }
    let name = shown(&path);
    if name.chars().count() <= SHOWN_CHARS {
        return name;
    }
    name.chars().take(SHOWN_CHARS).collect::<String>() + "…"
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pipes_in_place_of_rules_and_paths_that_are_too_long_are_taken_away() {
        let top = tempfile::tempdir().unwrap();
        let root = top.path();
        fs::create_dir_all(root.join("a/b")).unwrap();
        fs::write(root.join("a/keep"), "x").unwrap();
        for name in ["a/b/.gitignore", "a/other"] {
            let made = rustix::fs::mknodat(
                rustix::fs::CWD,
                root.join(name),
                rustix::fs::FileType::Fifo,
                0o600.into(),
                0,
            );
            made.unwrap();
        }
        // Deeper than a path can be named at once.
        let mut folder = fs::File::open(root).unwrap();
        for _ in 0..30 {
            let name = "d".repeat(200);
            rustix::fs::mkdirat(&folder, &name, 0o755.into()).unwrap();
            let flags = rustix::fs::OFlags::RDONLY | rustix::fs::OFlags::DIRECTORY;
            folder = fs::File::from(
                rustix::fs::openat(&folder, &name, flags, rustix::fs::Mode::empty()).unwrap(),
            );
        }
        fs::write(root.join(".own"), "x").unwrap();
        let own = [PathBuf::from(".own/deep/file"), PathBuf::from("a/keep")];
        let mut found = free_wedges(root, SystemTime::UNIX_EPOCH, &own);
        found.sort();
        assert_eq!(found.len(), 3, "{found:?}");
        assert_eq!(found.remove(0), ".own is no folder");
        assert_eq!(found[0], "a/b/.gitignore is a pipe, socket or device");
        assert!(
            found[1].ends_with("has a path that is too long"),
            "{found:?}"
        );
        assert!(root.join("a/keep").exists() && !root.join("a/b/.gitignore").exists());
        assert!(
            !root.join("a/other").exists(),
            "no program is at its other end"
        );
        assert!(free_wedges(root, SystemTime::UNIX_EPOCH, &own).is_empty());
    }
}
