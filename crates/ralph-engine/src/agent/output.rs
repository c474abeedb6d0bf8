//! What an agent writes, on its way to its dialect and into the log of its run.
//!
//! Bounded by the readers and logs it is given; keeps nothing itself but the end of stderr.

use ralph_core::{agent::AgentEvent, secret::Redaction};

use super::Dialect;
use crate::process::{CappedLog, LineReader, OutputPipe, Tail};

/// Of what an agent writes to stderr, the end is kept for an error message.
const STDERR_BYTES: usize = 8 * 1024;
/// The mark before each line of stderr in the log of a run.
pub(crate) const STDERR_MARK: &[u8] = b"[stderr] ";

pub(crate) fn stderr_tail() -> Tail {
    Tail::new(STDERR_BYTES)
}

/// Whole lines; `None` at the end, and where reading fails.
pub(crate) async fn next_batch(reader: &mut Option<LineReader<OutputPipe>>) -> Option<&[u8]> {
    match reader {
        Some(reader) => reader.next_batch().await.ok().flatten(),
        None => std::future::pending().await,
    }
}

/// Logs a batch as it came but for secrets and pieces of what comes again, and has its lines read.
pub(crate) fn take_batch(
    batch: &[u8],
    redaction: &Redaction,
    dialect: &mut dyn Dialect,
    events: &mut Vec<AgentEvent>,
    log: &mut CappedLog,
) {
    let batch = &*redaction.hide_lines(batch);
    let (mut start, mut unlogged) = (0, 0);
    for end in memchr::memchr_iter(b'\n', batch) {
        let line = &batch[start..end];
        if dialect.is_chatter(line) {
            log.push(&batch[unlogged..start]);
            unlogged = end + 1;
        }
        dialect.read_line(line, events);
        start = end + 1;
    }
    log.push(&batch[unlogged..]);
    if start < batch.len() {
        log.push(b"\n");
        dialect.read_line(&batch[start..], events);
    }
}

/// Marks each line, so that a log can be read again as what it was.
pub(crate) fn log_stderr(batch: &[u8], log: &mut CappedLog) {
    for line in batch.split_inclusive(|byte| *byte == b'\n') {
        log.push(STDERR_MARK);
        log.push(line);
    }
    if !batch.ends_with(b"\n") {
        log.push(b"\n");
    }
}
