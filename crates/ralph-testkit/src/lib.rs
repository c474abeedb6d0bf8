//! Test parts of ralph: a fake agent that is a real process, and scratch repositories that are real,
//! in an environment that is clean.
//!
//! For tests alone. Panics where a test would, and never looks at the real home folder or at the
//! caller's git settings.

pub mod fake_agent;
mod test_repo;

pub use test_repo::TestRepo;
