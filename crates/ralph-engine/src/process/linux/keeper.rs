//! The two small processes between ralph and a program: A, which dies with ralph, and B, which is
//! pid 1 of the program's namespace.
//!
//! All of it runs between `fork` and `exec` in a copy of ralph's memory, where another thread may
//! have held any lock at the moment of the fork. So: system calls only. No allocation, no formatting,
//! no panic, no standard library function that might do one of these.
//!
//! A and B must hold none of the descriptors they inherit: not the program's pipes, or they would
//! never end; not the standard library's exec-error pipe, or `spawn` would never return.

#![allow(unsafe_code)]

mod calls;
mod capabilities;
mod mounts;
mod owners;
mod rules;
mod sandbox;
mod sys;
mod trial;

use std::io;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, RawFd};
use std::path::Path;
use std::process::Stdio;

use libc::{c_int, pid_t};

use crate::process::{
    FolderRename, KeeperName, MountPlan, MountTrial, PlaceholderRemoval, SandboxPlan,
    TerminalAccess, TrialFailure, sys as posix,
};
pub(super) use mounts::CompiledMounts;
pub(super) use sandbox::CompiledSandbox;
use trial::CompiledTrial;

/// Asks a keeper to kill the tree, and to end only when that is done. Killing the keeper itself would
/// do as much in a namespace, but its end would say nothing of the tree's; and it would set the tree of
/// a subreaper free.
pub(super) const KILL_TREE: rustix::process::Signal = rustix::process::Signal::POWER;

const FORWARDED: [c_int; 6] = [
    libc::SIGINT,
    libc::SIGTERM,
    libc::SIGHUP,
    libc::SIGQUIT,
    libc::SIGUSR1,
    libc::SIGUSR2,
];

/// A word of a keeper through the status pipe, eight bytes: a kind, and a value.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum KeeperMessage {
    /// The program's raw wait status.
    Ended(c_int),
    /// A step of the containment failed; the errno comes from `spawn`.
    Failed(&'static str),
    /// The step with this number of the mounts failed; the errno comes from `spawn`.
    FailedMount(usize),
    /// The entry with this number of the sandbox failed; the errno comes from `spawn`.
    FailedSandbox(usize),
    /// The program was stopped, by itself or from its terminal, and waits to be continued.
    Suspended,
}

impl KeeperMessage {
    const STEPS: [&'static str; 19] = [
        "making the namespace",
        "mapping the user",
        "forking",
        "becoming a subreaper",
        "taking the terminal",
        "keeping mounts private",
        "mounting /proc",
        "dropping capabilities",
        "entering the working folder",
        "creating a file",
        "changing a file",
        "renaming a file",
        "deleting a file",
        "renaming a folder",
        "opening a file of the lower folder for writing",
        "closing the sandbox",
        "becoming another user",
        "keeping it from settings of the kernel",
        "limiting the size of files",
    ];

    pub(super) fn parse(bytes: [u8; 8]) -> Option<Self> {
        let [a, b, c, d, e, f, g, h] = bytes;
        let value = i32::from_ne_bytes([e, f, g, h]);
        match i32::from_ne_bytes([a, b, c, d]) {
            0 => Some(Self::Ended(value)),
            1 => Self::STEPS
                .get(usize::try_from(value).ok()?)
                .map(|step| Self::Failed(step)),
            2 => Some(Self::Suspended),
            3 => usize::try_from(value).ok().map(Self::FailedMount),
            4 => usize::try_from(value).ok().map(Self::FailedSandbox),
            _ => None,
        }
    }
}

impl KeeperMessage {
    /// The name of the step that failed, if it tells of one.
    pub(super) fn failed_step(
        self,
        mounts: Option<&CompiledMounts>,
        sandbox: Option<&CompiledSandbox>,
    ) -> Option<String> {
        match self {
            Self::Failed(step) => Some(step.to_owned()),
            Self::FailedMount(index) => Some(CompiledMounts::step_name(mounts, index)),
            Self::FailedSandbox(index) => Some(CompiledSandbox::step_name(sandbox, index)),
            Self::Ended(_) | Self::Suspended => None,
        }
    }
}

#[derive(Clone, Copy)]
enum SetupStep {
    Namespace,
    Map,
    Fork,
    Subreaper,
    Terminal,
    Propagation,
    Proc,
    Capabilities,
    Folder,
    CreateFile,
    ChangeFile,
    RenameFile,
    DeleteFile,
    RenameFolder,
    OpenLower,
    Sandbox,
    User,
    KernelSettings,
    Limit,
}

