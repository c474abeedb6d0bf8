//! `ralph run` from outside: the real binary, real git, real processes. One binary for all of it:
//! linking is dear.

#![allow(clippy::unwrap_used, reason = "a test may panic, its helpers too")]

mod claims;
mod contents;
mod formats;
mod git_tricks;
mod landing;
mod options;
mod outcomes;
mod streams;
mod support;
mod verifying;
