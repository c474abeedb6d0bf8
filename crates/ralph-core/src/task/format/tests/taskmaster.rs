//! Taskmaster's own list of a file that ralph wrote: recorded, because the program is 1.4 GB.
//!
//! `taskmaster/list.json` is what `task-master list --with-subtasks --json` of task-master-ai 0.43.1 printed about
//! `taskmaster/tasks.json`, without network.

use super::set;
use crate::task::Status;

#[test]
fn what_ralph_completes_is_done_for_taskmaster() {
    let after = include_str!("taskmaster/tasks.json");
    let before = after.replace("\"status\": \"done\"", "\"status\": \"pending\"");
    let completed = ["1", "2.1"].iter().fold(before, |text, id| {
        set("tasks.json", &text, id, Status::Completed)
    });
    assert_eq!(completed, after);
    let listed: serde_json::Value =
        serde_json::from_str(include_str!("taskmaster/list.json")).unwrap();
    let tasks = &listed["tasks"];
    let part = |n: usize| &tasks[1]["subtasks"][n]["status"];
    let said = [&tasks[0]["status"], &tasks[1]["status"], part(0), part(1)];
    assert_eq!(said, ["done", "pending", "done", "pending"]);
}
