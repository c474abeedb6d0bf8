//! The space that a layer takes, and what is free where it lives.

use std::path::{Path, PathBuf};

use crate::{layer::UpperFolder, process::OverlayXattrs, supervisor::LayerSpace};

/// The uppers of a layer, as one space.
pub(super) struct UpperSpace {
    pub(super) uppers: Vec<PathBuf>,
    pub(super) place: PathBuf,
    pub(super) xattrs: OverlayXattrs,
    pub(super) max_bytes: u64,
}

impl LayerSpace for UpperSpace {
    fn max_bytes(&self) -> u64 {
        self.max_bytes
    }

    fn free_bytes(&self) -> Option<u64> {
        free_bytes(&self.place)
    }

    fn used_bytes(&self) -> Option<u64> {
        let usage = |upper: &PathBuf| {
            let opened = UpperFolder::open(upper, self.xattrs).ok()?;
            Some(opened.usage().ok()?.bytes)
        };
        self.uppers.iter().map(usage).sum()
    }
}

pub(super) fn free_bytes(folder: &Path) -> Option<u64> {
    let room = rustix::fs::statvfs(folder).ok()?;
    Some(room.f_bavail.saturating_mul(room.f_frsize))
}
