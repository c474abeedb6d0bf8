//! The lines of a Markdown text, each with what it is: a heading, an item of a list, code, a comment.
//!
//! Comments are blanked out, so that offsets stay and nothing in them counts. Decides nothing about tasks.

use super::mark::{self, MarkAt};

/// One line, without its line break.
#[derive(Debug)]
pub(super) struct MarkdownLine<'a> {
    /// Its offset in the file.
    pub(super) start: usize,
    pub(super) raw: &'a str,
    /// The same with comments blanked out.
    pub(super) text: String,
    /// The column of its first character.
    pub(super) indent: usize,
    pub(super) kind: LineKind,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum LineKind {
    Blank,
    /// The text begins at this offset in the line.
    Heading {
        level: usize,
        content: usize,
    },
    Item(ListItem),
    Text,
    /// Inside of a code fence, or one of its two lines.
    Code,
    /// Nothing but a comment.
    Comment,
    Quote,
    Table,
    /// A thematic break, or the line below a heading.
    Rule,
    FrontMatter,
}

/// An item of a list.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct ListItem {
    /// As it is written: `-`, `1.`; empty for a checkbox that begins its line.
    pub(super) marker: String,
    /// The offset of its text in the line, behind the mark if it has one.
    pub(super) content: usize,
    /// A mark in brackets.
    pub(super) mark: Option<MarkAt>,
    /// A picture that people use as a mark.
    pub(super) picture: Option<MarkAt>,
}

/// The lines of a file, and a code fence that is never closed.
#[derive(Debug)]
pub(super) struct MarkdownLines<'a> {
    pub(super) lines: Vec<MarkdownLine<'a>>,
    /// The offset of its line.
    pub(super) open_fence: Option<usize>,
    /// The YAML between the lines at the top, if there is any.
    pub(super) front_matter: Option<&'a str>,
}

/// Reads the lines; `from` is where the text begins behind a byte-order mark.
pub(super) fn split(source: &str, from: usize) -> MarkdownLines<'_> {
    let mut found = MarkdownLines {
        lines: Vec::new(),
        open_fence: None,
        front_matter: None,
    };
    let mut fence: Option<(char, usize)> = None;
    let mut in_comment = false;
    let front = front_matter(source, from);
    found.front_matter = front.map(|(yaml, _)| yaml);
    let body = front.map_or(from, |(_, end)| end);
    let mut start = from;
    for whole in source[from..].split_inclusive('\n') {
        let raw = whole.strip_suffix('\n').unwrap_or(whole);
        let raw = raw.strip_suffix('\r').unwrap_or(raw);
        let mut line = MarkdownLine {
            start,
            raw,
            text: raw.to_owned(),
            indent: indent_of(raw),
            kind: LineKind::FrontMatter,
        };
        if start >= body {
            line.kind = if let Some((mark, length)) = fence {
                if closes(raw, mark, length) {
                    (fence, found.open_fence) = (None, None);
                }
                LineKind::Code
            } else {
                let was_in_comment = in_comment;
                line.text = without_comments(raw, &mut in_comment);
                line.indent = indent_of(&line.text);
                if line.text.trim().is_empty() {
                    let had_comment = was_in_comment || !raw.trim().is_empty();
                    if had_comment {
                        LineKind::Comment
                    } else {
                        LineKind::Blank
                    }
                } else if let Some(opened) = opens(&line.text) {
                    (fence, found.open_fence) = (Some(opened), Some(start));
                    LineKind::Code
                } else {
                    kind_of(&line.text)
                }
            };
        }
        start += whole.len();
        found.lines.push(line);
    }
    underline_headings(&mut found.lines);
    found
}

/// The YAML at the top, and where the text begins behind it.
fn front_matter(source: &str, from: usize) -> Option<(&str, usize)> {
    let mut lines = source[from..].split_inclusive('\n');
    let first = lines.next().filter(|line| line.trim_end() == "---")?;
    let begin = from + first.len();
    let mut end = begin;
    for line in lines {
        if matches!(line.trim_end(), "---" | "...") {
            return Some((&source[begin..end], end + line.len()));
        }
        end += line.len();
    }
    None
}

fn indent_of(text: &str) -> usize {
    let mut column = 0;
    for c in text.chars() {
        match c {
            ' ' => column += 1,
            '\t' => column += 4 - column % 4,
            _ => break,
        }
    }
    column
}

fn opens(text: &str) -> Option<(char, usize)> {
    let text = text.trim_start();
    let mark = text.chars().next().filter(|c| matches!(c, '`' | '~'))?;
    let length = text.chars().take_while(|c| *c == mark).count();
    let is_span = mark == '`' && text[length..].contains('`');
    (length >= 3 && !is_span).then_some((mark, length))
}

fn closes(text: &str, mark: char, length: usize) -> bool {
    let text = text.trim();
    text.chars().count() >= length && text.chars().all(|c| c == mark)
}

