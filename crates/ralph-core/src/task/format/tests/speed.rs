//! A large file is read in one pass. The limit here is loose: it is for a debug build on a busy
//! machine, and only catches work that grows with the square of the file.

use std::time::{Duration, Instant};

use super::{edit, id, read};
use crate::task::Status;
use crate::task::format::{Change, apply, undo_tampering};

const LIMIT: Duration = Duration::from_secs(20);

fn large(tasks: usize) -> String {
    let mut text = String::from("{\n  \"userStories\": [\n");
    for n in 1..=tasks {
        let comma = if n == tasks { "" } else { "," };
        text.push_str(&format!(
            "    {{\n      \"id\": \"US-{n:06}\",\n      \"title\": \"Story number {n}\",\n      \"acceptanceCriteria\": [\"it works\", \"it is tested\"],\n      \"priority\": {n},\n      \"status\": \"todo\",\n      \"passes\": false\n    }}{comma}\n"
        ));
    }
    text.push_str("  ]\n}\n");
    text
}

#[test]
fn a_file_of_a_hundred_thousand_tasks_is_read_and_changed_without_delay() {
    let text = large(100_000);
    let start = Instant::now();
    assert_eq!(read("prd.json", &text).tasks.len(), 100_000);
    let read_in = start.elapsed();
    let start = Instant::now();
    let done = edit("US-099999", Change::Status(Status::Completed));
    let bytes = apply("prd.json", text.as_bytes(), &[done]).unwrap();
    let changed_in = start.elapsed();
    assert_eq!(bytes.len(), text.len() - 1);
    assert!(
        read_in < LIMIT && changed_in < LIMIT,
        "{read_in:?} {changed_in:?}"
    );
}

#[test]
fn a_file_in_which_every_task_was_claimed_is_put_back_without_delay() {
    let before = large(20_000);
    let after = before.replace("\"passes\": false", "\"passes\": true");
    let start = Instant::now();
    let back = undo_tampering(
        "prd.json",
        before.as_bytes(),
        after.as_bytes(),
        &id("US-000001"),
    );
    let took = start.elapsed();
    assert_eq!(back.tampering.len(), 20_000);
    assert!(back.bytes == before.as_bytes());
    assert!(took < LIMIT, "{took:?}");
}
