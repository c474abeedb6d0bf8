//! The effects of ralph: processes, git, the journal, agents, and the runner of the loop.
//!
//! Depends on the core alone. Never prints: what happens goes to a reporter, what goes wrong is an
//! error that the binary shows.

pub mod agent;
mod artefacts;
pub mod atomic;
pub mod board;
pub mod clock;
pub mod commit_check;
mod config_files;
pub mod disk_fault;
pub mod dot_ralph;
mod durable;
pub mod environment;
pub mod error;
pub mod forecast;
pub mod git;
pub(crate) mod heartbeat;
pub mod human;
pub mod identity;
pub mod inbox;
pub mod inside_run;
pub mod interview;
mod iteration;
mod journal_text;
mod landing;
pub mod layer;
pub mod lock;
pub mod loop_files;
pub mod loop_runner;
pub mod mcp;
pub mod monitor;
mod named_lock;
pub mod notify;
mod owner;
pub mod plain_file;
pub mod plan;
pub mod prices;
pub mod process;
pub mod programs;
pub mod progress_file;
pub mod prompts;
pub mod report;
pub mod sandbox;
pub mod settings;
pub mod side_budget;
pub mod source;
pub mod stop_request;
pub mod supervisor;
pub mod team;
pub mod verifier;
mod workspace;

pub use ralph_store::{self as store, failpoint};
