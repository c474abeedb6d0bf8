//! A program that leads a process group, and what stays in that group.

use std::io;
use std::time::Duration;

use rustix::process::{
    Pid, Signal, WaitId, WaitIdOptions, kill_process, kill_process_group, test_kill_process_group,
    waitid,
};
use tokio::process::{Child, ChildStdin, Command};
use tokio::signal::unix::{Signal as SignalStream, SignalKind, signal};
use tokio::time::Instant;

use crate::process::{
    Containment, Ended, ProgramEvent, StartFailure, TreeStart, exit_of, portable, sys,
};

/// The time that the killed members of a group may take to be gone. One that its parent never fetches
/// stays in the group although it is dead.
const EMPTY_WITHIN: Duration = Duration::from_secs(1);
const LOOK_AGAIN: Duration = Duration::from_millis(2);

#[derive(Debug)]
pub(in crate::process) struct ProcessGroup {
    leader: Child,
    pid: Pid,
    /// Comes when a child of ralph ends or stops, whichever it is.
    children: SignalStream,
    /// The exit of the leader, once it was fetched: its number may be another's since.
    exit: Option<Ended>,
}

impl ProcessGroup {
    pub(in crate::process) fn start(
        mut command: Command,
        containment: Containment,
        start: TreeStart<'_>,
    ) -> Result<(Self, Option<ChildStdin>), StartFailure> {
        portable::probe(containment).map_err(|source| StartFailure::Contain {
            step: "holding its processes together",
            source,
        })?;
        // Before the program can end.
        let children = signal(SignalKind::child())?;
        sys::lead_a_group(&mut command, start.access);
        let mut leader = command.spawn()?;
        let pid = leader
            .id()
            .and_then(|id| Pid::from_raw(id.cast_signed()))
            .ok_or_else(|| io::Error::other("the program has no pid"))?;
        let stdin = leader.stdin.take();
        let group = Self {
            leader,
            pid,
            children,
            exit: None,
        };
        Ok((group, stdin))
    }

    #[cfg_attr(
        target_os = "linux",
        allow(dead_code, reason = "a sandbox has none here")
    )]
    pub(in crate::process) fn take_doors(&mut self) -> Vec<std::net::TcpListener> {
        Vec::new()
    }

    pub(in crate::process) fn pid(&self) -> Pid {
        self.pid
    }

    /// Sends a signal to the program alone; SIGKILL to the whole group.
    pub(in crate::process) fn signal(&self, signal: Signal) {
        if self.exit.is_some() {
            return;
        }
        // Until the leader is fetched, its number is its own and its group's.
        let _ = if signal == Signal::KILL {
            kill_process_group(self.pid, signal)
        } else {
            kill_process(self.pid, signal)
        };
    }

    /// Waits until the program has ended and its group is dead. May be dropped and called again.
    pub(in crate::process) async fn wait(&mut self) -> io::Result<Ended> {
        while self.exit.is_none() && !self.has_ended()? {
            self.children.recv().await;
        }
        self.clear().await
    }

    /// Waits until the program has ended, as [`Self::wait`] does, or was stopped.
    pub(in crate::process) async fn next(&mut self) -> io::Result<ProgramEvent> {
        while self.exit.is_none() && !self.has_ended()? {
            if self.was_stopped()? {
                return Ok(ProgramEvent::Suspended);
            }
            self.children.recv().await;
        }
        self.clear().await.map(ProgramEvent::Ended)
    }

    /// Kills the group and blocks until its leader is dead.
    pub(in crate::process) fn kill_now(&self) {
        self.signal(Signal::KILL);
        if self.exit.is_none() {
            let options = WaitIdOptions::EXITED | WaitIdOptions::NOWAIT;
            let _ = rustix::io::retry_on_intr(|| waitid(WaitId::Pid(self.pid), options));
        }
    }

    /// Asks without fetching: the number of the leader must stay its own until its group is killed.
    fn has_ended(&self) -> io::Result<bool> {
        let options = WaitIdOptions::EXITED | WaitIdOptions::NOWAIT | WaitIdOptions::NOHANG;
        Ok(waitid(WaitId::Pid(self.pid), options)?.is_some())
    }

    fn was_stopped(&self) -> io::Result<bool> {
        let options = WaitIdOptions::STOPPED | WaitIdOptions::NOHANG;
        Ok(waitid(WaitId::Pid(self.pid), options)?.is_some())
    }

    /// Kills what is left of the group after its leader, and waits until it is gone.
    async fn clear(&mut self) -> io::Result<Ended> {
        let exit = match self.exit {
            Some(exit) => exit,
            None => {
                let _ = kill_process_group(self.pid, Signal::KILL);
                let exit = exit_of(self.leader.wait().await?);
                self.exit = Some(exit);
                exit
            }
        };
        let until = Instant::now() + EMPTY_WITHIN;
        while test_kill_process_group(self.pid).is_ok() && Instant::now() < until {
            tokio::time::sleep(LOOK_AGAIN).await;
        }
        Ok(exit)
    }
}
