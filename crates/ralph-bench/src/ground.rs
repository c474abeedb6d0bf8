//! The folder that the scratch projects of a bench lie in.
//!
//! ext4 uses the inode of a deleted file again only after some minutes, and until then passes by it, one by
//! one, whenever a file is made in the same part of the disk. A project that was measured and deleted would so
//! slow down all that are measured after it, the more files it had the more. Each gets a part of the disk of its
//! own.

use std::path::Path;

use tempfile::TempDir;

use crate::BenchResult;

/// Makes the folder that all scratch projects of this process are made in. It goes away with what is returned.
pub(crate) fn spread_projects() -> BenchResult<TempDir> {
    let folder = tempfile::Builder::new().prefix("ralph-bench-").tempdir()?;
    spread_folders_in(folder.path());
    tempfile::env::override_temp_dir(folder.path())
        .map_err(|other| format!("projects are made in {} already", other.display()))?;
    Ok(folder)
}

/// Marks a folder as the top of unrelated folders, where the file system knows that.
#[cfg(target_os = "linux")]
fn spread_folders_in(folder: &Path) {
    use rustix::fs::{IFlags, ioctl_getflags, ioctl_setflags};

    let mark = || {
        let folder = std::fs::File::open(folder).map_err(|_| rustix::io::Errno::IO)?;
        let flags = ioctl_getflags(&folder)?;
        ioctl_setflags(&folder, flags | IFlags::TOPDIR)
    };
    // Elsewhere the figures are as good as that file system lets them be.
    let _: rustix::io::Result<()> = mark();
}

#[cfg(not(target_os = "linux"))]
fn spread_folders_in(_: &Path) {}
