//! `obstacles.json`: what stood in the way of agents, for those after them.
//!
//! Agents add to it and mark what is resolved; nothing is taken out. Fields that are not known here
//! stay. Reads and writes no file.

use std::collections::HashSet;

use serde_json::{Map, Value, json};

use super::{BadFile, IterationRef};
use crate::{
    figures::count,
    prompt::{head_within, in_tags},
};

const FILE: &str = "obstacles.json";
const LIST: &str = "obstacles";
/// Defines what a prompt says of one obstacle, at most.
const MESSAGE_BYTES: usize = 1024;
/// Defines what all of them may take of a prompt.
const PART_BYTES: usize = 8 * 1024;

/// The whole file.
#[derive(Debug, Clone, PartialEq)]
pub struct Obstacles {
    /// The members beside the list.
    root: Map<String, Value>,
    list: Vec<Value>,
}

/// One that is not resolved.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Obstacle {
    pub id: String,
    pub task_id: String,
    pub message: String,
}

impl Default for Obstacles {
    fn default() -> Self {
        let mut root = Map::new();
        root.insert(LIST.into(), Value::Array(Vec::new()));
        let list = Vec::new();
        Self { root, list }
    }
}

impl Obstacles {
    pub fn parse(bytes: &[u8]) -> Result<Self, BadFile> {
        let root = match serde_json::from_slice(bytes) {
            Ok(Value::Object(root)) => root,
            // Agents forget the object around the list; what they mean is plain.
            Ok(Value::Array(list)) => Map::from_iter([(LIST.to_owned(), Value::Array(list))]),
            Ok(_) => return Err(BadFile::new(FILE, "it must be an object with `obstacles`")),
            Err(error) => return Err(BadFile::new(FILE, error)),
        };
        match root.get(LIST) {
            Some(Value::Array(list)) if list.iter().all(Value::is_object) => {
                let list = list.clone();
                Ok(Self { root, list })
            }
            _ => Err(BadFile::new(FILE, "`obstacles` must be a list of objects")),
        }
    }

    pub fn render(&self) -> String {
        let mut root = self.root.clone();
        root.insert(LIST.into(), Value::Array(self.list.clone()));
        let text = serde_json::to_string_pretty(&root).unwrap_or_default();
        text + "\n"
    }

    /// Those that are not resolved, in their order.
    pub fn open(&self) -> Vec<Obstacle> {
        let open = self.list.iter().filter(|one| !is_resolved(one));
        let text = |one: &Value, field: &str| {
            let text = one.get(field).and_then(Value::as_str);
            text.unwrap_or_default().to_owned()
        };
        open.map(|one| Obstacle {
            id: text(one, "id"),
            task_id: text(one, "task_id"),
            message: text(one, "message"),
        })
        .collect()
    }

    pub fn ids(&self) -> Vec<String> {
        let ids = self.list.iter().filter_map(id);
        ids.map(str::to_owned).collect()
    }

    /// Ids of those that an iteration met. One that was known before it is not among them: another tool may have
    /// counted iterations otherwise.
    pub fn met_in(&self, iteration: u64, known: &[String]) -> Vec<String> {
        let met = self.list.iter().filter(|one| {
            let number = one.get("iteration").and_then(Value::as_u64);
            number == Some(iteration)
        });
        let ids = met.filter_map(id).map(str::to_owned);
        ids.filter(|id| !known.contains(id)).collect()
    }
}

/// The file as it should stand after a run: what was there before, resolved where the run says so,
/// then what it added, each under an id of its own. Gives what a person should hear, too.
pub fn reconcile(
    before: &Obstacles,
    after: &Obstacles,
    at: IterationRef<'_>,
) -> (Obstacles, Vec<String>) {
    let mut new: Vec<&Value> = after.list.iter().collect();
    let mut list = Vec::new();
    let mut tampered = 0;
    for was in &before.list {
        let same = |one: &&Value| *one == was || (id(one).is_some() && id(one) == id(was));
        let exact = new.iter().position(|one| *one == was);
        let Some(found) = exact.or_else(|| new.iter().position(same)) else {
            tampered += 1;
            list.push(was.clone());
            continue;
        };
        let now = new.remove(found);
        let mut kept = was.clone();
        if is_resolved(now) && !is_resolved(was) {
            kept["resolved"] = true.into();
        }
        tampered += usize::from(kept != *now);
        list.push(kept);
    }
    let mut said = Vec::new();
    if tampered > 0 {
        let tampered = count(tampered, "earlier entry", "earlier entries");
        said.push(format!("{FILE}: {tampered} changed or removed; put back"));
    }
    let mut taken: HashSet<String> = list.iter().filter_map(id).map(str::to_owned).collect();
    for one in new {
        list.push(shaped(one, at, &mut taken));
    }
    let root = before.root.clone();
    (Obstacles { root, list }, said)
}

/// One that an agent added, of the right shape.
fn shaped(one: &Value, at: IterationRef<'_>, taken: &mut HashSet<String>) -> Value {
    let mut object = one.as_object().cloned().unwrap_or_default();
    let wanted = id(one).filter(|id| !id.is_empty() && !taken.contains(*id));
    let id = wanted.map_or_else(|| free_id(taken), str::to_owned);
    taken.insert(id.clone());
    // The order of the fields is the workflow's where an agent left some out.
    let text = |field: &str| one.get(field).and_then(Value::as_str);
    let mut put = |field: &str, value: Value| {
        object.insert(field.into(), value);
    };
    put("id", id.into());
    put("task_id", text("task_id").unwrap_or(at.task).into());
    put("message", text("message").unwrap_or_default().into());
    put("resolved", is_resolved(one).into());
    put("iteration", json!(at.iteration));
    Value::Object(object)
}

/// The first of `O1`, `O2` … that no one has.
fn free_id(taken: &HashSet<String>) -> String {
    let mut number = taken.len() + 1;
    while taken.contains(&format!("O{number}")) {
        number += 1;
    }
    format!("O{number}")
}

fn id(one: &Value) -> Option<&str> {
    one.get("id")?.as_str()
}

fn is_resolved(one: &Value) -> bool {
    one.get("resolved") == Some(&Value::Bool(true))
}

/// Returns what a prompt says of those that are open; nothing where there are none.
pub fn render_part(open: &[Obstacle]) -> String {
    if open.is_empty() {
        return String::new();
    }
    let mut lines = String::new();
    let mut left = open.len();
    // The newest first: they are the likeliest to be met again.
    for one in open.iter().rev() {
        let message = head_within(&one.message, MESSAGE_BYTES);
        let line = in_tags(&format!("- {} (task {}): {message}\n", one.id, one.task_id));
        if lines.len() + line.len() > PART_BYTES {
            break;
        }
        lines.push_str(&line);
        left -= 1;
    }
    if left > 0 {
        lines.push_str(&format!("- … and {left} more in {FILE}\n"));
    }
    format!(
        "\n## Obstacles that are open\n\nAgents before you met these. Do not run into them again; one that \
         your work resolves, mark as resolved.\n<data>\n{lines}</data>\n"
    )
}

#[cfg(test)]
mod tests;
