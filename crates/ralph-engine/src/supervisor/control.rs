//! The way in: what the outside asks of a run while its agent works, and what it is told about that.

use std::{future::Future, pin::Pin};

use ralph_core::health::Choice;

use super::AgentTap;
use crate::agent::StopRequest;

/// A future that borrows, for traits that are used as objects.
pub type LocalFuture<'a, T> = Pin<Box<dyn Future<Output = T> + 'a>>;

/// What the outside asks for. The id is for the answer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ControlRequest {
    /// End the run.
    Stop,
    /// Say this to the agent.
    Say { id: u64, text: String },
    /// A person decided about an agent that makes no progress.
    Choose { id: u64, choice: Choice },
}

/// What became of a request.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ControlReply {
    /// The agent was told.
    Told,
    /// This agent can't be told anything while it runs.
    CannotBeTold,
    /// A choice was followed, in these words.
    Followed { sentence: String },
    /// The run is being ended, or no watcher follows this: it is for later.
    NotFollowed,
}

/// Where requests come from.
pub trait AgentControl {
    /// Waits until there may be something to read. May be dropped at any time and called again.
    fn ready(&mut self) -> LocalFuture<'_, ()>;

    /// Takes the requests that are there. What it has to tell by itself goes to the tap.
    fn read<'a>(&'a mut self, tap: &'a mut dyn AgentTap) -> LocalFuture<'a, Vec<ControlRequest>>;

    fn answer<'a>(
        &'a mut self,
        _id: u64,
        _reply: ControlReply,
        _tap: &'a mut dyn AgentTap,
    ) -> LocalFuture<'a, ()> {
        Box::pin(async {})
    }
}

/// Control of a run that can only be stopped.
pub struct StopOnly<'a> {
    stop: &'a mut StopRequest,
    is_asked: bool,
}

impl<'a> StopOnly<'a> {
    pub fn new(stop: &'a mut StopRequest) -> Self {
        Self {
            stop,
            is_asked: false,
        }
    }
}

impl AgentControl for StopOnly<'_> {
    fn ready(&mut self) -> LocalFuture<'_, ()> {
        Box::pin(async {
            if self.is_asked {
                std::future::pending::<()>().await;
            }
            self.stop.until_asked().await;
        })
    }

    fn read<'a>(&'a mut self, _tap: &'a mut dyn AgentTap) -> LocalFuture<'a, Vec<ControlRequest>> {
        self.is_asked = true;
        Box::pin(async { vec![ControlRequest::Stop] })
    }
}