/// The line with comments blanked out, byte by byte.
fn without_comments(raw: &str, in_comment: &mut bool) -> String {
    if !*in_comment && !raw.contains("<!--") {
        return raw.to_owned();
    }
    let mut out = String::with_capacity(raw.len());
    let mut at = 0;
    let mut in_span = false;
    while at < raw.len() {
        let rest = &raw[at..];
        if *in_comment {
            let end = rest.find("-->").map(|end| end + 3);
            *in_comment = end.is_none();
            let end = end.unwrap_or(rest.len());
            out.push_str(&" ".repeat(end));
            at += end;
            continue;
        }
        if !in_span && rest.starts_with("<!--") {
            *in_comment = true;
            out.push_str("    ");
            at += 4;
            continue;
        }
        let Some(c) = rest.chars().next() else {
            break;
        };
        in_span ^= c == '`';
        out.push(c);
        at += c.len_utf8();
    }
    out
}

fn kind_of(text: &str) -> LineKind {
    let trimmed = text.trim_start();
    let before = text.len() - trimmed.len();
    if let Some((level, skipped)) = heading(trimmed) {
        return LineKind::Heading {
            level,
            content: before + skipped,
        };
    }
    if is_rule(trimmed) {
        return LineKind::Rule;
    }
    if trimmed.starts_with('>') {
        return LineKind::Quote;
    }
    if trimmed.starts_with('|') {
        return LineKind::Table;
    }
    match item(text, before) {
        Some(item) => LineKind::Item(item),
        None => LineKind::Text,
    }
}

fn heading(trimmed: &str) -> Option<(usize, usize)> {
    let level = trimmed.chars().take_while(|c| *c == '#').count();
    let rest = &trimmed[level..];
    let space = rest.len() - rest.trim_start().len();
    let fits = (1..=6).contains(&level) && (space > 0 || rest.is_empty());
    fits.then_some((level, level + space))
}

fn is_rule(trimmed: &str) -> bool {
    let mut marks = trimmed.chars().filter(|c| !c.is_whitespace());
    let Some(first) = marks.next() else {
        return false;
    };
    matches!(first, '-' | '*' | '_' | '=')
        && marks.clone().count() >= 2
        && marks.all(|c| c == first)
}

fn item(text: &str, before: usize) -> Option<ListItem> {
    let rest = &text[before..];
    let marker = marker(rest)?;
    let behind = &rest[marker.len()..];
    let space = behind.len() - behind.trim_start().len();
    let mut content = before + marker.len() + space;
    let mark = mark::in_brackets(text, content);
    // Without space it is a list only if a checkbox follows.
    if space == 0 && mark.is_none() && !behind.is_empty() {
        return None;
    }
    let is_plain = marker.is_empty() || marker.ends_with(|c: char| c.is_ascii_digit());
    if is_plain && mark.is_none() {
        return None;
    }
    let picture = match &mark {
        Some(_) => None,
        None => mark::picture(text, content),
    };
    if let Some(found) = &mark {
        let rest = &text[found.end + 1..];
        content = text.len() - rest.trim_start().len();
    }
    Some(ListItem {
        marker: marker.to_owned(),
        content,
        mark,
        picture,
    })
}

/// The marker of a list; empty before a checkbox that begins a line.
fn marker(rest: &str) -> Option<&str> {
    let first = rest.chars().next()?;
    if matches!(first, '-' | '*' | '+' | '•') {
        return Some(&rest[..first.len_utf8()]);
    }
    let number = rest.len()
        - rest
            .trim_start_matches(|c: char| c.is_ascii_digit() || c == '.')
            .len();
    if number > 0 && first.is_ascii_digit() {
        let closed = rest[number..].starts_with(')');
        return Some(&rest[..number + usize::from(closed)]);
    }
    // Bare brackets are only plain marks: anything else may be a link or a reference.
    let mut inner = rest.strip_prefix('[')?.chars();
    let is_box = inner.next().is_some_and(|mark| " xX~-!/".contains(mark))
        && inner.as_str().starts_with("] ");
    is_box.then_some("")
}

/// Headings that are underlined with `===` or `---`.
fn underline_headings(lines: &mut [MarkdownLine<'_>]) {
    for at in 1..lines.len() {
        let under = lines[at].text.trim();
        let level = match under.chars().next() {
            Some('=') => 1,
            Some('-') => 2,
            _ => continue,
        };
        let is_line = lines[at].kind == LineKind::Rule
            || (lines[at].kind == LineKind::Text && under.chars().all(|c| c == '='));
        let is_whole = under.chars().all(|c| under.starts_with(c));
        let above = &lines[at - 1];
        let is_text = above.kind == LineKind::Text && above.indent < 4;
        // The last line of a longer paragraph, or of a list item, is no heading.
        let is_alone = at < 2
            || matches!(
                lines[at - 2].kind,
                LineKind::Blank
                    | LineKind::Rule
                    | LineKind::FrontMatter
                    | LineKind::Comment
                    | LineKind::Heading { .. }
                    | LineKind::Code
            );
        if is_line && is_whole && is_text && is_alone {
            let content = above.text.len() - above.text.trim_start().len();
            lines[at - 1].kind = LineKind::Heading { level, content };
            lines[at].kind = LineKind::Rule;
        }
    }
}
