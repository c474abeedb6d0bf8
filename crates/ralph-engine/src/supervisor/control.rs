//! The way in: what the outside asks of a run while its agent works, and what it is told about that.

use async_trait::async_trait;
use ralph_core::health::Choice;

use super::AgentTap;
use crate::agent::StopRequest;

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
#[async_trait(?Send)]
pub trait AgentControl {
    /// Waits until there may be something to read. May be dropped at any time and called again.
    async fn ready(&mut self);

    /// Takes the requests that are there. What it has to tell by itself goes to the tap.
    async fn read(&mut self, tap: &mut dyn AgentTap) -> Vec<ControlRequest>;

    async fn answer(&mut self, _id: u64, _reply: ControlReply, _tap: &mut dyn AgentTap) {}
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

#[async_trait(?Send)]
impl AgentControl for StopOnly<'_> {
    async fn ready(&mut self) {
        if self.is_asked {
            std::future::pending::<()>().await;
        }
        self.stop.until_asked().await;
    }

    async fn read(&mut self, _tap: &mut dyn AgentTap) -> Vec<ControlRequest> {
        self.is_asked = true;
        vec![ControlRequest::Stop]
    }
}
