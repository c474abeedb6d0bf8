//! The bytes to replace so that a member of a task has another value, or is there at all.
//!
//! Touches the value alone; a new member gets one line like its neighbours. Whether the result
//! says what was meant is checked by the caller.

use serde::{Deserialize, Serialize};

use super::{
    Syntax,
    fields::{Field, Fields},
    render::{Value, quoted, yaml_member_value, yaml_scalar},
    status::Put,
    tree::{At, Kind, Style, Tree},
};

/// Bytes `start..end` become `text`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Splice {
    pub(super) start: usize,
    pub(super) end: usize,
    pub(super) text: String,
}

impl Splice {
    /// Makes the change in `bytes`; returns the one that undoes it, or `None` where there is no such place.
    pub fn perform(&self, bytes: &mut Vec<u8>) -> Option<Self> {
        let was = bytes.get(self.start..self.end)?;
        let undo = Self {
            start: self.start,
            end: self.start + self.text.len(),
            text: String::from_utf8(was.to_vec()).ok()?,
        };
        bytes.splice(self.start..self.end, self.text.bytes());
        Some(undo)
    }

    /// Returns where an offset outside of the change is once the change is made.
    pub fn moved(&self, offset: usize) -> usize {
        if offset < self.end {
            offset
        } else {
            offset + self.text.len() - (self.end - self.start)
        }
    }
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

fn replace_in_brackets(tree: &Tree<'_>, map: At, value: At, to: &Value) -> Splice {
    let brackets = BracketLayout::of(tree, map);
    let breaks = match tree.kind(value) {
        Kind::List if tree.children(value).next().is_some() => breaks(tree, value),
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
    let near = [Field::Passes, Field::Done, Field::Status, Field::State].into_iter();
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
    let gap = member_gap(tree, members[before - 1].1, key).unwrap_or(" ");
    Splice {
        start: tree.start(key),
        end: tree.start(key),
        text: format!("{member},{gap}"),
    }
}

fn replace_in_block(tree: &Tree<'_>, value: At, to: &Value) -> Splice {
    let node = tree.node(value);
    let source = tree.source;
    let indent = column(source, tree.start(value - 1));
    let newline = newline(source);
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
    let newline = newline(source);
    let value = yaml_member_value(&put.value, Style::Plain, &indent, newline);
    let end = line_end(source, tree.end(near).max(colon_end(tree, near)));
    Splice {
        start: end,
        end,
        text: format!("{newline}{indent}{name}:{value}"),
    }
}

/// The way an object in brackets is laid out. What is added to it takes the same look.
#[derive(Debug, Clone)]
pub(super) struct BracketLayout {
    pub(super) newline: &'static str,
    /// The indentation of members; `None` for an object on one line.
    pub(super) members: Option<String>,
    /// The indentation of the closing bracket.
    pub(super) close: String,
    pub(super) unit: String,
    pub(super) colon: String,
    pub(super) comma: String,
    pub(super) breaks_lists: bool,
    pub(super) quotes_keys: bool,
    pub(super) syntax: Syntax,
}

/// The line break that a text uses.
pub(super) fn newline(source: &str) -> &'static str {
    match source.find('\n') {
        Some(at) if source[..at].ends_with('\r') => "\r\n",
        Some(_) | None => "\n",
    }
}

/// The white space that the line of an offset begins with.
pub(super) fn indentation(source: &str, offset: usize) -> &str {
    let start = source[..offset].rfind('\n').map_or(0, |at| at + 1);
    let line = source[start..].trim_start_matches('\u{feff}');
    &line[..line.len() - line.trim_start_matches([' ', '\t']).len()]
}

/// The white space between two tokens, if there is nothing else but perhaps a comma.
fn gap(source: &str, from: usize, to: usize) -> Option<&str> {
    let gap = source.get(from..to)?;
    let gap = gap.find(',').map_or(gap, |comma| &gap[comma + 1..]);
    gap.trim().is_empty().then_some(gap)
}

fn last_line(gap: &str) -> Option<String> {
    gap.rfind('\n').map(|at| gap[at + 1..].to_owned())
}

impl BracketLayout {
    pub(super) fn of(tree: &Tree<'_>, map: At) -> Self {
        let source = tree.source;
        let members: Vec<(At, At)> = tree.members(map).take(2).collect();
        let mut look = Self::fresh(source, tree.syntax, indentation(source, tree.start(map)));
        look.members = None;
        let Some(&(key, value)) = members.first() else {
            return look;
        };
        look.quotes_keys = tree.node(key).style == Style::Double;
        let before = gap(source, tree.start(map) + 1, tree.start(key));
        look.members = before.and_then(last_line);
        let colon = &source[tree.end(key)..tree.start(value)];
        if colon.trim() == ":" && !colon.contains('\n') {
            look.colon = colon.to_owned();
        }
        if let Some(&(second, _)) = members.get(1) {
            let comma = gap(source, tree.end(value), tree.start(second));
            if let Some(space) = comma.filter(|space| !space.contains('\n')) {
                look.comma = format!(",{space}");
            }
        }
        if let Some(members) = &look.members {
            let end = source[..tree.end(map) - 1].rfind('\n');
            let tail = end.map(|at| &source[at + 1..tree.end(map) - 1]);
            if let Some(close) = tail.filter(|tail| tail.trim().is_empty()) {
                look.close = close.to_owned();
            }
            if let Some(unit) = members.strip_prefix(&look.close).filter(|u| !u.is_empty()) {
                look.unit = unit.to_owned();
            }
        }
        let full = |at: &At| tree.kind(*at) == Kind::List && tree.children(*at).next().is_some();
        let lists: Vec<At> = tree.members(map).map(|(_, v)| v).filter(full).collect();
        look.breaks_lists = look.members.is_some()
            && (lists.is_empty() || lists.iter().any(|at| breaks(tree, *at)));
        look
    }

