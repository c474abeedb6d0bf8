//! Task files in YAML: whatever is in them, what is promised of every file holds.

#![no_main]

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

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| {
    promises::check("a.yaml", bytes);
});
