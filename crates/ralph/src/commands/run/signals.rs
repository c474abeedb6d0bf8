//! Turns Ctrl-C and SIGTERM into a request to stop; asked a second time, ralph goes at once, and
//! what it started dies with it. SIGUSR1 is a poke: the queue has something.

use ralph_engine::{agent::StopRequest, inbox::Inbox, stop_request::stop_request};
use tokio::signal::unix::{SignalKind, signal};

use crate::{hangup::Hangup, output, view::key_mode};

pub(crate) fn listen(inbox: Inbox) -> std::io::Result<StopRequest> {
    listen_and_tell(inbox, |text| {
        output::print_to_stderr(&format!("\n{text}\n"))
    })
}

/// The same; a person is told in another way that it stops.
pub(super) fn listen_and_tell(
    inbox: Inbox,
    tell: impl Fn(&str) + Send + 'static,
) -> std::io::Result<StopRequest> {
    let mut interrupt = signal(SignalKind::interrupt())?;
    let mut terminate = signal(SignalKind::terminate())?;
    let mut hangup = Hangup::listen()?;
    let mut poke = signal(SignalKind::user_defined1())?;
    let (sender, receiver) = stop_request();
    tokio::spawn(async move {
        let mut asked = false;
        loop {
            let number = tokio::select! {
                _ = interrupt.recv() => 2,
                _ = terminate.recv() => 15,
                () = hangup.recv() => 1,
                _ = poke.recv() => {
                    inbox.poke();
                    continue;
                }
            };
            if asked {
                key_mode::restore();
                std::process::exit(128 + number);
            }
            asked = true;
            tell("stopping; Ctrl-C stops immediately");
            sender.ask(number);
        }
    });
    Ok(receiver)
}
