//! A program below its keeper, seen from ralph.

use std::io;
use std::net::TcpListener;
use std::os::fd::AsFd;
use std::os::unix::process::ExitStatusExt;
use std::process::ExitStatus;

use rustix::net::{RecvAncillaryBuffer, RecvAncillaryMessage, RecvFlags, recvmsg};
use rustix::process::{Pid, Signal, WaitId, WaitIdOptions, waitid};
use tokio::net::unix::pipe::Receiver;
use tokio::process::{Child, ChildStdin, Command};

use super::keeper::{
    self, CompiledMounts, CompiledSandbox, KeeperKind, KeeperMessage, KeeperStart,
};
use crate::process::{
    Ended, ProgramEvent, SandboxNetwork, SandboxPlan, StartFailure, TreeStart, exit_of,
};

#[derive(Debug)]
pub(in crate::process) struct KeptTree {
    keeper: Child,
    pid: Pid,
    status: Receiver,
    /// The listeners of its sandbox.
    doors: Vec<TcpListener>,
    /// The program's raw wait status, once the keeper has told it.
    reported: Option<i32>,
    ended: Option<Ended>,
}

impl KeptTree {
    pub(super) fn start(
        mut command: Command,
        kind: KeeperKind,
        start: TreeStart<'_>,
    ) -> Result<(Self, Option<ChildStdin>), StartFailure> {
        let (status, status_write) = io::pipe()?;
        let status = Receiver::from_owned_fd(status.into())?;
        let identity = start.sandbox.and_then(|plan| plan.identity.as_ref());
        let user = identity.map(|identity| identity.id);
        let mounts = start
            .mounts
            .map(|view| CompiledMounts::new(view.plan, view.cwd, user))
            .transpose()
            .map_err(StartFailure::Plan)?;
        let placeholders = start
            .mounts
            .and_then(|view| view.plan.placeholders.as_deref());
        let doors = start.sandbox.map_or(0, count_doors);
        let (from_keeper, to_ralph) = match doors {
            0 => (None, None),
            _ => {
                let (ours, theirs) = std::os::unix::net::UnixDatagram::pair()?;
                (Some(ours), Some(theirs.into()))
            }
        };
        let sandbox = start
            .sandbox
            .map(|plan| CompiledSandbox::new(plan, to_ralph))
            .transpose()
            .map_err(StartFailure::Plan)?;
        let keeper_start = KeeperStart {
            kind,
            status: status_write.as_fd(),
            access: start.access,
            mounts: mounts.clone(),
            sandbox: sandbox.clone(),
            name: start.name,
            placeholders: placeholders.map(|held| held.removal()).transpose()?,
        };
        keeper::install(&mut command, keeper_start);
        let spawned = command.spawn();
        drop(status_write);
        let mut keeper = spawned.map_err(|source| match read_message(&status) {
            Some(KeeperMessage::Failed(step)) => StartFailure::Contain { step, source },
            message => match message
                .and_then(|message| message.failed_step(mounts.as_ref(), sandbox.as_ref()))
            {
                Some(step) => StartFailure::Mount { step, source },
                None => StartFailure::Program(source),
            },
        })?;
        if let Some(placeholders) = placeholders {
            placeholders.release_lock();
        }
        let pid = keeper
            .id()
            .and_then(|id| Pid::from_raw(id.cast_signed()))
            .ok_or_else(|| io::Error::other("the keeper has no pid"))?;
        let stdin = keeper.stdin.take();
        let tree = Self {
            keeper,
            pid,
            status,
            doors: from_keeper.map_or_else(Vec::new, |socket| receive_doors(&socket, doors)),
            reported: None,
            ended: None,
        };
        Ok((tree, stdin))
    }

    pub(super) fn take_doors(&mut self) -> Vec<TcpListener> {
        std::mem::take(&mut self.doors)
    }

    /// The pid of the keeper, which stands for the tree. The program's own is known only inside.
    pub(super) fn pid(&self) -> Pid {
        self.pid
    }

