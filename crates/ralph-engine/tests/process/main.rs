//! Real programs in real process trees: what survives, what is reported, what is read.
//!
//! Helpers unwrap freely: they are tests, though clippy exempts only the test functions themselves.

#![allow(clippy::unwrap_used)]

mod agent;
mod group;
mod output;
mod starting;
mod support;
mod survivors;
mod verifying;
