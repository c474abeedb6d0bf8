//! Turns Ctrl-C and SIGTERM into a request to stop; asked a second time, ralph goes at once, and
//! what it started dies with it. SIGUSR1 is a poke: the queue has something.

use ralph_engine::{agent::StopRequest, inbox::Inbox, stop_request::stop_request};
use tokio::signal::unix::{SignalKind, signal};

use crate::{hangup::Hangup, output, view::key_mode};

pub(crate) fn listen(inbox: Inbox) -> std::io::Result<StopRequest> {
    listen_and_tell(inbox, |notice| match notice {
        StopNotice::Stopping => output::print_to_stderr(&format!("\n{STOPPING}\n")),
        StopNotice::Exiting => {}
    })
}

pub(super) const STOPPING: &str = "stopping; press again to stop immediately";

/// A stop that was asked for.
pub(super) enum StopNotice {
    Stopping,
    /// ralph is gone at once: nothing else is drawn or put back.
    Exiting,
}

/// The same; a person is told of it in another way.
pub(super) fn listen_and_tell(
    inbox: Inbox,
    tell: impl Fn(StopNotice) + Send + 'static,
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
                tell(StopNotice::Exiting);
                key_mode::restore();
                std::process::exit(128 + number);
            }
            asked = true;
            tell(StopNotice::Stopping);
            sender.ask(number);
        }
    });
    Ok(receiver)
}
