//! Describes what stands under another name after a conversion, for a person to read.

use super::load::{Doc, FileShape};
use super::part::{self, ASIDE, Part, Role};
use super::task::KeptFields;
use super::value::{self, Members, Value};

/// Fields that have another name now.
#[derive(Debug, Clone, PartialEq, Eq, serde::Serialize)]
pub struct Moved {
    /// As the file had them.
    pub field: String,
    /// Where they are now.
    pub now: String,
    /// In how many tasks; `None` for what stands around them.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tasks: Option<usize>,
}

pub(super) fn moved(doc: &Doc, there: &Doc) -> Vec<Moved> {
    let mut found = Vec::new();
    if let (FileShape::Named { list: old, .. }, FileShape::Named { list: new, .. }) =
        (&doc.shape, &there.shape)
        && old != new
    {
        add(&mut found, old, new, Where::Around);
    }
    let header = KeptFields::of(&there.header);
    for (new, old) in &header.names {
        if let Value::Text(old) = old {
            add(&mut found, old, new, Where::Around);
        }
    }
    for (name, _) in new_in_was(&header, &doc.header) {
        add(
            &mut found,
            name,
            &format!("{ASIDE}.was.{name}"),
            Where::Around,
        );
    }
    if doc.format != there.format {
        for (was, is) in doc.tasks.iter().zip(&there.tasks) {
            of_task(&mut found, (doc, was), (there, is));
        }
    }
    found
}

fn of_task(found: &mut Vec<Moved>, (doc, was): (&Doc, &Members), (there, is): (&Doc, &Members)) {
    let names = |members: &Members| {
        let names: Vec<&str> = members.iter().map(|(name, _)| name.as_str()).collect();
        names.join(", ")
    };
    for part in Part::ALL {
        let old = names(&part::members(was, part, doc.format));
        let new = names(&part::members(is, part, there.format));
        if !old.is_empty() && !new.is_empty() && old != new {
            add(found, &old, &new, Where::InTask);
        }
    }
    let kept = KeptFields::of(is);
    for (name, _) in new_in_was(&kept, was) {
        add(found, name, &format!("{ASIDE}.was.{name}"), Where::InTask);
    }
    let restored = KeptFields::of(was);
    for (name, _) in &restored.was {
        let back = part::role(name, there.format) == Role::Aside;
        if back && value::get(is, name).is_some() {
            add(found, &format!("{ASIDE}.was.{name}"), name, Where::InTask);
        }
    }
}

/// Returns what this conversion put aside: it is not an earlier one's.
fn new_in_was<'k>(
    kept: &'k KeptFields,
    was: &'k Members,
) -> impl Iterator<Item = &'k (String, Value)> + use<'k> {
    let from_here = move |(name, _): &&(String, Value)| value::get(was, name).is_some();
    kept.was.iter().filter(from_here)
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Where {
    /// In the object around the tasks.
    Around,
    InTask,
}

fn add(found: &mut Vec<Moved>, field: &str, now: &str, place: Where) {
    let of_task = place == Where::InTask;
    let known = found
        .iter_mut()
        .find(|moved| moved.field == field && moved.now == now && moved.tasks.is_some() == of_task);
    match known {
        Some(Moved {
            tasks: Some(tasks), ..
        }) => *tasks += 1,
        Some(Moved { tasks: None, .. }) => {}
        None => found.push(Moved {
            field: field.to_owned(),
            now: now.to_owned(),
            tasks: of_task.then_some(1),
        }),
    }
}
