//! Makes text that others wrote safe to show on a terminal, and short enough for a place.
//!
//! Output of agents and of verify commands is untrusted: it may move the cursor, rewrite what ralph
//! printed, set the clipboard, or show one thing and mean another. Only for showing: what is stored
//! stays as it was.

use std::borrow::Cow;

use crate::verify::strip_terminal;

/// The sign for a part that was left out.
const ELLIPSIS: char = '…';

/// The text with everything that a terminal would obey, or that a reader would not see, written out
/// as an escape. Newlines and tabs stay; the newline of Windows becomes a plain one.
pub fn terminal_safe(text: &str) -> Cow<'_, str> {
    if text
        .bytes()
        .all(|byte| matches!(byte, b' '..=b'~' | b'\n' | b'\t'))
    {
        return Cow::Borrowed(text);
    }
    let Some(first) = text.find(is_unsafe) else {
        return Cow::Borrowed(text);
    };
    let (clean, rest) = text.split_at(first);
    let mut out = String::with_capacity(text.len() + 16);
    out.push_str(clean);
    let mut chars = rest.chars().peekable();
    while let Some(c) = chars.next() {
        match c {
            '\r' if chars.peek() == Some(&'\n') => {}
            '\r' => out.push_str("\\r"),
            c if !is_unsafe(c) => out.push(c),
            c if u32::from(c) < 0x80 => out.push_str(&format!("\\x{:02x}", u32::from(c))),
            c => out.push_str(&format!("\\u{{{:x}}}", u32::from(c))),
        }
    }
    Cow::Owned(out)
}

/// The text on one line, with one space for every run of white space; not made safe.
pub fn fold(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

/// The text on one line of at most `width` columns, safe to show: runs of white space become one
/// space, and what does not fit is cut off at the end.
pub fn one_line(text: &str, width: usize) -> String {
    if text.len() <= width && is_plain_line(text) {
        return text.to_owned();
    }
    let mut line = String::new();
    for word in text.split_whitespace() {
        if !line.is_empty() {
            line.push(' ');
        }
        line.push_str(&terminal_safe(word));
        // A text may be megabytes long; a line is not.
        if columns(&line) > width {
            break;
        }
    }
    if columns(&line) <= width {
        return line;
    }
    let mut cut = take_columns(line.chars(), width.saturating_sub(1));
    if width > 0 {
        cut.push(ELLIPSIS);
    }
    cut
}

/// Returns true for words of printable ASCII with one space between them, as most lines are.
#[inline]
fn is_plain_line(text: &str) -> bool {
    let mut before = b' ';
    for byte in text.bytes() {
        if !matches!(byte, b' '..=b'~') || (byte == b' ' && before == b' ') {
            return false;
        }
        before = byte;
    }
    before != b' '
}

/// The text in at most `width` columns, its beginning and its end kept: for paths and ids, whose
/// ends tell them apart. Not made safe, so that it can be used on text that already is.
pub fn truncate_middle(text: &str, width: usize) -> Cow<'_, str> {
    if columns(text) <= width {
        return Cow::Borrowed(text);
    }
    if width == 0 {
        return Cow::Borrowed("");
    }
    let room = width - 1;
    // The end gets the odd column: it is what tells two paths apart.
    let head = take_columns(text.chars(), room / 2);
    let tail = take_columns(text.chars().rev(), room - room / 2);
    let mut out = head;
    out.push(ELLIPSIS);
    out.extend(tail.chars().rev());
    Cow::Owned(out)
}

/// The text in lines of at most `width` columns, broken between words, each but the first behind `indent` spaces.
/// A word that is wider than a line stays whole. Colours take no columns.
pub fn wrapped(text: &str, width: usize, indent: usize) -> Cow<'_, str> {
    let shown = |text: &str| columns(&strip_terminal(text));
    if text.len() <= width || shown(text) <= width {
        return Cow::Borrowed(text);
    }
    let mut out = String::with_capacity(text.len() + 2 * indent);
    let mut used = 0;
    for piece in text.split_inclusive(' ') {
        let wide = shown(piece.trim_end());
        if wide > 0 && used > indent && used + wide > width {
            out.truncate(out.trim_end().len());
            out.push('\n');
            out.push_str(&" ".repeat(indent));
            used = indent;
        }
        out.push_str(piece);
        used += shown(piece);
    }
    Cow::Owned(out)
}

