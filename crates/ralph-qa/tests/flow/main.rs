//! Flow files: what is read from them, what is said of those that are wrong, and how they are found.

#![allow(clippy::unwrap_used, reason = "a test may panic, its helpers too")]
#![allow(clippy::too_many_lines, reason = "tables of flows")]

mod bad;
mod files;
mod good;
mod lint;
mod properties;
mod schema;
