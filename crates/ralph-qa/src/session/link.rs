//! The end of a session's process that asks: it starts the process, and the process ends with it.

use std::{
    io,
    sync::{Arc, Mutex, PoisonError},
    time::Duration,
};

use ralph_engine::process::{
    CommandSpec, Containment, LineReader, Output, OutputPipe, Running, SpawnError, Stdin, StopPlan,
    Tail, spawn,
};
use tokio::{
    io::{AsyncReadExt as _, AsyncWriteExt as _},
    process::ChildStdin,
    time::timeout,
};

use super::{MOST_REPLY_BYTES, SessionReply, SessionRequest};

/// The time that it has to end its browser and its application once its input is closed.
const GRACE: Duration = Duration::from_secs(10);
/// The bytes of its errors that are kept.
const PRINTED_BYTES: usize = 16 * 1024;

/// A session's process, from outside. Dropping it kills the process and all that it started.
#[derive(Debug)]
pub struct SessionLink {
    running: Running,
    input: Option<ChildStdin>,
    output: LineReader<OutputPipe>,
    printed: Arc<Mutex<Tail>>,
}

/// The process has ended, or speaks no protocol of this version.
#[derive(Debug, thiserror::Error)]
#[error("the browser session has ended{}", and_printed(.printed))]
pub struct SessionGone {
    /// The last lines that it printed.
    pub printed: String,
}

fn and_printed(printed: &str) -> String {
    if printed.is_empty() {
        String::new()
    } else {
        format!(": {printed}")
    }
}

impl SessionLink {
    /// Starts a process whose input and output are those of [`super::work`].
    pub fn start(mut spec: CommandSpec, containment: Containment) -> Result<Self, SpawnError> {
        spec.stdin = Stdin::Open;
        spec.output = Output::Separate;
        let mut running = spawn(&spec, containment)?;
        let printed = Arc::new(Mutex::new(Tail::new(PRINTED_BYTES)));
        if let Some(errors) = running.take_stderr() {
            tokio::spawn(keep_tail(errors, Arc::clone(&printed)));
        }
        let broken = |what: &str| SpawnError::NotRunnable {
            program: spec.program.to_string_lossy().into_owned(),
            source: io::Error::other(format!("it has no {what}")),
        };
        let output = running.take_stdout().ok_or_else(|| broken("output"))?;
        let input = running.take_stdin().ok_or_else(|| broken("input"))?;
        Ok(Self {
            running,
            input: Some(input),
            output: LineReader::with_cap(output, MOST_REPLY_BYTES),
            printed,
        })
    }

    /// Asks, and waits for the reply. There is one request at a time.
    pub async fn ask(&mut self, request: &SessionRequest) -> Result<SessionReply, SessionGone> {
        match self.try_ask(request).await {
            Some(reply) => Ok(reply),
            None => {
                // What it printed last may still be on its way.
                let _ = timeout(GRACE, self.running.stop(StopPlan::KILL)).await;
                Err(SessionGone {
                    printed: self.printed(),
                })
            }
        }
    }

    async fn try_ask(&mut self, request: &SessionRequest) -> Option<SessionReply> {
        let mut line = serde_json::to_vec(request).ok()?;
        line.push(b'\n');
        let input = self.input.as_mut()?;
        input.write_all(&line).await.ok()?;
        input.flush().await.ok()?;
        let line = self.output.next_line().await.ok()??;
        if line.dropped > 0 {
            return None;
        }
        serde_json::from_slice(line.bytes).ok()
    }

    /// Waits until the process has ended by itself.
    pub async fn ended(&mut self) {
        let _ = self.running.wait().await;
    }

    /// Lets the process end what it started, and kills it if it does not.
    pub async fn close(mut self) {
        self.input = None;
        if timeout(GRACE, self.running.wait()).await.is_err() {
            let _ = self.running.stop(StopPlan::KILL).await;
        }
    }

    fn printed(&self) -> String {
        let tail = self.printed.lock().unwrap_or_else(PoisonError::into_inner);
        tail.text().trim().to_owned()
    }
}

async fn keep_tail(mut from: OutputPipe, tail: Arc<Mutex<Tail>>) {
    let mut buffer = Vec::with_capacity(PRINTED_BYTES);
    while let Ok(1..) = from.read_buf(&mut buffer).await {
        let mut tail = tail.lock().unwrap_or_else(PoisonError::into_inner);
        tail.push(&buffer);
        buffer.clear();
    }
}
