//! The open input of a running agent: messages in order, written beside everything else.
//!
//! Never blocks its caller: an agent that does not read what it is told must not stop its reader.

use tokio::{
    io::AsyncWriteExt as _,
    process::ChildStdin,
    sync::mpsc::{UnboundedSender, unbounded_channel},
};

use crate::process::widen_pipe;

/// Dropping it closes the input once everything is written.
pub(super) struct AgentInput {
    messages: UnboundedSender<Vec<u8>>,
}

impl AgentInput {
    pub(super) fn new(mut pipe: ChildStdin) -> Self {
        let (messages, mut to_write) = unbounded_channel::<Vec<u8>>();
        tokio::spawn(async move {
            widen_pipe(&pipe);
            while let Some(bytes) = to_write.recv().await {
                // An agent that closes its input hears no more, which is its right.
                if pipe.write_all(&bytes).await.is_err() {
                    return;
                }
            }
        });
        Self { messages }
    }

    pub(super) fn write(&self, bytes: Vec<u8>) {
        if !bytes.is_empty() {
            let _ = self.messages.send(bytes);
        }
    }
}
