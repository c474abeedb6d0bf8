//! Processes of one test, found by a mark in their environment.

use rustix::process::{Pid, Signal, kill_process};

#[derive(Debug, Clone)]
pub(crate) struct Process {
    pub(crate) pid: i32,
    pub(crate) command: String,
}

impl Process {
    pub(crate) fn signal(&self, signal: Signal) {
        kill_process(Pid::from_raw(self.pid).unwrap(), signal).unwrap();
    }
}

/// All that have this variable. The keepers have no environment, and end with what they keep.
pub(crate) fn marked(mark: &str) -> Vec<Process> {
    let mut found = Vec::new();
    for entry in std::fs::read_dir("/proc").unwrap().flatten() {
        let Ok(pid) = entry.file_name().to_string_lossy().parse() else {
            continue;
        };
        let read = |name: &str| std::fs::read(entry.path().join(name)).unwrap_or_default();
        let environment = read("environ");
        if environment.split(|b| *b == 0).any(|v| v == mark.as_bytes()) {
            let command = String::from_utf8_lossy(&read("cmdline")).replace('\0', " ");
            found.push(Process { pid, command });
        }
    }
    found
}
