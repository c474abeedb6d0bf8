//! The client at standard input and output: lines of JSON in both directions, each with a cap.
//!
//! Notifications before the first request that begins a session are left out: the library takes one there for the end.

use std::{
    pin::Pin,
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
};

use rmcp::{
    ErrorData,
    model::{ClientNotification, JsonRpcMessage},
    service::{RoleServer, RxJsonRpcMessage, TxJsonRpcMessage},
    transport::{
        Transport,
        async_rw::AsyncRwTransport,
        io::{StdioReader, StdioWriter, stdio_pipes},
    },
};
use tokio::sync::watch;

use super::noted_lines::{NotedLines, TOO_LONG};

/// The longest line of a client, with its end. A longer one is read to its end and refused.
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

type Sending = Pin<Box<dyn Future<Output = std::io::Result<()>> + Send>>;

pub(super) struct ClientPipe {
    lines: AsyncRwTransport<RoleServer, NotedLines<StdioReader>, StdioWriter>,
    start: SessionStart,
    /// A refusal that is on its way: receiving may be given up at any time, and begun again.
    refusal: Option<Sending>,
    /// Is true once the input has ended.
    gone: watch::Sender<bool>,
}

impl ClientPipe {
    pub(super) fn open(start: SessionStart) -> (Self, watch::Receiver<bool>) {
        let (gone, is_gone) = watch::channel(false);
        let (read, write) = stdio_pipes();
        let read = NotedLines::new(read, MOST_LINE_BYTES);
        let lines = AsyncRwTransport::new_server(read, write).with_max_line_length(MOST_LINE_BYTES);
        let pipe = Self {
            lines,
            start,
            refusal: None,
            gone,
        };
        (pipe, is_gone)
    }

    /// Its id is not read, so the answer has none, as that to every message that is no request.
    fn refuse_long_line(&mut self) {
        let why = format!("a message has at most {MOST_LINE_BYTES} bytes");
        let error = ErrorData::invalid_request(why, None);
        self.refusal = Some(Box::pin(
            self.lines
                .send(TxJsonRpcMessage::<RoleServer>::error(error, None)),
        ));
    }
}

fn is_too_long(message: &RxJsonRpcMessage<RoleServer>) -> bool {
    let JsonRpcMessage::Notification(said) = message else {
        return false;
    };
    matches!(&said.notification, ClientNotification::CustomNotification(custom) if custom.method == TOO_LONG)
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
            if let Some(refusal) = &mut self.refusal {
                // Where it can't be sent, the input has an end too.
                let _ = refusal.await;
                self.refusal = None;
            }
            match self.lines.receive().await {
                None => {
                    self.gone.send_replace(true);
                    return None;
                }
                Some(request @ JsonRpcMessage::Request(_)) => return Some(request),
                Some(other) if is_too_long(&other) => self.refuse_long_line(),
                Some(other) if self.start.is_noted() => return Some(other),
                Some(_) => {}
            }
        }
    }

    async fn close(&mut self) -> Result<(), Self::Error> {
        self.lines.close().await
    }
}
