//! A line of an answer on the terminal, or the signal that comes instead.
//!
//! Only for what is short: whatever a person has to say at length, they say to the agent.

use std::io::{self, IsTerminal as _};

use ralph_engine::agent::StopRequest;
use tokio::sync::oneshot;

#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Input {
    Line(String),
    /// The terminal is closed.
    NoMore,
    /// ralph was asked to end.
    Signal(i32),
}

/// Returns true if a person can be asked on this terminal.
pub(crate) fn has_terminal() -> bool {
    io::stdin().is_terminal() && io::stdout().is_terminal()
}

/// Waits for a line or for `stop`, whichever comes first.
pub(crate) async fn read_line(stop: impl Future<Output = i32>) -> io::Result<Input> {
    let (sender, line) = oneshot::channel();
    // A read of a terminal can't be given up. One that is no longer awaited ends with ralph.
    std::thread::spawn(move || {
        let mut line = String::new();
        let read = io::stdin().read_line(&mut line).map(|_| line);
        let _ = sender.send(read);
    });
    tokio::select! {
        line = line => match line {
            Ok(Ok(line)) if line.is_empty() => Ok(Input::NoMore),
            Ok(Ok(line)) => Ok(Input::Line(line.trim().to_owned())),
            Ok(Err(error)) => Err(error),
            Err(_) => Ok(Input::NoMore),
        },
        signal = stop => Ok(Input::Signal(signal)),
    }
}

/// The signal that asks for an end.
pub(crate) async fn stopped(mut stop: StopRequest) -> i32 {
    stop.until_asked().await
}
