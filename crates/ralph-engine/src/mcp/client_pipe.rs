//! The client at standard input and output: lines of JSON in both directions, each with a cap.
//!
//! Notifications before the first request that begins a session are left out: the library takes one there for the end.

use std::sync::{
    Arc,
    atomic::{AtomicBool, Ordering},
};

use rmcp::{
    model::JsonRpcMessage,
    service::{RoleServer, RxJsonRpcMessage, TxJsonRpcMessage},
    transport::{
        Transport,
        async_rw::AsyncRwTransport,
        io::{StdioReader, StdioWriter, stdio_pipes},
    },
};
use tokio::sync::watch;

/// The longest line of a client. A longer one is read to its end and forgotten.
const MOST_LINE_BYTES: usize = 1024 * 1024;

/// Says that a session has begun.
#[derive(Debug, Clone, Default)]
pub(super) struct SessionStart(Arc<AtomicBool>);

impl SessionStart {
    pub(super) fn note(&self) {
        self.0.store(true, Ordering::Relaxed);
    }

    fn is_noted(&self) -> bool {
        self.0.load(Ordering::Relaxed)
    }
}

pub(super) struct ClientPipe {
    lines: AsyncRwTransport<RoleServer, StdioReader, StdioWriter>,
    start: SessionStart,
    /// Is true once the input has ended.
    gone: watch::Sender<bool>,
}

impl ClientPipe {
    pub(super) fn open(start: SessionStart) -> (Self, watch::Receiver<bool>) {
        let (gone, is_gone) = watch::channel(false);
        let (read, write) = stdio_pipes();
        let lines = AsyncRwTransport::new_server(read, write).with_max_line_length(MOST_LINE_BYTES);
        (Self { lines, start, gone }, is_gone)
    }
}

impl Transport<RoleServer> for ClientPipe {
    type Error = std::io::Error;

    fn send(
        &mut self,
        message: TxJsonRpcMessage<RoleServer>,
    ) -> impl Future<Output = Result<(), Self::Error>> + Send + 'static {
        self.lines.send(message)
    }

    async fn receive(&mut self) -> Option<RxJsonRpcMessage<RoleServer>> {
        loop {
            match self.lines.receive().await {
                None => {
                    self.gone.send_replace(true);
                    return None;
                }
                Some(request @ JsonRpcMessage::Request(_)) => return Some(request),
                Some(other) if self.start.is_noted() => return Some(other),
                Some(_) => {}
            }
        }
    }

    async fn close(&mut self) -> Result<(), Self::Error> {
        self.lines.close().await
    }
}
