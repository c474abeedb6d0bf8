//! Space that is held back on a disk, so that ralph can go on when an agent has filled it.

use std::fs::File;
use std::io;
use std::path::Path;

use rustix::fs::{FallocateFlags, fallocate};

/// Space held by a file without a name: free again when this is dropped, or its process is gone.
///
/// An agent that fills the disk gets ENOSPC while this is held; dropping it then gives ralph room.
#[derive(Debug)]
pub struct DiskReserve {
    _file: File,
}

impl DiskReserve {
    /// Takes space on the file system of a folder.
    pub fn hold(folder: &Path, bytes: u64) -> io::Result<Self> {
        let file = tempfile::tempfile_in(folder)?;
        fallocate(&file, FallocateFlags::empty(), 0, bytes)?;
        Ok(Self { _file: file })
    }
}
