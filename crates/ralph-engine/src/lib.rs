//! The effects of ralph: processes, git, the journal, agents and the driver of the loop.

pub mod git;
