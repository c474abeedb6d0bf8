//! Decides whether a `tasks.json` has the shape that the workflow gives it, so that every tool of it can read
//! the file. What the tasks say is for the linter.
//!
//! ralph itself reads more than this; what an interview has made must be exact.

use serde_json::{Map, Value};

use super::ProjectName;

/// Returns what is wrong with the shape of a file, a sentence for each thing. Fields that are not known here
/// are allowed.
pub fn shape_problems(bytes: &[u8], name: &ProjectName) -> Vec<String> {
    let root: Value = match serde_json::from_slice(bytes) {
        Ok(root) => root,
        Err(error) => return vec![format!("it is not valid JSON: {error}")],
    };
    let Value::Object(root) = root else {
        return vec![
            "it must be one JSON object with `project_name`, `version` and `tasks`".into(),
        ];
    };
    let mut problems = Vec::new();
    match root.get("project_name") {
        Some(Value::String(found)) if found == name.as_str() => {}
        _ => problems.push(format!("`project_name` must be {:?}", name.as_str())),
    }
    if !root.get("version").is_some_and(Value::is_u64) {
        problems.push("`version` must be a whole number: 1".into());
    }
    match root.get("tasks") {
        Some(Value::Array(tasks)) if tasks.is_empty() => {
            problems.push("`tasks` is empty: there must be at least one".into());
        }
        Some(Value::Array(tasks)) => {
            for (at, task) in tasks.iter().enumerate() {
                of_task(at, task, &mut problems);
            }
        }
        _ => problems.push("`tasks` must be a list".into()),
    }
    problems
}

/// Statuses that the author of `after` had no right to: a new task is pending, and one that was there
/// before may be opened again, but only ralph says that one is done.
pub fn status_problems(before: Option<&[u8]>, after: &[u8]) -> Vec<String> {
    let before = before.map(statuses).unwrap_or_default();
    let claimed = statuses(after).into_iter().filter(|(id, status)| {
        status != "pending" && !before.iter().any(|(i, s)| i == id && s == status)
    });
    claimed
        .map(|(id, status)| {
            format!(
                "task {id:?}: its status must be \"pending\", not {status:?}: what is done is found out by ralph"
            )
        })
        .collect()
}

fn statuses(bytes: &[u8]) -> Vec<(String, String)> {
    let root: Value = serde_json::from_slice(bytes).unwrap_or_default();
    let tasks = root.get("tasks").and_then(Value::as_array);
    let text = |task: &Value, field: &str| Some(task.get(field)?.as_str()?.to_owned());
    let pairs = tasks.into_iter().flatten();
    pairs
        .filter_map(|task| Some((text(task, "id")?, text(task, "status")?)))
        .collect()
}

fn of_task(at: usize, task: &Value, problems: &mut Vec<String>) {
    let number = at + 1;
    let Value::Object(task) = task else {
        problems.push(format!("task {number} must be an object"));
        return;
    };
    let id = task.get("id").and_then(Value::as_str);
    let who = id.map_or_else(|| format!("task {number}"), |id| format!("task {id:?}"));
    for (field, expected) in FIELDS {
        match task.get(field) {
            Some(value) if expected.fits(value) => {}
            Some(_) => problems.push(format!("{who}: `{field}` must be {}", expected.words())),
            None => problems.push(format!(
                "{who}: `{field}` is missing; it must be {}",
                expected.words()
            )),
        }
    }
    if let Some(found) = spent(task) {
        problems.push(format!("{who}: {found}"));
    }
}

/// An open task that could not be attempted.
fn spent(task: &Map<String, Value>) -> Option<String> {
    let number = |field: &str| task.get(field).and_then(Value::as_u64);
    let is_open = task.get("status").and_then(Value::as_str) == Some("pending");
    let (made, most) = (number("attempts")?, number("max_attempts")?);
    (is_open && made >= most)
        .then(|| format!("it is pending, but its {most} attempts are used up already"))
}

#[derive(Clone, Copy)]
enum Expected {
    Text,
    Status,
    Ids,
    Count,
    Positive,
    YesNo,
}

const FIELDS: [(&str, Expected); 8] = [
    ("id", Expected::Text),
    ("title", Expected::Text),
    ("description", Expected::Text),
    ("status", Expected::Status),
    ("dependencies", Expected::Ids),
    ("attempts", Expected::Count),
    ("max_attempts", Expected::Positive),
    ("blocked", Expected::YesNo),
];

