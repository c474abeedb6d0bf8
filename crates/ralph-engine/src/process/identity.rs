//! One process of the machine, and no other: known by its number and by when it began.
//!
//! A number alone may be another process's by now. A signal is sent through a handle that was opened
//! before the start was compared, so that no other process can get between.

use std::io;

use rustix::process::{Pid, Signal};

use super::platform;

/// A process, whatever becomes of its number.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct ProcessIdentity {
    pub pid: u32,
    /// In a unit of the platform, to be compared and no more.
    pub started: u64,
}

/// What the system says of a process.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct ProcessFacts {
    pub(super) pid: u32,
    pub(super) parent: u32,
    pub(super) started: u64,
    pub(super) state: ProcessStatus,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum ProcessStatus {
    Alive,
    /// A signal has stopped it.
    Stopped,
    /// It has ended, and its parent has not fetched it.
    Dead,
}

impl ProcessFacts {
    fn identity(self) -> ProcessIdentity {
        ProcessIdentity {
            pid: self.pid,
            started: self.started,
        }
    }
}

impl ProcessIdentity {
    /// The process that has this number now.
    pub fn of(pid: u32) -> Option<Self> {
        platform::process_facts(pid).map(ProcessFacts::identity)
    }

    /// Tells if it still runs; one that is dead and not yet fetched by its parent does not.
    pub fn is_alive(self) -> bool {
        self.state()
            .is_some_and(|state| state != ProcessStatus::Dead)
    }

    /// Tells if a signal has stopped it: it does nothing until another one lets it go on.
    pub fn is_stopped(self) -> bool {
        self.state() == Some(ProcessStatus::Stopped)
    }

    fn state(self) -> Option<ProcessStatus> {
        let facts = platform::process_facts(self.pid)?;
        (facts.started == self.started).then_some(facts.state)
    }

    /// Sends a signal to exactly this process; `false` if it is gone.
    pub fn signal(self, signal: Signal) -> io::Result<bool> {
        signal_if(self.pid, signal, || self.is_alive())
    }

    /// All processes below it, as they are now.
    pub fn descendants(self) -> Vec<Self> {
        let all = platform::all_processes();
        let mut found = vec![self];
        let mut at = 0;
        while let Some(parent) = found.get(at).copied() {
            let below = all.iter().filter(|facts| facts.parent == parent.pid);
            for child in below.map(|facts| facts.identity()) {
                if !found.contains(&child) {
                    found.push(child);
                }
            }
            at += 1;
        }
        found.remove(0);
        found
    }
}

/// Sends a signal to the process with a number, if `is_meant` says so once the process is held fast,
/// as far as the platform can hold it; `false` if it was not sent.
pub fn signal_if(pid: u32, signal: Signal, is_meant: impl FnOnce() -> bool) -> io::Result<bool> {
    let Some(pid) = i32::try_from(pid).ok().and_then(Pid::from_raw) else {
        return Ok(false);
    };
    let Some(handle) = platform::ProcessHandle::open(pid)? else {
        return Ok(false);
    };
    if !is_meant() {
        return Ok(false);
    }
    match handle.signal(signal) {
        Ok(()) => Ok(true),
        Err(rustix::io::Errno::SRCH) => Ok(false),
        Err(error) => Err(error.into()),
    }
}

#[cfg(test)]
mod tests {
    use std::process::{Child, Command};

    use super::*;

    struct Sleeper(Child);

    impl Sleeper {
        fn start() -> Self {
            Self(Command::new("sleep").arg("1000").spawn().unwrap())
        }

        fn target(&self) -> ProcessIdentity {
            ProcessIdentity::of(self.0.id()).unwrap()
        }
    }

    impl Drop for Sleeper {
        fn drop(&mut self) {
            let _ = self.0.kill();
            let _ = self.0.wait();
        }
    }

    #[test]
    fn a_process_with_another_start_is_another_and_is_not_signalled() {
        let sleeper = Sleeper::start();
        let own = sleeper.target();
        let former = ProcessIdentity {
            started: own.started - 1,
            ..own
        };
        assert!(own.is_alive());
        assert!(!former.is_alive());
        assert!(!former.signal(Signal::KILL).unwrap());
        assert!(own.is_alive(), "it was not meant");
        assert!(own.signal(Signal::KILL).unwrap());
    }

    #[test]
    fn a_dead_process_is_not_alive_before_its_parent_fetched_it() {
        let mut sleeper = Sleeper::start();
        let target = sleeper.target();
        sleeper.0.kill().unwrap();
        let until = std::time::Instant::now() + std::time::Duration::from_secs(20);
        while target.is_alive() {
            assert!(std::time::Instant::now() < until, "it does not die");
            std::thread::park_timeout(std::time::Duration::from_millis(2));
        }
        assert!(
            ProcessIdentity::of(target.pid).is_some(),
            "it was not fetched yet"
        );
        assert!(!target.signal(Signal::TERM).unwrap());
        sleeper.0.wait().unwrap();
        assert_eq!(ProcessIdentity::of(target.pid), None);
    }

    #[test]
    fn descendants_are_found_at_every_depth() {
        let mut shell = Command::new("sh")
            .args(["-c", "sh -c 'sleep 1000; true'; true"])
            .spawn()
            .unwrap();
        let target = ProcessIdentity::of(shell.id()).unwrap();
        let until = std::time::Instant::now() + std::time::Duration::from_secs(20);
        let below = loop {
            let below = target.descendants();
            if below.len() == 2 {
                break below;
            }
            assert!(std::time::Instant::now() < until, "{below:?}");
            std::thread::park_timeout(std::time::Duration::from_millis(2));
        };
        for one in below.iter().chain([&target]) {
            one.signal(Signal::KILL).unwrap();
        }
        shell.wait().unwrap();
    }
}
