//! Processes that belong to a scratch folder, found by their environment wherever they run.

use std::path::Path;
use std::time::{Duration, Instant};

/// The end of a killed tree takes a moment, and no longer.
const LIMIT: Duration = Duration::from_secs(20);

/// Waits until something is so; fails with `what` if it does not come to be.
#[track_caller]
pub(crate) fn wait_until(what: &str, mut is_so: impl FnMut() -> bool) {
    let until = Instant::now() + LIMIT;
    while !is_so() {
        assert!(Instant::now() < until, "waited too long: {what}");
        std::thread::park_timeout(Duration::from_millis(2));
    }
}

/// Waits until no process has this home folder, and says which have if that takes too long.
#[track_caller]
pub(crate) fn assert_all_dead(home: &Path) {
    let until = Instant::now() + LIMIT;
    loop {
        let alive = processes_at(home);
        if alive.is_empty() {
            return;
        }
        assert!(Instant::now() < until, "still alive: {alive:?}");
        std::thread::park_timeout(Duration::from_millis(2));
    }
}

/// Command lines of the processes with this home folder.
pub(crate) fn processes_at(home: &Path) -> Vec<String> {
    let mark = format!("HOME={}\0", home.display());
    let mut found = Vec::new();
    for entry in std::fs::read_dir("/proc").unwrap().flatten() {
        let is_process = entry
            .file_name()
            .to_string_lossy()
            .bytes()
            .all(|b| b.is_ascii_digit());
        if !is_process {
            continue;
        }
        // One that ends while we look has neither.
        let Ok(environment) = std::fs::read(entry.path().join("environ")) else {
            continue;
        };
        if memchr_find(&environment, mark.as_bytes()) {
            let command = std::fs::read(entry.path().join("cmdline")).unwrap_or_default();
            found.push(String::from_utf8_lossy(&command).replace('\0', " "));
        }
    }
    found
}

fn memchr_find(text: &[u8], wanted: &[u8]) -> bool {
    text.windows(wanted.len()).any(|part| part == wanted)
}
