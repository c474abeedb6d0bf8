//! Flows on the sample applications of `tests/samples`: each passes, each seeded fault is found and named, and nothing is
//! found where nothing is wrong.

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
