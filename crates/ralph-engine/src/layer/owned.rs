//! One layer: its folders, who owns it, and the mounts that show it.
//!
//! An owner holds a lock as long as its process lives. So a layer whose lock is free is left over from
//! a process that was killed, and any later command may sweep it.

use std::collections::BTreeSet;
use std::fs::{self, DirBuilder, File, Permissions, TryLockError};
use std::io;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::{DirBuilderExt, MetadataExt, OpenOptionsExt, PermissionsExt};
use std::path::{Path, PathBuf};

use super::below::Below;
use super::checks;
use super::mountinfo::read_mounts;
use super::place::LayerPlace;
use super::removal::remove_tree;
use super::upper::UpperFolder;
use crate::process::{BindAccess, MountPlan, OverlayMount, OverlayOptions};

const LAYER: &str = "layer-";
const TRIAL: &str = "trial-";
const CLONE: &str = "clone-";
const PROGRAM: &str = "program-";
const LOCK: &str = ".lock";

/// A layer over one or more folders. Dropping it deletes all that was written.
#[derive(Debug)]
pub struct Layer {
    owned: OwnedFolder,
    place: PathBuf,
    options: OverlayOptions,
    folders: Vec<LayerFolder>,
}

/// A folder that a layer is to be laid over.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LayerTarget {
    pub path: PathBuf,
    /// Further folders between what is written and `path`, top first.
    pub lowers: Vec<PathBuf>,
}

impl LayerTarget {
    pub fn new(path: impl Into<PathBuf>) -> Self {
        Self {
            path: path.into(),
            lowers: Vec::new(),
        }
    }
}

/// A folder below a layer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LayerFolder {
    /// Where it is shown: its own path, without symbolic links.
    pub target: PathBuf,
    /// Holds what is written there.
    pub upper: PathBuf,
    work: PathBuf,
    lowers: Vec<PathBuf>,
}

#[derive(Debug, thiserror::Error)]
pub enum LayerError {
    #[error("cannot make a layer over {}: {source}", path.display())]
    Make { path: PathBuf, source: io::Error },
}

/// The result of a sweep.
#[derive(Debug, Default, Clone, PartialEq, Eq)]
pub struct SweepReport {
    pub removed: usize,
    /// Layers of processes that live.
    pub in_use: usize,
    /// Layers that could not be deleted, and why.
    pub failed: Vec<(PathBuf, String)>,
}

impl Layer {
    /// Makes the folders of a layer. Every folder that git writes needs to be a target: besides the
    /// worktree a common or separate git folder, alternates, and the git folders of submodules. One
    /// that is inside another target is a part of it, unless it is a mount of its own.
    pub fn create(place: &LayerPlace, targets: &[LayerTarget]) -> Result<Self, LayerError> {
        let fail = |path: &Path| {
            let path = path.to_owned();
            move |source| LayerError::Make { path, source }
        };
        let owned = OwnedFolder::create(&place.folder, LAYER).map_err(fail(&place.folder))?;
        let mut layer = Self {
            owned,
            place: place.folder.clone(),
            options: place.options,
            folders: Vec::new(),
        };
        let mounts = read_mounts().map_err(fail(&place.folder))?;
        let mut targets = targets.to_vec();
        for target in &mut targets {
            target.path = target.path.canonicalize().map_err(fail(&target.path))?;
        }
        targets.sort_by(|a, b| a.path.cmp(&b.path));
        targets.dedup_by(|a, b| a.path == b.path);
        for target in targets {
            let is_inside = |folder: &LayerFolder| target.path.starts_with(&folder.target);
            let is_mount = mounts.iter().any(|mount| mount.point == target.path);
            if is_mount || !layer.folders.iter().any(is_inside) {
                let path = target.path.clone();
                layer.add(target).map_err(fail(&path))?;
            }
        }
        Ok(layer)
    }

    /// Takes over a layer whose owner is gone, with all that was written; `None` if its owner lives, or it
    /// is not whole. The targets are those that it was made for.
    pub fn adopt(
        place: &LayerPlace,
        path: &Path,
        targets: &[LayerTarget],
    ) -> Result<Option<Self>, LayerError> {
        let fail = |source| LayerError::Make {
            path: path.to_owned(),
            source,
        };
        let Some(owned) = OwnedFolder::adopt(path).map_err(fail)? else {
            return Ok(None);
        };
        // A second one like it says which folders it has.
        let mut pattern = Self::create(place, targets)?;
        let folders = pattern.folders.iter().map(|folder| {
            let number = folder.upper.parent().and_then(Path::file_name);
            let folder_path = path.join(number.unwrap_or_default());
            LayerFolder {
                upper: folder_path.join("upper"),
                work: folder_path.join("work"),
                ..folder.clone()
            }
        });
        let folders: Vec<LayerFolder> = folders.collect();
        if !folders.iter().all(|folder| folder.upper.is_dir()) {
            return Ok(None);
        }
        pattern.folders = folders;
        // What it was made with is removed here.
        drop(std::mem::replace(&mut pattern.owned, owned));
        Ok(Some(pattern))
    }

