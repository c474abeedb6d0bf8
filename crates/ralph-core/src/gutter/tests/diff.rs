//! Tests what is kept of a diff: what counts as the same hunk, and what undoes what.

use super::super::{HunkHash, Trace, trace_of_diff};

fn hunk(path: &str, removed: &str, added: &str) -> String {
    let lines = |mark: &str, text: &str| -> String {
        text.lines().map(|line| format!("{mark}{line}\n")).collect()
    };
    let (old, new) = (removed.lines().count(), added.lines().count());
    format!(
        "diff --git a/{path} b/{path}\nindex 1..2 100644\n--- a/{path}\n+++ b/{path}\n@@ -7,{old} +7,{new} @@ fn f()\n{}{}",
        lines("-", removed),
        lines("+", added),
    )
}

fn hunks(diff: &str) -> Vec<HunkHash> {
    trace_of_diff("t", diff.as_bytes()).hunks
}

#[test]
fn a_diff_gives_its_files_and_a_hash_for_each_hunk() {
    let two = "diff --git a/dir/a b.rs b/dir/a b.rs\nindex 1..2 100644\n--- a/dir/a b.rs\t\n+++ b/dir/a b.rs\t\n\
               @@ -1 +1 @@\n-one\n+two\n@@ -9,0 +9,2 @@ fn f()\n+x\n+y\n";
    let gone = "diff --git a/gone.rs b/gone.rs\ndeleted file mode 100644\nindex 1..0\n--- a/gone.rs\n+++ /dev/null\n@@ -1 +0,0 @@\n-x\n";
    let binary =
        "diff --git a/b.png b/b.png\nindex 1..2 100644\nBinary files a/b.png and b/b.png differ\n";
    let trace = trace_of_diff("tree", format!("{two}{gone}{binary}").as_bytes());
    assert_eq!(trace.tree, "tree");
    assert_eq!(trace.files, ["dir/a b.rs", "gone.rs", "b.png"]);
    assert_eq!(trace.hunks.len(), 3);
    assert_eq!(
        trace_of_diff("t", b""),
        Trace {
            tree: "t".into(),
            ..Trace::default()
        }
    );
}

#[test]
fn what_one_hunk_added_is_what_the_opposite_one_removed() {
    let there = hunks(&hunk("a.rs", "one\n", "two\n"));
    let back = hunks(&hunk("a.rs", "two\n", "one\n"));
    assert_eq!(
        (&there[0].added, &there[0].removed),
        (&back[0].removed, &back[0].added)
    );
}

#[test]
fn place_and_white_space_do_not_count_but_numbers_and_the_file_do() {
    let plain = hunks(&hunk("a.rs", "wait(5)\n", "wait(10)\n"));
    let moved = hunk("a.rs", "wait(5)\n", "wait(10)\n").replace("-7,", "-99,");
    assert_eq!(hunks(&moved), plain, "another place");
    assert_eq!(
        hunks(&hunk("a.rs", "\twait(5)\n", "    wait(10)  \n\n")),
        plain,
        "white space"
    );
    assert_ne!(
        hunks(&hunk("a.rs", "wait(5)\n", "wait(11)\n")),
        plain,
        "another number"
    );
    assert_ne!(
        hunks(&hunk("b.rs", "wait(5)\n", "wait(10)\n")),
        plain,
        "another file"
    );
    assert_eq!(
        hunks(&hunk("a.rs", "if x\n", "  if   x\n")),
        [],
        "to indent is no change"
    );
}

#[test]
fn lines_that_look_like_headings_are_lines() {
    let sly = hunk("a.sql", "-- @@ -1 +1 @@\n", "++ b/other\n");
    let trace = trace_of_diff("t", sly.as_bytes());
    assert_eq!((trace.files.len(), trace.hunks.len()), (1, 1));
}

#[test]
fn what_is_kept_is_bounded() {
    let many: String = (0..500)
        .map(|n| hunk(&format!("f{n}.rs"), "a\n", &format!("{n}\n")))
        .collect();
    let trace = trace_of_diff("t", many.as_bytes());
    assert_eq!((trace.files.len(), trace.hunks.len()), (100, 200));
}
