//! Test parts of ralph: a fake agent that is a real process, a model that plays a script for agents
//! that are real, and scratch repositories that are real, in an environment that is clean.
//!
//! For tests alone. Panics where a test would, and never looks at the real home folder or at the
//! caller's git settings.

pub mod agents;
pub mod fake_agent;
pub mod model;
mod test_repo;

pub use test_repo::TestRepo;
