//! Runs one program such that nothing it starts outlives it: not after it exits, not after a
//! time-out, not after ralph itself is killed.
//!
//! On Linux:
//!
//! ```text
//! ralph ── A (keeper, dies with ralph) ── B (pid 1 of a namespace, dies with A) ── C (the program)
//! ```
//!
//! When C ends, B reports C's exact status through a pipe and exits; the kernel then kills all that
//! is left in the namespace before A can see B's end. So when [`Running::wait`] returns, the whole
//! tree is dead, also what had left its session or forked twice. Where namespaces are refused, A is
//! a subreaper that kills and reaps until it has no child left ([`Containment::Subreaper`]).
//!
//! Other systems have process groups alone ([`Containment::ProcessGroup`]), which is weaker and said
//! ([`platform_lacks`]). `linux` and `portable` have one interface; `platform` is the one in use.
//!
//! **Invariant: one runtime spawns from one thread.** The kernel sends the parent-death signal when
//! the spawning *thread* ends, not the process. ralph's runtime is `current_thread` and lives on the
//! main thread; nothing may spawn from `spawn_blocking`. Debug builds check it.
//!
//! This module must not know what a program means: agents, verify commands and git are its callers.

mod ancestry;
mod capped_log;
mod containment;
mod identity;
mod keeper_name;
mod lines;
#[cfg(target_os = "linux")]
mod linux;
mod mounts;
#[cfg_attr(
    not(target_os = "linux"),
    allow(dead_code, reason = "elsewhere no keeper takes them away")
)]
mod placeholders;
#[cfg_attr(
    target_os = "linux",
    allow(dead_code, reason = "here only the process group and the tests use it")
)]
mod portable;
mod running;
mod sandbox;
mod spec;
mod sys;
mod tail;
mod terminal;

#[cfg(target_os = "linux")]
use linux as platform;
#[cfg(not(target_os = "linux"))]
use portable as platform;

pub use ancestry::{Ancestor, ancestors, pid_namespace};
pub use capped_log::{CappedLog, LogCaps};
pub use containment::{Containment, Detection, PlatformLack, UnknownContainment, platform_lacks};
pub use identity::{ProcessIdentity, signal_if};
pub use keeper_name::KeeperName;
pub use lines::{LineEnding, LineReader, OutputLine};
pub use mounts::{
    BindAccess, FolderRename, MountPlan, MountPlanError, MountStep, MountTrial, OverlayMount,
    OverlayOptions, OverlaySync, OverlayXattrs, TrialFailure,
};
pub use placeholders::{
    PlaceholderKind, Placeholders, has_placeholders, is_placeholder, sweep_placeholders,
};
pub use running::{Ended, ProgramEvent, Running, StopPlan, spawn, spawn_on};
pub use rustix::process::Signal;
pub use sandbox::{
    FILTER_DESCRIPTORS, OwnedPath, OwnerNeed, SandboxIdentity, SandboxImage, SandboxLimits,
    SandboxMeans, SandboxNetwork, SandboxPlan, ShownAs, ShownPath,
};
pub use spec::{CommandSpec, Output, SpawnError, Stdin};
pub use tail::Tail;
pub use terminal::{Terminal, TerminalError};
pub use tokio::net::unix::pipe::Receiver as OutputPipe;
pub use tokio::process::ChildStdin;

/// Returns true if a signal does nothing to this process, as SIGHUP under `nohup`.
pub fn is_ignored(signal: Signal) -> bool {
    sys::is_ignored(signal.as_raw())
}

use identity::{ProcessFacts, ProcessStatus};
#[cfg(target_os = "linux")]
use placeholders::PlaceholderRemoval;
use running::{StartFailure, TerminalAccess, TreeStart, exit_of};

/// Gives a pipe as much room as the system allows, so that a whole prompt is usually written at once.
pub fn widen_pipe(pipe: impl std::os::fd::AsFd) {
    platform::widen_pipe(pipe);
}

/// Tries a plan with a child that makes, changes, renames and deletes a file, in a namespace of its
/// own. What it leaves in the upper folder is for the caller to read: the kernel mounts an overlay
/// read-only, without an error, where it can't use the work folder.
pub fn try_mounts(
    plan: &MountPlan,
    trial: &MountTrial,
    containment: Containment,
) -> Result<FolderRename, TrialFailure> {
    platform::try_mounts(plan, trial, containment)
}

/// The use that all programs which this process has started make of the machine.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct TreeUse {
    pub processes: u64,
    pub memory_bytes: u64,
}

/// Sums up what all programs that this process has started use; nothing where the platform can't tell.
pub fn use_of_children() -> TreeUse {
    platform::use_of_children()
}

/// The writing of files by the programs that this process has started.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FileWrites {
    /// Each write to a file fails with EFBIG.
    Refused,
    /// A write fails beyond so many bytes of a file, if there is such a limit.
    UpTo(Option<u64>),
}

/// Refuses or allows the writing of files to all programs that this process has started. A program may undo it:
/// it is to be asked for again for as long as it is to hold. Does nothing where the platform can't.
pub fn limit_writes_of_children(writes: FileWrites) {
    platform::limit_writes_of_children(writes);
}

/// Tries a sandbox with a child that does nothing in it, or works with files there.
pub fn try_sandbox(
    plan: &SandboxPlan,
    mounts: &MountPlan,
    trial: Option<&MountTrial>,
    containment: Containment,
) -> Result<(), TrialFailure> {
    platform::try_sandbox(plan, mounts, trial, containment)
}
