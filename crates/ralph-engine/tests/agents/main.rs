//! Real agents behind the one runner: the real programs, against the scripted model on loopback.
//!
//! Helpers unwrap freely: they are tests, though clippy exempts only the test functions themselves.

#![allow(clippy::unwrap_used)]

mod claude;
mod contract;
mod deaf;
mod others;
mod pi;
mod support;
mod who;
