//! Makes several files durable for the price of one.
//!
//! A full flush of a file makes the file system commit its journal, and that is what takes time. Where the
//! file system commits in order, the data of all files is written out first and only the last one is
//! flushed in full: what was changed before it is then on the disk too. Elsewhere every file is flushed in full.

use std::{fs::File, io};

/// Writes out the data of a file. It is durable once [`File::sync_all`] has returned for a file or a
/// folder of the same file system that was changed after it.
pub(crate) fn write_out(file: &File) -> io::Result<()> {
    platform::write_out(file)
}

#[cfg(target_os = "linux")]
mod platform {
    #![allow(unsafe_code)]

    use std::{fs::File, io, os::fd::AsRawFd as _};

    /// The file systems that commit in order, by the numbers that `statfs` gives. Not Btrfs: a flush of one
    /// file logs that file alone.
    const ORDERED: [rustix::fs::FsWord; 3] = [
        0xef53,      // ext4
        0x5846_5342, // XFS
        0x0102_1994, // tmpfs, which keeps nothing
    ];

    pub(super) fn write_out(file: &File) -> io::Result<()> {
        let kind = rustix::fs::fstatfs(file)?.f_type;
        if !ORDERED.contains(&kind) {
            return file.sync_all();
        }
        let flags = libc::SYNC_FILE_RANGE_WAIT_BEFORE
            | libc::SYNC_FILE_RANGE_WRITE
            | libc::SYNC_FILE_RANGE_WAIT_AFTER;
        // SAFETY: the descriptor is open as long as `file` is borrowed, and no memory is passed.
        let done = unsafe { libc::sync_file_range(file.as_raw_fd(), 0, 0, flags) };
        if done == 0 { Ok(()) } else { file.sync_all() }
    }
}

#[cfg(not(target_os = "linux"))]
mod platform {
    use std::{fs::File, io};

    pub(super) fn write_out(file: &File) -> io::Result<()> {
        file.sync_all()
    }
}