    fn add(&mut self, target: LayerTarget) -> io::Result<()> {
        let folder = self.owned.path.join(self.folders.len().to_string());
        let (upper, work) = (folder.join("upper"), folder.join("work"));
        make_folder(&folder)?;
        make_folder(&upper)?;
        // The root of an overlay looks like the root of its upper folder.
        let meta = fs::metadata(&target.path)?;
        if rustix::process::geteuid().is_root() {
            // Root of a user namespace can't give to all users.
            let _ = std::os::unix::fs::chown(&upper, Some(meta.uid()), Some(meta.gid()));
        }
        fs::set_permissions(&upper, Permissions::from_mode(meta.mode() & 0o7777))?;
        self.folders.push(LayerFolder {
            target: target.path,
            upper,
            work,
            lowers: target.lowers,
        });
        Ok(())
    }

    /// The folders that it is laid over, outer ones first.
    pub fn folders(&self) -> &[LayerFolder] {
        &self.folders
    }

    /// Lays folders between what is written below a target and what is there, top first.
    pub fn set_lowers(&mut self, target: &Path, lowers: Vec<PathBuf>) {
        let mut folders = self.folders.iter_mut();
        if let Some(folder) = folders.find(|folder| folder.target == target) {
            folder.lowers = lowers;
        }
    }

    /// The folders below what is written in a target, top first.
    pub fn below(&self, target: &Path) -> Below {
        let folder = self.folders.iter().find(|folder| folder.target == target);
        let mut folders = folder.map_or(Vec::new(), |folder| folder.lowers.clone());
        folders.push(target.to_owned());
        Below {
            folders,
            xattrs: self.options.xattrs,
        }
    }

    /// The folder of ralph's that holds all of it.
    pub fn path(&self) -> &Path {
        &self.owned.path
    }

    /// Opens what was written below a target.
    pub fn upper(&self, folder: &LayerFolder) -> io::Result<UpperFolder> {
        UpperFolder::open(&folder.upper, self.options.xattrs)
    }

    /// Plans the mounts that show it to one program: the overlays, then what would lead around them.
    /// Other paths to the same folders become read-only, and the layer's own folders are covered.
    ///
    /// At most one program at a time may be shown a layer.
    pub fn mount_plan(&self) -> Result<MountPlan, LayerError> {
        let fail = |source| LayerError::Make {
            path: self.owned.path.clone(),
            source,
        };
        let mut plan = MountPlan::default();
        for folder in &self.folders {
            // One that an overlay was mounted with before can't be used again.
            remove_tree(&folder.work).map_err(fail)?;
            make_folder(&folder.work).map_err(fail)?;
            let mut lowers = folder.lowers.clone();
            lowers.push(folder.target.clone());
            plan = plan.overlay(OverlayMount {
                target: folder.target.clone(),
                lowers,
                upper: folder.upper.clone(),
                work: folder.work.clone(),
                options: self.options,
            });
        }
        let targets: Vec<&Path> = self.folders.iter().map(|f| f.target.as_path()).collect();
        for alias in checks::aliases(&targets).map_err(fail)? {
            plan = plan.bind(&alias, &alias, BindAccess::ReadOnly);
        }
        Ok(plan.cover(&self.place))
    }
}

/// Lists the layers in the folder of a place whose processes are gone, without a lock: a process that has a dead
/// one's number hides them.
pub fn leftovers(place: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(place).into_iter().flatten().flatten();
    let left = entries.filter(|entry| {
        let name = entry.file_name();
        let rest = name.to_str().and_then(|name| name.strip_prefix(LAYER));
        let process = rest.and_then(|rest| rest.split('-').next());
        is_own_name(name.as_bytes())
            && process.is_some_and(|id| !Path::new("/proc").join(id).exists())
    });
    left.map(|entry| entry.path()).collect()
}

/// Deletes the layers in the folder of a place whose owners are gone, but for those that someone goes on with.
pub fn sweep(place: &Path, is_kept: &dyn Fn(&Path) -> bool) -> io::Result<SweepReport> {
    let mut names = BTreeSet::new();
    let entries = match fs::read_dir(place) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(SweepReport::default()),
        entries => entries?,
    };
    for entry in entries {
        let name = entry?.file_name();
        let base = name.as_bytes().strip_suffix(LOCK.as_bytes());
        let base = base.unwrap_or(name.as_bytes()).to_owned();
        if is_own_name(&base) {
            names.insert(base);
        }
    }
    let mut report = SweepReport::default();
    for name in names {
        let path = place.join(std::ffi::OsStr::from_bytes(&name));
        if is_kept(&path) {
            continue;
        }
        match sweep_one(&path) {
            Ok(true) => report.removed += 1,
            Ok(false) => report.in_use += 1,
            Err(error) => report.failed.push((path, error.to_string())),
        }
    }
    Ok(report)
}

