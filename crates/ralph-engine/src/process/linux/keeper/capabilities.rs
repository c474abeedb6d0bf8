//! The capabilities by which a program could undo a mount or get around one.
//!
//! Those that installing packages as root needs stay: to change owners and modes, to override
//! permissions, to become another user, to bind low ports, to chroot.

use libc::{c_int, c_ulong};

use crate::process::sys::{CallFailed, check};

/// Each with its way around a mount, or around a look at what was changed.
const DROPPED: [c_ulong; 14] = [
    21, // SYS_ADMIN: mount, umount, remount, setns
    19, // SYS_PTRACE: the root and the descriptors of processes outside
    2,  // DAC_READ_SEARCH: open_by_handle_at finds any file of a file system by its inode
    27, // MKNOD: a node of the disk
    17, // SYS_RAWIO: disks and memory through ioctls and ports
    16, // SYS_MODULE: code in the kernel
    22, // SYS_BOOT: another kernel
    38, // PERFMON: reads the memory of the kernel
    39, // BPF: code in the kernel
    40, // CHECKPOINT_RESTORE: the mapped files of other processes
    32, // MAC_OVERRIDE
    33, // MAC_ADMIN
    9,  // LINUX_IMMUTABLE: files of a layer that could not be deleted again
    25, // SYS_TIME: the clock by which ralph tells what was changed
];

#[repr(C)]
struct CapabilityHeader {
    version: u32,
    pid: c_int,
}

#[repr(C)]
#[derive(Clone, Copy, Default)]
struct CapabilityWord {
    effective: u32,
    permitted: u32,
    inheritable: u32,
}

/// Rights that a program in a sandbox keeps.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum KeptCapabilities {
    None,
    /// Those over the owners and modes of files.
    Owners,
    /// Those that a keeper needs to start a program as another user. The program itself has none of them.
    AnotherUser,
    /// The one that a keeper needs to pass signals on to another user's program.
    Signals,
    All,
}

/// CHOWN, DAC_OVERRIDE, FOWNER.
const OVER_OWNERS: [c_ulong; 3] = [0, 1, 3];
const KILL: c_ulong = 5;
const SETGID: c_ulong = 6;
const SETUID: c_ulong = 7;
/// Above the last one that any kernel knows.
const CAPABILITY_COUNT: c_ulong = 64;

/// Drops all but those that are kept.
pub(super) fn drop_all_but(kept: KeptCapabilities) -> Result<(), CallFailed> {
    if kept == KeptCapabilities::All {
        return Ok(());
    }
    let for_programs: &[c_ulong] = match kept {
        KeptCapabilities::Owners => &OVER_OWNERS,
        KeptCapabilities::None
        | KeptCapabilities::All
        | KeptCapabilities::AnotherUser
        | KeptCapabilities::Signals => &[],
    };
    let own: &[c_ulong] = match kept {
        KeptCapabilities::None | KeptCapabilities::All => &[],
        KeptCapabilities::Owners => &OVER_OWNERS,
        KeptCapabilities::AnotherUser => &[KILL, SETGID, SETUID],
        KeptCapabilities::Signals => &[KILL],
    };
    drop_those(
        |capability| !for_programs.contains(&capability),
        |capability| !own.contains(&capability),
    )
}

/// Drops them from all sets, so that no program with file capabilities brings them back. In a user
/// namespace an `exec` drops all of an ordinary user, but root stays root.
pub(super) fn drop_those_that_undo_mounts() -> Result<(), CallFailed> {
    let is_dropped = |capability| DROPPED.contains(&capability);
    drop_those(is_dropped, is_dropped)
}

/// `leaves_bounds` says which ones no program can get back, `is_dropped` those that this process gives up.
fn drop_those(
    leaves_bounds: impl Fn(c_ulong) -> bool,
    is_dropped: impl Fn(c_ulong) -> bool,
) -> Result<(), CallFailed> {
    let mut header = CapabilityHeader {
        version: 0x2008_0522,
        pid: 0,
    };
    let mut words = [CapabilityWord::default(); 2];
    // SAFETY: a header of the version with two words.
    check(
        unsafe { libc::syscall(libc::SYS_capget, &raw mut header, words.as_mut_ptr()) } as c_int,
    )?;
    for capability in 0..CAPABILITY_COUNT {
        // SAFETY: no pointers. Kernels that do not know a capability say so here.
        if leaves_bounds(capability)
            && unsafe { libc::prctl(libc::PR_CAPBSET_READ, capability, 0, 0, 0) } == 1
        {
            // SAFETY: no pointers.
            check(unsafe { libc::prctl(libc::PR_CAPBSET_DROP, capability, 0, 0, 0) })?;
        }
        if !is_dropped(capability) {
            continue;
        }
        let (word, bit) = ((capability / 32) as usize, 1_u32 << (capability % 32));
        if let Some(word) = words.get_mut(word) {
            word.effective &= !bit;
            word.permitted &= !bit;
            word.inheritable &= !bit;
        }
    }
    // SAFETY: as above.
    check(unsafe { libc::syscall(libc::SYS_capset, &raw mut header, words.as_ptr()) } as c_int)
}