/// The last step of the process that is to become the program.
enum LastStep {
    Exec,
    Exit,
    Trial(CompiledTrial),
}

/// The means by which a keeper holds its tree.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum KeeperKind {
    PidNamespace,
    UserNamespace,
    Subreaper,
}

/// The task of a keeper.
pub(super) struct KeeperStart<'a> {
    pub(super) kind: KeeperKind,
    /// Must stay open until the command was spawned.
    pub(super) status: BorrowedFd<'a>,
    pub(super) access: TerminalAccess,
    pub(super) mounts: Option<CompiledMounts>,
    pub(super) sandbox: Option<CompiledSandbox>,
    pub(super) name: KeeperName,
    /// Taken away when the tree is dead, also where ralph is.
    pub(super) placeholders: Option<PlaceholderRemoval>,
}

/// All that A and B need to know, gathered before the fork.
struct Keeper {
    kind: KeeperKind,
    ralph: pid_t,
    uid: u32,
    gid: u32,
    status: RawFd,
    access: TerminalAccess,
    mounts: Option<CompiledMounts>,
    sandbox: Option<CompiledSandbox>,
    name: KeeperName,
    placeholders: Option<PlaceholderRemoval>,
    last: LastStep,
}

impl Keeper {
    fn new(start: KeeperStart<'_>, last: LastStep) -> Self {
        Self {
            kind: start.kind,
            ralph: std::process::id().cast_signed(),
            uid: rustix::process::geteuid().as_raw(),
            gid: rustix::process::getegid().as_raw(),
            status: start.status.as_raw_fd(),
            access: start.access,
            mounts: start.mounts,
            sandbox: start.sandbox,
            name: start.name,
            placeholders: start.placeholders,
            last,
        }
    }
}

/// Makes `command` start its program below a keeper that reports through the status pipe.
pub(super) fn install(command: &mut tokio::process::Command, start: KeeperStart<'_>) {
    let keeper = Keeper::new(start, LastStep::Exec);
    // SAFETY: `enter` makes only async-signal-safe system calls, see the module's head.
    unsafe {
        command.pre_exec(move || keeper.enter());
    }
}

/// Goes through the whole containment with a program that exits at once.
pub(super) fn probe(kind: KeeperKind) -> io::Result<()> {
    let rehearsal = Rehearsal::run(kind, None, None, LastStep::Exit)?;
    rehearsal.spawned?;
    match rehearsal.message {
        Some(KeeperMessage::Ended(0)) => Ok(()),
        _ => Err(io::Error::other("the keeper ended without a report")),
    }
}

/// Performs a plan, and works with files where a program would be.
pub(super) fn try_mounts(
    kind: KeeperKind,
    plan: &MountPlan,
    trial: &MountTrial,
) -> Result<FolderRename, TrialFailure> {
    let failed = |step: &str, source: io::Error| TrialFailure {
        step: step.to_owned(),
        source,
    };
    let planned =
        |error: crate::process::MountPlanError| failed("planning the mounts", error.into());
    let mounts = CompiledMounts::new(plan, &trial.folder, None).map_err(planned)?;
    let last = LastStep::Trial(CompiledTrial::new(trial).map_err(planned)?);
    let rehearsal = Rehearsal::run(kind, Some(mounts.clone()), None, last)
        .map_err(|source| failed("making the namespace", source))?;
    match (rehearsal.spawned, rehearsal.message) {
        (Err(source), message) => {
            let step = message.and_then(|message| message.failed_step(Some(&mounts), None));
            Err(failed(
                step.as_deref().unwrap_or("making the namespace"),
                source,
            ))
        }
        (Ok(()), Some(KeeperMessage::Ended(0))) => Ok(FolderRename::Works),
        (Ok(()), Some(KeeperMessage::Ended(raw)))
            if libc::WEXITSTATUS(raw) == trial::CROSS_DEVICE =>
        {
            Ok(FolderRename::CrossDevice)
        }
        (Ok(()), _) => Err(failed(
            "making the namespace",
            io::Error::other("the keeper ended without a report"),
        )),
    }
}