/// Returns whether ralph made this name: a kind, the process, and an id. The place is named by the user, and a folder
/// of theirs that only begins like one of ralph's is not ralph's to delete.
fn is_own_name(name: &[u8]) -> bool {
    let Ok(name) = str::from_utf8(name) else {
        return false;
    };
    let kinds = [LAYER, TRIAL, CLONE, PROGRAM];
    let rest = kinds.iter().find_map(|kind| name.strip_prefix(kind));
    rest.and_then(|rest| rest.split_once('-'))
        .is_some_and(|(process, id)| {
            process.parse::<u32>().is_ok() && id.len() == 32 && uuid::Uuid::try_parse(id).is_ok()
        })
}

/// Deletes a folder and its lock, unless the lock is held.
fn sweep_one(path: &Path) -> io::Result<bool> {
    let lock_path = lock_path(path);
    // The lock is made first and deleted last: a folder without one has no owner.
    let lock = match open_lock(&lock_path, false) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => None,
        lock => Some(lock?),
    };
    if let Some(lock) = &lock {
        match lock.try_lock() {
            Ok(()) => {}
            Err(TryLockError::WouldBlock) => return Ok(false),
            Err(TryLockError::Error(error)) => return Err(error),
        }
    }
    remove_tree(path)?;
    if lock.is_some() {
        fs::remove_file(lock_path)?;
    }
    Ok(true)
}

/// A folder with a lock beside it that is held as long as this lives.
#[derive(Debug)]
pub(crate) struct OwnedFolder {
    pub(crate) path: PathBuf,
    _lock: File,
    is_removed: bool,
}

impl OwnedFolder {
    pub(super) fn trial(place: &Path) -> io::Result<Self> {
        Self::create(place, TRIAL)
    }

    /// Makes a folder for a clone, in a place that is made with it. Those of dead processes are deleted first.
    pub(crate) fn clone_in(place: &Path) -> io::Result<Self> {
        DirBuilder::new()
            .recursive(true)
            .mode(0o700)
            .create(place)?;
        sweep(place, &|_| false)?;
        Self::create(place, CLONE)
    }

    /// Makes a folder for what a program needs as long as it runs.
    pub(crate) fn program_in(place: &Path) -> io::Result<Self> {
        Self::create(place, PROGRAM)
    }

    fn create(place: &Path, kind: &str) -> io::Result<Self> {
        loop {
            let id = uuid::Uuid::now_v7().simple();
            let path = place.join(format!("{kind}{}-{id}", std::process::id()));
            let lock = open_lock(&lock_path(&path), true)?;
            let is_ours = match lock.try_lock() {
                // A sweep that came between has deleted the file again.
                Ok(()) => lock.metadata()?.nlink() > 0,
                Err(TryLockError::WouldBlock) => false,
                Err(TryLockError::Error(error)) => return Err(error),
            };
            if is_ours {
                make_folder(&path)?;
                return Ok(Self {
                    path,
                    _lock: lock,
                    is_removed: false,
                });
            }
        }
    }

    /// Takes over one whose owner is gone.
    fn adopt(path: &Path) -> io::Result<Option<Self>> {
        let lock = match open_lock(&lock_path(path), false) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
            lock => lock?,
        };
        match lock.try_lock() {
            Ok(()) => Ok(Some(Self {
                path: path.to_owned(),
                _lock: lock,
                is_removed: false,
            })),
            Err(TryLockError::WouldBlock) => Ok(None),
            Err(TryLockError::Error(error)) => Err(error),
        }
    }

    pub(crate) fn remove(&mut self) -> io::Result<()> {
        if self.is_removed {
            return Ok(());
        }
        self.is_removed = true;
        remove_tree(&self.path)?;
        fs::remove_file(lock_path(&self.path))
    }
}

impl Drop for OwnedFolder {
    fn drop(&mut self) {
        // What is left is swept later.
        let _ = self.remove();
    }
}

fn open_lock(path: &Path, create: bool) -> io::Result<File> {
    File::options()
        .read(true)
        .write(true)
        .create_new(create)
        .mode(0o600)
        .custom_flags(libc::O_NOFOLLOW)
        .open(path)
}

fn lock_path(folder: &Path) -> PathBuf {
    let mut path = folder.as_os_str().to_owned();
    path.push(LOCK);
    PathBuf::from(path)
}

/// Makes a folder for the owner alone.
pub(super) fn make_folder(path: &Path) -> io::Result<()> {
    DirBuilder::new().mode(0o700).create(path)
}
