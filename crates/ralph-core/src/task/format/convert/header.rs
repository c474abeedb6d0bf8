//! Describes what stands around the tasks, from one format to another and back: the name of the list, the
//! name of the project, and the shape of the file.
//!
//! The same rule as for tasks: what the way back could not know is kept under `x-ralph`.

use super::load::{Doc, FileShape};
use super::task::ASIDE;
use super::task::{ConversionFormats, KeptFields};
use super::value;
use crate::task::format::Format;
use crate::task::format::layout::{META, TASKS};
use crate::task::format::render::{Members, Value};

/// The header in the other format, with what is kept of it under `x-ralph`.
pub(super) fn convert(doc: &Doc, way: ConversionFormats) -> (FileShape, Members) {
    let mut kept = KeptFields::default();
    let mut header = Members::new();
    let renamed = renamed_project(&doc.header, way.to);
    for (name, said) in &doc.header {
        match renamed {
            Some((old, new)) if old == name => {
                kept.names.push((new.to_owned(), Value::text(old)));
                header.push((new.to_owned(), said.clone()));
            }
            _ if stays(name, way.to) => header.push((name.clone(), said.clone())),
            _ => kept.was.push((name.clone(), said.clone())),
        }
    }
    if let Some(mark) = way.to.rules().project_mark
        && value::get(&header, mark).is_none()
    {
        let name = project(&doc.header).unwrap_or_default();
        header.insert(0, (mark.to_owned(), Value::text(name)));
        kept.absent.push(mark.to_owned());
    }
    let from = ("from".to_owned(), Value::text(way.from.as_str()));
    let mut also = vec![from];
    match &doc.shape {
        FileShape::Task => also.push(("shape".to_owned(), Value::text("task"))),
        FileShape::List => also.push(("shape".to_owned(), Value::text("list"))),
        FileShape::Named { list, .. } if list == way.from.rules().list => {}
        FileShape::Named { list, .. } => also.push(("list".to_owned(), Value::text(list))),
    }
    // Members that are put aside stood before the list or behind it; no one counts on that.
    let before = header.len();
    header.extend(kept.into_member(also));
    (named(way.to.rules().list, before), header)
}

/// The header as it was. `None` where `doc` did not come from another format.
pub(super) fn undo(doc: &Doc) -> Option<(FileShape, Members)> {
    let to = origin(doc)?;
    let Some(Value::Map(aside)) = value::get(&doc.header, ASIDE) else {
        return None;
    };
    let kept = KeptFields::of(&doc.header);
    let rest: Members = doc
        .header
        .iter()
        .filter(|(name, _)| name != ASIDE)
        .cloned()
        .collect();
    let mut header = Members::new();
    for (name, said) in &rest {
        let added = kept.absent.contains(name) && is_still_as_added(&rest, name);
        if !added {
            let old = kept.old_name(name).unwrap_or(name);
            value::set(&mut header, old.to_owned(), said.clone());
        }
    }
    for (name, said) in &kept.was {
        value::set(&mut header, name.clone(), said.clone());
    }
    let text = |name: &str| match value::get(aside, name) {
        Some(Value::Text(text)) => Some(text.as_str()),
        _ => None,
    };
    let list = text("list").unwrap_or(to.rules().list);
    let shape = match text("shape") {
        Some("task") if header.is_empty() && doc.tasks.len() == 1 => FileShape::Task,
        Some(_) if header.is_empty() => FileShape::List,
        _ => named(list, header.len()),
    };
    Some((shape, header))
}

/// The format that a file was converted from, if it was.
pub(super) fn origin(doc: &Doc) -> Option<Format> {
    let Some(Value::Map(aside)) = value::get(&doc.header, ASIDE) else {
        return None;
    };
    let Some(Value::Text(from)) = value::get(aside, "from") else {
        return None;
    };
    Format::from_word(from).filter(|format| *format != doc.format)
}

fn named(list: &str, before: usize) -> FileShape {
    FileShape::Named {
        list: list.to_owned(),
        before,
    }
}

/// True if a member of the header means the same in the other format.
fn stays(name: &str, to: Format) -> bool {
    let mut formats = Format::TREES.into_iter();
    let is_list = name == TASKS || formats.any(|f| f.rules().own_lists.contains(&name));
    !is_list && !is_foreign_mark(name, to) && name != ASIDE
}

/// True if a name would make the file one of another format.
fn is_foreign_mark(name: &str, to: Format) -> bool {
    let mut others = Format::TREES.into_iter().filter(|format| *format != to);
    others.any(|format| format.rules().project_mark == Some(name))
}

/// The member that names the project, and its name in the other format, where that differs and is
/// free.
fn renamed_project(header: &Members, to: Format) -> Option<(&str, &'static str)> {
    let new = to.rules().project_name();
    if value::get(header, new).is_some() {
        return None;
    }
    let says = |name: &&str| is_text(value::get(header, name));
    let old = META[0].iter().copied().find(says)?;
    // All names are read; only what marks a file as another format's must go.
    (to.rules().project_mark.is_some() || is_foreign_mark(old, to)).then_some((old, new))
}

fn is_text(value: Option<&Value>) -> bool {
    matches!(value, Some(Value::Text(text)) if !text.trim().is_empty())
}

/// Returns what the reader takes for the project's name.
fn project(header: &[(String, Value)]) -> Option<&str> {
    let text = |value: &'_ Value| is_text(Some(value));
    let of = |name: &&str| match value::get(header, name) {
        Some(Value::Text(said)) if !said.trim().is_empty() => Some(said.as_str()),
        Some(Value::Map(inner)) => match value::get(inner, "name") {
            Some(value @ Value::Text(said)) if text(value) => Some(said.as_str()),
            _ => None,
        },
        _ => None,
    };
    META[0].iter().find_map(of)
}

/// Returns true if a name that was added for the format says no more than what stands beside it.
fn is_still_as_added(header: &Members, name: &str) -> bool {
    let others: Members = header
        .iter()
        .filter(|(known, _)| known != name)
        .cloned()
        .collect();
    match value::get(header, name) {
        Some(Value::Text(said)) => project(&others).unwrap_or_default() == said,
        _ => false,
    }
}
