//! A question on the terminal, and a line of an answer; or the signal that comes instead.
//!
//! Only for what is short: whatever a person has to say at length, they say to the agent.

use std::io;

use tokio::{
    signal::unix::{Signal, SignalKind, signal},
    sync::oneshot,
};

use crate::output;

#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Input {
    Line(String),
    /// The terminal is closed.
    NoMore,
    /// ralph was asked to end.
    Signal(i32),
}

/// Asks, and waits for a line or for `stop`, whichever comes first.
pub(super) async fn ask(question: &str, stop: impl Future<Output = i32>) -> io::Result<Input> {
    output::print(question);
    let (sender, line) = oneshot::channel();
    // A read of a terminal can't be given up. One that is no longer awaited ends with ralph.
    std::thread::spawn(move || {
        let mut line = String::new();
        let read = io::stdin().read_line(&mut line).map(|_| line);
        let _ = sender.send(read);
    });
    let said = tokio::select! {
        line = line => match line {
            Ok(Ok(line)) if line.is_empty() => Input::NoMore,
            Ok(Ok(line)) => Input::Line(line.trim().to_owned()),
            Ok(Err(error)) => return Err(error),
            Err(_) => Input::NoMore,
        },
        signal = stop => Input::Signal(signal),
    };
    match said {
        Input::Line(_) => {}
        // What is said next must not stand behind the question.
        Input::NoMore | Input::Signal(_) => output::print("\n"),
    }
    Ok(said)
}

/// Signals that ask ralph to end, heard from the moment that this is made: one that comes while
/// no read waits is not lost.
pub(super) struct Signals {
    interrupt: Signal,
    terminate: Signal,
    hangup: Signal,
}

impl Signals {
    pub(super) fn listen() -> io::Result<Self> {
        Ok(Self {
            interrupt: signal(SignalKind::interrupt())?,
            terminate: signal(SignalKind::terminate())?,
            hangup: signal(SignalKind::hangup())?,
        })
    }

    pub(super) async fn next(&mut self) -> i32 {
        let kind = tokio::select! {
            _ = self.interrupt.recv() => SignalKind::interrupt(),
            _ = self.terminate.recv() => SignalKind::terminate(),
            _ = self.hangup.recv() => SignalKind::hangup(),
        };
        kind.as_raw_value()
    }
}
