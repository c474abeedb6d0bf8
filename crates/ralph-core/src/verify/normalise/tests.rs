//! Pairs of outputs that are the same failure, and pairs that are not.

use super::normalise;

const SAME: &[(&str, &str, &str)] = &[
    (
        "iso time",
        "2026-11-15T06:48:24.496Z ERROR boom",
        "2027-01-02T23:59:59Z ERROR boom",
    ),
    ("date", "report of 2026-11-15", "report of 2026-12-01"),
    (
        "unix date",
        "Sat Nov 15 08:32:11 UTC 2026: boom",
        "Sun Nov 16 09:01:00 UTC 2026: boom",
    ),
    ("time of day", "[08:32:11] boom", "[23:01:59.123] boom"),
    ("seconds", "finished in 0.03s", "finished in 12.51s"),
    (
        "milliseconds",
        "FAIL a.test.js (12 ms)",
        "FAIL a.test.js (3 ms)",
    ),
    ("minutes and seconds", "took 1m 12.5s", "took 3s"),
    (
        "word seconds",
        "Ran 3 tests in 0.002 seconds",
        "Ran 3 tests in 1 second",
    ),
    ("address", "object at 0x7f3a2c0010", "object at 0x55d0aa"),
    (
        "rust temp",
        "cannot read /tmp/.tmpAbC123/out.txt",
        "cannot read /tmp/.tmpZzZ999/out.txt",
    ),
    (
        "pytest temp",
        "in /tmp/pytest-of-me/pytest-12/test_a0/x",
        "in /tmp/pytest-of-me/pytest-13/test_a1/x",
    ),
    (
        "mac temp",
        "open /var/folders/ab/c1d2/T/x1/f.go",
        "open /private/var/folders/zz/q9/T/y2/f.go",
    ),
    ("pid", "server pid=4711 died", "server pid=99 died"),
    (
        "process",
        "Process 4711 exited with code 1",
        "Process 12 exited with code 1",
    ),
    (
        "rust thread id",
        "thread 'a::b' (123) panicked",
        "thread 'a::b' (98765) panicked",
    ),
    (
        "sanitizer",
        "==123==ERROR: heap-use-after-free",
        "==77==ERROR: heap-use-after-free",
    ),
    (
        "uuid",
        "request 058c37c8-7b7c-49c3-ba4f-d0cdb1d63e36 failed",
        "request 9d847181-7317-4069-b2f3-4a91c24ed1a3 failed",
    ),
    ("colour", "\x1b[31merror\x1b[0m: boom", "error: boom"),
    (
        "line and column",
        "  --> src/lib.rs:12:5",
        "  --> src/lib.rs:112:9",
    ),
    (
        "python line",
        "File \"a.py\", line 12, in f",
        "File \"a.py\", line 40, in f",
    ),
    (
        "typescript place",
        "src/a.ts(12,5): error TS2322: no",
        "src/a.ts(13,7): error TS2322: no",
    ),
    (
        "rustc gutter",
        " 9 | let x: u8 = \"\";",
        "10 | let x: u8 = \"\";",
    ),
    (
        "go place",
        "    a_test.go:12: got 3",
        "    a_test.go:15: got 3",
    ),
    (
        "port",
        "ECONNREFUSED 127.0.0.1:45123",
        "ECONNREFUSED 127.0.0.1:33901",
    ),
    (
        "port word",
        "listening on port 45123",
        "listening on port 8080",
    ),
    ("percent", "coverage 81.2%", "coverage 79 %"),
    ("progress", "[ 3/120] Compiling x", "[77/120] Compiling x"),
    ("redrawn line", "10%\r50%\r100% done", "100% done"),
    (
        "binary hash",
        "Running deps/foo-0123456789abcdef",
        "Running deps/foo-fedcba9876543210",
    ),
    (
        "passed count",
        "1 failed, 12 passed in 0.1s",
        "1 failed, 13 passed in 0.2s",
    ),
    (
        "rust counts",
        "running 12 tests\ntest result: FAILED. 11 passed; 1 failed; finished in 0.01s",
        "running 13 tests\ntest result: FAILED. 12 passed; 1 failed; finished in 0.02s",
    ),
    (
        "python counts",
        "collected 12 items\nRan 12 tests",
        "collected 13 items\nRan 13 tests",
    ),
    ("blank lines and blanks", "a  b\n\n\nc", "a b\nc   "),
    ("windows newlines", "a\r\nb\r\n", "a\nb\n"),
];

const DIFFERENT: &[(&str, &str, &str)] = &[
    (
        "another test",
        "FAILED tests/test_a.py::test_x",
        "FAILED tests/test_a.py::test_y",
    ),
    (
        "another file",
        "  --> src/lib.rs:12:5",
        "  --> src/main.rs:12:5",
    ),
    (
        "another value",
        "assert left == right: 3 != 4",
        "assert left == right: 3 != 5",
    ),
    (
        "another error code",
        "error[E0308]: mismatched",
        "error[E0382]: mismatched",
    ),
    (
        "more failures",
        "1 failed, 12 passed",
        "2 failed, 12 passed",
    ),
    ("more failing tests", "1 test failed", "2 tests failed"),
    ("another message", "error: boom", "error: bang"),
    (
        "another exit code in text",
        "make: *** [all] Error 1",
        "make: *** [all] Error 2",
    ),
    (
        "another file below a temp folder",
        "no /tmp/a1/x.txt",
        "no /tmp/a1/y.txt",
    ),
    ("another order", "a\nb", "b\na"),
    ("another http status", "got 404 from /x", "got 500 from /x"),
    ("a line more", "error: a", "error: a\nerror: b"),
    (
        "another host",
        "cannot reach example.org",
        "cannot reach example.net",
    ),
];

#[test]
fn outputs_of_the_same_failure_come_out_equal() {
    for (name, one, two) in SAME {
        assert_eq!(normalise(one), normalise(two), "{name}");
    }
}

#[test]
fn outputs_of_different_failures_stay_different() {
    for (name, one, two) in DIFFERENT {
        assert_ne!(normalise(one), normalise(two), "{name}");
    }
}

#[test]
fn says_what_it_took_out() {
    assert_eq!(
        normalise("thread 'x' (7) panicked at src/a.rs:3:9:\nleft: 0x7f in 0.5s\n"),
        [
            "thread 'x' panicked at src/a.rs:",
            "left: <hex> in <duration>"
        ]
    );
}

#[test]
fn a_line_without_an_end_is_cut() {
    assert_eq!(normalise(&"y".repeat(5_000)), ["y".repeat(1_000)]);
}
