//! Layers with real mounts, each as root and as an ordinary user.
//!
//! A missing tool or right fails a test; none is skipped.

#![allow(
    clippy::print_stdout,
    reason = "a test that another one starts says by it what it found"
)]

mod canaries;
mod contents;
mod leftovers;
mod mounts;
mod places;
pub(crate) mod support;
