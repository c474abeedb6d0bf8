//! Runs one program such that nothing it starts outlives it: not after it exits, not after a
//! time-out, not after ralph itself is killed.
//!
//! ```text
//! ralph ── A (keeper, dies with ralph) ── B (pid 1 of a namespace, dies with A) ── C (the program)
//! ```
//!
//! When C ends, B reports C's exact status through a pipe and exits; the kernel then kills all that
//! is left in the namespace before A can see B's end. So when [`Running::wait`] returns, the whole
//! tree is dead, also what had left its session or forked twice. Where namespaces are refused, A is
//! a subreaper that kills and reaps until it has no child left ([`Containment::Subreaper`]).
//!
//! **Invariant: one runtime spawns from one thread.** The kernel sends the parent-death signal when
//! the spawning *thread* ends, not the process. ralph's runtime is `current_thread` and lives on the
//! main thread; nothing may spawn from `spawn_blocking`. Debug builds check it.
//!
//! This module must not know what a program means: agents, verify commands and git are its callers.

mod capped_log;
mod containment;
mod keeper;
mod lines;
mod running;
mod spec;
mod streams;
mod tail;
mod terminal;

pub use capped_log::{CappedLog, LogCaps};
pub use containment::{Containment, Detection, UnknownContainment};
pub use lines::{Ending, Line, LineReader};
pub use running::{Ended, Running, StopPlan, Turn, spawn, spawn_on};
pub use rustix::process::Signal;
pub use spec::{CommandSpec, Output, SpawnError, Stdin};
pub use tail::Tail;
pub use terminal::{Terminal, TerminalError};
pub use tokio::net::unix::pipe::Receiver as OutputPipe;
pub use tokio::process::ChildStdin;
