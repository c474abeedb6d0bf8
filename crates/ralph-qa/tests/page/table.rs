//! Tables of what is asked of a page, as YAML beside it: `names.yaml` is for `names.html`. An entry is one of
//!
//! - a call of the library: `ready`, `check` (with `limit`), `outline`, … with what it gets,
//! - `see: SELECTOR`: how the element is described,
//! - `page: SCRIPT` as the page itself, `world: SCRIPT` in the world of the library,
//! - `viewport: [width, height]`, `scheme: dark`,
//!
//! with the answer that must come in `is`, where only the listed keys count and `*` in a text is anything; and
//! `then: click`, `hover` or a text that is typed, with the browser's input, where `ready` said.

use std::fmt::Write;

use serde_json::{Value, json};

use crate::{chromium::TestPage, site};

const CALLS: [&str; 9] = [
    "ready", "focus", "fill", "choose", "check", "outline", "settle", "unsettle", "boxes",
];

pub(crate) struct Table {
    name: String,
    entries: Vec<Value>,
}

pub(crate) struct TableDone {
    pub(crate) expectations: usize,
    pub(crate) faults: Vec<String>,
}

pub(crate) fn read_all() -> Vec<Table> {
    let mut files: Vec<_> = std::fs::read_dir(site::folder())
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .filter(|path| {
            path.extension()
                .is_some_and(|extension| extension == "yaml")
        })
        .collect();
    files.sort();
    files
        .iter()
        .map(|path| Table {
            name: path.file_stem().unwrap().to_string_lossy().into_owned(),
            entries: serde_saphyr::from_str(&std::fs::read_to_string(path).unwrap())
                .unwrap_or_else(|error| panic!("{}: {error}", path.display())),
        })
        .collect()
}

pub(crate) async fn run(table: &Table, page: &TestPage, site: &site::Site) -> TableDone {
    let mut done = TableDone {
        expectations: 0,
        faults: Vec::new(),
    };
    page.resize(1280, 720, false).await;
    page.prefer("light").await;
    page.load(&site.url(&format!("{}.html", table.name))).await;
    for (at, entry) in table.entries.iter().enumerate() {
        let answer = ask(entry, page).await;
        if let Some(expected) = entry.get("is") {
            done.expectations += 1;
            if !is_as(expected, &answer) {
                done.faults.push(fault(table, at, entry, &answer));
            }
        }
        if let Some(input) = entry.get("then").and_then(Value::as_str) {
            send(input, &answer, page).await;
        }
    }
    done
}

async fn ask(entry: &Value, page: &TestPage) -> Value {
    if let Some(size) = entry.get("viewport") {
        let (width, height) = (size[0].as_i64().unwrap(), size[1].as_i64().unwrap());
        page.resize(width, height, false).await;
    }
    if let Some(scheme) = entry.get("scheme").and_then(Value::as_str) {
        page.prefer(scheme).await;
    }
    if let Some(script) = entry.get("page").and_then(Value::as_str) {
        return page.here(script).await;
    }
    if let Some(script) = entry.get("world").and_then(Value::as_str) {
        return page.apart(script).await;
    }
    if let Some(selector) = entry.get("see") {
        let asked = json!({"target": {"by": "css", "value": selector}, "wants": "see"});
        let answer = page.apart(&format!("ralphPage.ready({asked})")).await;
        return answer.get("element").cloned().unwrap_or(answer);
    }
    let Some(call) = CALLS.iter().find(|call| entry.get(**call).is_some()) else {
        return Value::Null;
    };
    let asked = match *call {
        "check" => json!({"check": entry["check"], "limit": entry.get("limit")}),
        _ => entry[*call].clone(),
    };
    let argument = if asked.is_null() { json!({}) } else { asked };
    page.apart(&format!("ralphPage.{call}({argument})")).await
}

async fn send(input: &str, answer: &Value, page: &TestPage) {
    let place = || (answer["x"].as_f64().unwrap(), answer["y"].as_f64().unwrap());
    match input {
        "click" => page.click(place().0, place().1).await,
        "hover" => page.point(place().0, place().1).await,
        text => page.insert(text).await,
    }
}

fn fault(table: &Table, at: usize, entry: &Value, answer: &Value) -> String {
    let mut text = format!("{}.yaml, entry {}", table.name, at + 1);
    if let Some(says) = entry.get("says").and_then(Value::as_str) {
        let _ = write!(text, ": {says}");
    }
    let _ = write!(text, "\n  asked    {entry}\n  answered {answer}");
    text
}

/// True if an answer has all that is expected of it.
fn is_as(expected: &Value, answer: &Value) -> bool {
    match (expected, answer) {
        (Value::Object(expected), answer) => expected
            .iter()
            .all(|(key, value)| is_as(value, answer.get(key).unwrap_or(&Value::Null))),
        (Value::Array(expected), Value::Array(answer)) => {
            expected.len() == answer.len()
                && expected
                    .iter()
                    .zip(answer)
                    .all(|(one, other)| is_as(one, other))
        }
        (Value::String(expected), Value::String(answer)) => is_like(expected, answer),
        (Value::Number(expected), Value::Number(answer)) => {
            let (one, other) = (expected.as_f64().unwrap(), answer.as_f64().unwrap());
            (one - other).abs() < 0.51
        }
        (expected, answer) => expected == answer,
    }
}

/// True if a text is as a pattern says, in which `*` is anything.
fn is_like(pattern: &str, text: &str) -> bool {
    let mut parts = pattern.split('*');
    let first = parts.next().unwrap_or("");
    let Some(mut rest) = text.strip_prefix(first) else {
        return false;
    };
    let parts: Vec<&str> = parts.collect();
    let Some((last, middle)) = parts.split_last() else {
        return rest.is_empty();
    };
    for part in middle {
        let Some(at) = rest.find(part) else {
            return false;
        };
        rest = &rest[at + part.len()..];
    }
    rest.ends_with(last)
}
