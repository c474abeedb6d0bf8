//! Places where a test can have ralph die, as a power cut would have it.
//!
//! `RALPH_FAILPOINT=name` or `name:n` ends the process by SIGKILL at the n-th pass of that place.
//! Release builds have none of it.

/// Every failpoint, in the order of the steps, so that a test can go through all of them.
pub const ALL: [&str; 16] = [
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

/// Dies here if the environment says so.
pub fn failpoint(name: &'static str) {
    if cfg!(debug_assertions) {
        let known =
            ALL.contains(&name) || OF_REWRITES.contains(&name) || OF_COMMANDS.contains(&name);
        debug_assert!(known, "unknown failpoint {name}");
        hit(name);
    }
}

fn hit(name: &'static str) {
    use std::sync::{Mutex, OnceLock};
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