    /// The look of an object where there is none to follow.
    pub(super) fn fresh(source: &str, syntax: Syntax, indent: &str) -> Self {
        let one_line = !source.trim_end().contains('\n');
        let unit = if indent.contains('\t') { "\t" } else { "  " };
        Self {
            newline: newline(source),
            members: (!one_line).then(|| format!("{indent}{unit}")),
            close: indent.to_owned(),
            unit: unit.to_owned(),
            colon: ": ".to_owned(),
            comma: ", ".to_owned(),
            breaks_lists: !one_line,
            quotes_keys: syntax == Syntax::Json,
            syntax,
        }
    }

    pub(super) fn text(&self, text: &str, like: Style) -> String {
        match self.syntax {
            Syntax::Json | Syntax::JsonLines | Syntax::Markdown => quoted(text),
            Syntax::Yaml => yaml_scalar(text, like),
        }
    }

    pub(super) fn key(&self, name: &str) -> String {
        if self.quotes_keys {
            quoted(name)
        } else {
            self.text(name, Style::Plain)
        }
    }

    pub(super) fn value(&self, value: &Value, like: Style) -> String {
        self.value_breaking(value, like, self.breaks_lists)
    }

    /// A value as a member of the object, a list over several lines or not.
    pub(super) fn value_breaking(&self, value: &Value, like: Style, breaks: bool) -> String {
        let text = |text: &str| self.text(text, like);
        match (value, &self.members) {
            (Value::List(items), Some(indent)) if breaks && !items.is_empty() => {
                let (newline, unit) = (self.newline, &self.unit);
                let items: Vec<String> = items
                    .iter()
                    .map(|item| format!("{newline}{indent}{unit}{}", item.inline(&text)))
                    .collect();
                format!("[{}{newline}{indent}]", items.join(","))
            }
            (_, _) => value.inline(&text),
        }
    }

    /// A whole object.
    pub(super) fn object(&self, members: &[(String, Value)]) -> String {
        let lines = members.iter().map(|(name, value)| {
            let value = self.value(value, Style::Double);
            format!("{}{}{value}", self.key(name), self.colon)
        });
        let lines: Vec<String> = lines.collect();
        match &self.members {
            None => format!("{{{}}}", lines.join(&self.comma)),
            Some(indent) => {
                let newline = self.newline;
                let glue = format!(",{newline}{indent}");
                let close = &self.close;
                format!("{{{newline}{indent}{}{newline}{close}}}", lines.join(&glue))
            }
        }
    }
}

/// Returns true if a list stands on several lines.
pub(super) fn breaks(tree: &Tree<'_>, list: At) -> bool {
    tree.source[tree.start(list)..tree.end(list)].contains('\n')
}

/// The white space before the last element of a list, as it should stand before the next one.
pub(super) fn element_gap<'a>(tree: &Tree<'a>, list: At, last: At) -> Option<&'a str> {
    let before = tree.children(list).take_while(|at| *at < last).last();
    let from = before.map_or(tree.start(list) + 1, |at| tree.end(at));
    gap(tree.source, from, tree.start(last))
}

/// The white space before a member of an object in brackets.
pub(super) fn member_gap<'a>(tree: &Tree<'a>, previous: At, key: At) -> Option<&'a str> {
    gap(tree.source, tree.end(previous), tree.start(key))
}
