//! Test parts of ralph: a fake agent that is a real process, and a builder of scratch repositories.

pub mod fake_agent;
