//! What lints can't check: the shape of the repository, and whether its texts tell the truth.

#![allow(clippy::unwrap_used, reason = "a test may panic, its helpers too")]

mod documents;
mod failpoints;
mod manifests;
mod on_its_own;
mod repository;
mod samples;
mod sources;
mod type_names;
mod words;
