//! Processes that the fake agent leaves behind, and its own refusal to end.

use std::path::Path;
use std::process::{Command, Stdio};
use std::time::Duration;

use super::action::Child;
use super::{expand, must};

/// Returns when the child has written its pid, so that the next action can count on it.
pub(super) fn spawn_child(child: &Child) {
    let (pid_file, command) = (expand(&child.pid_file), expand(&child.command));
    let script = format!("echo $$ > \"$0.new\"; mv \"$0.new\" \"$0\"; {command}");
    let output = || {
        if child.hold_output {
            Stdio::inherit()
        } else {
            Stdio::null()
        }
    };
    let started = Command::new("setsid")
        .args(["--fork", "sh", "-c", &script, &pid_file])
        .stdin(Stdio::null())
        .stdout(output())
        .stderr(output())
        .status();
    must(started.map(drop), "setsid");
    hang(Some(&pid_file));
}

/// Waits for a file, or for ever.
pub(super) fn hang(until: Option<&str>) {
    let until = until.map(expand);
    while !until.as_ref().is_some_and(|path| Path::new(path).exists()) {
        std::thread::sleep(Duration::from_millis(5));
    }
}

pub(super) fn kill_self(signal: &str) {
    let own = std::process::id().to_string();
    must(
        Command::new("kill")
            .args(["-s", signal, &own])
            .status()
            .map(drop),
        "kill",
    );
    hang(None);
}
