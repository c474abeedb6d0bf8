//! Runs a program that sends a notification: contained like a verify command, its output bounded, dead
//! when its time is up.

use std::time::Duration;

use ralph_core::sanitize::one_line;
use tokio::io::AsyncReadExt as _;

use super::SendError;
use crate::process::{
    CommandSpec, Containment, Ended, Output, OutputPipe, Running, StopPlan, Tail, spawn,
};

/// Where these programs run: nothing of the repository, which an agent can write, is near.
pub(super) const FOLDER: &str = "/";

/// The bytes of its output that are kept, for an error message.
const SAID_BYTES: usize = 2048;
const SAID_COLUMNS: usize = 200;

/// Runs it to its end. Dropped halfway, it kills the tree.
pub(super) async fn run(
    spec: CommandSpec,
    containment: Containment,
    timeout: Duration,
) -> Result<(), SendError> {
    let program = spec.program.to_string_lossy().into_owned();
    let mut running = spawn(&spec.output(Output::Merged), containment)?;
    let mut tail = Tail::new(usize::MAX, SAID_BYTES);
    let pipe = running.take_stdout();
    let ended = tokio::time::timeout(timeout, end_of(&mut running, pipe, &mut tail)).await;
    let how = match ended {
        Ok(Ok(Ended::Code(0))) => return Ok(()),
        Ok(Ok(Ended::Code(code))) => format!("exit code {code}"),
        Ok(Ok(Ended::Signal(signal))) => format!("signal {signal}"),
        Ok(Err(error)) => format!("an end that could not be awaited ({error})"),
        Err(_) => {
            let _ = running.stop(StopPlan::KILL).await;
            let (what, after) = (program, timeout);
            return Err(SendError::TimedOut { what, after });
        }
    };
    let said = one_line(&tail.text(), SAID_COLUMNS);
    Err(SendError::Failed { program, how, said })
}

async fn end_of(
    running: &mut Running,
    mut pipe: Option<OutputPipe>,
    tail: &mut Tail,
) -> std::io::Result<Ended> {
    let mut buffer = Vec::with_capacity(8 * 1024);
    while let Some(open) = &mut pipe {
        buffer.clear();
        match open.read_buf(&mut buffer).await {
            Ok(0) | Err(_) => pipe = None,
            Ok(_) => tail.push(&buffer),
        }
    }
    running.wait().await
}
