//! Failures that are the same, and those that are not.

use std::time::Duration;

use super::super::*;

fn failed(output: &str) -> Signature {
    let command = VerifyCommand::Shell("cargo test".into());
    Signature::of(&command, &CommandOutcome::Failed { code: 101 }, output)
}

#[test]
fn is_sixteen_hex_digits_that_do_not_change_between_versions() {
    assert_eq!(failed("error: boom at x").as_str(), "2ee00e005576fb5c");
}

#[test]
fn differs_by_command_and_by_ending() {
    let make = VerifyCommand::Shell("make".into());
    let code = |code| CommandOutcome::Failed { code };
    let one = Signature::of(&make, &code(1), "x");
    assert_ne!(one, Signature::of(&make, &code(2), "x"));
    assert_ne!(
        one,
        Signature::of(&make, &CommandOutcome::Signalled { signal: 1 }, "x")
    );
    assert_ne!(
        one,
        Signature::of(&VerifyCommand::Shell("make -k".into()), &code(1), "x")
    );
}

#[test]
fn two_time_outs_of_one_command_are_the_same_wherever_they_were_cut() {
    let make = VerifyCommand::Shell("make".into());
    let after = |s| CommandOutcome::TimedOut {
        after: Duration::from_secs(s),
    };
    assert_eq!(
        Signature::of(&make, &after(1), "test 1 ok"),
        Signature::of(&make, &after(2), "test 1 ok\ntest 2")
    );
}

#[test]
fn only_the_last_lines_count() {
    let end = "same\n".repeat(300);
    assert_eq!(
        failed(&format!("head one\n{end}")),
        failed(&format!("head two\n{end}"))
    );
}
