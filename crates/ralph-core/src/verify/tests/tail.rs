//! The end of an output, as it is kept.

use super::super::*;

#[test]
fn leaves_a_short_text_alone() {
    assert_eq!(trim_tail("a\nb\n", 2, 4), "a\nb\n");
    assert_eq!(trim_tail("", 2, 4), "");
}

#[test]
fn keeps_the_last_lines() {
    assert_eq!(trim_tail("a\nb\nc\n", 2, 100), "[… 2 bytes cut …]\nb\nc\n");
    assert_eq!(trim_tail("a\nb\nc", 1, 100), "[… 4 bytes cut …]\nc");
}

#[test]
fn keeps_whole_lines_within_the_bytes() {
    assert_eq!(
        trim_tail("one\ntwo\nthree\n", 9, 8),
        "[… 8 bytes cut …]\nthree\n"
    );
    assert_eq!(
        trim_tail("one\ntwo\nthree\n", 9, 10),
        "[… 4 bytes cut …]\ntwo\nthree\n"
    );
}

#[test]
fn cuts_one_long_line_at_a_character() {
    assert_eq!(trim_tail("aaaaäbb", 9, 3), "[… 6 bytes cut …]\nbb");
    assert_eq!(trim_tail("xxxxxxxxyy", 9, 2), "[… 8 bytes cut …]\nyy");
}

#[test]
fn counts_what_was_missing_before_and_drops_the_torn_line() {
    assert_eq!(
        trim_tail_of("orn\nwhole\n", 9, 100, 50),
        "[… 54 bytes cut …]\nwhole\n"
    );
}
