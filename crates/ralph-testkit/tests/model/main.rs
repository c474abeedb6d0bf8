//! The scripted model: what a plain client gets of it, and what the real agents do with that.

#![allow(clippy::unwrap_used, reason = "a test may panic, its helpers too")]

mod agent;
mod apis;
mod claude;
mod client;
mod conversations;
mod faults;
mod holds;
mod installed;
mod pi;
mod program;