    pub(super) fn signal(&self, signal: Signal) {
        if self.ended.is_some() {
            return;
        }
        let signal = if signal == Signal::KILL {
            keeper::KILL_TREE
        } else {
            signal
        };
        // The keeper is not reaped yet, so the pid is its own; if it has ended, so has the tree.
        let _ = rustix::process::kill_process(self.pid, signal);
    }

    pub(super) async fn wait(&mut self) -> io::Result<Ended> {
        if let Some(ended) = self.ended {
            return Ok(ended);
        }
        let keeper = self.keeper.wait().await?;
        while let Some(message) = read_message(&self.status) {
            self.take_note(message);
        }
        let ended = match (self.reported, keeper.signal()) {
            (Some(raw), _) => exit_of(ExitStatus::from_raw(raw)),
            // The tree was killed from outside before its program could end.
            (None, Some(signal)) => Ended::Signal(signal),
            (None, None) => Ended::Signal(Signal::KILL.as_raw()),
        };
        self.ended = Some(ended);
        Ok(ended)
    }

    pub(super) async fn next(&mut self) -> io::Result<ProgramEvent> {
        while self.ended.is_none() && self.reported.is_none() {
            match self.next_message().await? {
                Some(KeeperMessage::Suspended) => return Ok(ProgramEvent::Suspended),
                Some(message) => self.take_note(message),
                // The keeper has closed the pipe: it is about to end.
                None => break,
            }
        }
        self.wait().await.map(ProgramEvent::Ended)
    }

    pub(super) fn kill_now(&self) {
        if self.ended.is_some() {
            return;
        }
        self.signal(Signal::KILL);
        // It is left to be reaped by [`Self::wait`].
        let options = WaitIdOptions::EXITED | WaitIdOptions::NOWAIT;
        let _ = rustix::io::retry_on_intr(|| waitid(WaitId::Pid(self.pid), options));
    }

    fn take_note(&mut self, message: KeeperMessage) {
        match message {
            KeeperMessage::Ended(raw) => self.reported = Some(raw),
            KeeperMessage::Failed(_)
            | KeeperMessage::FailedMount(_)
            | KeeperMessage::FailedSandbox(_)
            | KeeperMessage::Suspended => {}
        }
    }

    async fn next_message(&self) -> io::Result<Option<KeeperMessage>> {
        let mut bytes = [0; 8];
        loop {
            self.status.readable().await?;
            match self.status.try_read(&mut bytes) {
                Ok(8) => return Ok(KeeperMessage::parse(bytes)),
                Ok(_) => return Ok(None),
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => {}
                Err(error) => return Err(error),
            }
        }
    }
}

fn count_doors(plan: &SandboxPlan) -> usize {
    match &plan.network {
        SandboxNetwork::Open => 0,
        SandboxNetwork::Own { doors } => doors.len(),
    }
}

/// The listeners that the keeper gave away before its program began.
fn receive_doors(socket: &std::os::unix::net::UnixDatagram, count: usize) -> Vec<TcpListener> {
    let mut doors = Vec::with_capacity(count);
    for _ in 0..count {
        let mut space = [std::mem::MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(1))];
        let mut control = RecvAncillaryBuffer::new(&mut space);
        let mut byte = [0];
        let flags = RecvFlags::DONTWAIT | RecvFlags::CMSG_CLOEXEC;
        let into = &mut [io::IoSliceMut::new(&mut byte)];
        if recvmsg(socket, into, &mut control, flags).is_err() {
            break;
        }
        for message in control.drain() {
            if let RecvAncillaryMessage::ScmRights(fds) = message {
                doors.extend(fds.map(TcpListener::from));
            }
        }
    }
    doors
}

fn read_message(status: &Receiver) -> Option<KeeperMessage> {
    let mut bytes = [0; 8];
    match rustix::io::read(status.as_fd(), &mut bytes) {
        Ok(8) => KeeperMessage::parse(bytes),
        Ok(_) | Err(_) => None,
    }
}
