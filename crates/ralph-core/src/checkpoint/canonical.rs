//! The one way to write a document down, which is what is hashed: JSON without white space, keys of
//! every object in the order of their bytes, strings escaped only where JSON demands it, numbers whole.
//!
//! For what a checkpoint can hold that is RFC 8785. A number that is not whole has no canonical form
//! here: the types of a checkpoint have none.

use serde_json::Value;

use super::Checkpoint;

/// A checkpoint's canonical form.
pub fn canonical(checkpoint: &Checkpoint) -> Result<String, serde_json::Error> {
    let mut text = String::new();
    write(&mut text, &serde_json::to_value(checkpoint)?)?;
    Ok(text)
}

fn write(text: &mut String, value: &Value) -> Result<(), serde_json::Error> {
    match value {
        Value::Object(map) => {
            let mut entries: Vec<_> = map.iter().collect();
            entries.sort_by(|a, b| a.0.cmp(b.0));
            text.push('{');
            for (i, (key, value)) in entries.into_iter().enumerate() {
                if i > 0 {
                    text.push(',');
                }
                text.push_str(&serde_json::to_string(key)?);
                text.push(':');
                write(text, value)?;
            }
            text.push('}');
        }
        Value::Array(values) => {
            text.push('[');
            for (i, value) in values.iter().enumerate() {
                if i > 0 {
                    text.push(',');
                }
                write(text, value)?;
            }
            text.push(']');
        }
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {
            text.push_str(&serde_json::to_string(value)?);
        }
    }
    Ok(())
}