/// Each line of a text, wrapped; what goes on below stands two columns further in.
pub fn wrapped_lines(text: &str, width: usize) -> String {
    let lines = text.split('\n').map(|line| {
        let indent = line.len() - line.trim_start_matches(' ').len();
        wrapped(line, width, indent + 2)
    });
    lines.collect::<Vec<_>>().join("\n")
}

/// The number of terminal columns of a text; exact enough for cutting it.
pub fn columns(text: &str) -> usize {
    if text.is_ascii() {
        return text.len();
    }
    text.chars().map(char_columns).sum()
}

fn take_columns(chars: impl Iterator<Item = char>, width: usize) -> String {
    let mut used = 0;
    chars
        .take_while(|c| {
            used += char_columns(*c);
            used <= width
        })
        .collect()
}

fn char_columns(c: char) -> usize {
    match u32::from(c) {
        // Marks that are drawn over the character before them.
        0x0300..=0x036f | 0x1ab0..=0x1aff | 0x20d0..=0x20ff | 0xfe00..=0xfe0f => 0,
        // East Asian scripts and emoji.
        0x1100..=0x115f
        | 0x2e80..=0xa4cf
        | 0xac00..=0xd7a3
        | 0xf900..=0xfaff
        | 0xfe30..=0xfe6f
        | 0xff00..=0xff60
        | 0xffe0..=0xffe6
        | 0x1f300..=0x1f64f
        | 0x1f680..=0x1f6ff
        | 0x1f900..=0x1faff
        | 0x20000..=0x3fffd => 2,
        _ => 1,
    }
}

