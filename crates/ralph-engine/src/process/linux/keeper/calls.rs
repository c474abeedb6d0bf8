//! The system calls that a program in a sandbox may not make, as filters of the kernel (seccomp).
//!
//! Files and networks are walls of their own. Here goes what reaches around them, or what no build or test
//! needs and the kernel had many holes in.

use std::os::fd::OwnedFd;
use std::sync::Arc;

use libc::{c_int, c_long};
use seccompiler::{
    BpfProgram, SeccompAction, SeccompCmpArgLen, SeccompCmpOp, SeccompCondition, SeccompFilter,
    SeccompRule, TargetArch, sock_filter,
};

use crate::process::MountPlanError;
use crate::process::sys::{CallFailed, check};

/// Calls that are not there: programs that would like them have another way.
const ABSENT: [c_long; 3] = [
    libc::SYS_io_uring_setup,
    libc::SYS_io_uring_enter,
    libc::SYS_io_uring_register,
];

/// Calls that are refused.
const REFUSED: [c_long; 20] = [
    // The keys of the user's session.
    libc::SYS_keyctl,
    libc::SYS_add_key,
    libc::SYS_request_key,
    // Code in the kernel, and its memory.
    libc::SYS_bpf,
    libc::SYS_perf_event_open,
    libc::SYS_userfaultfd,
    libc::SYS_init_module,
    libc::SYS_finit_module,
    libc::SYS_delete_module,
    libc::SYS_kexec_load,
    libc::SYS_kexec_file_load,
    // Any file of a file system by its number.
    libc::SYS_open_by_handle_at,
    // The machine.
    libc::SYS_reboot,
    libc::SYS_swapon,
    libc::SYS_swapoff,
    libc::SYS_acct,
    libc::SYS_settimeofday,
    libc::SYS_clock_settime,
    libc::SYS_quotactl,
    libc::SYS_syslog,
];

/// Calls by which namespaces and mounts are made.
const NESTING: [c_long; 12] = [
    libc::SYS_setns,
    libc::SYS_unshare,
    libc::SYS_mount,
    libc::SYS_umount2,
    libc::SYS_pivot_root,
    libc::SYS_chroot,
    libc::SYS_open_tree,
    libc::SYS_move_mount,
    libc::SYS_fsopen,
    libc::SYS_fsmount,
    libc::SYS_fspick,
    libc::SYS_mount_setattr,
];

/// All kinds of namespaces that `clone` makes.
const NAMESPACES: u64 = (libc::CLONE_NEWUSER
    | libc::CLONE_NEWNS
    | libc::CLONE_NEWPID
    | libc::CLONE_NEWNET
    | libc::CLONE_NEWIPC
    | libc::CLONE_NEWUTS
    | libc::CLONE_NEWCGROUP) as u64;

/// Kinds of sockets that reach the host of a virtual machine, or frames below the network.
const SOCKETS: [c_int; 3] = [libc::AF_VSOCK, libc::AF_PACKET, libc::AF_XDP];

/// Writes into the input of a terminal, as if a person typed.
const TERMINAL_INPUT: [u64; 2] = [0x5412, 0x541C];

/// Calls that set the mode of a file, with the number of the argument that has it.
const MODES: [(c_long, u8); 4] = [
    (libc::SYS_fchmod, 1),
    (libc::SYS_fchmodat, 2),
    (FCHMODAT2, 2),
    (libc::SYS_mknodat, 2),
];
#[cfg(target_arch = "x86_64")]
const OLDER_MODES: [(c_long, u8); 2] = [(libc::SYS_chmod, 1), (libc::SYS_mknod, 1)];
#[cfg(not(target_arch = "x86_64"))]
const OLDER_MODES: [(c_long, u8); 0] = [];
const FCHMODAT2: c_long = 452;

