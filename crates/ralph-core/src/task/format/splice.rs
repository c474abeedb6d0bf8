//! The bytes to replace so that a member of a task has another value, or is there at all.
//!
//! Touches the value alone; a new member gets one line like its neighbours. Whether the result
//! says what was meant is checked by the caller.

use super::Syntax;
use super::bracket_layout::{self, BracketLayout};
use super::fields::{Field, Fields};
use super::render::{FieldValue, yaml_member_value, yaml_scalar};
use super::status::Put;
use super::tree::{At, Kind, Style, Tree};

/// Bytes `start..end` become `text`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Splice {
    pub(super) start: usize,
    pub(super) end: usize,
    pub(super) text: String,
}

/// Applies splices to the bytes from `from` to `to`. Those at one place keep their order.
pub(super) fn spliced(source: &str, from: usize, to: usize, splices: &[Splice]) -> String {
    let mut sorted: Vec<&Splice> = splices.iter().collect();
    sorted.sort_by_key(|splice| splice.start);
    let mut out = String::with_capacity(to - from + 64);
    let mut at = from;
    for splice in sorted {
        out.push_str(source.get(at..splice.start).unwrap_or_default());
        out.push_str(&splice.text);
        at = splice.end;
    }
    out.push_str(source.get(at..to).unwrap_or_default());
    out
}

pub(super) fn of_put(tree: &Tree<'_>, map: At, fields: &Fields, put: &Put) -> Splice {
    let own = fields.own(put.field);
    match (own, is_block(tree, map)) {
        (Some(value), false) => replace_in_brackets(tree, map, value, &put.value),
        (None, false) => insert_in_brackets(tree, map, fields, put),
        (Some(value), true) => replace_in_block(tree, value, &put.value),
        (None, true) => insert_in_block(tree, map, fields, put),
    }
}

pub(super) fn is_block(tree: &Tree<'_>, at: At) -> bool {
    tree.syntax == Syntax::Yaml && tree.node(at).style == Style::Block
}

fn whole(tree: &Tree<'_>, at: At, text: String) -> Splice {
    Splice {
        start: tree.start(at),
        end: tree.end(at),
        text,
    }
}

fn replace_in_brackets(tree: &Tree<'_>, map: At, value: At, to: &FieldValue) -> Splice {
    let brackets = BracketLayout::of(tree, map);
    let breaks = match tree.kind(value) {
        Kind::List if tree.children(value).next().is_some() => bracket_layout::breaks(tree, value),
        _ => brackets.breaks_lists,
    };
    let text = brackets.value_breaking(to, tree.node(value).style, breaks);
    if tree.start(value) == tree.end(value) {
        return behind_colon(tree, value, format!(" {text}"));
    }
    whole(tree, value, text)
}

/// The offset behind the colon of the member that a value belongs to.
fn colon_end(tree: &Tree<'_>, value: At) -> usize {
    // The key of a member is a scalar, so it is the node before.
    let key_end = tree.end(value - 1);
    let colon = tree.source[key_end..].find(':');
    colon.map_or(key_end, |at| key_end + at + 1)
}

fn behind_colon(tree: &Tree<'_>, value: At, text: String) -> Splice {
    let at = colon_end(tree, value);
    Splice {
        start: at,
        end: at,
        text,
    }
}

/// The member beside which a new one goes: those that say how a task stands, else the last.
fn neighbour(fields: &Fields, fallback: Option<At>) -> Option<At> {
    let near = [Field::Passes, Field::Status].into_iter();
    near.filter_map(|field| fields.own(field))
        .next()
        .or(fallback)
}