/// Returns true if a terminal obeys the character instead of showing it, or if it changes how others are
/// shown.
fn is_unsafe(c: char) -> bool {
    match c {
        '\n' | '\t' => false,
        // Controls, among them escape, carriage return, and the one-character form of CSI.
        c if c.is_control() => true,
        c => matches!(
            u32::from(c),
            // Soft hyphen, grapheme joiner, Hangul fillers, Khmer and Mongolian invisibles.
            0x00ad | 0x034f | 0x115f | 0x1160 | 0x17b4 | 0x17b5 | 0x180b..=0x180f | 0x3164 | 0xffa0
            // Direction marks, embeddings, overrides and isolates.
            | 0x061c | 0x200e | 0x200f | 0x202a..=0x202e | 0x2066..=0x2069
            // Zero width, invisible operators, deprecated format characters, byte order mark.
            | 0x200b..=0x200d | 0x2060..=0x2065 | 0x206a..=0x206f | 0xfeff
            // Line and paragraph separators; interlinear annotation.
            | 0x2028 | 0x2029 | 0xfff9..=0xfffb
            // Tags and the variation selectors that text can be smuggled in.
            | 0xe0000..=0xe01ef
        ),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn a_long_line_is_broken_between_words_and_goes_on_further_in() {
        assert_eq!(wrapped("  one two three", 9, 4), "  one two\n    three");
        assert_eq!(wrapped("one  two", 5, 2), "one\n  two");
        // What fits stays as it is, also what is wider than any line.
        assert_eq!(wrapped("one  two ", 9, 2), "one  two ");
        assert_eq!(wrapped("  abcdefgh ij", 6, 4), "  abcdefgh\n    ij");
        // Colours take no room, wide characters two columns.
        let painted = "\x1b[32mone two\x1b[0m three";
        assert_eq!(wrapped(painted, 7, 0), "\x1b[32mone two\x1b[0m\nthree");
        assert_eq!(wrapped("世界 世界", 8, 1), "世界\n 世界");
        let text = "a b c\n    d e f\n\ng h ijkl\n";
        assert_eq!(
            wrapped_lines(text, 8),
            "a b c\n    d e\n      f\n\ng h ijkl\n"
        );
    }

    #[test]
    fn plain_text_is_left_as_it_is() {
        for text in ["", "a\tb\nc", "Grüße, 世界 ✅ ❤️", r"already \x1b written"] {
            let safe = terminal_safe(text);
            assert_eq!(safe, text);
            assert!(matches!(safe, Cow::Borrowed(_)), "{text}");
        }
    }

    #[test]
    fn what_a_terminal_would_obey_is_written_out() {
        let cases = [
            ("\x1b[31mred\x1b[0m", r"\x1b[31mred\x1b[0m"),
            ("\x1b]52;c;ZXZpbA==\x07", r"\x1b]52;c;ZXZpbA==\x07"),
            ("ok\rFAILED", r"ok\rFAILED"),
            ("a\r\nb", "a\nb"),
            ("a\r\r\nb", "a\\r\nb"),
            (
                "bell\x07 back\x08 del\x7f nul\0",
                r"bell\x07 back\x08 del\x7f nul\x00",
            ),
            ("c1 \u{9b}31m", r"c1 \u{9b}31m"),
        ];
        for (text, expected) in cases {
            assert_eq!(terminal_safe(text), expected);
        }
    }

    #[test]
    fn what_a_reader_would_not_see_is_written_out() {
        let cases = [
            ("user\u{202e}txt.exe", r"user\u{202e}txt.exe"),
            ("a\u{2066}b\u{2069}", r"a\u{2066}b\u{2069}"),
            ("pass\u{200b}word", r"pass\u{200b}word"),
            ("\u{feff}x\u{2060}", r"\u{feff}x\u{2060}"),
            ("tag\u{e0041}", r"tag\u{e0041}"),
            ("a\u{2028}b", r"a\u{2028}b"),
        ];
        for (text, expected) in cases {
            assert_eq!(terminal_safe(text), expected);
        }
    }

    #[test]
    fn one_line_folds_white_space_and_cuts_the_end() {
        assert_eq!(one_line("  two\n\n lines\t here ", 80), "two lines here");
        assert_eq!(one_line("two lines here", 14), "two lines here");
        assert_eq!(one_line("two lines here", 13), "two lines he…");
        assert_eq!(one_line("\x1b[2Jgone", 80), r"\x1b[2Jgone");
        assert_eq!(one_line("世界世界", 5), "世界…");
        assert_eq!(one_line("abc", 1), "…");
        assert_eq!(one_line("abc", 0), "");
        assert_eq!(one_line(&"word ".repeat(1_000_000), 6), "word …");
    }

    #[test]
    fn the_middle_is_left_out_and_both_ends_stay() {
        assert_eq!(
            truncate_middle("src/config/show.rs", 18),
            "src/config/show.rs"
        );
        assert_eq!(truncate_middle("src/config/show.rs", 11), "src/c…ow.rs");
        assert_eq!(truncate_middle("src/config/show.rs", 12), "src/c…how.rs");
        assert_eq!(truncate_middle("世界世界", 5), "世…界");
        assert_eq!(truncate_middle("abc", 1), "…");
        assert_eq!(truncate_middle("abc", 0), "");
    }

    proptest! {
        #[test]
        fn nothing_unsafe_is_left_and_no_width_is_exceeded(text in any::<String>(), width in 0usize..60) {
            let safe = terminal_safe(&text).into_owned();
            prop_assert!(!safe.chars().any(|c| c.is_control() && c != '\n' && c != '\t'));
            let hidden = safe.contains(['\u{202e}', '\u{200b}', '\u{2066}', '\u{feff}']);
            prop_assert!(!hidden);
            prop_assert_eq!(terminal_safe(&safe), safe.as_str());
            let line = one_line(&text, width);
            prop_assert!(columns(&line) <= width, "{:?}", line);
            prop_assert!(!line.contains('\n'));
            prop_assert!(columns(&truncate_middle(&text, width)) <= width);
        }
    }
}
