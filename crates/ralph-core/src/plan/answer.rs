//! A plan out of an agent's final message, or what is wrong with it, in sentences for the agent.
//!
//! Believes nothing but JSON of the right shape; mends nothing.

use serde_json::Value;

use super::{Feature, MAX_TASKS, Plan, Planned};
use crate::task::TaskId;

/// Most faults that are told at once.
const MOST_FAULTS: usize = 20;

/// Reads the plan in a final message: the message itself, or the last block of JSON in it.
pub fn parse_answer(message: &str) -> Result<Plan, Vec<String>> {
    let value = find_json(message).map_err(|fault| vec![fault])?;
    let mut faults = Vec::new();
    let plan = read(&value, &mut faults);
    if let Some(plan) = &plan {
        faults.extend(bad_ids(plan));
    }
    faults.truncate(MOST_FAULTS);
    match plan {
        Some(plan) if faults.is_empty() => Ok(plan),
        Some(_) | None => Err(faults),
    }
}

fn find_json(message: &str) -> Result<Value, String> {
    let whole = message.trim();
    if whole.is_empty() {
        return Err("the final message is empty".to_owned());
    }
    let candidates = std::iter::once(whole)
        .chain(blocks(whole).into_iter().rev())
        .chain(outermost(whole));
    let mut fault = None;
    for candidate in candidates.filter(|text| text.starts_with('{')) {
        match serde_json::from_str::<Value>(candidate) {
            Ok(value) => return Ok(value),
            Err(error) => {
                fault.get_or_insert_with(|| format!("the JSON can't be read: {error}"));
            }
        }
    }
    Err(fault.unwrap_or_else(|| "there is no JSON object in the final message".to_owned()))
}

/// The contents of fenced blocks, in order.
fn blocks(message: &str) -> Vec<&str> {
    let mut found = Vec::new();
    let mut open = None;
    let mut at = 0;
    for line in message.split_inclusive('\n') {
        if line.trim_start().starts_with("```") {
            match open.take() {
                Some(start) => found.push(message[start..at].trim()),
                None => open = Some(at + line.len()),
            }
        }
        at += line.len();
    }
    found
}

/// From the first brace to the last one.
fn outermost(message: &str) -> Option<&str> {
    let (start, end) = (message.find('{')?, message.rfind('}')?);
    message.get(start..=end)
}

/// The parts one by one, so that each fault names its place.
fn read(value: &Value, faults: &mut Vec<String>) -> Option<Plan> {
    let Some(members) = value.as_object() else {
        faults.push("expected an object with `feature` and `tasks`".to_owned());
        return None;
    };
    for name in members.keys() {
        if !matches!(name.as_str(), "feature" | "tasks") {
            faults.push(format!("`{name}` is no member of a plan"));
        }
    }
    let feature = match members.get("feature") {
        Some(feature) => part::<Feature>(feature, "feature", faults),
        None => {
            faults.push("`feature` is missing".to_owned());
            None
        }
    };
    let Some(list) = members.get("tasks").and_then(Value::as_array) else {
        faults.push("`tasks` is missing, or no list".to_owned());
        return None;
    };
    if list.is_empty() || list.len() > MAX_TASKS {
        let many = list.len();
        faults.push(format!("expected 1 to {MAX_TASKS} tasks, found {many}"));
    }
    let mut tasks = Vec::new();
    for (position, task) in list.iter().enumerate() {
        let id = task.get("id").and_then(Value::as_str);
        let place = match id {
            Some(id) => format!("tasks[{position}] ({id})"),
            None => format!("tasks[{position}]"),
        };
        tasks.extend(part::<Planned>(task, &place, faults));
    }
    let whole = tasks.len() == list.len();
    feature
        .filter(|_| whole)
        .map(|feature| Plan { feature, tasks })
}

fn part<T: serde::de::DeserializeOwned>(
    value: &Value,
    place: &str,
    faults: &mut Vec<String>,
) -> Option<T> {
    match serde_json::from_value(value.clone()) {
        Ok(part) => Some(part),
        Err(error) => {
            faults.push(format!("{place}: {error}"));
            None
        }
    }
}

/// Ids that ralph can't use, and those that two have.
fn bad_ids(plan: &Plan) -> Vec<String> {
    let mut faults = Vec::new();
    let mut seen = std::collections::HashSet::new();
    let own = std::iter::once(&plan.feature.id).chain(plan.tasks.iter().map(|task| &task.id));
    for id in own {
        if let Err(error) = TaskId::parse(id) {
            faults.push(format!("id {id:?}: {error}"));
        } else if !seen.insert(id) {
            faults.push(format!("id {id:?}: the feature or another task has it too"));
        }
    }
    for task in &plan.tasks {
        for id in &task.depends_on {
            if let Err(error) = TaskId::parse(id) {
                faults.push(format!("task {}: dependsOn {id:?}: {error}", task.id));
            }
        }
    }
    faults
}
