//! SIGHUP: the terminal is gone. A process that was started with it ignored, by `nohup` for example, is to
//! outlive its terminal, and goes on.

use std::io;

use ralph_engine::process::{self, Signal as SignalNumber};
use tokio::signal::unix::{Signal, SignalKind, signal};

pub(crate) struct Hangup(Option<Signal>);

impl Hangup {
    pub(crate) fn listen() -> io::Result<Self> {
        if process::is_ignored(SignalNumber::HUP) {
            return Ok(Self(None));
        }
        signal(SignalKind::hangup()).map(|signal| Self(Some(signal)))
    }

    /// Returns when the terminal is gone; never, if that is ignored.
    pub(crate) async fn recv(&mut self) {
        match &mut self.0 {
            Some(signal) => {
                signal.recv().await;
            }
            None => std::future::pending().await,
        }
    }
}
