//! Keeps what is in the object folder of git while programs of an agent run in place, and puts back what they
//! delete: commits that only a stash or a reflog names would be lost otherwise.
//!
//! Links, and so no copies: what is written into an object is not undone. Only where the folder of ralph's own is
//! on the same file system.

use std::{
    collections::HashSet,
    ffi::OsString,
    fs, io,
    path::{Path, PathBuf},
    time::SystemTime,
};

use super::super::{GitError, reset::make_writable};
use super::snapshot::Kept;

/// The folder of the links, beside the other snapshots.
const FOLDER: &str = "git-objects";

/// The object folder, and the links to its files.
#[derive(Debug)]
pub(super) struct ObjectGuard {
    objects: PathBuf,
    links: PathBuf,
}

impl ObjectGuard {
    pub(super) fn new(common_dir: &Path, state_dir: &Path) -> Self {
        Self {
            objects: common_dir.join("objects"),
            links: state_dir.join(FOLDER),
        }
    }

    /// Makes a link to each file that has none yet.
    pub(super) fn keep(&self) -> Result<(), GitError> {
        match self.link_new() {
            Err(error) if error.kind() == io::ErrorKind::CrossesDevices => Ok(()),
            kept => kept.map_err(GitError::io("keep the objects of git in", &self.links)),
        }
    }

    fn link_new(&self) -> io::Result<()> {
        for folder in subfolders(&self.objects)? {
            let (from, to) = (self.objects.join(&folder), self.links.join(&folder));
            if changed_at(&to) > changed_at(&from) {
                continue;
            }
            fs::create_dir_all(&to)?;
            let known = names(&to)?;
            for name in names(&from)?.difference(&known) {
                match fs::hard_link(from.join(name), to.join(name)) {
                    // Gone meanwhile, or a file that is only being made.
                    Err(error) if error.kind() == io::ErrorKind::NotFound => {}
                    linked => linked?,
                }
            }
        }
        Ok(())
    }

    /// Puts back the files that are gone, and returns how many. What happened after `until` is a person's.
    pub(super) fn put_back(&self, until: Option<SystemTime>) -> Result<usize, GitError> {
        let mut count = 0;
        let folders = subfolders(&self.links).map_err(GitError::io("read", &self.links))?;
        for folder in folders {
            let (from, to) = (self.links.join(&folder), self.objects.join(&folder));
            let is_of_programs = match changed_at(&to) {
                None => true,
                Some(at) => Some(at) >= changed_at(&from) && until.is_none_or(|until| at <= until),
            };
            if is_of_programs {
                count += put_back_in(&from, &to)?;
            }
        }
        Ok(count)
    }

    /// Removes the links: no program of an agent's runs any more.
    pub(super) fn release(&self) -> Result<(), GitError> {
        match fs::remove_dir_all(&self.links) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => {
                Err(GitError::io("remove", &self.links)(error))
            }
            Ok(()) | Err(_) => Ok(()),
        }
    }
}

fn put_back_in(from: &Path, to: &Path) -> Result<usize, GitError> {
    let failed = GitError::io("put back objects of git in", to);
    if !fs::symlink_metadata(to).is_ok_and(|meta| meta.is_dir()) {
        if let Some(above) = to.parent() {
            make_writable(above);
        }
        Kept::Folder.put_back(to)?;
    }
    make_writable(to);
    let put_back = || {
        let (kept, there) = (names(from)?, names(to)?);
        let mut gone: Vec<&OsString> = kept.difference(&there).collect();
        // The index of a pack comes after the pack.
        gone.sort_by_key(|name| (Path::new(name).extension() == Some("idx".as_ref()), *name));
        for name in &gone {
            fs::hard_link(from.join(name), to.join(name))?;
        }
        Ok(gone.len())
    };
    put_back().map_err(failed)
}

/// The folders of objects: of the loose ones by their first two digits, and of packs.
fn subfolders(objects: &Path) -> io::Result<Vec<OsString>> {
    let is_one = |name: &OsString| {
        let digits = name.as_encoded_bytes();
        name == "pack" || digits.len() == 2 && digits.iter().all(u8::is_ascii_hexdigit)
    };
    Ok(names(objects)?.into_iter().filter(is_one).collect())
}

/// The names in a folder, none where there is none. Temporary files are left out.
fn names(folder: &Path) -> io::Result<HashSet<OsString>> {
    let entries = match fs::read_dir(folder) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(HashSet::new()),
        entries => entries?,
    };
    let names = entries.map(|entry| entry.map(|entry| entry.file_name()));
    let is_kept = |name: &io::Result<OsString>| {
        let name = name.as_ref().map(|name| name.as_encoded_bytes());
        !name.is_ok_and(|name| name.starts_with(b"tmp_") || name.starts_with(b".tmp"))
    };
    names.filter(is_kept).collect()
}

fn changed_at(path: &Path) -> Option<SystemTime> {
    fs::symlink_metadata(path).ok()?.modified().ok()
}
