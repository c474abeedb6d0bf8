//! Browser QA: flows of a user run in a real browser against the application under test, and pictures of its pages
//! compared with those that a person approved.
//!
//! Must not judge tasks, know of loops or print: what it finds is data, and `ralph qa run` is a verify command like
//! any other.

pub mod baseline;
#[cfg(feature = "browser")]
pub mod browser;
pub mod config;
pub mod flow;
pub mod page;
pub mod picture;
pub mod program;
pub mod report;
pub mod result;
pub mod runner;
pub mod server;
pub mod session;

/// Tells whether this build can run flows in a browser.
pub const HAS_BROWSER: bool = cfg!(feature = "browser");
