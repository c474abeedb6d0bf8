//! Asks a person, and hears a signal meanwhile.

use std::io::{BufRead as _, IsTerminal as _};

use ralph_engine::agent::StopRequest;

use crate::output;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Answer {
    Yes,
    No,
    /// A signal came first.
    Stopped(i32),
}

/// Returns true if there is somebody to ask.
pub(super) fn somebody_is_there() -> bool {
    std::io::stdin().is_terminal() && std::io::stderr().is_terminal()
}

pub(super) async fn ask(question: &str, stop: &mut StopRequest) -> Answer {
    output::print_to_stderr(&format!("{question} [y/N] "));
    let (sender, receiver) = tokio::sync::oneshot::channel();
    // A thread of its own: nothing can end a read from a terminal but the end of the program.
    std::thread::spawn(move || {
        let mut line = String::new();
        let read = std::io::stdin().lock().read_line(&mut line);
        let _ = sender.send(read.map(|_| line).unwrap_or_default());
    });
    tokio::select! {
        line = receiver => match line.unwrap_or_default().trim().to_ascii_lowercase().as_str() {
            "y" | "yes" => Answer::Yes,
            _ => Answer::No,
        },
        Ok(signal) = stop.wait_for(Option::is_some) => Answer::Stopped((*signal).unwrap_or(2)),
    }
}
