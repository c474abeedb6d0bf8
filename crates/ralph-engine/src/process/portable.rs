//! What every Unix offers: process groups, `ps`, signals by number.
//!
//! Weaker than `linux`. What leaves its group, by `setsid` say, outlives its program; all of it
//! outlives a ralph that is killed. Other systems have nothing else; on Linux the process group can be
//! asked for, and the tests run everything in here.

mod group;
mod table;

pub(super) use group::ProcessGroup as Tree;
#[cfg_attr(target_os = "linux", allow(unused_imports))]
pub(super) use table::{all_processes, ancestors, process_facts};

use std::io;
use std::os::fd::AsFd;

use rustix::process::{Pid, Signal};

use super::{
    Containment, Detection, FileWrites, FolderRename, MountPlan, MountTrial, PlatformLack,
    SandboxPlan, TreeUse, TrialFailure,
};

/// What ralph uses on Linux, and every other system lacks.
pub(super) const LACKS: &[PlatformLack] = &[
    PlatformLack {
        feature: "PID namespaces",
        consequence: "what a program starts and moves to a session of its own outlives it",
    },
    PlatformLack {
        feature: "the parent-death signal",
        consequence: "what an agent or a verify command does goes on if ralph is killed",
    },
    PlatformLack {
        feature: "pidfds",
        consequence: "a signal to another ralph goes to a process number, looked up right before",
    },
    PlatformLack {
        feature: "inotify",
        consequence: "the file by which an agent says that it is done is looked for five times a second",
    },
    PlatformLack {
        feature: "/proc",
        consequence: "the process that holds a lock of git or the journal is not named, and a lock that \
                      git left behind counts as such after ten minutes",
    },
];

pub(super) fn detect() -> Detection {
    Containment::ProcessGroup.because(&format!(
        "{} has neither namespaces nor subreapers",
        std::env::consts::OS
    ))
}

pub(super) fn probe(containment: Containment) -> io::Result<()> {
    match containment {
        Containment::ProcessGroup => Ok(()),
        Containment::PidNamespace | Containment::UserNamespace | Containment::Subreaper => Err(
            io::Error::new(io::ErrorKind::Unsupported, "only Linux has it"),
        ),
    }
}

/// Fails: there is nothing to try.
pub(super) fn try_mounts(
    _plan: &MountPlan,
    _trial: &MountTrial,
    _containment: Containment,
) -> Result<FolderRename, TrialFailure> {
    Err(TrialFailure {
        step: "making the namespace".to_owned(),
        source: io::Error::new(
            io::ErrorKind::Unsupported,
            "overlay file systems are a Linux feature",
        ),
    })
}

/// Other systems are not asked.
pub(super) fn use_of_children() -> TreeUse {
    TreeUse::default()
}

/// Other systems have no such limit for a program that runs.
pub(super) fn limit_writes_of_children(_writes: FileWrites) {}

pub(super) fn try_sandbox(
    _plan: &SandboxPlan,
    _mounts: &MountPlan,
    _trial: Option<&MountTrial>,
    _containment: Containment,
) -> Result<(), TrialFailure> {
    Err(TrialFailure {
        step: "making the namespace".to_owned(),
        source: io::Error::new(io::ErrorKind::Unsupported, "sandboxes are a Linux feature"),
    })
}

/// Pipes keep the size that the system gives them.
pub(super) fn widen_pipe(_pipe: impl AsFd) {}

/// A process by its number alone.
#[derive(Debug)]
pub(super) struct ProcessHandle(Pid);

impl ProcessHandle {
    /// `None` if there is no such process.
    pub(super) fn open(pid: Pid) -> io::Result<Option<Self>> {
        match rustix::process::test_kill_process(pid) {
            Err(rustix::io::Errno::SRCH) => Ok(None),
            Ok(()) | Err(_) => Ok(Some(Self(pid))),
        }
    }

    pub(super) fn signal(&self, signal: Signal) -> rustix::io::Result<()> {
        rustix::process::kill_process(self.0, signal)
    }
}
