//! File work by system calls alone, to find out whether a mounted overlay can really be written.

use std::ffi::{CStr, CString};

use libc::c_int;

use super::SetupStep;
use super::mounts::c_string;
use crate::process::sys::{CallFailed, check};
use crate::process::{MountPlanError, MountTrial};

/// The exit code that says that a folder of the lower can't be renamed.
pub(super) const CROSS_DEVICE: c_int = 3;

const CONTENT: &[u8] = b"written\n";

pub(super) struct CompiledTrial {
    opened: Option<CString>,
    /// In a sandbox it must not be able to write settings of the kernel.
    is_sandboxed: bool,
}

impl CompiledTrial {
    pub(super) fn new(trial: &MountTrial) -> Result<Self, MountPlanError> {
        let opened = trial.opened.as_deref().map(c_string).transpose()?;
        Ok(Self {
            opened,
            is_sandboxed: false,
        })
    }

    /// The same in a sandbox.
    pub(super) fn in_sandbox(self) -> Self {
        Self {
            is_sandboxed: true,
            ..self
        }
    }

    /// Runs in C, in the folder of the trial.
    pub(super) fn run(&self) -> Result<c_int, SetupStep> {
        if self.is_sandboxed && open(c"/proc/sys/kernel/core_pattern", libc::O_WRONLY).is_ok() {
            return Err(SetupStep::KernelSettings);
        }
        let create = libc::O_CREAT | libc::O_EXCL;
        write(c"created", create).map_err(|_| SetupStep::CreateFile)?;
        write(c"changed", libc::O_TRUNC).map_err(|_| SetupStep::ChangeFile)?;
        rename(c"renamed", c"moved").map_err(|_| SetupStep::RenameFile)?;
        // SAFETY: a constant string.
        check(unsafe { libc::unlink(c"deleted".as_ptr()) }).map_err(|_| SetupStep::DeleteFile)?;
        if let Some(path) = &self.opened {
            open(path, libc::O_RDWR).map_err(|_| SetupStep::OpenLower)?;
        }
        match rename(c"folder", c"moved-folder") {
            Ok(()) => Ok(0),
            // SAFETY: errno of this thread.
            Err(_) if unsafe { *libc::__errno_location() } == libc::EXDEV => Ok(CROSS_DEVICE),
            Err(_) => Err(SetupStep::RenameFolder),
        }
    }
}

fn open(path: &CStr, flags: c_int) -> Result<c_int, CallFailed> {
    let mode: libc::mode_t = 0o600;
    // SAFETY: the string is valid.
    let fd = unsafe { libc::open(path.as_ptr(), flags | libc::O_CLOEXEC, mode) };
    check(fd)?;
    Ok(fd)
}

fn write(path: &CStr, flags: c_int) -> Result<(), CallFailed> {
    let fd = open(path, flags | libc::O_WRONLY)?;
    // SAFETY: the bytes are valid for their length. The process is about to end: nothing is closed.
    let wrote = unsafe { libc::write(fd, CONTENT.as_ptr().cast(), CONTENT.len()) };
    if usize::try_from(wrote) == Ok(CONTENT.len()) {
        Ok(())
    } else {
        Err(CallFailed)
    }
}

fn rename(from: &CStr, to: &CStr) -> Result<(), CallFailed> {
    // SAFETY: constant strings.
    check(unsafe { libc::rename(from.as_ptr(), to.as_ptr()) })
}
