//! Test parts of ralph: a fake agent that is a real process, a model that plays a script for real
//! agents, recordings of what real agents wrote, scratch repositories with a clean environment, and real PostgreSQL
//! servers.
//!
//! For tests alone. Panics where a test would, and never looks at the real home folder or at the
//! caller's git settings.

pub mod agents;
pub mod captures;
pub mod fake_agent;
pub mod image;
pub mod model;
pub mod postgres;
pub mod proxy;
mod test_repo;
mod tool_stream;

pub use test_repo::TestRepo;
pub use tool_stream::{StreamDialect, ToolStream};
