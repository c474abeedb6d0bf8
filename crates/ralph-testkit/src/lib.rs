//! Test parts of ralph: scratch repositories that are real, in an environment that is clean.
//!
//! For tests alone. Panics where a test would, and never looks at the real home folder or at the
//! caller's git settings.

mod test_repo;

pub use test_repo::TestRepo;
