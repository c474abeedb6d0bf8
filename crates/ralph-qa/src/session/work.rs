//! The process of a session: it has the browser and the application, and answers what it is asked on its input.

#[cfg(feature = "browser")]
mod browse;

use std::time::Duration;

use ralph_engine::process::LineReader;
use tokio::{
    io::{AsyncRead, AsyncWrite, AsyncWriteExt as _},
    time::{Instant, timeout, timeout_at},
};

use super::{MOST_REQUEST_BYTES, SessionLimits, SessionReply, SessionRequest};
use crate::{config::BrowserAutomationConfig, server::ProgramPlace};

/// The parent reads what it has asked for.
const WRITE: Duration = Duration::from_secs(30);

/// All that a session needs.
#[derive(Debug)]
pub struct SessionWork<'a> {
    pub config: &'a BrowserAutomationConfig,
    pub place: &'a ProgramPlace,
    pub limits: SessionLimits,
    /// Values of the variables that `secret:` may name.
    pub secrets: &'a [(String, String)],
}

/// Why a session has ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum WorkEnd {
    /// It was asked to, or the one who asks is gone.
    Closed,
    /// Nothing was asked for too long.
    Idle,
    /// It has been there for too long.
    TooLong,
    /// The browser could not be started, or has died.
    NoBrowser,
}

/// Answers requests, a line of JSON each, until it is asked to end, its input ends or a bound is reached. Browser and
/// application are started for the first request, and gone afterwards.
pub async fn work(
    work: &SessionWork<'_>,
    input: impl AsyncRead + Unpin,
    output: impl AsyncWrite + Unpin,
) -> WorkEnd {
    let mut talk = Talk {
        lines: LineReader::with_cap(input, MOST_REQUEST_BYTES),
        output,
        idle: work.limits.idle,
        until: Instant::now() + work.limits.total,
    };
    loop {
        let reply = match talk.next().await {
            Err(end) => return end,
            Ok(SessionRequest::Close) => {
                talk.answer(&SessionReply::Closed).await;
                return WorkEnd::Closed;
            }
            Ok(first @ SessionRequest::Open(_)) => return begin(work, &mut talk, first).await,
            Ok(SessionRequest::Step { .. } | SessionRequest::Look | SessionRequest::Shot(_)) => {
                SessionReply::refused("no page is open", None)
            }
        };
        if !talk.answer(&reply).await {
            return WorkEnd::Closed;
        }
    }
}

#[cfg(feature = "browser")]
use browse::begin;

#[cfg(not(feature = "browser"))]
async fn begin<R, W: AsyncWrite + Unpin>(
    _work: &SessionWork<'_>,
    talk: &mut Talk<R, W>,
    _first: SessionRequest,
) -> WorkEnd {
    let reply = SessionReply::refused(
        "this build of ralph has no browser QA",
        Some("one with `--features qa` or `full` has"),
    );
    talk.answer(&reply).await;
    WorkEnd::NoBrowser
}

/// Requests and replies, with the bounds of the session.
struct Talk<R, W> {
    lines: LineReader<R>,
    output: W,
    idle: Duration,
    until: Instant,
}

impl<R: AsyncRead + Unpin, W: AsyncWrite + Unpin> Talk<R, W> {
    async fn next(&mut self) -> Result<SessionRequest, WorkEnd> {
        loop {
            let idle = Instant::now() + self.idle;
            let end = if idle < self.until {
                WorkEnd::Idle
            } else {
                WorkEnd::TooLong
            };
            let line = timeout_at(idle.min(self.until), self.lines.next_line()).await;
            let line = line.map_err(|_| end)?;
            let Ok(Some(line)) = line else {
                return Err(WorkEnd::Closed);
            };
            if let (Ok(request), 0) = (serde_json::from_slice(line.bytes), line.dropped) {
                return Ok(request);
            }
            let reply = SessionReply::refused("the request is not understood", None);
            if !self.answer(&reply).await {
                return Err(WorkEnd::Closed);
            }
        }
    }
}

impl<R, W: AsyncWrite + Unpin> Talk<R, W> {
    /// Returns false if it was not taken.
    async fn answer(&mut self, reply: &SessionReply) -> bool {
        let Ok(mut line) = serde_json::to_vec(reply) else {
            return false;
        };
        line.push(b'\n');
        let write = async {
            self.output.write_all(&line).await?;
            self.output.flush().await
        };
        matches!(timeout(WRITE, write).await, Ok(Ok(())))
    }
}
