//! A question on the terminal, and a line of an answer; or the signal that comes instead.
//!
//! Only for what is short: whatever a person has to say at length, they say to the agent.

use std::io;

use tokio::{
    signal::unix::{SignalKind, signal},
    sync::oneshot,
};

use crate::output;

#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Said {
    Line(String),
    /// The terminal is closed.
    NoMore,
    /// ralph was asked to end.
    Signal(i32),
}

/// Asks, and waits for a line or for `stop`, whichever comes first.
pub(super) async fn ask(question: &str, stop: impl Future<Output = i32>) -> io::Result<Said> {
    output::print(question);
    let (sender, line) = oneshot::channel();
    // A read of a terminal can't be given up. One that nobody waits for any more ends with ralph.
    std::thread::spawn(move || {
        let mut line = String::new();
        let read = io::stdin().read_line(&mut line).map(|_| line);
        let _ = sender.send(read);
    });
    let said = tokio::select! {
        line = line => match line {
            Ok(Ok(line)) if line.is_empty() => Said::NoMore,
            Ok(Ok(line)) => Said::Line(line.trim().to_owned()),
            Ok(Err(error)) => return Err(error),
            Err(_) => Said::NoMore,
        },
        signal = stop => Said::Signal(signal),
    };
    match said {
        Said::Line(_) => {}
        // What is said next must not stand behind the question.
        Said::NoMore | Said::Signal(_) => output::print("\n"),
    }
    Ok(said)
}

/// The next signal that asks ralph to end.
pub(super) async fn next_signal() -> i32 {
    let listen = |kind| signal(kind).ok();
    let (interrupt, terminate, hangup) = (
        SignalKind::interrupt(),
        SignalKind::terminate(),
        SignalKind::hangup(),
    );
    let (mut first, mut second, mut third) = (listen(interrupt), listen(terminate), listen(hangup));
    let next = async |listener: &mut Option<tokio::signal::unix::Signal>| match listener {
        Some(listener) => {
            listener.recv().await;
        }
        None => std::future::pending().await,
    };
    tokio::select! {
        () = next(&mut first) => interrupt.as_raw_value(),
        () = next(&mut second) => terminate.as_raw_value(),
        () = next(&mut third) => hangup.as_raw_value(),
    }
}
