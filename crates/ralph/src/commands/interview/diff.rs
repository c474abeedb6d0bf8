//! Shows the changes of a round in the brief: lines with a sign, and a few around them.

use ralph_core::sanitize::terminal_safe;
use similar::{ChangeTag, TextDiff};

use crate::view::{Tone, figures::count, paint};

/// Lines around a change.
const AROUND: usize = 2;
/// Lines that are shown at most: the whole is in the file.
const MOST_LINES: usize = 200;

/// `name` is the file as a person names it.
pub(super) fn render(name: &str, before: &str, after: &str) -> String {
    if before == after {
        return format!("{name} is unchanged\n");
    }
    let diff = TextDiff::from_lines(before, after);
    let mut lines = Vec::new();
    let (mut added, mut removed) = (0, 0);
    for (at, group) in diff.grouped_ops(AROUND).iter().enumerate() {
        if at > 0 {
            lines.push(paint(Tone::Faint, "  …"));
        }
        for change in group.iter().flat_map(|op| diff.iter_changes(op)) {
            let (sign, tone) = match change.tag() {
                ChangeTag::Insert => ("+", Tone::Good),
                ChangeTag::Delete => ("-", Tone::Bad),
                ChangeTag::Equal => (" ", Tone::Faint),
            };
            added += usize::from(change.tag() == ChangeTag::Insert);
            removed += usize::from(change.tag() == ChangeTag::Delete);
            let text = terminal_safe(change.value().trim_end_matches(['\n', '\r'])).into_owned();
            lines.push(paint(tone, format!("{sign} {text}").trim_end()));
        }
    }
    let more = lines.len().saturating_sub(MOST_LINES);
    lines.truncate(MOST_LINES);
    if more > 0 {
        let more = format!("… and {}", count(more, "more line", "more lines"));
        lines.push(paint(Tone::Faint, &more));
    }
    let heading = paint(Tone::Heading, &format!("{name}: +{added} -{removed}"));
    format!("{heading}\n{}\n", lines.join("\n"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn changed_lines_stand_with_a_sign_and_a_few_around_them() {
        let before = "# shop\n\na\nb\nc\nd\ne\nf\nold\nend\n";
        let after = "# shop\nnew\n\na\nb\nc\nd\ne\nf\n\x1b[31mred\nend\n";
        assert_eq!(
            render("spec.md", before, after),
            "spec.md: +2 -1\n  # shop\n+ new\n\n  a\n  …\n  e\n  f\n- old\n+ \\x1b[31mred\n  end\n"
        );
    }

    #[test]
    fn nothing_changed_is_said_and_very_much_is_cut() {
        assert_eq!(render("spec.md", "a\n", "a\n"), "spec.md is unchanged\n");
        let long = "line\n".repeat(1_000);
        let text = render("spec.md", "", &long);
        assert!(text.starts_with("spec.md: +1000 -0\n"), "{text}");
        assert!(text.ends_with("+ line\n… and 800 more lines\n"), "{text}");
        assert_eq!(text.lines().count(), 202);
    }
}
