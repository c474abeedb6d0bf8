//! The pure part of ralph: what a task is, which one is next, what an agent is told, what its words
//! mean, what a change may contain, and what follows from it.
//!
//! Nothing here reads a file, starts a process, looks at a clock or at the environment. Time comes
//! as an argument; effects are the engine's.

#[macro_use]
mod declare;

pub mod agent;
pub mod allowlist;
pub mod artefacts;
pub mod board;
pub mod breaker;
pub mod change;
pub mod checkpoint;
pub mod command;
pub mod config;
pub mod dollars;
pub mod draft;
pub mod economics;
pub mod escalation;
pub mod event;
pub mod figures;
pub mod goal;
pub mod gutter;
pub mod handoff;
pub mod health;
pub mod id;
pub mod iteration;
pub mod job;
pub mod lint;
pub mod loop_machine;
pub mod loop_state;
pub mod memory;
pub mod metrics;
pub mod monitor;
pub mod notification;
pub mod plan;
pub mod prompt;
pub mod record;
pub mod sanitize;
pub mod secret;
pub mod session_loop;
pub mod signal;
pub mod task;
pub mod termination;
pub mod time;
pub mod usage_limit;
pub mod verdict;
pub mod verify;
