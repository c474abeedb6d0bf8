//! A value of any shape, with the spelling of its numbers and the order of its members, out of a
//! tree and into JSON or YAML.
//!
//! Knows nothing of tasks. What it gives out as text reads back as the same value.

use crate::task::format::Syntax;
use crate::task::format::error::{Fault, FormatResult};
use crate::task::format::render::{Members, Value, quoted, yaml_block, yaml_scalar};
use crate::task::format::tree::{At, Kind, Style, Tree};

/// Deepest nesting that is taken over; the readers stop there too.
const MAX_DEPTH: usize = 127;

/// The value at a node, without a change but for what the other syntax could not say.
pub(in crate::task::format) fn read(tree: &Tree<'_>, at: At) -> FormatResult<Value> {
    read_below(tree, at, 0)
}

fn read_below(tree: &Tree<'_>, at: At, depth: usize) -> FormatResult<Value> {
    if depth > MAX_DEPTH {
        let message = format!("expected at most {MAX_DEPTH} levels of nesting, found more");
        return Err(Fault::at(tree.start(at), message));
    }
    Ok(match tree.kind(at) {
        Kind::Null => Value::Null,
        Kind::True => Value::Bool(true),
        Kind::False => Value::Bool(false),
        Kind::Number => number(&tree.text(at)),
        Kind::Text => Value::Text(tree.text(at).into_owned()),
        Kind::List => {
            let items = tree.children(at);
            let items = items.map(|child| read_below(tree, child, depth + 1));
            Value::List(items.collect::<FormatResult<_>>()?)
        }
        Kind::Map => {
            let mut members = Members::new();
            for (key, value) in entries(tree, at)? {
                let value = read_below(tree, value, depth + 1)?;
                set(&mut members, tree.text(key).into_owned(), value);
            }
            Value::Map(members)
        }
    })
}

/// Key and value of every member of a map. A key that is a collection can't be taken over.
pub(super) fn entries(tree: &Tree<'_>, map: At) -> FormatResult<Vec<(At, At)>> {
    let mut children = tree.children(map);
    let mut found = Vec::new();
    while let (Some(key), Some(value)) = (children.next(), children.next()) {
        if matches!(tree.kind(key), Kind::List | Kind::Map) {
            let message = "expected a text as the name of a member, found a list or an object";
            return Err(Fault::at(tree.start(key), message));
        }
        found.push((key, value));
    }
    Ok(found)
}

/// Sets a member; the last of a name wins, in the place of the first.
pub(super) fn set(members: &mut Members, name: String, value: Value) {
    match members.iter_mut().find(|(known, _)| *known == name) {
        Some((_, known)) => *known = value,
        None => members.push((name, value)),
    }
}

pub(super) fn get<'m>(members: &'m [(String, Value)], name: &str) -> Option<&'m Value> {
    let found = members.iter().find(|(known, _)| known == name);
    found.map(|(_, value)| value)
}

/// A number in JSON's spelling: as it is, if that will do.
pub(super) fn number(spelled: &str) -> Value {
    if is_json_number(spelled) {
        return Value::Number(spelled.to_owned());
    }
    if let Ok(integer) = spelled.parse::<i128>() {
        return Value::Number(integer.to_string());
    }
    match spelled.parse::<f64>().map(serde_json::Number::from_f64) {
        Ok(Some(number)) => Value::Number(number.to_string()),
        Ok(None) | Err(_) => Value::text(spelled),
    }
}

/// Returns true if JSON has a number of this spelling.
pub(super) fn is_json_number(spelled: &str) -> bool {
    let digits = |text: &str| !text.is_empty() && text.bytes().all(|b| b.is_ascii_digit());
    let body = spelled.strip_prefix('-').unwrap_or(spelled);
    let (mantissa, exponent) = match body.split_once(['e', 'E']) {
        Some((mantissa, exponent)) => (mantissa, Some(exponent)),
        None => (body, None),
    };
    let (whole, fraction) = match mantissa.split_once('.') {
        Some((whole, fraction)) => (whole, Some(fraction)),
        None => (mantissa, None),
    };
    digits(whole)
        && (whole == "0" || !whole.starts_with('0'))
        && fraction.is_none_or(digits)
        && exponent.is_none_or(|e| digits(e.strip_prefix(['+', '-']).unwrap_or(e)))
}

/// A whole file.
pub(super) fn render(value: &Value, syntax: Syntax) -> String {
    let mut out = String::new();
    match (syntax, value) {
        (Syntax::Json | Syntax::JsonLines | Syntax::Markdown, value) => json(value, 0, &mut out),
        (Syntax::Yaml, Value::Map(members)) if !members.is_empty() => {
            yaml_members(members, 0, &mut out);
        }
        (Syntax::Yaml, Value::List(items)) if !items.is_empty() => yaml_items(items, 0, &mut out),
        (Syntax::Yaml, other) => out.push_str(&other.json()),
    }
    if !out.ends_with('\n') {
        out.push('\n');
    }
    out
}

fn json(value: &Value, depth: usize, out: &mut String) {
    let line = |out: &mut String, depth: usize| {
        out.push('\n');
        out.push_str(&"  ".repeat(depth));
    };
    match value {
        Value::List(items) if !items.is_empty() => {
            for (n, item) in items.iter().enumerate() {
                out.push(if n == 0 { '[' } else { ',' });
                line(out, depth + 1);
                json(item, depth + 1, out);
            }
            line(out, depth);
            out.push(']');
        }
        Value::Map(members) if !members.is_empty() => {
            for (n, (key, value)) in members.iter().enumerate() {
                out.push(if n == 0 { '{' } else { ',' });
                line(out, depth + 1);
                out.push_str(&quoted(key));
                out.push_str(": ");
                json(value, depth + 1, out);
            }
            line(out, depth);
            out.push('}');
        }
        small => out.push_str(&small.json()),
    }
}

fn yaml_members(members: &Members, depth: usize, out: &mut String) {
    for (n, (key, value)) in members.iter().enumerate() {
        // The first stands on the line of its list's dash, or of the file.
        if n > 0 {
            out.push_str(&"  ".repeat(depth));
        }
        out.push_str(&yaml_scalar(key, Style::Plain));
        out.push(':');
        match value {
            Value::Map(inner) if !inner.is_empty() => {
                out.push('\n');
                out.push_str(&"  ".repeat(depth + 1));
                yaml_members(inner, depth + 1, out);
            }
            Value::List(items) if !items.is_empty() => {
                out.push('\n');
                yaml_items(items, depth + 1, out);
            }
            Value::Text(text) => {
                let indent = "  ".repeat(depth + 1);
                let block = yaml_block(text, &indent, "\n");
                let scalar = block.unwrap_or_else(|| yaml_scalar(text, Style::Plain));
                out.push_str(&format!(" {scalar}\n"));
            }
            small => out.push_str(&format!(" {}\n", small.json())),
        }
    }
}

fn yaml_items(items: &[Value], depth: usize, out: &mut String) {
    for item in items {
        out.push_str(&"  ".repeat(depth));
        out.push_str("- ");
        match item {
            Value::Map(members) if !members.is_empty() => yaml_members(members, depth + 1, out),
            Value::Text(text) => out.push_str(&format!("{}\n", yaml_scalar(text, Style::Plain))),
            other => out.push_str(&format!("{}\n", other.json())),
        }
    }
}