/// Goes through a whole sandbox with a program that exits at once, or works with files.
pub(super) fn try_sandbox(
    kind: KeeperKind,
    plan: &SandboxPlan,
    mounts: &MountPlan,
    trial: Option<&MountTrial>,
) -> Result<(), TrialFailure> {
    let failed = |step: &str, source: io::Error| TrialFailure {
        step: step.to_owned(),
        source,
    };
    let planned =
        |error: crate::process::MountPlanError| failed("planning the sandbox", error.into());
    let folder = trial.map_or(Path::new("/"), |trial| &trial.folder);
    let user = plan.identity.as_ref().map(|identity| identity.id);
    let mounts = plan
        .means
        .needs_mounts()
        .then(|| CompiledMounts::new(mounts, folder, user))
        .transpose()
        .map_err(planned)?;
    let sandbox = CompiledSandbox::new(plan, None).map_err(planned)?;
    let last = match trial {
        Some(trial) => LastStep::Trial(CompiledTrial::new(trial).map_err(planned)?.in_sandbox()),
        None => LastStep::Exit,
    };
    let rehearsal = Rehearsal::run(kind, mounts.clone(), Some(sandbox.clone()), last)
        .map_err(|source| failed("making the namespace", source))?;
    match (rehearsal.spawned, rehearsal.message) {
        (Ok(()), Some(KeeperMessage::Ended(0))) => Ok(()),
        (Ok(()), Some(KeeperMessage::Ended(raw)))
            if libc::WEXITSTATUS(raw) == trial::CROSS_DEVICE =>
        {
            Ok(())
        }
        (Err(source), Some(message)) => {
            let step = message.failed_step(mounts.as_ref(), Some(&sandbox));
            Err(failed(step.as_deref().unwrap_or("starting"), source))
        }
        (Err(source), None) => Err(failed("making the namespace", source)),
        (Ok(()), _) => Err(failed(
            "making the namespace",
            io::Error::other("the keeper ended without a report"),
        )),
    }
}

/// A containment that was gone through without a program.
struct Rehearsal {
    spawned: io::Result<()>,
    message: Option<KeeperMessage>,
}

impl Rehearsal {
    fn run(
        kind: KeeperKind,
        mounts: Option<CompiledMounts>,
        sandbox: Option<CompiledSandbox>,
        last: LastStep,
    ) -> io::Result<Self> {
        use std::os::unix::process::CommandExt;

        let (read, write) = io::pipe()?;
        let start = KeeperStart {
            kind,
            status: write.as_fd(),
            access: TerminalAccess::None,
            mounts,
            sandbox,
            name: KeeperName::default(),
            placeholders: None,
        };
        let keeper = Keeper::new(start, last);
        let mut command = std::process::Command::new("true");
        command
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::null());
        // SAFETY: as in `install`.
        unsafe {
            command.pre_exec(move || keeper.enter());
        }
        let spawned = match command.spawn() {
            Ok(mut child) => child.wait().map(|_| ()),
            Err(error) => Err(error),
        };
        drop(write);
        let mut message = [0; 8];
        let message = match rustix::io::read(&read, &mut message)? {
            8 => KeeperMessage::parse(message),
            _ => None,
        };
        Ok(Self { spawned, message })
    }
}

impl Keeper {
    /// Runs in A. Returns only in the process that is to become the program.
    fn enter(&self) -> io::Result<()> {
        match self.access {
            TerminalAccess::None => posix::new_session(),
            // A signal to ralph's group must reach the program once, through ralph.
            TerminalAccess::Foreground => posix::new_group(),
        }
        match (self.kind, &self.placeholders) {
            (KeeperKind::PidNamespace | KeeperKind::UserNamespace, None) => {
                sys::parent_death_signal(libc::SIGKILL);
            }
            // It has something to do besides.
            (KeeperKind::PidNamespace | KeeperKind::UserNamespace, Some(_))
            | (KeeperKind::Subreaper, _) => sys::parent_death_signal(KILL_TREE.as_raw()),
        }
        if sys::parent() != self.ralph {
            // ralph died before the signal was asked for.
            sys::exit(1);
        }
        posix::block_all_signals();
        // Before there is a program, which must not see its keeper under another name. B inherits it.
        sys::set_name(self.name.as_c_str());
        match self.kind {
            KeeperKind::PidNamespace => self.enter_namespace(0),
            KeeperKind::UserNamespace => self.enter_namespace(libc::CLONE_NEWUSER),
            KeeperKind::Subreaper => self.enter_subreaper(),
        }
    }

