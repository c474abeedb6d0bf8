//! A watcher looks at one side of a run and answers with steps. It does nothing by itself.

use std::time::Duration;

use async_trait::async_trait;
use ralph_core::{
    agent::{Beat, Ending, NudgeState, RunMoment, ToolCall},
    dollars::Dollars,
    economics::ModelCall,
    event::Event,
    health::Choice,
};

use crate::process::FileWrites;

/// What is to be done about the running agent.
#[derive(Debug, Clone, PartialEq)]
pub enum WatcherStep {
    /// Say this to it. What becomes of that goes to [`Watcher::nudged`].
    Nudge(String),
    /// End it with all that it started; its run has ended like this then.
    Cut(Ending),
    Tell(Box<Event>),
    /// Let all watchers know what the run has cost so far.
    Spent(Dollars),
    /// Refuse or allow the writing of files to it and all that it started.
    Writes(FileWrites),
    /// Look at the working tree. Answered by [`Watcher::saw`].
    Look,
}

/// One thing that the agent's stream said.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Observation {
    pub beat: Beat,
    /// The tool call that ended with it.
    pub ended_call: Option<ToolCall>,
}

/// What a watcher makes of a person's choice.
#[derive(Debug, Clone, PartialEq)]
pub struct Followed {
    /// What is done about it, for the person who typed it.
    pub sentence: String,
    pub steps: Vec<WatcherStep>,
}

/// One thing that a run is watched for.
pub trait Watcher {
    fn observe(&mut self, seen: &Observation, now: RunMoment) -> Vec<WatcherStep>;

    /// Calls to models were seen to use this.
    fn used(&mut self, _calls: &[ModelCall], _now: RunMoment) -> Vec<WatcherStep> {
        Vec::new()
    }

    /// The run has cost so much, where there is a limit of that.
    fn spent(&mut self, _so_far: Dollars, _now: RunMoment) -> Vec<WatcherStep> {
        Vec::new()
    }

    /// Returns what became of one of its own messages to the agent.
    fn nudged(&mut self, _state: NudgeState, _now: RunMoment) -> Vec<WatcherStep> {
        Vec::new()
    }

    /// When it is to be woken though nothing is heard. After that it must be later, or never.
    fn wakes_at(&self, _now: RunMoment) -> Option<Duration> {
        None
    }

    fn wake(&mut self, _now: RunMoment) -> Vec<WatcherStep> {
        Vec::new()
    }

    /// The fingerprint of the working tree; none where it can't be looked at.
    fn saw(&mut self, _tree: Option<u64>, _now: RunMoment) -> Vec<WatcherStep> {
        Vec::new()
    }

    /// A person has chosen; `None` leaves the choice to another watcher.
    fn chosen(&mut self, _choice: Choice, _now: RunMoment) -> Option<Followed> {
        None
    }
}

/// Looks at the working tree of a run.
#[async_trait(?Send)]
pub trait TreeProbe {
    async fn fingerprint(&self) -> Option<u64>;
}
