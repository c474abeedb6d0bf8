//! Flows on the sample applications of `tests/samples`: each passes, each seeded fault is found and named, and nothing is
//! found where nothing is wrong.

#![allow(clippy::unwrap_used, reason = "a test may panic, its helpers too")]

#[path = "samples/faults.rs"]
mod faults;
#[path = "samples/flows.rs"]
mod flows;
#[path = "samples/harness.rs"]
mod harness;
#[path = "samples/killed.rs"]
mod killed;
#[path = "samples/storm.rs"]
mod storm;