/// Calls that open a file, with the numbers of the arguments that have the flags and the mode of a new one.
const OPENING: [(c_long, u8, u8); 1] = [(libc::SYS_openat, 2, 3)];
#[cfg(target_arch = "x86_64")]
const OLDER_OPENING: [(c_long, u8, u8); 1] = [(libc::SYS_open, 1, 2)];
#[cfg(not(target_arch = "x86_64"))]
const OLDER_OPENING: [(c_long, u8, u8); 0] = [];

/// The rights of a program besides those that every one in a sandbox lacks.
#[derive(Debug, Clone, Copy)]
pub(super) struct CallRights {
    /// It may make namespaces of its own.
    pub(super) nested: bool,
    /// It may choose the processors that it runs on.
    pub(super) chooses_cpus: bool,
    /// It may make programs that run with the rights of their owner. What it makes may be root's on the disk.
    pub(super) sets_user: bool,
}

/// Filters ready to be installed, in their order.
#[derive(Clone)]
pub(super) struct CallFilter(Arc<[BpfProgram]>);

impl CallFilter {
    /// Fails only on a processor that the filters are not written for.
    pub(super) fn new(rights: CallRights) -> Result<Self, MountPlanError> {
        let compiled = Self::compile(rights);
        compiled.map_err(|error| MountPlanError::Filter {
            reason: error.to_string(),
        })
    }

    fn compile(rights: CallRights) -> Result<Self, seccompiler::BackendError> {
        let arch = TargetArch::try_from(std::env::consts::ARCH)?;
        let whole = |calls: &[c_long]| -> Vec<(i64, Vec<SeccompRule>)> {
            calls.iter().map(|call| (*call, Vec::new())).collect()
        };
        let mut absent = whole(&ABSENT);
        let mut refused = whole(&REFUSED);
        if !rights.sets_user {
            refused.extend(setting_user()?);
            // Its mode is in memory as well. Programs then call the older one.
            absent.extend(whole(&[libc::SYS_openat2]));
        }
        if !rights.chooses_cpus {
            refused.extend(whole(&[libc::SYS_sched_setaffinity]));
        }
        let is = |argument, value: u64| {
            SeccompCondition::new(argument, SeccompCmpArgLen::Dword, SeccompCmpOp::Eq, value)
                .and_then(|condition| SeccompRule::new(vec![condition]))
        };
        let sockets = SOCKETS
            .iter()
            .map(|family| is(0, family.unsigned_abs().into()));
        refused.push((libc::SYS_socket, sockets.collect::<Result<_, _>>()?));
        let typed = TERMINAL_INPUT.iter().map(|request| is(1, *request));
        refused.push((libc::SYS_ioctl, typed.collect::<Result<_, _>>()?));
        if !rights.nested {
            refused.extend(whole(&NESTING));
            // The flags of this one are in memory, where a filter can't read; the C library then calls `clone`.
            absent.extend(whole(&[libc::SYS_clone3]));
            let bits = (0..64)
                .map(|bit| 1_u64 << bit)
                .filter(|bit| NAMESPACES & bit != 0);
            let makes = bits.map(|bit| {
                let operator = SeccompCmpOp::MaskedEq(bit);
                SeccompCondition::new(0, SeccompCmpArgLen::Qword, operator, bit)
                    .and_then(|condition| SeccompRule::new(vec![condition]))
            });
            refused.push((libc::SYS_clone, makes.collect::<Result<_, _>>()?));
        }
        let program = |rules: Vec<(i64, Vec<SeccompRule>)>, errno: c_int| {
            let refuse = SeccompAction::Errno(errno.unsigned_abs());
            let rules = rules.into_iter().collect();
            SeccompFilter::new(rules, SeccompAction::Allow, refuse, arch)?.try_into()
        };
        let programs: [BpfProgram; 3] = [
            program(refused, libc::EPERM)?,
            program(absent, libc::ENOSYS)?,
            without_second_numbers(),
        ];
        Ok(Self(programs.into()))
    }

