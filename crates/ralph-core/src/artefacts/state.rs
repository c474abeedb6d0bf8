//! `state.json`: the log of what each iteration did, which is only ever added to.
//!
//! Agents add to it and ralph puts right what they got wrong: what stood there before comes back, and
//! `completed` is ralph's word alone. Fields that are not known here stay. Reads and writes no file.

use serde::{Serialize, de::IgnoredAny};
use serde_json::{Map, Value};

use super::{BadFile, IterationRef};

const FILE: &str = "state.json";

named! {
    /// Describes what the log says of an iteration.
    pub enum EntryStatus {
        Completed = "completed",
        Attempted = "attempted",
    }
}

/// One iteration, as ralph writes it down.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct LogEntry {
    pub iteration: u64,
    pub task_id: String,
    pub status: EntryStatus,
    pub summary: String,
    pub files_modified: Vec<String>,
    /// Ids of the obstacles that were met.
    pub obstacles: Vec<String>,
}

/// The whole log, as it is in the file.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Log(Vec<Value>);

impl Log {
    pub fn parse(bytes: &[u8]) -> Result<Self, BadFile> {
        match serde_json::from_slice(bytes) {
            Ok(Value::Array(entries)) if entries.iter().all(Value::is_object) => Ok(Self(entries)),
            Ok(Value::Array(_)) => Err(BadFile::new(FILE, "an entry of the list is not an object")),
            Ok(_) => Err(BadFile::new(FILE, "it must be a list of entries")),
            Err(error) => Err(BadFile::new(FILE, error)),
        }
    }

    pub fn render(&self) -> String {
        let text = serde_json::to_string_pretty(&self.0).unwrap_or_default();
        text + "\n"
    }

    /// The log as a text that goes on from another: entries that both begin with stand there as they do, byte for
    /// byte.
    pub fn render_after(&self, text: &str) -> String {
        let (Ok(before), Some(ends)) = (Self::parse(text.as_bytes()), entry_ends(text)) else {
            return self.render();
        };
        let same = |(one, other): &(&Value, &Value)| one == other;
        let kept = self.0.iter().zip(&before.0).take_while(same).count();
        if kept == self.0.len() && kept == before.0.len() {
            return text.to_owned();
        }
        let Some(end) = kept.checked_sub(1).and_then(|last| ends.get(last)) else {
            return self.render();
        };
        let rest = if kept == before.0.len() {
            &text[*end..]
        } else {
            "\n]\n"
        };
        let mut out = text[..*end].to_owned();
        for entry in &self.0[kept..] {
            let entry = serde_json::to_string_pretty(entry).unwrap_or_default();
            out.push_str(",\n  ");
            out.push_str(&entry.replace('\n', "\n  "));
        }
        out + rest
    }

    /// The number that an iteration has here: its own, unless the log of a project that was taken over
    /// is further already.
    pub fn number_for(&self, iteration: u64) -> u64 {
        let highest = self.0.iter().filter_map(number).max();
        highest.map_or(iteration, |highest| iteration.max(highest + 1))
    }

    /// Returns what an agent said of its own task in what it added since `before`.
    pub fn said_since(&self, before: &Self, at: IterationRef<'_>) -> Option<EntryStatus> {
        let added = self.0.iter().filter(|entry| !before.0.contains(entry));
        let mut own = added.filter(|entry| task(entry).is_none_or(|task| task == at.task));
        match own.next_back()?.get("status")?.as_str()? {
            "completed" => Some(EntryStatus::Completed),
            _ => Some(EntryStatus::Attempted),
        }
    }

    /// Writes down what an iteration came to, once: where its agent did so itself, its words stay and
    /// the status is ralph's.
    pub fn put(&mut self, entry: &LogEntry) {
        let is_it = |found: &&mut Value| {
            number(found) == Some(entry.iteration) && task(found) == Some(&entry.task_id)
        };
        let Some(Value::Object(found)) = self.0.iter_mut().rev().find(is_it) else {
            self.0.push(serde_json::to_value(entry).unwrap_or_default());
            return;
        };
        found.insert("status".into(), entry.status.as_str().into());
        if found
            .get("summary")
            .and_then(Value::as_str)
            .unwrap_or("")
            .is_empty()
        {
            found.insert("summary".into(), entry.summary.clone().into());
        }
        if is_empty_list(found.get("files_modified")) {
            let files = entry.files_modified.clone();
            found.insert("files_modified".into(), files.into());
        }
        let mut met = strings(found.get("obstacles"));
        let more = entry.obstacles.iter().filter(|id| !met.contains(id));
        let more: Vec<String> = more.cloned().collect();
        met.extend(more);
        found.insert("obstacles".into(), met.into());
    }
}

