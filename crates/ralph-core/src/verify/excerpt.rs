//! The part of a failing command's output that a person sees first: the lines that say what failed, not the
//! progress around them.

use std::{collections::BTreeSet, sync::LazyLock};

use regex::Regex;

use super::strip_terminal;

/// Lines after one that says what failed, and lines at the very end: the sum.
const AFTER: usize = 2;
const AT_END: usize = 2;

/// Words by which compilers and test runners say what failed.
static FAILS: LazyLock<Regex> = LazyLock::new(|| {
    Regex::new(
        r"(?x)
        ^\s*(?:error|fatal|FAIL|FAILED|E\s{2,}|not\ ok|✗|✕|×|●|Traceback|---\ FAIL|\#\#\[error\])
        | \b(?:error|Error|ERROR)(?:\[\w+\])?:
        | \b(?:panicked\ at|assertion\ .*failed|AssertionError|Exception|undefined\ reference)
        | \.\.\.\ (?:FAILED|ERROR)\b
        | ^\S+:\d+(?::\d+)?:?\ (?:error|Error)
        | :\ (?:command\ )?not\ found$
        ",
    )
    .expect("a constant pattern")
});

/// At most so many lines of an output, with `…` for what is left out between them. Without a line that says what
/// failed, the last ones.
pub fn excerpt(output: &str, most: usize) -> String {
    let lines: Vec<&str> = output.lines().map(str::trim_end).collect();
    let said: Vec<usize> = (0..lines.len())
        .filter(|at| !lines[*at].is_empty())
        .collect();
    if said.len() <= most {
        return shown(&lines, &said);
    }
    let fails = |at: &usize| FAILS.is_match(&strip_terminal(lines[*at]));
    let at_end = if said.iter().any(fails) { AT_END } else { most };
    let mut kept: BTreeSet<usize> = said.iter().rev().take(at_end.min(most)).copied().collect();
    for (nth, _) in said.iter().enumerate().filter(|(_, at)| fails(at)) {
        for at in said.iter().skip(nth).take(1 + AFTER) {
            if kept.len() < most {
                kept.insert(*at);
            }
        }
    }
    shown(&lines, &kept.into_iter().collect::<Vec<_>>())
}

fn shown(lines: &[&str], kept: &[usize]) -> String {
    let mut text = String::new();
    let mut next = 0;
    for at in kept {
        if lines[next..*at].iter().any(|line| !line.is_empty()) {
            text.push_str("…\n");
        }
        text.push_str(lines[*at]);
        text.push('\n');
        next = at + 1;
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_lines_that_say_what_failed_are_preferred_to_the_last_ones() {
        let noise = |n: usize| {
            (0..n)
                .map(|i| format!("test t{i} ... ok\n"))
                .collect::<String>()
        };
        let output = format!(
            "{}test login ... FAILED\n{}thread 'login' panicked at src/a.rs:3:\nleft: 1\nright: 2\n{}\
             test result: FAILED. 1 failed\nerror: test failed\n",
            noise(40),
            noise(40),
            noise(40)
        );
        assert_eq!(
            excerpt(&output, 8),
            "…\ntest login ... FAILED\ntest t0 ... ok\ntest t1 ... ok\n…\n\
             thread 'login' panicked at src/a.rs:3:\nleft: 1\nright: 2\n…\n\
             test result: FAILED. 1 failed\nerror: test failed\n"
        );
    }

    #[test]
    fn a_short_output_is_shown_whole_and_one_without_such_lines_by_its_end() {
        assert_eq!(excerpt("a\n\nb\n", 5), "a\nb\n");
        assert_eq!(excerpt("", 5), "");
        let many: String = (1..=9).map(|i| format!("line {i}\n")).collect();
        assert_eq!(excerpt(&many, 3), "…\nline 7\nline 8\nline 9\n");
    }

    #[test]
    fn the_ways_of_usual_tools_are_known() {
        for line in [
            "error[E0308]: mismatched types",
            "src/a.ts:3:5: error TS2322: x",
            "--- FAIL: TestLogin (0.00s)",
            "E       assert 1 == 2",
            "not ok 3 - login",
            "  ✕ logs in (3 ms)",
            "Traceback (most recent call last):",
            "\x1b[31merror\x1b[0m: boom",
            "/bin/sh: 1: nosuch: not found",
        ] {
            assert!(FAILS.is_match(&strip_terminal(line)), "{line}");
        }
        for line in ["0 errors", "test t1 ... ok", "Compiling error-chain v1"] {
            assert!(!FAILS.is_match(line), "{line}");
        }
    }
}
