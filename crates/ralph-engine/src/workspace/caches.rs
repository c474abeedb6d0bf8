//! Caches of ralph's own: what was installed and built while changes that landed were verified.
//!
//! A cache is a stack of generations, each with the folders that one verification wrote, as an overlay keeps
//! them. They lie between the user's folder and the layer of the next agent or the next verification. The list of
//! generations is written last and as a whole: a generation that is not on it was being written when ralph was
//! killed, and the next loop deletes it.
//!
//! Only the process that holds the worktree's lock writes here. A process that shows a cache to programs holds its
//! lock shared, and as long as it does, nothing of the cache is deleted.

#[cfg(test)]
mod tests;

use std::{
    collections::BTreeMap,
    fs::{self, DirBuilder, File},
    hash::{DefaultHasher, Hash as _, Hasher as _},
    io,
    os::unix::fs::{DirBuilderExt as _, MetadataExt as _, OpenOptionsExt as _},
    path::{Path, PathBuf},
    time::{Duration, SystemTime},
};

use rustix::fs::{Timespec, Timestamps, UTIME_NOW, futimens};
use serde::{Deserialize, Serialize};

use crate::{
    atomic,
    git::Oid,
    identity::{is_worktree_name, worktree_name},
    layer::{LayerPlace, Prefill, UpperEntry, UpperFolder, UpperKind, remove_tree, upper::Descent},
    plain_file,
    process::OverlayXattrs,
};

/// The beginning of the name of a cache's folder.
const CACHE: &str = "cache-";
const STACK: &str = "stack.json";
const LOCK: &str = "lock";
const STACK_VERSION: u32 = 1;
/// With more than these, or longer paths, all are made into one: the kernel takes only so many.
const MOST_GENERATIONS: usize = 5;
const LONGEST_PATHS: usize = 2_000;
/// A larger cache is begun again.
const MOST_BYTES: u64 = 20 * 1024 * 1024 * 1024;
/// One that was built from so many files that have changed since is begun again.
const MOST_CHANGED: usize = 20_000;
/// One that was not used for so long is deleted.
const LONGEST_UNUSED: Duration = Duration::from_secs(30 * 24 * 60 * 60);

/// The rights with which a cache is opened.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum CacheAccess {
    /// The process that holds the worktree's lock.
    Write,
    Read,
}

/// The caches of one worktree.
#[derive(Debug)]
pub(crate) struct Caches {
    folder: PathBuf,
    root: PathBuf,
    xattrs: OverlayXattrs,
    max_bytes: u64,
    access: CacheAccess,
    lock: Option<File>,
    stack: Option<CacheStack>,
}

/// The generations that are in force, and what they were made from.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
struct CacheStack {
    version: u32,
    /// The worktree.
    root: String,
    /// The commit that they were built from last, and when they were taken.
    commit: String,
    at: u64,
    /// Files that were changed since a part of them was built, with the time when that part was taken.
    changed: BTreeMap<String, u64>,
    /// True if an agent's own copy is part of it.
    by_agent: bool,
    is_trusted: bool,
    /// The folders, from the root, with a stamp of the user's own at that path.
    folders: BTreeMap<String, Option<u64>>,
    /// Newest first.
    generations: Vec<CacheGeneration>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
struct CacheGeneration {
    name: String,
    bytes: u64,
    folders: Vec<String>,
    /// Those of the folders that show nothing of what lies below.
    replaced: Vec<String>,
}

impl CacheStack {
    /// Takes out the generations of which nothing shows any more.
    fn drop_hidden(&mut self) {
        let mut replaced: Vec<String> = Vec::new();
        self.generations.retain(|one| {
            let is_hidden = one.folders.iter().all(|folder| replaced.contains(folder));
            replaced.extend(one.replaced.iter().cloned());
            !is_hidden
        });
    }
}

/// The verification that folders are taken from.
#[derive(Debug, Clone, Copy)]
pub(crate) struct VerifiedIn<'a> {
    /// The folder with all that its commands wrote.
    pub(crate) upper: &'a Path,
    pub(crate) since: SystemTime,
    pub(crate) commit: &'a Oid,
    /// The files that the commit has changed since the last one that was taken.
    pub(crate) changed: &'a [PathBuf],
    /// True if it was shown an agent's own caches.
    pub(crate) by_agent: bool,
}

