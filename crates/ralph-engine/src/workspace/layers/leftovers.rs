//! Layers that a killed process left: which of them a run goes on with, and which are swept.

use std::{
    ffi::OsStr,
    os::unix::{ffi::OsStrExt as _, fs::MetadataExt as _},
    path::{Path, PathBuf},
};

use ralph_core::id::IterationId;

use crate::{
    error::{LoopError, file_error},
    layer::{leftovers, place_folders, sweep},
};

use super::MEMORY;

/// Tells which iteration a layer is of.
const ITERATION: &str = "iteration";

/// The iteration that a layer is of, and where: written beside it.
pub(super) struct LayerOwner {
    pub(super) iteration: String,
    pub(super) worktree: PathBuf,
}

impl LayerOwner {
    pub(super) fn of(layer: &Path) -> Option<Self> {
        let bytes = std::fs::read(layer.join(ITERATION)).ok()?;
        let at = bytes.iter().position(|byte| *byte == b'\n')?;
        Some(Self {
            iteration: String::from_utf8_lossy(bytes.get(..at)?).into_owned(),
            worktree: PathBuf::from(OsStr::from_bytes(bytes.get(at + 1..)?)),
        })
    }

    pub(super) fn write(&self, layer: &Path) -> Result<(), LoopError> {
        let path = layer.join(ITERATION);
        let worktree = self.worktree.as_os_str().as_bytes();
        let text = [self.iteration.as_bytes(), b"\n", worktree].concat();
        std::fs::write(&path, text).map_err(|e| file_error("write", &path, e))
    }

    /// Returns whether someone goes on with it: the next run here, or one in another worktree.
    fn is_awaited(&self, here: &Path, unfinished: Option<&IterationId>) -> bool {
        if self.worktree == here {
            unfinished.is_some_and(|id| id.as_str() == self.iteration)
        } else {
            self.worktree.exists()
        }
    }
}

/// The folders in which layers of a worktree may be.
fn folders(data_dir: &Path, here: &Path) -> impl Iterator<Item = PathBuf> {
    let temp_dir = std::env::temp_dir();
    let memory = Some(Path::new(MEMORY));
    let folders = place_folders(here, data_dir, &temp_dir, memory);
    let folders = folders.into_iter().map(|(_, folder)| folder);
    // In a folder that all may write to, it may be another user's.
    folders.filter(|folder| {
        let own = rustix::process::geteuid().as_raw();
        let found = std::fs::symlink_metadata(folder);
        found.is_ok_and(|meta| meta.is_dir() && meta.uid() == own)
    })
}

/// Returns whether a dead process left layers that are neither awaited in another worktree nor by this iteration.
pub(crate) fn has_leftover_layers(
    data_dir: &Path,
    here: &Path,
    unfinished: Option<&IterationId>,
) -> bool {
    folders(data_dir, here)
        .flat_map(|folder| leftovers(&folder))
        .any(|layer| {
            !LayerOwner::of(&layer).is_some_and(|owner| owner.is_awaited(here, unfinished))
        })
}

/// Deletes the layers whose owners are gone, and with which no run goes on.
pub(crate) fn sweep_layers(data_dir: &Path, here: &Path, unfinished: Option<&IterationId>) {
    for folder in folders(data_dir, here) {
        sweep_folder(&folder, here, unfinished);
    }
}

pub(super) fn sweep_folder(folder: &Path, here: &Path, unfinished: Option<&IterationId>) {
    let is_kept = |layer: &Path| {
        LayerOwner::of(layer).is_some_and(|owner| owner.is_awaited(here, unfinished))
    };
    // What can't be swept now is swept by the next command.
    let _ = sweep(folder, &is_kept);
}
