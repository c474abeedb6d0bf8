//! The effects of ralph: processes, git, the journal, agents, and the driver of the loop.
//!
//! Depends on the core alone. Never prints: what happens goes to a reporter, what goes wrong is an
//! error that the binary shows.

pub mod clock;
pub mod failpoint;
pub mod store;
//! The effects of ralph: processes, git, the journal, agents and the driver of the loop.

pub mod process;
//! ralph-engine

pub mod settings;