/// The log as it should stand after a run: all that was there before, then what the run added. Nothing
/// that it added is `completed` yet. Gives what a person should hear, too.
pub fn reconcile(before: &Log, after: &Log, at: IterationRef<'_>) -> (Log, Vec<String>) {
    // What an earlier run of the same iteration added is its own to change.
    let is_own = |entry: &&Value| number(entry) == Some(at.iteration);
    let history: Vec<&Value> = before.0.iter().filter(|e| !is_own(e)).collect();
    let mut lost = history.clone();
    let mut new: Vec<&Value> = Vec::new();
    for entry in &after.0 {
        match lost.iter().position(|was| *was == entry) {
            Some(found) => drop(lost.remove(found)),
            None => new.push(entry),
        }
    }
    let mut said = Vec::new();
    if !lost.is_empty() {
        let (entries, are) = match lost.len() {
            1 => ("an earlier entry was".to_owned(), "it is"),
            n => (format!("{n} earlier entries were"), "they are"),
        };
        said.push(format!(
            "{FILE}: {entries} changed or removed; {are} put back"
        ));
    }
    // Another version of an entry that was there is no new one.
    new.retain(|entry| !lost.iter().any(|was| same_iteration(was, entry)));
    if !new.iter().any(is_own) {
        new.splice(0..0, before.0.iter().filter(is_own));
    }
    let mut entries: Vec<Value> = history.into_iter().cloned().collect();
    for entry in new {
        entries.push(as_claim(entry, at, &mut said));
    }
    (Log(entries), said)
}

/// An entry that an agent added: of the right shape, and without what only ralph can say.
fn as_claim(entry: &Value, at: IterationRef<'_>, said: &mut Vec<String>) -> Value {
    let mut object = entry.as_object().cloned().unwrap_or_default();
    let task = task(entry).unwrap_or(at.task).to_owned();
    if task == at.task || number(entry).is_none() {
        object.insert("iteration".into(), at.iteration.into());
    }
    if task != at.task && is_completed(&object) {
        said.push(format!("{FILE}: task {task} was claimed to be completed"));
    }
    object.insert("task_id".into(), task.into());
    let attempted = EntryStatus::Attempted.as_str();
    object.insert("status".into(), attempted.into());
    if !object.get("summary").is_some_and(Value::is_string) {
        object.insert("summary".into(), "".into());
    }
    for list in ["files_modified", "obstacles"] {
        let texts = strings(object.get(list));
        object.insert(list.into(), texts.into());
    }
    Value::Object(object)
}

/// Returns where each entry of a list ends in its text.
fn entry_ends(text: &str) -> Option<Vec<usize>> {
    let mut at = text.find('[')? + 1;
    let mut ends = Vec::new();
    loop {
        let rest = text[at..].trim_start_matches([' ', '\t', '\r', '\n', ',']);
        if rest.starts_with(']') {
            return Some(ends);
        }
        at = text.len() - rest.len();
        let mut values = serde_json::Deserializer::from_str(rest).into_iter::<IgnoredAny>();
        values.next()?.ok()?;
        at += values.byte_offset();
        ends.push(at);
    }
}

fn is_completed(entry: &Map<String, Value>) -> bool {
    entry.get("status").and_then(Value::as_str) == Some(EntryStatus::Completed.as_str())
}

fn same_iteration(a: &Value, b: &Value) -> bool {
    number(a) == number(b) && task(a) == task(b)
}

fn number(entry: &Value) -> Option<u64> {
    entry.get("iteration")?.as_u64()
}

fn task(entry: &Value) -> Option<&str> {
    entry.get("task_id")?.as_str()
}

fn is_empty_list(value: Option<&Value>) -> bool {
    value.and_then(Value::as_array).is_none_or(Vec::is_empty)
}

/// The texts of a list; a text alone is taken for a list of one.
fn strings(value: Option<&Value>) -> Vec<String> {
    match value {
        Some(Value::Array(list)) => {
            let texts = list.iter().filter_map(Value::as_str);
            texts.map(str::to_owned).collect()
        }
        Some(Value::String(text)) => vec![text.clone()],
        _ => Vec::new(),
    }
}

#[cfg(test)]
mod tests;
