//! Places where a test can have ralph die, as a power cut would have it.
//!
//! `RALPH_FAILPOINT=name` or `name:n` ends the process by SIGKILL at the n-th pass of that place.
//!
//! `RALPH_FAULT=ENOSPC:place:n` has the disk fail at that place from its n-th pass on, and `ENOSPC:place:n-m` from
//! the n-th to the m-th; `EIO` likewise.
//!
//! `RALPH_LIMIT=name:milliseconds` makes a limit of time shorter that no test can wait for. Release builds have none of
//! it.

use std::{
    io,
    sync::{
        Mutex, OnceLock,
        atomic::{AtomicU32, Ordering},
    },
    time::Duration,
};

/// Every failpoint, in the order of the steps, so that a test can go through all of them.
pub const ALL: [&str; 17] = [
    "loop-begun",
    "iteration-begun",
    "attempt-taken-up",
    "agent-running",
    "agent-ended",
    "agent-recorded",
    "inspected",
    "verified",
    "land-intended",
    "source-written",
    "committed",
    "folder-followed",
    "landed",
    "kept",
    "recorded",
    "progress-written",
    "files-written",
];

/// Those of `revert` and `squash`, in the order of their steps.
pub const OF_REWRITES: [&str; 6] = [
    "rewrite-intended",
    "rewrite-kept",
    "branch-moved",
    "tree-followed",
    "tasks-reopened",
    "rewrite-recorded",
];
/// The same in a command of a person's: its file is written, and all but its end is.
pub const OF_COMMANDS: [&str; 2] = ["command-written", "command-applied"];

/// Those of a round of sync, in the order of its steps; some are passed more than once in a round.
pub const OF_SYNC: [&str; 20] = [
    "sync-committing-here",
    "sync-enabled",
    "sync-renamed",
    "sync-went-back",
    "sync-command-kept",
    "sync-taking",
    "sync-command-told",
    "sync-read",
    "sync-noted",
    "sync-begun",
    "sync-moved",
    "sync-rows-written",
    "sync-sealed",
    "sync-committed",
    "sync-acknowledged",
    "sync-result-sent",
    "sync-result-told",
    "sync-log-written",
    "sync-log-sent",
    "sync-log-noted",
];

/// Every place where the disk can be made to fail.
pub const FAULTS: [&str; 6] = ["journal", "file", "git-object", "log", "progress", "status"];

/// Every limit of time that can be made shorter.
pub const LIMITS: [&str; 1] = ["server"];

/// Returns a limit of time, or the shorter one that the environment has for it.
pub fn limit(name: &'static str, usual: Duration) -> Duration {
    if !cfg!(debug_assertions) {
        return usual;
    }
    debug_assert!(LIMITS.contains(&name), "unknown limit {name}");
    let wanted = std::env::var("RALPH_LIMIT").ok();
    let wanted = wanted.as_ref().and_then(|text| text.split_once(':'));
    match wanted {
        Some((of, text)) if of == name => text.parse().map_or(usual, Duration::from_millis),
        Some(_) | None => usual,
    }
}

/// Fails here as a disk would, if the environment says so.
pub fn fault(place: &'static str) -> io::Result<()> {
    if !cfg!(debug_assertions) {
        return Ok(());
    }
    debug_assert!(FAULTS.contains(&place), "unknown place {place}");
    static WANTED: OnceLock<Option<WantedFault>> = OnceLock::new();
    let wanted = WANTED.get_or_init(|| WantedFault::parse(&std::env::var("RALPH_FAULT").ok()?));
    match wanted {
        Some(wanted) if wanted.place == place => wanted.pass(),
        Some(_) | None => Ok(()),
    }
}

/// A fault that a test has asked for.
#[derive(Debug)]
struct WantedFault {
    code: i32,
    place: String,
    first: u32,
    last: u32,
    passed: AtomicU32,
}

impl WantedFault {
    fn parse(text: &str) -> Option<Self> {
        let mut parts = text.split(':');
        let code = match parts.next()? {
            "ENOSPC" => libc::ENOSPC,
            "EIO" => libc::EIO,
            _ => return None,
        };
        let place = parts.next()?.to_owned();
        let passes = parts.next()?;
        let (first, last) = passes.split_once('-').unwrap_or((passes, "4294967295"));
        Some(Self {
            code,
            place,
            first: first.parse().ok()?,
            last: last.parse().ok()?,
            passed: AtomicU32::new(0),
        })
    }

    fn pass(&self) -> io::Result<()> {
        let nth = self.passed.fetch_add(1, Ordering::Relaxed) + 1;
        if (self.first..=self.last).contains(&nth) {
            return Err(io::Error::from_raw_os_error(self.code));
        }
        Ok(())
    }
}

/// Dies here if the environment says so.
pub fn failpoint(name: &'static str) {
    if cfg!(debug_assertions) {
        let known = ALL.contains(&name)
            || OF_REWRITES.contains(&name)
            || OF_COMMANDS.contains(&name)
            || OF_SYNC.contains(&name);
        debug_assert!(known, "unknown failpoint {name}");
        hit(name);
    }
}

fn hit(name: &'static str) {
    static WANTED: OnceLock<Option<(String, Mutex<u32>)>> = OnceLock::new();
    let wanted = WANTED.get_or_init(|| {
        let text = std::env::var("RALPH_FAILPOINT").ok()?;
        let (name, n) = text.split_once(':').unwrap_or((&text, "1"));
        Some((name.to_owned(), Mutex::new(n.parse().ok()?)))
    });
    if let Some((wanted, left)) = wanted
        && wanted == name
        && let Ok(mut left) = left.lock()
    {
        *left -= 1;
        if *left == 0 {
            let me = rustix::process::getpid();
            let _ = rustix::process::kill_process(me, rustix::process::Signal::KILL);
        }
    }
}