    fn enter_namespace(&self, user: c_int) -> io::Result<()> {
        // B's parent is outside its namespace, so getppid is 0 whether A lives or not: a pipe whose
        // only writer is A tells.
        let Ok((alive, hold)) = sys::pipe() else {
            return self.failed(SetupStep::Namespace);
        };
        let more = self.sandbox.as_ref().map_or(0, CompiledSandbox::namespaces);
        match self.clone(libc::CLONE_NEWPID | libc::CLONE_NEWNS | user | more) {
            Err(_) => self.failed(SetupStep::Namespace),
            Ok(Some(b)) => {
                sys::close_all_but([hold, self.lock_or(hold)]);
                sys::hide();
                pass_on_until_end(b);
                self.leave()
            }
            Ok(None) => {
                sys::close(hold);
                sys::parent_death_signal(libc::SIGKILL);
                if sys::hung_up(alive) {
                    sys::exit(1);
                }
                sys::close(alive);
                self.be_init(user != 0)
            }
        }
    }

    /// Starts the tree, in the control group that limits it if there is one.
    fn clone(&self, namespaces: c_int) -> Result<Option<pid_t>, posix::CallFailed> {
        match self.sandbox.as_ref().and_then(CompiledSandbox::group) {
            Some(group) => sys::clone_into(namespaces, group),
            None => sys::clone(namespaces),
        }
    }

    /// Runs in B, pid 1 of the new namespace.
    fn be_init(&self, map_user: bool) -> io::Result<()> {
        if map_user {
            let outside = (self.uid, self.gid);
            let is_root_inside = self.sandbox.as_ref().is_some_and(CompiledSandbox::has_root);
            let inside = if is_root_inside { (0, 0) } else { outside };
            if sys::map_own_user(inside, outside).is_err() {
                return self.failed(SetupStep::Map);
            }
        }
        match &self.mounts {
            // Without a /proc of its own the tree would see the pids of the outside, which is a
            // nuisance and not a danger; some containers forbid the mount.
            None => sys::mount_own_proc(),
            Some(mounts) => self.mount_all(mounts)?,
        }
        match sys::clone(0) {
            Err(_) => self.failed(SetupStep::Fork),
            Ok(None) => self.be_program(),
            Ok(Some(program)) => {
                sys::close_all_but([self.status, self.status]);
                sys::hide();
                let dropped = self.sandbox.as_ref().map(CompiledSandbox::drop_to_signals);
                if let Some(Err(_)) = dropped {
                    sys::exit(1);
                }
                self.reap_until_end(program)
            }
        }
    }

    /// Runs in B: performs the plan, and gives up the right to undo it.
    fn mount_all(&self, mounts: &CompiledMounts) -> io::Result<()> {
        if sys::set_propagation(libc::MS_PRIVATE).is_err() {
            return self.failed(SetupStep::Propagation);
        }
        // Through another process of root's the tree could reach what the plan hides; a user namespace
        // keeps it from that by itself.
        let needs_proc = self.kind == KeeperKind::PidNamespace || self.sandbox.is_some();
        if sys::mount_proc().is_err() && needs_proc {
            return self.failed(SetupStep::Proc);
        }
        if let Some(Err(index)) = self.sandbox.as_ref().map(CompiledSandbox::map_owners) {
            return self.failed_sandbox(index);
        }
        if let Some(Err(index)) = self.sandbox.as_ref().map(CompiledSandbox::find_own) {
            return self.failed_sandbox(index);
        }
        if let Err(mounts::FailedStep(index)) = mounts.perform() {
            let error = io::Error::last_os_error();
            sys::report(self.status, 3, index);
            return Err(error);
        }
        // B was in a folder that the plan hides.
        if sys::change_folder(c"/").is_err() {
            return self.failed(SetupStep::Folder);
        }
        let dropped = match &self.sandbox {
            None => capabilities::drop_those_that_undo_mounts(),
            Some(sandbox) => {
                if let Err(index) = sandbox.enter() {
                    return self.failed_sandbox(index);
                }
                sandbox.drop_capabilities()
            }
        };
        if dropped.is_err() {
            return self.failed(SetupStep::Capabilities);
        }
        Ok(())
    }

    /// Runs in B: reaps orphans, forwards signals, and ends when the program does; the kernel then
    /// kills whatever is left in the namespace.
    fn reap_until_end(&self, program: pid_t) -> ! {
        loop {
            let signal = sys::next_signal();
            if signal != libc::SIGCHLD {
                sys::kill(program, signal);
                continue;
            }
            while let sys::Reaped::Child(pid, status) = sys::reap(-1) {
                if pid == program {
                    sys::report(self.status, 0, status);
                    sys::exit(0);
                }
            }
            self.report_a_stop(program);
        }
    }

