//! The comments of a YAML file in the file that was made of it: each stands before or behind what it stood at.
//!
//! Changes nothing but that: the text with comments reads as the one without.

use super::task::{self, Role};
use crate::task::format::layout::{self, Layout};
use crate::task::format::render::Value;
use crate::task::format::splice;
use crate::task::format::tree::{At, Kind, Style, Tree};
use crate::task::format::{Format, Syntax, yaml};

/// A text with the comments that found a place in it, and the number of those that did not.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Commented {
    pub(super) text: String,
    pub(super) lost: usize,
}

/// Carries the comments of a YAML file over to its new text.
pub(super) fn carry(from: &Tree<'_>, text: String) -> Commented {
    let comments = find(from);
    let lost = comments.len();
    if comments.is_empty() || from.syntax != Syntax::Yaml {
        return Commented { text, lost: 0 };
    }
    placed(from, &text, &comments).unwrap_or(Commented { text, lost })
}

/// The number of comments in a file.
pub(super) fn count(tree: &Tree<'_>) -> usize {
    match tree.syntax {
        Syntax::Yaml => find(tree).len(),
        Syntax::Json | Syntax::Markdown | Syntax::JsonLines => 0,
    }
}

struct Comment<'s> {
    offset: usize,
    /// Without the space around it.
    text: &'s str,
    /// It has a line of its own.
    alone: bool,
}

/// All comments in a text: from `#` after space to the end of the line, outside of values.
fn find<'s>(tree: &Tree<'s>) -> Vec<Comment<'s>> {
    let mut spans: Vec<(usize, usize)> = (0..tree.len())
        .filter(|at| !matches!(tree.kind(*at), Kind::List | Kind::Map))
        .map(|at| (tree.start(at), tree.end(at)))
        .collect();
    spans.sort_unstable();
    let in_value = |offset: usize| {
        let before = spans.partition_point(|(start, _)| *start <= offset);
        spans[..before]
            .iter()
            .rev()
            .take(4)
            .any(|(_, end)| offset < *end)
    };
    let mut found = Vec::new();
    let mut start = 0;
    for line in tree.source.split_inclusive('\n') {
        let begins = line.match_indices('#').find(|(at, _)| {
            let before = &line[..*at];
            let apart = before.is_empty() || before.ends_with([' ', '\t', '\u{feff}']);
            apart && !in_value(start + at)
        });
        if let Some((at, _)) = begins {
            let before = line[..at].trim_matches(|c: char| c.is_whitespace() || c == '\u{feff}');
            found.push(Comment {
                offset: start + at,
                text: line[at..].trim_end(),
                alone: before.is_empty(),
            });
        }
        start += line.len();
    }
    found
}

/// Something that a comment can stand at.
#[derive(Debug, Clone, PartialEq, Eq)]
enum Anchor {
    Header(String),
    List,
    Item(usize),
    Member(usize, String),
    Element(usize, String, usize),
}

/// All anchors of a file with their offsets, in order.
fn anchors(tree: &Tree<'_>, layout: &Layout) -> Vec<(usize, Anchor)> {
    let mut found = Vec::new();
    let around: Vec<At> = layout.header.into_iter().collect();
    for (key, value) in around.iter().flat_map(|map| tree.members(*map)) {
        let anchor = if Some(value) == layout.list {
            Anchor::List
        } else {
            Anchor::Header(tree.text(key).into_owned())
        };
        found.push((tree.start(key), anchor));
    }
    for (n, task) in layout.tasks.iter().enumerate() {
        let item = layout.keys[n].unwrap_or(*task);
        found.push((tree.start(item), Anchor::Item(n)));
        if tree.kind(*task) != Kind::Map || tree.node(*task).style == Style::Flow {
            continue;
        }
        for (key, value) in tree.members(*task) {
            let name = tree.text(key).into_owned();
            if tree.kind(value) == Kind::List && !layout.is_inner(value) {
                let elements = tree.children(value).enumerate();
                found.extend(
                    elements.map(|(k, at)| (tree.start(at), Anchor::Element(n, name.clone(), k))),
                );
            }
            found.push((tree.start(key), Anchor::Member(n, name)));
        }
    }
    // An item begins with its first member.
    found.sort_by_key(|(offset, anchor)| (*offset, !matches!(anchor, Anchor::Item(_))));
    found
}

fn placed(from: &Tree<'_>, text: &str, comments: &[Comment<'_>]) -> Option<Commented> {
    let to = yaml::build(text).ok()??;
    let (old, new) = (layout::detect(from).ok()?, layout::detect(&to).ok()?);
    let (here, there) = (anchors(from, &old), anchors(&to, &new));
    let formats = (old.format, new.format);
    let offset_of = |anchor: &Anchor| {
        let found = there.iter().find(|(_, one)| is_same(anchor, one, formats));
        found.map(|(offset, _)| *offset)
    };
    let newline = splice::newline(text);
    let mut lines: Vec<String> = text.split_inclusive('\n').map(str::to_owned).collect();
    let line_at = |offset: usize| text[..offset].matches('\n').count();
    let mut above: Vec<(usize, String)> = Vec::new();
    let mut lost = 0;
    for comment in comments {
        let next = here.partition_point(|(offset, _)| *offset < comment.offset);
        if comment.alone {
            // What stands before the first thing stays at the top.
            let target = match here.get(next) {
                Some(_) if next == 0 => Some(0),
                Some((_, anchor)) => offset_of(anchor),
                None => Some(text.len()),
            };
            let Some(target) = target else {
                lost += 1;
                continue;
            };
            let line = line_at(target);
            let indent = lines.get(line).map_or("", |line| {
                &line[..line.len() - line.trim_start_matches(' ').len()]
            });
            above.push((line, format!("{indent}{}{newline}", comment.text)));
            continue;
        }
        let target = next
            .checked_sub(1)
            .and_then(|last| offset_of(&here[last].1));
        match target.map(line_at).and_then(|line| lines.get_mut(line)) {
            Some(line) if !line.contains(" #") => {
                let end = line.trim_end().len();
                line.insert_str(end, &format!(" {}", comment.text));
            }
            _ => lost += 1,
        }
    }
    let mut out = String::with_capacity(text.len());
    for (n, line) in lines.iter().enumerate() {
        let mine = above.iter().filter(|(at, _)| *at == n);
        mine.for_each(|(_, comment)| out.push_str(comment));
        out.push_str(line);
    }
    let last = above.iter().filter(|(at, _)| *at >= lines.len());
    last.for_each(|(_, comment)| out.push_str(comment));
    let again = yaml::build(&out).ok()??;
    to.says_the_same(0, &again, 0)
        .then_some(Commented { text: out, lost })
}

/// Returns true if two things of a file in two formats are the same one.
fn is_same(was: &Anchor, is: &Anchor, (from, to): (Format, Format)) -> bool {
    let names = |old: &str, new: &str| {
        old == new || part(old, from).is_some_and(|p| Some(p) == part(new, to))
    };
    match (was, is) {
        (Anchor::Member(n, old), Anchor::Member(m, new)) => n == m && names(old, new),
        (Anchor::Element(n, old, k), Anchor::Element(m, new, l)) => {
            n == m && k == l && names(old, new)
        }
        (was, is) => was == is,
    }
}

fn part(name: &str, format: Format) -> Option<task::Part> {
    match task::role((name, &Value::Null), format) {
        Role::Of(part) => Some(part),
        Role::Aside | Role::Same => None,
    }
}
