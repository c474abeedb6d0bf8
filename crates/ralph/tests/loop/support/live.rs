//! A run of `ralph` while it lasts: its events as they come, and signals to it.
//!
//! Every wait has a limit, after which the run is killed and the test fails with what was said.

use std::io::{BufRead as _, BufReader, Read as _};
use std::process::{Child, Command, Stdio};
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, kill_process};
use serde_json::Value;

use super::Ran;

/// Far more than any run here takes, on a machine that is busy.
pub(crate) const LIMIT: Duration = Duration::from_secs(90);

pub(crate) struct Live {
    child: Child,
    lines: Receiver<Vec<u8>>,
    seen: Vec<u8>,
    stderr: Option<JoinHandle<Vec<u8>>>,
    until: Instant,
}

impl Live {
    pub(crate) fn start(command: Command) -> Self {
        Self::start_within(command, LIMIT)
    }

    /// The same for a run that has to share the machine with many others.
    pub(crate) fn start_within(mut command: Command, limit: Duration) -> Self {
        let mut child = command
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        let mut stdout = BufReader::new(child.stdout.take().unwrap());
        let mut stderr = child.stderr.take().unwrap();
        let (send, lines) = channel();
        std::thread::spawn(move || {
            loop {
                let mut line = Vec::new();
                match stdout.read_until(b'\n', &mut line) {
                    Ok(0) | Err(_) => return,
                    Ok(_) if send.send(line).is_err() => return,
                    Ok(_) => {}
                }
            }
        });
        let stderr = std::thread::spawn(move || {
            let mut bytes = Vec::new();
            let _ = stderr.read_to_end(&mut bytes);
            bytes
        });
        Self {
            child,
            lines,
            seen: Vec::new(),
            stderr: Some(stderr),
            until: Instant::now() + limit,
        }
    }

    pub(crate) fn pid(&self) -> Pid {
        Pid::from_child(&self.child)
    }

    /// The next line, or nothing when stdout has ended.
    pub(crate) fn next_line(&mut self) -> Option<Vec<u8>> {
        let left = self.until.saturating_duration_since(Instant::now());
        match self.lines.recv_timeout(left) {
            Ok(line) => {
                self.seen.extend_from_slice(&line);
                Some(line)
            }
            Err(RecvTimeoutError::Disconnected) => None,
            Err(RecvTimeoutError::Timeout) => {
                let _ = self.child.kill();
                panic!(
                    "ralph took too long: {}",
                    String::from_utf8_lossy(&self.seen)
                );
            }
        }
    }

    /// Waits for the next event of this name.
    pub(crate) fn wait_for(&mut self, name: &str) -> Value {
        while let Some(line) = self.next_line() {
            let event: Value = serde_json::from_slice(&line).unwrap_or_default();
            if event["event"] == name {
                return event;
            }
        }
        panic!(
            "no event {name} came: {}",
            String::from_utf8_lossy(&self.seen)
        );
    }

    pub(crate) fn signal(&self, signal: Signal) {
        kill_process(self.pid(), signal).unwrap();
    }

    /// A figure of `/proc/<pid>/status` in kilobytes, such as `VmHWM`.
    pub(crate) fn kilobytes(&self, name: &str) -> u64 {
        let path = format!("/proc/{}/status", self.child.id());
        let text = std::fs::read_to_string(path).unwrap();
        let line = text.lines().find(|line| line.starts_with(name)).unwrap();
        line.split_whitespace().nth(1).unwrap().parse().unwrap()
    }

    /// Reads on to the end.
    pub(crate) fn wait(mut self) -> Ran {
        while self.next_line().is_some() {}
        let stderr = self.stderr.take().map(|thread| thread.join().unwrap());
        Ran {
            status: self.child.wait().unwrap(),
            stdout: std::mem::take(&mut self.seen),
            stderr: stderr.unwrap_or_default(),
        }
    }
}

impl Drop for Live {
    /// A test that fails leaves no ralph behind.
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
