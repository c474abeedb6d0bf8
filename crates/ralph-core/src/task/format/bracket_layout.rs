//! Describes how an object in brackets is laid out: line breaks, indentation, the space around colons and
//! commas. What is added to it takes the same look.

use super::Syntax;
use super::render::{FieldValue, quoted, yaml_scalar};
use super::tree::{At, Kind, Style, Tree};

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
            Syntax::Json => quoted(text),
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

    pub(super) fn value(&self, value: &FieldValue, like: Style) -> String {
        self.value_breaking(value, like, self.breaks_lists)
    }

    /// A value as a member of the object, a list over several lines or not.
    pub(super) fn value_breaking(&self, value: &FieldValue, like: Style, breaks: bool) -> String {
        let text = |text: &str| self.text(text, like);
        match (value, &self.members) {
            (FieldValue::List(items), Some(indent)) if breaks && !items.is_empty() => {
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
    pub(super) fn object(&self, members: &[(String, FieldValue)]) -> String {
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
