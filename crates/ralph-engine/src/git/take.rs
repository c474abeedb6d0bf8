//! Takes a few changed files over into an index: what `git update-index` does, without a process.
//!
//! Only plain files of everyday names that git stores as they are, and files that are gone. Anything
//! else, and whatever changes while it is looked at, is "not taken", and git is asked instead: never
//! half of it. Writes neither the index nor the objects; both are the caller's to store.

use std::fs;
use std::io::Read;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::{MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

use super::index_file::{IndexEntry, IndexFile, KnownTree, Parsed, entry_bytes};
use super::object::{Format, ObjectKind};
use super::stage::PathsIn;
use super::status::path_of;
use super::tree::{IndexTree, tree_of};
use super::{GitError, Repo};

/// More than this is quicker with git.
const MAX_FILES: usize = 16;
/// Stored without compression, so small ones only.
const MAX_BYTES: u64 = 64 * 1024;

/// An index that is not written yet, and its tree.
pub(super) struct Taken {
    pub(super) index: IndexFile,
    /// With the files among what is new.
    pub(super) tree: IndexTree,
    pub(super) files: Vec<TakenFile>,
}

/// A path as it was taken: git stores it as it is.
#[derive(Debug, Clone)]
pub(super) struct TakenFile {
    pub(super) path: PathBuf,
    /// `None` if it is gone.
    pub(super) content: Option<TakenContent>,
    /// The object that the path had before, if it was there.
    pub(super) before: Option<Vec<u8>>,
}

#[derive(Debug, Clone)]
pub(super) struct TakenContent {
    pub(super) bytes: Vec<u8>,
    pub(super) executable: bool,
}

/// A path as it is in the working tree.
struct Found {
    path: Vec<u8>,
    /// `None` if it is gone.
    file: Option<FoundFile>,
}

struct FoundFile {
    mode: u32,
    id: Vec<u8>,
    /// As it stands in an index.
    entry: Vec<u8>,
    content: Vec<u8>,
}

impl Repo {
    /// `None` if it is git's to do. The index keeps its time, so that git doubts what is new in it.
    pub(super) async fn take_by_hand(
        &self,
        index: &IndexFile,
        files: &PathsIn<'_>,
    ) -> Result<Option<Taken>, GitError> {
        let (Some(objects), Some(mut parsed)) = (&self.objects, index.parse()) else {
            return Ok(None);
        };
        // Other extensions may speak of entries.
        let few = files.paths.len() <= MAX_FILES && parsed.others.is_empty();
        if !few || !self.has_no_attributes(files, &parsed).await? {
            return Ok(None);
        }
        let format = objects.format();
        let paths = files.paths.iter();
        let found: Option<Vec<Found>> = paths.map(|path| find(files, path, format)).collect();
        let Some(found) = found else {
            return Ok(None);
        };
        let before: Vec<Option<Vec<u8>>> = found
            .iter()
            .map(|one| {
                let entries = &parsed.entries;
                let at = entries.binary_search_by(|entry| entry.path.cmp(&one.path));
                Some(entries.get(at.ok()?)?.id.to_vec())
            })
            .collect();
        if found
            .iter()
            .try_for_each(|one| put(&mut parsed, one))
            .is_none()
        {
            return Ok(None);
        }
        let Some((mut tree, bytes)) = tree_of(&parsed, format) else {
            return Ok(None);
        };
        let index = index.with_bytes(bytes);
        drop(parsed);
        let taken = found.iter().zip(before).map(|(one, before)| TakenFile {
            path: path_of(&one.path),
            content: one.file.as_ref().map(|file| TakenContent {
                bytes: file.content.clone(),
                executable: file.mode == 0o100_755,
            }),
            before,
        });
        let taken = taken.collect();
        let files = found.into_iter().filter_map(|one| one.file);
        tree.new
            .extend(files.map(|file| (ObjectKind::Blob, file.content)));
        Ok(Some(Taken {
            index,
            tree,
            files: taken,
        }))
    }
}

fn find(files: &PathsIn<'_>, path: &Path, format: Format) -> Option<Found> {
    if !is_everyday(path) || files.is_behind_symlink(path) {
        return None;
    }
    let full = files.folder.join(path);
    let file = match fs::symlink_metadata(&full) {
        _ if files.is_dropped(path) => None,
        Ok(meta) if meta.is_file() => Some(read(&full, path.as_os_str().as_bytes(), format)?),
        Ok(_) => return None,
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => None,
        Err(_) => return None,
    };
    Some(Found {
        path: path.as_os_str().as_bytes().to_vec(),
        file,
    })
}

/// Neither follows a link nor waits for a pipe that came meanwhile.
fn read(full: &Path, path: &[u8], format: Format) -> Option<FoundFile> {
    let file = fs::OpenOptions::new()
        .read(true)
        .custom_flags(libc::O_NOFOLLOW | libc::O_NONBLOCK)
        .open(full)
        .ok()?;
    let before = file.metadata().ok()?;
    if !before.is_file() || before.len() > MAX_BYTES {
        return None;
    }
    let mut content = Vec::new();
    (&file).take(MAX_BYTES + 1).read_to_end(&mut content).ok()?;
    let after = file.metadata().ok()?;
    let stamp = |meta: &fs::Metadata| (meta.mtime(), meta.mtime_nsec(), meta.ctime_nsec());
    if stamp(&before) != stamp(&after) || after.len() != content.len() as u64 {
        return None;
    }
    let mode = if after.mode() & 0o100 == 0 {
        0o100_644
    } else {
        0o100_755
    };
    let id = format.id_of(ObjectKind::Blob, &content);
    Some(FoundFile {
        entry: entry_bytes(&after, mode, &id, path),
        mode,
        id,
        content,
    })
}

/// Puts one path into the entries; `None` if that is not a plain exchange of one entry.
fn put<'a>(parsed: &mut Parsed<'a>, found: &'a Found) -> Option<()> {
    let at = parsed
        .entries
        .binary_search_by(|entry| entry.path.cmp(&found.path));
    let new = found.file.as_ref().map(|file| IndexEntry {
        path: &found.path,
        mode: file.mode,
        id: &file.id,
        raw: &file.entry,
        marked: false,
    });
    match (at, new) {
        (Ok(at), new) => {
            let old = parsed.entries.get(at)?;
            if old.marked || old.mode & 0o170_000 != 0o100_000 {
                return None;
            }
            match new {
                Some(new) => *parsed.entries.get_mut(at)? = new,
                None => drop(parsed.entries.remove(at)),
            }
        }
        (Err(at), Some(new)) => {
            if parsed.holds(&found.path) || stands_on_a_file(parsed, &found.path) {
                return None;
            }
            parsed.entries.insert(at, new);
        }
        (Err(_), None) => return None,
    }
    if let Some(root) = &mut parsed.trees {
        forget(root, &found.path);
    }
    Some(())
}

