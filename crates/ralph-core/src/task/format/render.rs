//! Values as text, in JSON and in YAML, quoted only as much as is needed.
//!
//! Produces fragments; where they go is not known here.

use super::tree::{Kind, Style};
use super::yaml::plain_kind;

/// A value to be written.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Value {
    Null,
    Bool(bool),
    /// As it is spelled, in JSON's way.
    Number(String),
    Text(String),
    List(Vec<Value>),
    Map(Members),
}

/// Members of an object, in order, each name once.
pub(super) type Members = Vec<(String, Value)>;

impl Value {
    pub(super) fn text(text: impl Into<String>) -> Self {
        Self::Text(text.into())
    }

    pub(super) fn texts<T: AsRef<str>>(items: impl IntoIterator<Item = T>) -> Self {
        let items = items.into_iter();
        Self::List(items.map(|item| Self::text(item.as_ref())).collect())
    }

    pub(super) fn integer(value: i64) -> Self {
        Self::Number(value.to_string())
    }

    /// On one line, as JSON that YAML reads as well.
    pub(super) fn json(&self) -> String {
        self.inline(&quoted)
    }

    /// The value on one line, as it stands inside brackets.
    pub(super) fn inline(&self, text: &dyn Fn(&str) -> String) -> String {
        match self {
            Self::Null => "null".to_owned(),
            Self::Bool(value) => value.to_string(),
            Self::Number(spelled) => spelled.clone(),
            Self::Text(value) => text(value),
            Self::List(items) => {
                let items: Vec<String> = items.iter().map(|item| item.inline(text)).collect();
                format!("[{}]", items.join(", "))
            }
            Self::Map(members) => {
                let member = |(key, value): &(String, Self)| {
                    format!("{}: {}", text(key), value.inline(text))
                };
                let members: Vec<String> = members.iter().map(member).collect();
                format!("{{{}}}", members.join(", "))
            }
        }
    }
}

/// A text in double quotes. Good in both syntaxes: what YAML can't print is escaped as well.
pub(crate) fn quoted(text: &str) -> String {
    let mut out = String::with_capacity(text.len() + 2);
    out.push('"');
    for c in text.chars() {
        match c {
            '"' => out.push_str("\\\""),
            '\\' => out.push_str("\\\\"),
            '\n' => out.push_str("\\n"),
            '\r' => out.push_str("\\r"),
            '\t' => out.push_str("\\t"),
            '\u{7f}'..='\u{9f}'
            | '\u{2028}'
            | '\u{2029}'
            | '\u{feff}'
            | '\u{fffe}'
            | '\u{ffff}' => {
                out.push_str(&format!("\\u{:04x}", c as u32));
            }
            c if c < ' ' => out.push_str(&format!("\\u{:04x}", c as u32)),
            c => out.push(c),
        }
    }
    out.push('"');
    out
}

/// A YAML scalar on one line, written like `like` where that can hold the text.
pub(super) fn yaml_scalar(text: &str, like: Style) -> String {
    let simple = !text.contains(|c: char| c.is_control() || !is_printable(c));
    match like {
        Style::Single if simple => format!("'{}'", text.replace('\'', "''")),
        Style::Single | Style::Double => quoted(text),
        Style::Plain | Style::Block | Style::Flow | Style::Alias => {
            if is_plain(text) {
                text.to_owned()
            } else {
                quoted(text)
            }
        }
    }
}

fn is_printable(c: char) -> bool {
    !matches!(
        c,
        '\u{2028}' | '\u{2029}' | '\u{feff}' | '\u{fffe}' | '\u{ffff}'
    )
}

/// Returns true if a text needs no quotes, wherever it stands. Careful rather than complete: quotes too
/// many do no harm.
fn is_plain(text: &str) -> bool {
    let word = text.to_ascii_lowercase();
    let starts = text.starts_with(|c: char| c.is_alphabetic());
    let allowed = |c: char| c.is_alphanumeric() || " _-./()+".contains(c);
    starts
        && !text.ends_with(' ')
        && text.chars().all(allowed)
        && plain_kind(text) == Kind::Text
        && !["yes", "no", "on", "off", "y", "n"].contains(&word.as_str())
}

/// A YAML text over several lines as a `|` block, each line behind `indent`. `None` where a block
/// could not hold it exactly.
pub(super) fn yaml_block(text: &str, indent: &str, newline: &str) -> Option<String> {
    let (body, header) = match text.strip_suffix('\n') {
        Some(body) => (body, "|"),
        None => (text, "|-"),
    };
    let fits = body.contains('\n')
        && !body.ends_with('\n')
        && !body.starts_with([' ', '\t', '\n'])
        && body.split('\n').all(|line| {
            line.trim_end() == line && !line.contains(|c: char| c.is_control() || !is_printable(c))
        });
    if !fits {
        return None;
    }
    let mut out = header.to_owned();
    for line in body.split('\n') {
        out.push_str(newline);
        if !line.is_empty() {
            out.push_str(indent);
            out.push_str(line);
        }
    }
    Some(out)
}

/// The value of a member in a YAML block, from behind its colon. `indent` is that of its key.
pub(super) fn yaml_member_value(value: &Value, like: Style, indent: &str, newline: &str) -> String {
    let deeper = format!("{indent}  ");
    match value {
        Value::List(items) if !items.is_empty() => {
            let lines = items.iter().map(|item| {
                let item = item.inline(&|text| yaml_scalar(text, Style::Plain));
                format!("{newline}{deeper}- {item}")
            });
            lines.collect()
        }
        Value::Text(text) => {
            let block = yaml_block(text, &deeper, newline);
            let scalar = block.unwrap_or_else(|| yaml_scalar(text, like));
            format!(" {scalar}")
        }
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::List(_) | Value::Map(_) => {
            format!(" {}", value.inline(&|text| yaml_scalar(text, like)))
        }
    }
}
