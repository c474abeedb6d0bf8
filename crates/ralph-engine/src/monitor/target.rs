//! One process of the machine, and no other: known by its number and by when it began.
//!
//! A number alone may be somebody else's by now. A signal is sent through a handle that was opened
//! before the start was compared, so that no other process can get between.

use rustix::process::{Pid, PidfdFlags, Signal, pidfd_open, pidfd_send_signal};

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Target {
    pub pid: u32,
    /// In the ticks of the kernel since it booted.
    pub started: u64,
}

/// What the kernel says of a process.
struct Stat {
    state: char,
    parent: u32,
    started: u64,
}

impl Target {
    /// The process that has this number now.
    pub fn of(pid: u32) -> Option<Self> {
        let Stat { started, .. } = stat(pid)?;
        Some(Self { pid, started })
    }

    /// Whether it still runs; one that is dead and not yet fetched by its parent does not.
    pub fn is_alive(self) -> bool {
        self.stat().is_some_and(|stat| !is_dead(stat.state))
    }

    /// Whether a signal has stopped it: it does nothing until another one lets it go on.
    pub fn is_stopped(self) -> bool {
        self.stat()
            .is_some_and(|stat| matches!(stat.state, 'T' | 't'))
    }

    fn stat(self) -> Option<Stat> {
        stat(self.pid).filter(|stat| stat.started == self.started)
    }

    /// Sends a signal to exactly this process; `false` if it is gone.
    pub fn signal(self, signal: Signal) -> std::io::Result<bool> {
        let pid = i32::try_from(self.pid).ok().and_then(Pid::from_raw);
        let Some(pid) = pid else {
            return Ok(false);
        };
        let handle = match pidfd_open(pid, PidfdFlags::empty()) {
            Ok(handle) => handle,
            Err(rustix::io::Errno::SRCH) => return Ok(false),
            Err(error) => return Err(error.into()),
        };
        // Asked once the process is held fast: the handle is of the one that has this start, or of
        // another one, which is left alone.
        if !self.is_alive() {
            return Ok(false);
        }
        match pidfd_send_signal(handle, signal) {
            Ok(()) => Ok(true),
            Err(rustix::io::Errno::SRCH) => Ok(false),
            Err(error) => Err(error.into()),
        }
    }

    /// All processes below it, as they are now.
    pub fn descendants(self) -> Vec<Self> {
        let all = processes();
        let mut found = vec![self];
        let mut at = 0;
        while let Some(parent) = found.get(at).copied() {
            let below = all.iter().filter(|(_, above)| *above == parent.pid);
            for (child, _) in below {
                if !found.contains(child) {
                    found.push(*child);
                }
            }
            at += 1;
        }
        found.remove(0);
        found
    }
}

/// Every process, with the number of its parent.
fn processes() -> Vec<(Target, u32)> {
    let Ok(entries) = std::fs::read_dir("/proc") else {
        return Vec::new();
    };
    let pids = entries.flatten().filter_map(|entry| {
        let name = entry.file_name();
        name.to_str()?.parse::<u32>().ok()
    });
    pids.filter_map(|pid| {
        let Stat {
            started, parent, ..
        } = stat(pid)?;
        Some((Target { pid, started }, parent))
    })
    .collect()
}

fn stat(pid: u32) -> Option<Stat> {
    parse(&std::fs::read_to_string(format!("/proc/{pid}/stat")).ok()?)
}

/// Behind the name, which is in brackets and may hold any: state, parent, and the 20th is the start.
fn parse(text: &str) -> Option<Stat> {
    let (_, rest) = text.rsplit_once(") ")?;
    let mut fields = rest.split(' ');
    let state = fields.next()?.chars().next()?;
    let parent = fields.next()?.parse().ok()?;
    let started = fields.nth(17)?.trim().parse().ok()?;
    Some(Stat {
        state,
        parent,
        started,
    })
}

fn is_dead(state: char) -> bool {
    matches!(state, 'Z' | 'X' | 'x')
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

        fn target(&self) -> Target {
            Target::of(self.0.id()).unwrap()
        }
    }

    impl Drop for Sleeper {
        fn drop(&mut self) {
            let _ = self.0.kill();
            let _ = self.0.wait();
        }
    }

    #[test]
    fn a_name_with_brackets_does_not_confuse_the_fields() {
        let text = "42 (a) b (c) S 7 42 42 0 -1 4194560 1 2 3 4 5 6 7 8 20 0 1 0 98765 1 2\n";
        let stat = parse(text).unwrap();
        assert_eq!((stat.state, stat.parent, stat.started), ('S', 7, 98765));
    }

    #[test]
    fn a_process_with_another_start_is_somebody_else_and_is_not_signalled() {
        let sleeper = Sleeper::start();
        let own = sleeper.target();
        let former = Target {
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
        assert!(Target::of(target.pid).is_some(), "nobody fetched it yet");
        assert!(!target.signal(Signal::TERM).unwrap());
        sleeper.0.wait().unwrap();
        assert_eq!(Target::of(target.pid), None);
    }

    #[test]
    fn descendants_are_found_at_every_depth() {
        let mut shell = Command::new("sh")
            .args(["-c", "sh -c 'sleep 1000; true'; true"])
            .spawn()
            .unwrap();
        let target = Target::of(shell.id()).unwrap();
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