impl Caches {
    /// Opens the caches of a worktree, if there are any.
    pub(crate) fn open(place: &LayerPlace, root: &Path, access: CacheAccess) -> Self {
        let name = format!("{CACHE}{}", worktree_name(root));
        let mut caches = Self {
            folder: place.folder.join(name),
            root: root.to_owned(),
            xattrs: place.options.xattrs,
            // In memory there is less room.
            max_bytes: place.max_bytes.map_or(MOST_BYTES, |max| max / 2),
            access,
            lock: None,
            stack: None,
        };
        caches.lock = shared_lock(&caches.folder).ok();
        if caches.lock.is_some() {
            caches.stack = read_stack(&caches.folder).filter(|stack| caches.is_usable(stack));
        }
        if access == CacheAccess::Write && caches.lock.is_some() {
            caches.note_use();
            caches.collect();
        }
        caches
    }

    fn is_usable(&self, stack: &CacheStack) -> bool {
        let is_whole = |one: &CacheGeneration| self.folder.join(&one.name).is_dir();
        stack.version == STACK_VERSION
            && Some(stack.root.as_str()) == self.root.to_str()
            && stack.is_trusted == (self.xattrs == OverlayXattrs::Trusted)
            && stack.generations.iter().all(is_whole)
    }

    fn note_use(&self) {
        let file = File::options().write(true).open(self.folder.join(STACK));
        let now = Timespec {
            tv_sec: 0,
            tv_nsec: UTIME_NOW,
        };
        let times = Timestamps {
            last_access: now,
            last_modification: now,
        };
        let _ = file.map(|file| futimens(&file, &times));
    }

    pub(crate) fn access(&self) -> CacheAccess {
        self.access
    }

    /// Lists the folders to lay over the user's, top first.
    pub(crate) fn lowers(&self) -> Vec<PathBuf> {
        let generations = self.stack.iter().flat_map(|stack| &stack.generations);
        generations.map(|one| self.folder.join(&one.name)).collect()
    }

    /// The commit that they were built from; none where there is no cache.
    pub(crate) fn commit(&self) -> Option<Oid> {
        Oid::parse(&self.stack.as_ref()?.commit).ok()
    }

    /// The folders that are cached, from the root.
    pub(crate) fn folders(&self) -> Vec<PathBuf> {
        let folders = self.stack.iter().flat_map(|stack| stack.folders.keys());
        folders.map(PathBuf::from).collect()
    }

    /// Says whether an agent's own copy is part of them.
    pub(crate) fn is_by_agent(&self) -> bool {
        self.stack.as_ref().is_some_and(|stack| stack.by_agent)
    }

    /// Returns those files of the user's that were changed since something was built from them, also by these
    /// paths, and whose time does not tell.
    pub(crate) fn stale(&self, changed: &[PathBuf]) -> Vec<PathBuf> {
        let Some(stack) = &self.stack else {
            return Vec::new();
        };
        let before = stack.changed.iter();
        let before = before.map(|(path, at)| (PathBuf::from(path), *at));
        let now = changed.iter().map(|path| (path.clone(), stack.at));
        let is_older = |(path, at): &(PathBuf, u64)| {
            let time = modified(&self.root.join(path));
            time.is_some_and(|time| time <= *at)
        };
        let mut stale: Vec<PathBuf> = before
            .chain(now)
            .filter(is_older)
            .map(|(path, _)| path)
            .collect();
        stale.sort();
        stale.dedup();
        stale
    }

    /// Gives them up where the user's own folders have changed since: these are the newer ones.
    pub(crate) fn follow_user(&mut self) {
        let Some(stack) = &self.stack else { return };
        let mut folders = stack.folders.iter();
        let is_same = folders.all(|(folder, stamp)| {
            let now = FolderStamp::of(&self.root.join(folder));
            now.map(|stamp| stamp.hash) == *stamp
        });
        if !is_same {
            self.give_up();
        }
    }

    /// Goes on without them. What is on the disk is deleted later, as a layer may still be laid over it.
    pub(crate) fn give_up(&mut self) {
        if self.access == CacheAccess::Write && self.stack.is_some() {
            let _ = fs::remove_file(self.folder.join(STACK));
        }
        self.stack = None;
    }

