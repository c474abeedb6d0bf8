//! Conversions: what each format looks like in the others, and that nothing is lost on any way.

mod join;

mod examples;
mod properties;

use crate::task::format::{Converted, Document, Format, Syntax, convert, parse};

fn to(file: &str, text: &str, format: Format, syntax: Syntax) -> Converted {
    convert(file, text.as_bytes(), format, syntax).unwrap_or_else(|error| panic!("{error}\n{text}"))
}

fn json(file: &str, text: &str, format: Format) -> String {
    to(file, text, format, Syntax::Json).text
}

fn value(text: &str) -> serde_json::Value {
    serde_json::from_str(text).unwrap_or_else(|error| panic!("{error}\n{text}"))
}

fn read(file: &str, text: &str) -> Document {
    parse(file, 0, text.as_bytes()).unwrap_or_else(|error| panic!("{error}\n{text}"))
}
