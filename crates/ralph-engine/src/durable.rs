//! Makes several files durable for the price of one.
//!
//! A full flush of a file makes the file system commit its journal, and that is what takes time. Where the
//! file system commits in order, the data of all files is written out first and only the last one is
//! flushed in full: what was changed before it is then on the disk too. Elsewhere every file is flushed in full.

use std::{fs::File, io};

/// Starts to write out the data of a file, and does not wait for it.
pub(crate) fn start_writing_out(file: &File) {
    platform::start_writing_out(file);
}

/// Tells whether a full flush of a file or folder makes durable what was changed before it on its file system.
pub(crate) fn is_flushed_in_order(file: &File) -> bool {
    platform::is_flushed_in_order(file)
}

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

    pub(super) fn is_flushed_in_order(file: &File) -> bool {
        rustix::fs::fstatfs(file).is_ok_and(|found| ORDERED.contains(&found.f_type))
    }

    pub(super) fn start_writing_out(file: &File) {
        // It only saves time.
        let _ = sync_range(file, libc::SYNC_FILE_RANGE_WRITE);
    }

    pub(super) fn write_out(file: &File) -> io::Result<()> {
        let flags = libc::SYNC_FILE_RANGE_WAIT_BEFORE
            | libc::SYNC_FILE_RANGE_WRITE
            | libc::SYNC_FILE_RANGE_WAIT_AFTER;
        if is_flushed_in_order(file) && sync_range(file, flags) {
            Ok(())
        } else {
            file.sync_all()
        }
    }

    fn sync_range(file: &File, flags: libc::c_uint) -> bool {
        // SAFETY: the descriptor is open as long as `file` is borrowed, and no memory is passed.
        unsafe { libc::sync_file_range(file.as_raw_fd(), 0, 0, flags) == 0 }
    }
}

#[cfg(not(target_os = "linux"))]
mod platform {
    use std::{fs::File, io};

    pub(super) fn write_out(file: &File) -> io::Result<()> {
        file.sync_all()
    }

    pub(super) fn start_writing_out(_: &File) {}

    pub(super) fn is_flushed_in_order(_: &File) -> bool {
        false
    }
}
