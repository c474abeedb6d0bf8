//! The way out: what is told of a run while it goes on.

use ralph_core::{agent::AgentEvent, event::Event};

/// Hears of a run as it happens. Only passes on.
pub trait AgentTap {
    /// What the agent said or did.
    fn agent_event(&mut self, event: AgentEvent);

    /// The agent has said no more for now: what was held back to be told at once is told.
    fn catch_up(&mut self) {}

    /// What the supervisor, a watcher or the outside has to tell about the run.
    fn event(&mut self, _event: &Event) {}

    /// Called about four times a second while the agent runs, if that is wanted at all.
    fn tick(&mut self) {}

    fn wants_ticks(&self) -> bool {
        false
    }
}
