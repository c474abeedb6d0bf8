//! What is promised of every task file, for the targets: each holds files of one kind to it.

mod api {
    pub(crate) use ralph_core::task::{
        Status, Task,
        format::{
            Change, Edit, Format, Syntax, apply, convert, fix, parse, parse_loosely, undo_tampering,
        },
    };
}

#[path = "../../crates/ralph-core/src/task/format/tests/promises.rs"]
mod promises;

/// Panics where a file of this name and content breaks a promise.
pub fn check(file: &str, bytes: &[u8]) {
    promises::check(file, bytes);
}