/// Returns whether the index has a file where this path needs a folder.
fn stands_on_a_file(parsed: &Parsed<'_>, path: &[u8]) -> bool {
    memchr::memchr_iter(b'/', path).any(|slash| {
        let folder = &path[..slash];
        parsed
            .entries
            .binary_search_by(|entry| entry.path.cmp(folder))
            .is_ok()
    })
}

/// The trees of the folders that a path lies in are not known any more.
fn forget(tree: &mut KnownTree<'_>, path: &[u8]) {
    tree.tree = None;
    let Some(slash) = memchr::memchr(b'/', path) else {
        return;
    };
    let (name, rest) = (&path[..slash], &path[slash + 1..]);
    if let Some(below) = tree.below.iter_mut().find(|below| below.name == name) {
        forget(below, rest);
    }
}

/// No name that any system takes for `.git` or another of git's own, which git would refuse or read.
fn is_everyday(path: &Path) -> bool {
    let bytes = path.as_os_str().as_bytes();
    let is_char = |byte: &u8| byte.is_ascii_alphanumeric() || b"._-+@/".contains(byte);
    let is_name = |name: &[u8]| {
        let start = name.get(..4).unwrap_or(name).to_ascii_lowercase();
        !name.is_empty() && name != b"." && name != b".." && start != b".git"
    };
    bytes.iter().all(is_char) && bytes.split(|byte| *byte == b'/').all(is_name)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_that_git_may_refuse_are_left_to_it() {
        for name in ["prd.json", "src/a_b.rs", "a-1/+x@2", ".ralph/progress.md"] {
            assert!(is_everyday(Path::new(name)), "{name}");
        }
        for name in [
            "",
            ".",
            "a//b",
            "../a",
            "/a",
            ".git/x",
            "a/.GIT/x",
            ".gitmodules",
            "git~1/x",
            "a b",
            "ü",
            "a\\b",
            "a:b",
        ] {
            assert!(!is_everyday(Path::new(name)), "{name}");
        }
    }
}