    fn enter_subreaper(&self) -> io::Result<()> {
        if sys::become_subreaper().is_err() {
            return self.failed(SetupStep::Subreaper);
        }
        let keeper = sys::own_pid();
        match self.clone(0) {
            Err(_) => self.failed(SetupStep::Fork),
            Ok(None) => {
                sys::parent_death_signal(libc::SIGKILL);
                if sys::parent() != keeper {
                    sys::exit(1);
                }
                self.be_program()
            }
            Ok(Some(program)) => {
                sys::close_all_but([self.status, self.lock_or(self.status)]);
                sys::hide();
                self.sweep_at_end(program)
            }
        }
    }

    /// Runs in A of a subreaper tree: forwards signals until the program ends, ralph dies or asks
    /// for it; then kills all.
    fn sweep_at_end(&self, program: pid_t) -> ! {
        loop {
            let signal = sys::next_signal();
            if signal == KILL_TREE.as_raw() {
                sys::kill_and_reap_all();
                self.leave();
            }
            if signal != libc::SIGCHLD {
                sys::kill(program, signal);
                continue;
            }
            while let sys::Reaped::Child(pid, status) = sys::reap(-1) {
                if pid == program {
                    sys::kill_and_reap_all();
                    sys::report(self.status, 0, status);
                    self.leave();
                }
            }
            self.report_a_stop(program);
        }
    }

    /// The lock on the list of placeholders, where there are some.
    fn lock_or(&self, other: RawFd) -> RawFd {
        let lock = self.placeholders.as_ref();
        lock.and_then(PlaceholderRemoval::lock).unwrap_or(other)
    }

    /// Runs in A, once the tree is dead.
    fn leave(&self) -> ! {
        if let Some(placeholders) = &self.placeholders
            && let Some(lock) = placeholders.lock()
        {
            // SAFETY: A has kept this descriptor open.
            placeholders.take_away_if_last(unsafe { BorrowedFd::borrow_raw(lock) });
        }
        sys::exit(0)
    }

    /// A program that stopped in the foreground would hold the terminal for ever: ralph has to know.
    fn report_a_stop(&self, program: pid_t) {
        if self.access == TerminalAccess::Foreground && sys::has_stopped(program) {
            sys::report(self.status, 2, 0);
        }
    }

    /// Runs in C.
    fn be_program(&self) -> io::Result<()> {
        match self.access {
            TerminalAccess::None => posix::new_session(),
            TerminalAccess::Foreground => {
                posix::new_group();
                // All signals are blocked still, so a process in the background may do this.
                if posix::take_foreground(libc::STDIN_FILENO).is_err() {
                    return self.failed(SetupStep::Terminal);
                }
            }
        }
        if let Some(Err(_)) = self.sandbox.as_ref().map(CompiledSandbox::become_user) {
            return self.failed(SetupStep::User);
        }
        // By its path, so that it is the folder that the plan shows there.
        if let Some(mounts) = &self.mounts
            && sys::change_folder(mounts.cwd()).is_err()
        {
            return self.failed(SetupStep::Folder);
        }
        if let Some(Err(_)) = self.mounts.as_ref().map(CompiledMounts::limit_files) {
            return self.failed(SetupStep::Limit);
        }
        if let Some(Err(_)) = self.sandbox.as_ref().map(CompiledSandbox::close) {
            return self.failed(SetupStep::Sandbox);
        }
        posix::default_signals();
        match &self.last {
            LastStep::Exec => Ok(()),
            LastStep::Exit => sys::exit(0),
            LastStep::Trial(trial) => match trial.run() {
                Ok(code) => sys::exit(code),
                Err(step) => self.failed(step),
            },
        }
    }

    fn failed_sandbox(&self, index: usize) -> io::Result<()> {
        let error = io::Error::last_os_error();
        sys::report(self.status, 4, c_int::try_from(index).unwrap_or(c_int::MAX));
        Err(error)
    }

    fn failed(&self, step: SetupStep) -> io::Result<()> {
        let error = io::Error::last_os_error();
        sys::report(self.status, 1, step as c_int);
        Err(error)
    }
}

/// Runs in A of a namespace tree. Ends after B, that is when all of the tree is dead.
fn pass_on_until_end(b: pid_t) {
    loop {
        let signal = sys::next_signal();
        if signal == KILL_TREE.as_raw() {
            sys::kill(b, libc::SIGKILL);
        } else if signal != libc::SIGCHLD {
            sys::kill(b, signal);
        } else if !matches!(sys::reap(b), sys::Reaped::Nothing) {
            return;
        }
    }
}
