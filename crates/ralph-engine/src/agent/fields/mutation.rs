//! Puts a value of another kind in the place of each field of an event. For tests alone.

use serde_json::Value;

const OTHERS: [&str; 7] = ["null", "\"odd\"", "7", "7.5", "[7]", "{\"odd\":7}", "true"];

/// Calls `check` with the way to a field, what stands there instead, and the event with it: for every
/// field but what kind of event it is and of which session.
pub(in crate::agent) fn each_changed_field(event: &str, mut check: impl FnMut(&str, &str, &str)) {
    let event: Value = serde_json::from_str(event).unwrap();
    let mut found = Vec::new();
    fields(&event, "", &mut found);
    for way in found {
        if way == "type" || way == "session_id" {
            continue;
        }
        for other in OTHERS {
            let mut event = event.clone();
            let pointer = format!("/{}", way.replace('.', "/"));
            *event.pointer_mut(&pointer).unwrap() = serde_json::from_str(other).unwrap();
            check(&way, other, &event.to_string());
        }
    }
}

/// Every field, as the way to it.
fn fields(value: &Value, way: &str, found: &mut Vec<String>) {
    let mut below = |name: &str, value: &Value| {
        let way = match way {
            "" => name.to_owned(),
            way => format!("{way}.{name}"),
        };
        fields(value, &way, found);
        found.push(way);
    };
    match value {
        Value::Object(all) => all.iter().for_each(|(name, value)| below(name, value)),
        Value::Array(all) => {
            let numbered = all.iter().enumerate();
            numbered.for_each(|(at, value)| below(&at.to_string(), value));
        }
        _ => {}
    }
}
