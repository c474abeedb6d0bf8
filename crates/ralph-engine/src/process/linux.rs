//! What Linux offers: namespaces and keepers that hold a process tree together, pidfds, `/proc`.

mod keeper;
mod kept_tree;
mod table;

pub(super) use table::{
    all_processes, ancestors, limit_writes_of_children, process_facts, use_of_children,
};

use std::io;
use std::net::TcpListener;
use std::os::fd::{AsFd, OwnedFd};

use rustix::process::{Pid, PidfdFlags, Signal, pidfd_open, pidfd_send_signal};
use tokio::process::{ChildStdin, Command};

use super::{
    Containment, Detection, Ended, FolderRename, MountPlan, MountTrial, PlatformLack, ProgramEvent,
    SandboxMeans, SandboxPlan, StartFailure, TreeStart, TrialFailure, portable,
};
use keeper::KeeperKind;
use kept_tree::KeptTree;

/// Large enough that a flooding program costs few wake-ups; the most an unprivileged user gets.
const PIPE_SIZE: usize = 1024 * 1024;

pub(super) const LACKS: &[PlatformLack] = &[];

/// Finds the strongest containment that works here, by really trying it.
pub(super) fn detect() -> Detection {
    let privileged = match probe(Containment::PidNamespace) {
        Ok(()) => return Containment::PidNamespace.because("it is allowed and the strongest way"),
        Err(error) => error,
    };
    let user = match probe(Containment::UserNamespace) {
        Ok(()) => {
            return Containment::UserNamespace
                .because(&format!("a plain PID namespace is refused ({privileged})"));
        }
        Err(error) => error,
    };
    Containment::Subreaper.because(&format!(
        "namespaces are refused (plain: {privileged}; with a user namespace: {user})"
    ))
}

/// Tries a containment with a child that does nothing.
pub(super) fn probe(containment: Containment) -> io::Result<()> {
    match keeper_kind(containment) {
        Some(kind) => keeper::probe(kind),
        None => portable::probe(containment),
    }
}

/// Tries a plan with a child that works with files. A containment without a mount namespace fails.
pub(super) fn try_mounts(
    plan: &MountPlan,
    trial: &MountTrial,
    containment: Containment,
) -> Result<FolderRename, TrialFailure> {
    match keeper_kind(containment) {
        Some(kind @ (KeeperKind::PidNamespace | KeeperKind::UserNamespace)) => {
            keeper::try_mounts(kind, plan, trial)
        }
        Some(KeeperKind::Subreaper) | None => Err(TrialFailure {
            step: "making the namespace".to_owned(),
            source: io::Error::new(
                io::ErrorKind::Unsupported,
                format!("{containment} has no mount namespace"),
            ),
        }),
    }
}

/// Tries a sandbox with a child that does nothing in it, or works with files there.
pub(super) fn try_sandbox(
    plan: &SandboxPlan,
    mounts: &MountPlan,
    trial: Option<&MountTrial>,
    containment: Containment,
) -> Result<(), TrialFailure> {
    match keeper_kind(containment) {
        Some(kind) if plan.means.works_in(containment) => {
            keeper::try_sandbox(kind, plan, mounts, trial)
        }
        Some(_) | None => Err(TrialFailure {
            step: "making the namespace".to_owned(),
            source: io::Error::new(
                io::ErrorKind::Unsupported,
                format!("{containment} allows no sandbox by {}", plan.means),
            ),
        }),
    }
}

/// The keeper that a containment needs, if it needs one.
fn keeper_kind(containment: Containment) -> Option<KeeperKind> {
    match containment {
        Containment::PidNamespace => Some(KeeperKind::PidNamespace),
        Containment::UserNamespace => Some(KeeperKind::UserNamespace),
        Containment::Subreaper => Some(KeeperKind::Subreaper),
        Containment::ProcessGroup => None,
    }
}

/// Gives a pipe room. Over the user's quota it stays small, which is slower and still right.
pub(super) fn widen_pipe(pipe: impl AsFd) {
    let _ = rustix::pipe::fcntl_setpipe_size(pipe, PIPE_SIZE);
}

/// A program and all it started.
#[derive(Debug)]
pub(super) enum Tree {
    Kept(KeptTree),
    Group(portable::Tree),
}

impl Tree {
    pub(super) fn start(
        command: Command,
        containment: Containment,
        start: TreeStart<'_>,
    ) -> Result<(Self, Option<ChildStdin>), StartFailure> {
        let kind = match start.sandbox {
            // In a namespace of ralph's it would be held to what ralph may do.
            Some(plan) if plan.means == SandboxMeans::Bwrap => Some(KeeperKind::Subreaper),
            Some(_) | None => keeper_kind(containment),
        };
        match kind {
            Some(kind) => {
                let (tree, stdin) = KeptTree::start(command, kind, start)?;
                Ok((Self::Kept(tree), stdin))
            }
            None => {
                let (tree, stdin) = portable::Tree::start(command, containment, start)?;
                Ok((Self::Group(tree), stdin))
            }
        }
    }

    pub(super) fn pid(&self) -> Pid {
        match self {
            Self::Kept(tree) => tree.pid(),
            Self::Group(tree) => tree.pid(),
        }
    }

    pub(super) fn take_doors(&mut self) -> Vec<TcpListener> {
        match self {
            Self::Kept(tree) => tree.take_doors(),
            Self::Group(_) => Vec::new(),
        }
    }

    pub(super) fn signal(&self, signal: Signal) {
        match self {
            Self::Kept(tree) => tree.signal(signal),
            Self::Group(tree) => tree.signal(signal),
        }
    }

    pub(super) async fn wait(&mut self) -> io::Result<Ended> {
        match self {
            Self::Kept(tree) => tree.wait().await,
            Self::Group(tree) => tree.wait().await,
        }
    }

    pub(super) async fn next(&mut self) -> io::Result<ProgramEvent> {
        match self {
            Self::Kept(tree) => tree.next().await,
            Self::Group(tree) => tree.next().await,
        }
    }

    pub(super) fn kill_now(&self) {
        match self {
            Self::Kept(tree) => tree.kill_now(),
            Self::Group(tree) => tree.kill_now(),
        }
    }
}

/// A process held fast: another one can't get its number while this lives.
#[derive(Debug)]
pub(super) struct ProcessHandle(OwnedFd);

impl ProcessHandle {
    /// `None` if there is no such process.
    pub(super) fn open(pid: Pid) -> io::Result<Option<Self>> {
        match pidfd_open(pid, PidfdFlags::empty()) {
            Ok(handle) => Ok(Some(Self(handle))),
            Err(rustix::io::Errno::SRCH) => Ok(None),
            Err(error) => Err(error.into()),
        }
    }

    pub(super) fn signal(&self, signal: Signal) -> rustix::io::Result<()> {
        pidfd_send_signal(&self.0, signal)
    }
}
