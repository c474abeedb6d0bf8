//! Values of secrets, taken out of results: a page may print what was typed into it.

use serde_json::Value;

use crate::result::FlowVerificationResult;

/// Shorter values would take parts of words out.
const SHORTEST: usize = 4;

/// Returns the result with each value replaced by the name of its variable.
pub(super) fn without_secrets(
    result: FlowVerificationResult,
    secrets: &[(String, String)],
) -> FlowVerificationResult {
    let mut secrets: Vec<&(String, String)> = secrets
        .iter()
        .filter(|(_, value)| value.len() >= SHORTEST)
        .collect();
    if secrets.is_empty() {
        return result;
    }
    // A value that is a part of another one must not leave the other's rest.
    secrets.sort_by_key(|(_, value)| std::cmp::Reverse(value.len()));
    let Ok(mut json) = serde_json::to_value(&result) else {
        return result;
    };
    replace(&mut json, &secrets);
    serde_json::from_value(json).unwrap_or(result)
}

fn replace(json: &mut Value, secrets: &[&(String, String)]) {
    match json {
        Value::String(text) => {
            for (name, value) in secrets {
                if text.contains(value.as_str()) {
                    *text = text.replace(value.as_str(), &format!("${name}"));
                }
            }
        }
        Value::Array(items) => items.iter_mut().for_each(|item| replace(item, secrets)),
        Value::Object(fields) => fields
            .values_mut()
            .for_each(|field| replace(field, secrets)),
        Value::Null | Value::Bool(_) | Value::Number(_) => {}
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_become_names_wherever_they_are() {
        let mut json =
            serde_json::json!({"a": ["x hunter22 y"], "b": {"c": "hunter22-long"}, "d": 1});
        let secrets = [
            ("P".to_owned(), "hunter22".to_owned()),
            ("L".to_owned(), "hunter22-long".to_owned()),
        ];
        let mut secrets: Vec<_> = secrets.iter().collect();
        secrets.reverse();
        replace(&mut json, &secrets);
        assert_eq!(
            json,
            serde_json::json!({"a": ["x $P y"], "b": {"c": "$L"}, "d": 1})
        );
    }
}