    /// Adds what a verification wrote into these folders.
    pub(crate) fn take(&mut self, folders: &[PathBuf], from: VerifiedIn<'_>) -> io::Result<()> {
        let Some(root) = self.root.to_str().map(str::to_owned) else {
            return Ok(());
        };
        if folders.is_empty() || self.access == CacheAccess::Read {
            return Ok(());
        }
        let mut stamped = Vec::new();
        for folder in folders {
            let stamp = FolderStamp::of(&self.root.join(folder));
            let is_newer = stamp.is_some_and(|stamp| stamp.newest > from.since);
            let (Some(name), false) = (folder.to_str(), is_newer) else {
                // The user installs or builds here too: their own is the newer one.
                return Ok(());
            };
            stamped.push((name.to_owned(), stamp.map(|stamp| stamp.hash)));
        }
        let Some(mut generation) = self.measure(folders, from.upper)? else {
            return Ok(());
        };
        DirBuilder::new()
            .recursive(true)
            .mode(0o700)
            .create(&self.folder)?;
        if self.lock.is_none() {
            self.lock = Some(shared_lock(&self.folder)?);
        }
        let taken = self.move_folders(folders, from.upper)?;
        generation.name = name_of(&taken);
        let mut stack = self.stack.clone().unwrap_or(CacheStack {
            version: STACK_VERSION,
            root,
            commit: String::new(),
            at: 0,
            changed: BTreeMap::new(),
            by_agent: false,
            is_trusted: self.xattrs == OverlayXattrs::Trusted,
            folders: BTreeMap::new(),
            generations: Vec::new(),
        });
        from.commit.as_str().clone_into(&mut stack.commit);
        for path in from.changed {
            let path = path.to_string_lossy().into_owned();
            stack.changed.insert(path, stack.at);
        }
        stack.at = modified(&taken).unwrap_or(u64::MAX);
        stack.by_agent |= from.by_agent;
        for (folder, stamp) in stamped {
            stack.folders.entry(folder).or_insert(stamp);
        }
        stack.generations.insert(0, generation);
        stack.drop_hidden();
        let count = stack.generations.len();
        let length = count * taken.as_os_str().len();
        if count > MOST_GENERATIONS || count > 1 && length > LONGEST_PATHS {
            self.merge(&mut stack)?;
        }
        let bytes: u64 = stack.generations.iter().map(|one| one.bytes).sum();
        if bytes > self.max_bytes || stack.changed.len() > MOST_CHANGED {
            self.give_up();
        } else {
            let text = serde_json::to_vec(&stack).map_err(io::Error::other)?;
            atomic::write(&self.folder.join(STACK), &text)?;
            self.stack = Some(stack);
        }
        self.collect();
        Ok(())
    }

    /// Describes the generation that folders of an upper folder would be; `None` where one can't be stacked, as a
    /// folder in it was renamed.
    fn measure(&self, folders: &[PathBuf], upper: &Path) -> io::Result<Option<CacheGeneration>> {
        let scanned = UpperFolder::open(upper, self.xattrs)?.scan(|path| {
            let is_on_the_way = folders
                .iter()
                .any(|folder| folder.starts_with(path) || path.starts_with(folder));
            if is_on_the_way {
                Descent::Enter
            } else {
                Descent::Prune
            }
        });
        let entries = scanned.map_err(|error| io::Error::other(error.to_string()))?;
        let is_inside =
            |entry: &&UpperEntry| folders.iter().any(|folder| entry.path.starts_with(folder));
        let text = |path: &Path| path.to_string_lossy().into_owned();
        let mut found = CacheGeneration {
            name: String::new(),
            bytes: 0,
            folders: folders.iter().map(|folder| text(folder)).collect(),
            replaced: Vec::new(),
        };
        for entry in entries.iter().filter(is_inside) {
            match &entry.kind {
                UpperKind::File { size, .. } => found.bytes += size,
                UpperKind::Folder { lower: None, .. } if folders.contains(&entry.path) => {
                    found.replaced.push(text(&entry.path));
                }
                UpperKind::Folder {
                    lower: Some(lower), ..
                } if *lower != entry.path => return Ok(None),
                UpperKind::UnreadableFolder | UpperKind::TooLong => return Ok(None),
                UpperKind::Folder { .. }
                | UpperKind::Symlink
                | UpperKind::Whiteout
                | UpperKind::Other(_) => {}
            }
        }
        Ok(Some(found))
    }

    /// Makes a generation of folders of an upper folder, which are moved out of it.
    fn move_folders(&self, folders: &[PathBuf], upper: &Path) -> io::Result<PathBuf> {
        let generation = self.new_generation()?;
        let prefill = Prefill::open(&generation, &self.root, self.xattrs)?;
        for folder in folders {
            if let Some(parent) = folder.parent() {
                prefill.folder(parent)?;
            }
            fs::rename(upper.join(folder), generation.join(folder))?;
        }
        Ok(generation)
    }

    fn new_generation(&self) -> io::Result<PathBuf> {
        let name = format!("generation-{}", uuid::Uuid::now_v7().simple());
        let path = self.folder.join(name);
        DirBuilder::new().mode(0o700).create(&path)?;
        Ok(path)
    }

