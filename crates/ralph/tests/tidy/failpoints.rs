//! Failpoints: one that nothing passes would make the crash test prove less than it says.

use crate::repository::{files, read};

#[test]
fn every_failpoint_is_passed_somewhere() {
    let passes: Vec<String> = files()
        .into_iter()
        .filter(|name| {
            name.starts_with("crates/ralph-engine/src/")
                || name.starts_with("crates/ralph-store/src/sync/")
        })
        .filter(|name| !name.ends_with("/failpoint.rs") && !name.contains("/tests/"))
        .map(|name| read(&name))
        // In sync, `pass` is the way to a failpoint.
        .filter(|text| text.contains("failpoint(") || text.contains("pass(\"sync-"))
        .collect();
    use ralph_engine::failpoint::{ALL, OF_COMMANDS, OF_REWRITES, OF_SYNC};
    let all = ALL.iter().chain(&OF_REWRITES).chain(&OF_COMMANDS);
    for name in all.chain(&OF_SYNC) {
        let quoted = format!("\"{name}\"");
        let passed = passes.iter().any(|text| text.contains(&quoted));
        assert!(passed, "nothing passes the failpoint {name}");
    }
}

#[test]
fn every_place_where_the_disk_can_fail_is_passed_and_tried() {
    let effects = |name: &String| {
        name.starts_with("crates/ralph-engine/src/") || name.starts_with("crates/ralph-store/src/")
    };
    let sources: Vec<String> = files()
        .iter()
        .filter(|name| effects(name))
        .map(|name| read(name))
        .collect();
    let tests = read("crates/ralph/tests/loop/faults.rs");
    for place in ralph_engine::failpoint::FAULTS {
        let call = format!("fault(\"{place}\")");
        assert!(
            sources.iter().any(|text| text.contains(&call)),
            "nothing passes {place}"
        );
        let is_tried =
            tests.contains(&format!("(\"{place}\"")) || tests.contains(&format!(":{place}:"));
        assert!(is_tried, "no test has the disk fail at {place}");
    }
}
