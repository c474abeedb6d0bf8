//! The tasks of a file that is no tree, as they were read, in ralph's own words.

use crate::task::format::render::{Members, Value};
use crate::task::format::{Document, Meta};
use crate::task::{Task, VerifyCommand};

/// The file as native JSON.
pub(super) fn native(document: &Document) -> Value {
    let mut members: Members = Vec::new();
    let Meta {
        project,
        branch_name,
        title,
        description,
    } = &document.meta;
    let around = [
        ("project", project),
        ("branchName", branch_name),
        ("title", title),
        ("description", description),
    ];
    for (name, text) in around {
        members.extend(
            text.as_ref()
                .map(|text| (name.to_owned(), Value::text(text))),
        );
    }
    let tasks = document.tasks.iter().map(task).collect();
    members.push(("tasks".to_owned(), Value::List(tasks)));
    Value::Map(members)
}

fn task(task: &Task) -> Value {
    let mut members: Members = Vec::new();
    let mut add = |name: &str, value: Value| members.push((name.to_owned(), value));
    add("id", Value::text(task.id.as_str()));
    add("title", Value::text(&task.text.title));
    add("description", Value::text(&task.text.description));
    add("status", Value::text(task.status.as_str()));
    if let Some(priority) = task.priority {
        add("priority", Value::integer(priority));
    }
    if let Some(parent) = &task.links.parent_id {
        add("parentId", Value::text(parent.as_str()));
    }
    let texts = [
        ("acceptance", &task.text.acceptance),
        ("labels", &task.labels),
        ("files", &task.text.files),
    ];
    for (name, items) in texts {
        if !items.is_empty() {
            add(name, Value::texts(items));
        }
    }
    if !task.links.depends_on.is_empty() {
        let ids = task.links.depends_on.iter().map(|id| id.as_str());
        add("dependsOn", Value::texts(ids));
    }
    if !task.verify.is_empty() {
        let command = |command: &VerifyCommand| match command {
            VerifyCommand::Shell(line) => Value::text(line),
            VerifyCommand::Argv(argv) => Value::texts(argv),
        };
        add(
            "verify",
            Value::List(task.verify.iter().map(command).collect()),
        );
    }
    if let Some(notes) = &task.text.notes {
        add("notes", Value::text(notes));
    }
    if !task.text.expects_change {
        add("expectsChange", Value::Bool(false));
    }
    for (name, time) in [
        ("createdAt", task.created_at),
        ("updatedAt", task.updated_at),
    ] {
        if let Some(time) = time {
            add(name, Value::text(time.to_string()));
        }
    }
    Value::Map(members)
}