const STATUSES: [&str; 4] = ["pending", "in_progress", "completed", "blocked"];

impl Expected {
    fn fits(self, value: &Value) -> bool {
        match self {
            Self::Text => value.as_str().is_some_and(|text| !text.trim().is_empty()),
            Self::Status => value.as_str().is_some_and(|text| STATUSES.contains(&text)),
            Self::Ids => value
                .as_array()
                .is_some_and(|list| list.iter().all(Value::is_string)),
            Self::Count => value.is_u64(),
            Self::Positive => value.as_u64().is_some_and(|number| number > 0),
            Self::YesNo => value.is_boolean(),
        }
    }

    fn words(self) -> &'static str {
        match self {
            Self::Text => "a text that says something",
            Self::Status => "\"pending\", \"in_progress\", \"completed\" or \"blocked\"",
            Self::Ids => "a list of ids",
            Self::Count => "a whole number, 0 for a new task",
            Self::Positive => "a whole number from 1 on",
            Self::YesNo => "true or false",
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn problems(value: &Value) -> Vec<String> {
        let name = ProjectName::parse("shop").unwrap();
        shape_problems(value.to_string().as_bytes(), &name)
    }

    fn good() -> Value {
        json!({
            "project_name": "shop", "version": 1, "tasks": [{
                "id": "T1", "title": "Cart", "description": "Add it.", "status": "pending",
                "dependencies": [], "attempts": 0, "max_attempts": 3, "blocked": false,
                "verify": ["make test"],
            }]
        })
    }

    #[test]
    fn the_shape_of_the_workflow_has_no_problems_and_may_have_more_fields() {
        assert_eq!(problems(&good()), Vec::<String>::new());
    }

    #[test]
    fn everything_that_is_wrong_is_said_at_once() {
        let mut bad = good();
        bad["project_name"] = json!("other");
        bad["version"] = json!("1");
        let task = bad["tasks"][0].as_object_mut().unwrap();
        task.insert("status".into(), json!("todo"));
        task.insert("dependencies".into(), json!("T0"));
        task.insert("title".into(), json!(" "));
        task.remove("attempts");
        bad["tasks"].as_array_mut().unwrap().push(json!("T2"));
        assert_eq!(
            problems(&bad),
            [
                "`project_name` must be \"shop\"",
                "`version` must be a whole number: 1",
                "task \"T1\": `title` must be a text that says something",
                "task \"T1\": `status` must be \"pending\", \"in_progress\", \"completed\" or \"blocked\"",
                "task \"T1\": `dependencies` must be a list of ids",
                "task \"T1\": `attempts` is missing; it must be a whole number, 0 for a new task",
                "task 2 must be an object",
            ]
        );
    }

    #[test]
    fn other_formats_empty_lists_and_no_json_are_refused() {
        assert_eq!(
            problems(&json!([])),
            ["it must be one JSON object with `project_name`, `version` and `tasks`"]
        );
        assert_eq!(
            problems(&json!({"project_name": "shop", "version": 1, "tasks": []})),
            ["`tasks` is empty: there must be at least one"]
        );
        let name = ProjectName::parse("shop").unwrap();
        let said = shape_problems(b"{\"tasks\": [", &name);
        assert!(said[0].starts_with("it is not valid JSON: "), "{said:?}");
    }

    #[test]
    fn only_a_status_from_before_or_pending_is_taken() {
        let with = |status: &str| {
            let mut file = good();
            file["tasks"][0]["status"] = json!(status);
            file.to_string().into_bytes()
        };
        let problems = |before: Option<&str>, after: &str| {
            let before = before.map(with);
            status_problems(before.as_deref(), &with(after))
        };
        assert_eq!(problems(None, "pending"), Vec::<String>::new());
        assert_eq!(
            problems(Some("completed"), "completed"),
            Vec::<String>::new()
        );
        assert_eq!(problems(Some("completed"), "pending"), Vec::<String>::new());
        let says = [
            "task \"T1\": its status must be \"pending\", not \"completed\": what is done is found out by ralph",
        ];
        assert_eq!(problems(None, "completed"), says);
        assert_eq!(problems(Some("pending"), "completed"), says);
    }

    #[test]
    fn a_new_task_that_could_never_be_attempted_is_a_problem() {
        let mut bad = good();
        bad["tasks"][0]["attempts"] = json!(3);
        assert_eq!(
            problems(&bad),
            ["task \"T1\": it is pending, but its 3 attempts are used up already"]
        );
    }
}
