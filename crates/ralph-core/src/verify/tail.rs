//! Cuts a text down to its end, at line boundaries, and says how much was cut.

use std::fmt::Write;

/// The end of `text`: at most so many lines and bytes, not counting the note of what is missing.
pub fn trim_tail(text: &str, max_lines: usize, max_bytes: usize) -> String {
    trim_tail_of(text, max_lines, max_bytes, 0)
}

/// The same for a text whose first `missing` bytes are gone already. Its first line is then only
/// part of a line, and is cut too if another follows.
pub fn trim_tail_of(text: &str, max_lines: usize, max_bytes: usize, missing: u64) -> String {
    let from_lines = start_of_last_lines(text, max_lines);
    let from_bytes = match text.len().checked_sub(max_bytes) {
        None | Some(0) if missing == 0 => 0,
        over => next_line_start(text, over.unwrap_or(0)),
    };
    let start = from_lines.max(from_bytes);
    let cut = missing + start as u64;
    let mut kept = String::new();
    if cut > 0 {
        let _ = writeln!(kept, "[… {cut} bytes cut …]");
    }
    kept.push_str(&text[start..]);
    kept
}

fn start_of_last_lines(text: &str, max_lines: usize) -> usize {
    // The newline that ends the text ends its last line; it does not begin another.
    let body = text.strip_suffix('\n').unwrap_or(text);
    if max_lines == 0 {
        return text.len();
    }
    body.rmatch_indices('\n')
        .nth(max_lines - 1)
        .map_or(0, |(at, _)| at + 1)
}

/// The first line that begins at `from` or after it; within one long last line, the next character.
fn next_line_start(text: &str, from: usize) -> usize {
    let from = (from..=text.len())
        .find(|&at| text.is_char_boundary(at))
        .unwrap_or(text.len());
    if from > 0 && text[..from].ends_with('\n') {
        return from;
    }
    match text[from..].find('\n') {
        Some(at) if from + at + 1 < text.len() => from + at + 1,
        _ => from,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

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
}
