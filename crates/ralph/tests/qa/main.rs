//! `ralph qa` from outside: the real program, a real browser, a server of a few lines.

#![allow(clippy::unwrap_used, reason = "a test may panic, its helpers too")]

mod approving;
mod doctor;
mod drafting;
mod killed;
mod linting;
mod mistakes;
mod results;
mod sandbox;
mod sessions;
mod support;