    /// Makes one generation of all. Files get a second name; what is not needed any more is left out.
    fn merge(&self, stack: &mut CacheStack) -> io::Result<()> {
        let merged = self.new_generation()?;
        let prefill = Prefill::open(&merged, &self.root, self.xattrs)?;
        for one in stack.generations.iter().rev() {
            prefill.lay_over(&self.folder.join(&one.name), Path::new(""))?;
        }
        let upper = UpperFolder::open(&merged, self.xattrs)?;
        stack.generations = vec![CacheGeneration {
            name: name_of(&merged),
            bytes: upper.usage()?.bytes,
            folders: stack.folders.keys().cloned().collect(),
            replaced: Vec::new(),
        }];
        Ok(())
    }

    /// Deletes what is not in force, unless another process shows it to a program.
    fn collect(&mut self) {
        let Some(lock) = &self.lock else { return };
        if lock.try_lock().is_ok() {
            let stack = self.stack.as_ref();
            let is_kept = |name: &str| {
                let mut kept = stack.iter().flat_map(|stack| &stack.generations);
                name == LOCK || stack.is_some() && name == STACK || kept.any(|one| one.name == name)
            };
            for entry in fs::read_dir(&self.folder).into_iter().flatten().flatten() {
                let name = entry.file_name();
                if name.to_str().is_some_and(is_kept) {
                    continue;
                }
                let is_folder = entry.file_type().is_ok_and(|kind| kind.is_dir());
                // What can't be deleted now is deleted by the next loop.
                let _ = if is_folder {
                    remove_tree(&entry.path())
                } else {
                    fs::remove_file(entry.path())
                };
            }
        }
        let _ = lock.lock_shared();
    }
}

/// When a file was changed, in nanoseconds.
fn modified(path: &Path) -> Option<u64> {
    let meta = fs::symlink_metadata(path).ok()?;
    let seconds = u64::try_from(meta.mtime()).unwrap_or(0);
    let nanoseconds = u64::try_from(meta.mtime_nsec()).unwrap_or(0);
    Some(seconds.saturating_mul(1_000_000_000) + nanoseconds)
}

fn name_of(path: &Path) -> String {
    path.file_name()
        .map(|name| name.to_string_lossy().into_owned())
        .unwrap_or_default()
}

/// Deletes the caches in the folder of a place whose worktree is gone, or that were not used for long.
pub(crate) fn sweep_caches(place: &Path) {
    for entry in fs::read_dir(place).into_iter().flatten().flatten() {
        let name = entry.file_name();
        let worktree = name.to_str().and_then(|name| name.strip_prefix(CACHE));
        // Whatever else begins like one is not ralph's.
        let is_cache = worktree.is_some_and(is_worktree_name);
        let folder = entry.path();
        if !is_cache || !is_left_over(&folder) {
            continue;
        }
        if let Ok(lock) = open_lock(&folder)
            && lock.try_lock().is_ok()
        {
            let _ = remove_tree(&folder);
        }
    }
}

fn is_left_over(folder: &Path) -> bool {
    let Some(stack) = read_stack(folder) else {
        return true;
    };
    let used = fs::metadata(folder.join(STACK)).and_then(|meta| meta.modified());
    let unused_for = used.map(|at| at.elapsed().unwrap_or_default());
    !Path::new(&stack.root).join(".git").exists()
        || unused_for.is_ok_and(|unused| unused > LONGEST_UNUSED)
}

fn read_stack(folder: &Path) -> Option<CacheStack> {
    let text = plain_file::read(&folder.join(STACK)).ok()?;
    serde_json::from_slice(&text).ok()
}

fn open_lock(folder: &Path) -> io::Result<File> {
    File::options()
        .read(true)
        .write(true)
        .create(true)
        .truncate(false)
        .mode(0o600)
        .custom_flags(libc::O_NOFOLLOW)
        .open(folder.join(LOCK))
}

fn shared_lock(folder: &Path) -> io::Result<File> {
    let lock = open_lock(folder)?;
    lock.lock_shared()?;
    Ok(lock)
}

/// The look of a folder of the user's: what is right in it, and when that changed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct FolderStamp {
    hash: u64,
    newest: SystemTime,
}

impl FolderStamp {
    /// `None` if there is no such folder.
    fn of(folder: &Path) -> Option<Self> {
        let meta = fs::symlink_metadata(folder).ok().filter(|m| m.is_dir())?;
        let mut newest = meta.modified().ok()?;
        let mut entries = Vec::new();
        for entry in fs::read_dir(folder).ok()?.flatten() {
            if let Ok(meta) = entry.metadata() {
                newest = newest.max(meta.modified().unwrap_or(newest));
                let changed = (meta.ino(), meta.mtime(), meta.mtime_nsec());
                entries.push((entry.file_name(), changed));
            }
        }
        entries.sort();
        let mut hash = DefaultHasher::new();
        (meta.ino(), meta.mtime(), meta.mtime_nsec(), entries).hash(&mut hash);
        let hash = hash.finish();
        Some(Self { hash, newest })
    }
}
