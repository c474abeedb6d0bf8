//! The schema for editors is held against the reader: what one takes, the other takes.

use std::path::Path;

use jsonschema::Validator;
use ralph_qa::flow::{flow_schema, read_flow};
use serde_json::{Value, json};

use super::{bad, good};

fn validator() -> Validator {
    jsonschema::validator_for(&flow_schema()).unwrap()
}

/// A text as an editor sees it. `None`: it is not YAML.
fn as_json(text: &str) -> Option<Value> {
    let options = serde_saphyr::options! { strict_booleans: true };
    serde_saphyr::from_str_with_options(text, options).ok()
}

#[test]
fn the_schema_is_one() {
    assert!(jsonschema::meta::is_valid(&flow_schema()));
}

#[test]
fn every_flow_that_is_right_is_right_for_an_editor() {
    let validator = validator();
    let mut wrong = Vec::new();
    let steps = good::steps().into_iter().map(|(step, ..)| step);
    let flows = steps.map(|step| format!("steps:\n  - {}\n", step.replace('\n', "\n    ")));
    for text in flows.chain([good::WHOLE_FLOW.to_owned()]) {
        let json = as_json(&text).unwrap_or_else(|| panic!("{text}"));
        assert!(read_flow(&text, Path::new("greet.yaml")).is_ok(), "{text}");
        if let Err(error) = validator.validate(&json) {
            wrong.push(format!("{text}{error} at {}", error.instance_path()));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n\n"));
}

#[test]
fn flows_of_real_applications_are_right_for_an_editor() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/samples/flows");
    let validator = validator();
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.extension().is_some_and(|ending| ending == "yaml") {
            let json = as_json(&std::fs::read_to_string(&path).unwrap()).unwrap();
            assert!(validator.is_valid(&json), "{}", path.display());
        }
    }
}

/// Mistakes that a schema can't express, by a part of what is said of them.
const BEYOND: [&str; 8] = [
    // Two values compared.
    "expected a name of its own",
    "expected `least` to be at most `most`",
    // Bounds on numbers that stand within texts.
    "expected a time of at least 1ms",
    // The lines of a tree are a language of their own.
    "verify.tree`: expected two spaces",
    "verify.tree`: expected a role",
    "a text with a NUL in it",
    // An editor says it by itself, and its values are gone.
    "is given twice",
    "`<<`: expected an alias to a map",
];

/// The mistakes of a flow that an editor has to see too; none if it is right, or if a schema can't express them.
fn structural(flow: &Value) -> Option<String> {
    let text = serde_json::to_string(flow).unwrap();
    let mistakes = read_flow(&text, Path::new("greet.yaml")).err()?;
    let said = mistakes.to_string();
    let is_beyond = |line: &str| BEYOND.iter().any(|beyond| line.contains(beyond));
    (!said.lines().all(is_beyond)).then_some(said)
}

/// The steps of a flow, each as a flow by itself; the flow if it has something else that may be wrong.
fn parts(flow: &Value) -> Vec<Value> {
    match (flow.as_object(), flow["steps"].as_array()) {
        (Some(map), Some(steps)) if map.len() == 1 && !steps.is_empty() => steps
            .iter()
            .map(|step| json!({ "steps": [step] }))
            .collect(),
        _ => vec![flow.clone()],
    }
}

#[test]
fn every_structural_mistake_is_one_for_an_editor() {
    let validator = validator();
    let mut wrong = Vec::new();
    let mut refused = 0;
    for sample in bad::samples() {
        let Some(json) = as_json(sample.text) else {
            continue;
        };
        for part in parts(&json) {
            let said = structural(&part);
            refused += usize::from(said.is_some());
            if validator.is_valid(&part) != said.is_none() {
                wrong.push(format!("{}: {part}\n{said:?}", sample.name));
            }
        }
    }
    assert!(refused >= 150, "{refused}");
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

/// Values that are right in some places and wrong in others.
fn values() -> Vec<Value> {
    vec![
        Value::Null,
        json!(true),
        json!(false),
        json!(-1),
        json!(0),
        json!(7),
        json!(0.5),
        json!(""),
        json!(" "),
        json!("x"),
        json!("idle"),
        json!("10s"),
        json!("/x"),
        json!("a b/c"),
        json!("Enter"),
        json!("dark"),
        json!([]),
        json!(["x"]),
        json!([[]]),
        json!({}),
        json!({ "text": "x" }),
        json!({ "css": "x", "is": 2 }),
        json!({ "except": "x" }),
        json!({ "zzz": 1 }),
    ]
}

/// Every form of a flow in which one value is another, one key is gone or one is too many.
fn variants(flow: &Value) -> Vec<Value> {
    let mut all = Vec::new();
    let mut pointers = Vec::new();
    collect_pointers(flow, String::new(), &mut pointers);
    for pointer in pointers {
        for value in values() {
            let mut variant = flow.clone();
            *variant.pointer_mut(&pointer).unwrap() = value;
            all.push(variant);
        }
        let keys: Vec<String> = match flow.pointer(&pointer).unwrap() {
            Value::Object(map) => map.keys().cloned().collect(),
            _ => continue,
        };
        for key in keys {
            let mut variant = flow.clone();
            let map = variant.pointer_mut(&pointer).and_then(Value::as_object_mut);
            map.unwrap().shift_remove(&key);
            all.push(variant);
        }
        for key in [
            "zzz", "name", "nth", "exact", "css", "text", "role", "note", "click", "is",
        ] {
            let mut variant = flow.clone();
            let map = variant.pointer_mut(&pointer).and_then(Value::as_object_mut);
            map.unwrap().entry(key).or_insert(json!("button"));
            all.push(variant);
        }
    }
    all
}

fn collect_pointers(value: &Value, at: String, all: &mut Vec<String>) {
    match value {
        Value::Object(map) => {
            for (key, value) in map {
                collect_pointers(value, format!("{at}/{key}"), all);
            }
        }
        Value::Array(items) => {
            for (index, value) in items.iter().enumerate() {
                collect_pointers(value, format!("{at}/{index}"), all);
            }
        }
        _ => {}
    }
    all.push(at);
}

#[test]
fn a_value_that_is_changed_is_right_for_both_or_for_none() {
    let validator = validator();
    let steps = good::steps().into_iter();
    let flows = steps.map(|(step, ..)| json!({ "steps": [as_json(step).unwrap()] }));
    let whole = as_json(good::WHOLE_FLOW).unwrap();
    let (mut wrong, mut taken, mut refused) = (Vec::new(), 0, 0);
    for flow in flows.chain([whole]) {
        for variant in variants(&flow) {
            let said = structural(&variant);
            *(if said.is_none() {
                &mut taken
            } else {
                &mut refused
            }) += 1;
            if validator.is_valid(&variant) != said.is_none() {
                wrong.push(format!("{variant} {said:?}"));
            }
        }
    }
    assert!(taken > 2000 && refused > 5000, "{taken} {refused}");
    wrong.sort();
    wrong.dedup();
    assert!(wrong.is_empty(), "{} {}", wrong.len(), wrong.join("\n"));
}

#[test]
fn every_key_of_a_flow_and_every_action_says_what_it_is_for() {
    let schema = flow_schema();
    let mut without = Vec::new();
    for map in [
        &schema["properties"],
        &schema["$defs"]["step"]["properties"],
    ] {
        for (key, property) in map.as_object().unwrap() {
            if key != "steps" && property["description"].as_str().is_none() {
                without.push(key.clone());
            }
        }
    }
    assert_eq!(without, Vec::<String>::new());
}
