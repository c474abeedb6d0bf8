//! Keeps what is in the object folder of git while programs of an agent run in place, and puts back what they
//! delete: commits that only a stash or a reflog names would be lost otherwise.
//!
//! Links, and so no copies: what is written into an object is not undone. Only where the folder of ralph's own is
//! on the same file system.

use std::{
    collections::HashSet,
    ffi::{OsStr, OsString},
    fs, io,
    path::{Path, PathBuf},
    time::{Duration, SystemTime},
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

    /// Makes a link to each file that has none yet. A folder in which nothing was changed since `known`, when this
    /// was last begun, is passed by.
    pub(super) fn keep(&self, known: Option<SystemTime>) -> Result<(), GitError> {
        match self.link_new(known) {
            Err(error) if error.kind() == io::ErrorKind::CrossesDevices => Ok(()),
            kept => kept.map_err(GitError::io("keep the objects of git in", &self.links)),
        }
    }

    fn link_new(&self, known: Option<SystemTime>) -> io::Result<()> {
        let objects = fs::File::open(&self.objects)?;
        for folder in ObjectFolders::read(&self.objects)?.names() {
            if known.is_some_and(|known| changed_at(&objects, folder) < Some(known)) {
                continue;
            }
            let (from, to) = (self.objects.join(folder), self.links.join(folder));
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

    /// Puts back the files that are gone since then, and returns how many. What happened after `until` is a
    /// person's. Gives the owner back the rights on the folders.
    pub(super) fn put_back(
        &self,
        since: SystemTime,
        until: Option<SystemTime>,
    ) -> Result<usize, GitError> {
        let mut count = 0;
        let kept = ObjectFolders::read(&self.links).map_err(GitError::io("read", &self.links))?;
        let objects = fs::File::open(&self.objects).ok();
        let changed = |folder: &str| objects.as_ref().and_then(|all| changed_at(all, folder));
        // Each folder that was there has one of links, so that others can only have come since.
        let are_all_kept = !kept.is_empty() && changed(".").is_some_and(|at| at < since);
        if are_all_kept {
            make_writable(&self.objects.join("info"));
        } else {
            open_subfolders(&self.objects, |name| !kept.holds(name.as_encoded_bytes()));
        }
        for folder in kept.names() {
            let is_of_programs = changed(folder)
                .is_none_or(|at| at >= since && until.is_none_or(|until| at <= until));
            if is_of_programs {
                count += put_back_in(&self.links.join(folder), &self.objects.join(folder))?;
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
            let link = || fs::hard_link(from.join(name), to.join(name));
            match link() {
                // A `git gc` that is under way removes folders that it has emptied.
                Err(error) if error.kind() == io::ErrorKind::NotFound => {
                    fs::create_dir_all(to)?;
                    link()?;
                }
                linked => linked?,
            }
        }
        Ok(gone.len())
    };
    put_back().map_err(failed)
}

/// The folders of objects in a folder: of the loose ones by their first two digits, and of packs. Sorted.
struct ObjectFolders(Vec<String>);

impl ObjectFolders {
    /// Reads a folder; none are in one that is not there.
    fn read(folder: &Path) -> io::Result<Self> {
        let folder = match fs::File::open(folder) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Self(Vec::new())),
            folder => folder?,
        };
        let mut found = Vec::new();
        for entry in rustix::fs::Dir::read_from(folder)? {
            let entry = entry?;
            let name = entry.file_name().to_bytes();
            let is_loose = name.len() == 2 && name.iter().all(u8::is_ascii_hexdigit);
            if is_loose || name == b"pack" {
                found.push(String::from_utf8_lossy(name).into_owned());
            }
        }
        found.sort_unstable();
        Ok(Self(found))
    }

    fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    fn names(&self) -> impl Iterator<Item = &str> {
        self.0.iter().map(String::as_str)
    }

    fn holds(&self, name: &[u8]) -> bool {
        let found = self.0.binary_search_by(|known| known.as_bytes().cmp(name));
        found.is_ok()
    }
}

/// Gives the owner back the rights on those folders in a folder whose names are meant.
pub(super) fn open_subfolders(folder: &Path, is_meant: impl Fn(&OsStr) -> bool) {
    for entry in fs::read_dir(folder).into_iter().flatten().flatten() {
        if is_meant(&entry.file_name()) {
            make_writable(&entry.path());
        }
    }
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

/// Returns when a file was made, deleted or renamed in a folder, or its rights changed. Unlike the time of its last
/// write, no program can set this one.
// The types of the fields differ between systems.
#[allow(clippy::unnecessary_cast)]
fn changed_at(above: &fs::File, folder: &str) -> Option<SystemTime> {
    let flags = rustix::fs::AtFlags::SYMLINK_NOFOLLOW;
    let found = rustix::fs::statat(above, folder, flags).ok()?;
    let seconds = Duration::from_secs(u64::try_from(found.st_ctime as i64).ok()?);
    let nanos = Duration::from_nanos(u64::try_from(found.st_ctime_nsec as i64).ok()?);
    Some(SystemTime::UNIX_EPOCH + seconds + nanos)
}