    /// Files that hold them, for a program that installs them itself.
    pub(super) fn as_files(&self) -> Result<Vec<OwnedFd>, MountPlanError> {
        let files = self.0.iter().map(|program| {
            let file = rustix::fs::memfd_create("filter", rustix::fs::MemfdFlags::CLOEXEC)?;
            let bytes: Vec<u8> = program.iter().flat_map(instruction_bytes).collect();
            // The place to read from stays at the beginning.
            rustix::io::pwrite(&file, &bytes, 0)?;
            Ok(file)
        });
        let files: rustix::io::Result<Vec<OwnedFd>> = files.collect();
        files.map_err(|error| MountPlanError::Filter {
            reason: error.to_string(),
        })
    }

    /// Runs in C, which can't gain rights any more.
    pub(super) fn install(&self) -> Result<(), CallFailed> {
        #[repr(C)]
        struct FilterProgram {
            length: libc::c_ushort,
            filter: *const sock_filter,
        }
        for program in self.0.iter() {
            let filter = FilterProgram {
                length: program.len() as libc::c_ushort,
                filter: program.as_ptr(),
            };
            // SAFETY: the program lives as long as this, and has the length that is given.
            let done = unsafe {
                libc::syscall(
                    libc::SYS_seccomp,
                    libc::SECCOMP_SET_MODE_FILTER,
                    0,
                    &raw const filter,
                )
            };
            check(done as c_int)?;
        }
        Ok(())
    }
}

/// Rules about making a program that runs as its owner.
fn setting_user() -> Result<Vec<(i64, Vec<SeccompRule>)>, seccompiler::BackendError> {
    let has = |argument, bit: u32| {
        let operator = SeccompCmpOp::MaskedEq(bit.into());
        SeccompCondition::new(argument, SeccompCmpArgLen::Dword, operator, bit.into())
    };
    let mut rules = Vec::new();
    for (call, mode) in MODES.iter().chain(&OLDER_MODES) {
        let rule = SeccompRule::new(vec![has(*mode, libc::S_ISUID)?])?;
        rules.push((*call, vec![rule]));
    }
    #[cfg(target_arch = "x86_64")]
    rules.push((
        libc::SYS_creat,
        vec![SeccompRule::new(vec![has(1, libc::S_ISUID)?])?],
    ));
    // Where no file is made, the last argument is anything.
    let makes = [libc::O_CREAT, libc::O_TMPFILE & !libc::O_DIRECTORY];
    for (call, flags, mode) in OPENING.iter().chain(&OLDER_OPENING) {
        let made = makes.iter().map(|flag| {
            let flag = has(*flags, flag.cast_unsigned())?;
            SeccompRule::new(vec![flag, has(*mode, libc::S_ISUID)?])
        });
        rules.push((*call, made.collect::<Result<_, _>>()?));
    }
    Ok(rules)
}

/// An instruction as the kernel has it in memory.
fn instruction_bytes(step: &sock_filter) -> [u8; 8] {
    let ([a, b], [c, d, e, f]) = (step.code.to_ne_bytes(), step.k.to_ne_bytes());
    [a, b, step.jt, step.jf, c, d, e, f]
}

/// Keeps programs from the calls of x32, which are the same ones under numbers that no other filter knows.
/// Other processors have none of that size.
fn without_second_numbers() -> BpfProgram {
    const LOAD: u16 = 0x20;
    const JUMP_IF_NOT_BELOW: u16 = 0x35;
    const RETURN: u16 = 0x06;
    const FIRST_OF_X32: u32 = 0x4000_0000;
    let step = |code, jt, k| sock_filter { code, jt, jf: 0, k };
    vec![
        step(LOAD, 0, 0),
        step(JUMP_IF_NOT_BELOW, 1, FIRST_OF_X32),
        step(RETURN, 0, libc::SECCOMP_RET_ALLOW),
        step(
            RETURN,
            0,
            libc::SECCOMP_RET_ERRNO | libc::ENOSYS.unsigned_abs(),
        ),
    ]
}
