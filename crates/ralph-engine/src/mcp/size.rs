//! Keeps a result within its cap: long texts are cut, then long lists, and the result says so.
//!
//! A client puts it into the context of a model, which pays for every word.

use serde_json::{Value, json};

/// The largest result, in bytes of JSON.
pub const MOST_RESULT_BYTES: usize = 96 * 1024;

/// Steps by which a result is made smaller: characters of a text, and entries of a list.
const STEPS: [(usize, usize); 6] = [
    (16_000, 500),
    (4_000, 200),
    (2_000, 100),
    (1_000, 50),
    (300, 20),
    (120, 8),
];

/// Returns the value if it is small enough, else as much of it as is, with the field `cut`. `None`: there is too much
/// even then.
pub(super) fn within(value: Value, most_bytes: usize) -> Option<Value> {
    if bytes(&value) <= most_bytes {
        return Some(value);
    }
    STEPS.into_iter().find_map(|(text, list)| {
        let mut smaller = value.clone();
        cut(&mut smaller, text, list);
        if let Value::Object(fields) = &mut smaller {
            let note = format!("texts are cut after {text} characters, lists after {list} entries");
            fields.insert("cut".to_owned(), json!(note));
        }
        (bytes(&smaller) <= most_bytes).then_some(smaller)
    })
}

fn bytes(value: &Value) -> usize {
    serde_json::to_string(value).map_or(usize::MAX, |text| text.len())
}

fn cut(value: &mut Value, most_text: usize, most_list: usize) {
    match value {
        Value::String(text) => {
            if let Some((at, _)) = text.char_indices().nth(most_text) {
                text.truncate(at);
                text.push('…');
            }
        }
        Value::Array(all) => {
            all.truncate(most_list);
            for one in all {
                cut(one, most_text, most_list);
            }
        }
        Value::Object(all) => {
            for one in all.values_mut() {
                cut(one, most_text, most_list);
            }
        }
        Value::Null | Value::Bool(_) | Value::Number(_) => {}
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_fits_stays_as_it_is() {
        let value = json!({"a": "x".repeat(100)});
        assert_eq!(within(value.clone(), 200), Some(value));
    }

    #[test]
    fn what_does_not_fit_is_cut_and_says_so() {
        let value = json!({"log": "ü".repeat(20_000), "n": 3});
        let smaller = within(value, 9_000).unwrap();
        assert_eq!(smaller["log"].as_str().unwrap().chars().count(), 4_001);
        assert_eq!(smaller["n"], 3);
        assert_eq!(
            smaller["cut"],
            "texts are cut after 4000 characters, lists after 200 entries"
        );
        let value = json!({"tasks": vec![json!({"title": "x".repeat(90)}); 1000]});
        let smaller = within(value, 12_000).unwrap();
        assert_eq!(smaller["tasks"].as_array().unwrap().len(), 100);
    }

    #[test]
    fn what_can_t_be_made_small_is_refused() {
        let fields = (0..500).map(|n| (format!("field {n}"), json!(n)));
        assert_eq!(within(Value::Object(fields.collect()), 1_000), None);
    }
}