fn insert_in_brackets(tree: &Tree<'_>, map: At, fields: &Fields, put: &Put) -> Splice {
    let brackets = BracketLayout::of(tree, map);
    let value = brackets.value(&put.value, Style::Double);
    let member = format!("{}{}{value}", brackets.key(&put.name), brackets.colon);
    let members: Vec<(At, At)> = tree.members(map).collect();
    let last = members.len().saturating_sub(1);
    let near = neighbour(fields, members.last().map(|(_, value)| *value));
    let near = members.iter().position(|(_, value)| Some(*value) == near);
    let near = near.unwrap_or(last);
    // Before another member, so that no comma has to be added to a line that does not change.
    let before = if near < last { near + 1 } else { near };
    if before == 0 {
        let end = members
            .last()
            .map_or(tree.start(map) + 1, |(_, value)| tree.end(*value));
        let glue = match (&brackets.members, members.is_empty()) {
            (_, true) => String::new(),
            (Some(indent), false) => format!(",{}{indent}", brackets.newline),
            (None, false) => brackets.comma.clone(),
        };
        return Splice {
            start: end,
            end,
            text: format!("{glue}{member}"),
        };
    }
    let (key, _) = members[before];
    let gap = bracket_layout::member_gap(tree, members[before - 1].1, key).unwrap_or(" ");
    Splice {
        start: tree.start(key),
        end: tree.start(key),
        text: format!("{member},{gap}"),
    }
}

fn replace_in_block(tree: &Tree<'_>, value: At, to: &FieldValue) -> Splice {
    let node = tree.node(value);
    let source = tree.source;
    let indent = column(source, tree.start(value - 1));
    let newline = bracket_layout::newline(source);
    let rest = source[tree.end(value)..].split('\n').next().unwrap_or("");
    let one_line = |text: &str| yaml_scalar(text, node.style);
    match (node.kind, node.style) {
        (Kind::List | Kind::Map, Style::Flow) => whole(tree, value, to.inline(&one_line)),
        (_, Style::Block) => {
            let start = colon_end(tree, value);
            let kept = source[..tree.end(value)].trim_end().len();
            Splice {
                start,
                end: kept.max(start),
                text: yaml_member_value(to, Style::Plain, &indent, newline),
            }
        }
        (_, _) if tree.start(value) == tree.end(value) => {
            behind_colon(tree, value, format!(" {}", to.inline(&one_line)))
        }
        // A comment behind the value would become part of a block.
        (_, _) if !rest.trim().is_empty() => whole(tree, value, to.inline(&one_line)),
        (_, _) => {
            let start = colon_end(tree, value);
            let text = yaml_member_value(to, node.style, &indent, newline);
            match text.strip_prefix(' ') {
                Some(text) => whole(tree, value, text.to_owned()),
                None => Splice {
                    start,
                    end: tree.end(value),
                    text,
                },
            }
        }
    }
}

/// The space that brings a line to the column of an offset.
pub(super) fn column(source: &str, offset: usize) -> String {
    let start = source[..offset].rfind('\n').map_or(0, |at| at + 1);
    let before = source[start..offset].trim_start_matches('\u{feff}');
    " ".repeat(before.chars().count())
}

/// The end of the line that an offset is on, before its line break.
pub(super) fn line_end(source: &str, offset: usize) -> usize {
    let rest = &source[offset..];
    let line = rest.split('\n').next().unwrap_or(rest);
    offset + line.strip_suffix('\r').unwrap_or(line).len()
}

fn insert_in_block(tree: &Tree<'_>, map: At, fields: &Fields, put: &Put) -> Splice {
    let source = tree.source;
    let on_one_line = |value: &At| {
        let node = tree.node(*value);
        let text = &source[tree.start(*value)..tree.end(*value)];
        node.style != Style::Block && !text.contains('\n')
    };
    let members: Vec<(At, At)> = tree.members(map).collect();
    // The id is such a member, so there is always one.
    let mut simple = members.iter().map(|(_, value)| *value).filter(on_one_line);
    let last = simple.next_back();
    let near = neighbour(fields, last).filter(on_one_line).or(last);
    let near = near.unwrap_or(map + 1);
    let key = members.first().map_or(map + 1, |(key, _)| *key);
    let indent = column(source, tree.start(key));
    let name = yaml_scalar(&put.name, tree.node(key).style);
    let newline = bracket_layout::newline(source);
    let value = yaml_member_value(&put.value, Style::Plain, &indent, newline);
    let end = line_end(source, tree.end(near).max(colon_end(tree, near)));
    Splice {
        start: end,
        end,
        text: format!("{newline}{indent}{name}:{value}"),
    }
}
