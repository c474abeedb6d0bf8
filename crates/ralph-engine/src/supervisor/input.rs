//! The open input of a running agent: messages in order, written beside everything else.
//!
//! Never blocks its caller: an agent that does not read what it is told must not stop its reader. What waits for
//! it is counted, so that its caller can stop in time.

use std::sync::{
    Arc,
    atomic::{AtomicUsize, Ordering},
};

use tokio::{
    io::AsyncWriteExt as _,
    process::ChildStdin,
    sync::mpsc::{UnboundedSender, unbounded_channel},
};

use crate::process::widen_pipe;

/// Bytes that may wait for an agent to read them. Far more than a prompt and all that a person says.
const MAX_WAITING: usize = 8 * 1024 * 1024;

/// Dropping it closes the input once everything is written.
pub(super) struct AgentInput {
    messages: UnboundedSender<Vec<u8>>,
    waiting: Arc<AtomicUsize>,
}

/// Tells whether more may be written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[must_use]
pub(super) enum InputRoom {
    Left,
    /// It does not read: nothing more should wait for it.
    Exhausted,
}

impl AgentInput {
    pub(super) fn new(mut pipe: ChildStdin) -> Self {
        let (messages, mut to_write) = unbounded_channel::<Vec<u8>>();
        let waiting = Arc::new(AtomicUsize::new(0));
        let written = Arc::clone(&waiting);
        tokio::spawn(async move {
            widen_pipe(&pipe);
            while let Some(bytes) = to_write.recv().await {
                // An agent that closes its input hears no more, which is its right.
                if pipe.write_all(&bytes).await.is_err() {
                    return;
                }
                written.fetch_sub(bytes.len(), Ordering::Relaxed);
            }
        });
        Self { messages, waiting }
    }

    pub(super) fn write(&self, bytes: Vec<u8>) -> InputRoom {
        let more = bytes.len();
        let before = self.waiting.fetch_add(more, Ordering::Relaxed);
        if more == 0 || self.messages.send(bytes).is_err() {
            self.waiting.fetch_sub(more, Ordering::Relaxed);
            return InputRoom::Left;
        }
        if before + more > MAX_WAITING {
            InputRoom::Exhausted
        } else {
            InputRoom::Left
        }
    }
}
