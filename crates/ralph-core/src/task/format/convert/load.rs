//! A task file as members and values: everything that stands in it, whether ralph knows it or not.
//!
//! YAML says some things in words that JSON has no room for (an unquoted number as a title, `yes`,
//! merge keys); they are turned into what both would read as the same task. Decides nothing about
//! formats.

use super::value;
use crate::task::format::error::{Fault, FormatResult};
use crate::task::format::fields::Field;
use crate::task::format::layout::{self, Layout};
use crate::task::format::render::{Members, Value};
use crate::task::format::tree::{At, Kind, Style, Tree};
use crate::task::format::{Format, Syntax, parse_tasks, read};
use crate::task::{Task, TaskId};

/// A task file, whole.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Doc {
    pub(super) format: Format,
    pub(super) shape: FileShape,
    /// Tells what stands around the list, without the list itself.
    pub(super) header: Members,
    pub(super) tasks: Vec<Members>,
}

/// The way the tasks stand in the file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum FileShape {
    /// The file is one task.
    Task,
    /// The file is the list.
    List,
    /// The list has this name, and this many members before it.
    Named { list: String, before: usize },
}

pub(super) fn load(tree: &Tree<'_>) -> FormatResult<Doc> {
    let layout = layout::detect(tree)?;
    if has_more_around(tree, &layout) {
        let list = layout.path.join(".");
        let message = format!(
            "can't be converted without loss: the file has more in it than the list `{list}`"
        );
        return Err(Fault::at(tree.start(0), message));
    }
    let read = parse_tasks(tree, &layout, 0, &mut Vec::new())?;
    // Ids or containers are not written in the tasks.
    let is_written = |(at, read): (&At, &Task)| {
        let id = tree.member(*at, "id");
        id.is_some_and(|id| tree.is_text(id, read.id.as_str()))
    };
    let is_empty = |at: &At| {
        let mut members = tree.members(*at);
        members.any(|(key, value)| layout::has_no_parts(tree, &tree.text(key), value))
    };
    // What makes it a file of its format is not taken over.
    let by_part = || {
        let names = layout.format.rules().own_lists;
        let named = layout
            .path
            .last()
            .is_some_and(|name| names.contains(&&**name));
        !named && layout.tasks.iter().any(is_empty)
    };
    let by_place = layout.format.rules().lenient
        && layout.list.is_some()
        && (layout.is_nested()
            || layout.is_wrapped()
            || by_part()
            || !layout.tasks.iter().zip(&read).all(is_written));
    let tasks = layout.tasks.iter().zip(&read);
    let tasks = tasks.map(|(at, read)| {
        let mut members = task(tree, &layout, *at)?;
        if by_place {
            write_out(&mut members, read);
        }
        let has_priority = |(name, _): &(String, Value)| Field::of(name) == Some(Field::Priority);
        if let Some(level) = read.priority.filter(|_| !members.iter().any(has_priority)) {
            members.push(("priority".to_owned(), Value::integer(level)));
        }
        Ok(members)
    });
    let tasks = tasks.collect::<FormatResult<Vec<_>>>()?;
    let (mut shape, header) = header(tree, &layout)?;
    if by_place {
        let before = match &shape {
            FileShape::Named { before, .. } => *before,
            FileShape::Task | FileShape::List => 0,
        };
        let list = layout.format.rules().list.to_owned();
        shape = FileShape::Named { list, before };
    }
    Ok(Doc {
        format: layout.format,
        shape,
        header,
        tasks,
    })
}

/// Returns true if an object around that of the list has more in it.
fn has_more_around(tree: &Tree<'_>, layout: &Layout) -> bool {
    let mut around = 0;
    for name in layout.path.iter().rev().skip(1).rev() {
        if tree.members(around).count() > 1 {
            return true;
        }
        around = tree.member(around, name).unwrap_or(around);
    }
    false
}

/// Writes out what only the place of a task said: its id, its container, and what it depends on.
fn write_out(members: &mut Members, read: &Task) {
    let id = Value::text(read.id.as_str());
    let same = match value::get(members, "id") {
        Some(Value::Text(text)) => text == read.id.as_str(),
        Some(Value::Number(number)) => number == read.id.as_str(),
        _ => false,
    };
    if !same {
        members.retain(|(name, _)| name != "id");
        members.insert(0, ("id".to_owned(), id));
    }
    if let Some(parent) = &read.links.parent_id {
        members.retain(|(name, _)| Field::of(name) != Some(Field::ParentId));
        let parent = Value::text(parent.as_str());
        members.insert(1.min(members.len()), ("parentId".to_owned(), parent));
    }
    let is_link = |name: &str| {
        matches!(
            Field::of(name),
            Some(Field::DependsOn | Field::Dependencies | Field::After)
        )
    };
    if !read.links.depends_on.is_empty() {
        members.retain(|(name, _)| !is_link(name));
        let ids = read.links.depends_on.iter().map(TaskId::as_str);
        members.push(("dependsOn".to_owned(), Value::texts(ids)));
    }
}

/// The file as one value.
pub(super) fn unload(doc: &Doc) -> Value {
    let mut maps = doc.tasks.iter().cloned().map(Value::Map);
    match &doc.shape {
        FileShape::Task => maps.next_back().unwrap_or(Value::List(Vec::new())),
        FileShape::List => Value::List(maps.collect()),
        FileShape::Named { list, before } => {
            let mut members = doc.header.clone();
            let at = (*before).min(members.len());
            members.insert(at, (list.clone(), Value::List(maps.collect())));
            Value::Map(members)
        }
    }
}

fn header(tree: &Tree<'_>, layout: &Layout) -> FormatResult<(FileShape, Members)> {
    let mut members = Members::new();
    let Some(root) = layout.header else {
        let shape = match layout.list {
            Some(_) => FileShape::List,
            None => FileShape::Task,
        };
        return Ok((shape, members));
    };
    let mut list = (layout::TASKS.to_owned(), 0);
    let entries = value::entries(tree, root)?;
    let named = entries.iter().find(|(_, at)| Some(*at) == layout.list);
    if let Some((key, _)) = named {
        list = (tree.text(*key).into_owned(), members.len());
    }
    for (key, at) in entries {
        let name = tree.text(key).into_owned();
        if Some(at) == layout.list {
            list.1 = members.len();
        } else if name != list.0 {
            value::set(&mut members, name.clone(), header_value(tree, &name, at)?);
        }
    }
    let (list, before) = list;
    Ok((FileShape::Named { list, before }, members))
}

/// Returns a value; one that ralph reads as text of the project's is text in both syntaxes.
fn header_value(tree: &Tree<'_>, name: &str, at: At) -> FormatResult<Value> {
    let is_text = layout::META.iter().any(|names| names.contains(&name));
    if !is_text {
        return value::read(tree, at);
    }
    let mut found = as_text(tree, at)?;
    if let (Value::Map(members), Some(inner)) = (&mut found, tree.member(at, "name")) {
        value::set(members, "name".to_owned(), as_text(tree, inner)?);
    }
    Ok(found)
}

fn task(tree: &Tree<'_>, layout: &Layout, at: At) -> FormatResult<Members> {
    let format = layout.format;
    let mut members = Members::new();
    let mut merged = Vec::new();
    let entries = value::entries(tree, at)?.into_iter();
    // What is in a container is a task of its own.
    for (key, at) in entries.filter(|(_, at)| !layout.is_inner(*at)) {
        let name = tree.text(key).into_owned();
        // It would make the task one of another format, and says nothing.
        if layout::has_no_parts(tree, &name, at) {
            continue;
        }
        let plain = tree.node(key).style == Style::Plain;
        if name == "<<" && plain && tree.syntax == Syntax::Yaml {
            merged = match tree.kind(at) {
                Kind::Map => vec![at],
                Kind::List => tree.children(at).collect(),
                _ => Vec::new(),
            };
            continue;
        }
        take(&mut members, tree, format, (name, at))?;
    }
    for map in merged.into_iter().filter(|at| tree.kind(*at) == Kind::Map) {
        // What the task has itself, in any spelling, is not inherited.
        let own = members.clone();
        for (key, at) in value::entries(tree, map)? {
            let name = tree.text(key).into_owned();
            let field = Field::of(&name);
            let has = |(known, _): &(String, Value)| {
                *known == name || (field.is_some() && Field::of(known) == field)
            };
            if !own.iter().any(has) {
                take(&mut members, tree, format, (name, at))?;
            }
        }
    }
    Ok(members)
}

/// Takes a member over; null does not hide what was said before.
fn take(
    members: &mut Members,
    tree: &Tree<'_>,
    format: Format,
    (name, at): (String, At),
) -> FormatResult<()> {
    let found = match Field::of(&name) {
        Some(field) if tree.syntax == Syntax::Yaml => known(tree, format, field, at)?,
        _ => value::read(tree, at)?,
    };
    let hides =
        found == Value::Null && Field::of(&name).is_some() && value::get(members, &name).is_some();
    if !hides {
        value::set(members, name, found);
    }
    Ok(())
}

/// The value of a known field such that JSON reads the same from it.
fn known(tree: &Tree<'_>, format: Format, field: Field, at: At) -> FormatResult<Value> {
    match field {
        Field::Id | Field::ParentId | Field::DependsOn | Field::Dependencies | Field::After => {
            each(tree, at, &as_id)
        }
        Field::Title
        | Field::Description
        | Field::Area
        | Field::Category
        | Field::Status
        | Field::State => as_text(tree, at),
        Field::Acceptance
        | Field::Criteria
        | Field::ExitCriteria
        | Field::Files
        | Field::KeyFiles => each(tree, at, &as_text),
        Field::Steps
        | Field::Requirements
        | Field::EdgeCases
        | Field::DesignDecisions
        | Field::StopCondition
        | Field::Notes => each(tree, at, &as_spelled),
        Field::Labels | Field::Tags => each(tree, at, &label),
        Field::Verify => each(tree, at, &command),
        Field::Passes
        | Field::Done
        | Field::Skipped
        | Field::Failed
        | Field::Blocked
        | Field::ExpectsChange => {
            let read_here = field == Field::ExpectsChange || super::task::is_state(field, format);
            match read::boolean(tree, at) {
                Ok(flag) if read_here => Ok(Value::Bool(flag)),
                _ => value::read(tree, at),
            }
        }
        Field::Priority
        | Field::Attempts
        | Field::MaxAttempts
        | Field::CreatedAt
        | Field::UpdatedAt
        | Field::CompletedAt
        | Field::Progress => value::read(tree, at),
    }
}

/// A value, or each item of a list, by `read`.
fn each(
    tree: &Tree<'_>,
    at: At,
    read: &dyn Fn(&Tree<'_>, At) -> FormatResult<Value>,
) -> FormatResult<Value> {
    if tree.kind(at) != Kind::List {
        return read(tree, at);
    }
    let items = tree.children(at).map(|child| read(tree, child));
    Ok(Value::List(items.collect::<FormatResult<_>>()?))
}

fn as_text(tree: &Tree<'_>, at: At) -> FormatResult<Value> {
    match (tree.syntax, tree.kind(at)) {
        (Syntax::Yaml, Kind::Number | Kind::True | Kind::False) => Ok(Value::text(tree.text(at))),
        _ => value::read(tree, at),
    }
}

/// A number stays one where JSON would spell it the same: the spelling is the id.
fn as_id(tree: &Tree<'_>, at: At) -> FormatResult<Value> {
    match tree.kind(at) {
        Kind::Number => as_spelled(tree, at),
        _ => as_text(tree, at),
    }
}

/// Returns a value that is read by its spelling: a text where JSON would spell it in another way.
fn as_spelled(tree: &Tree<'_>, at: At) -> FormatResult<Value> {
    let spelled = tree.text(at);
    let same = match tree.kind(at) {
        Kind::Number => value::is_json_number(&spelled),
        Kind::True => spelled == "true",
        Kind::False => spelled == "false",
        Kind::Null | Kind::Text | Kind::List | Kind::Map => true,
    };
    if same {
        value::read(tree, at)
    } else {
        Ok(Value::text(spelled))
    }
}

/// The members of a map of labels become `key=value`, by the spelling of the value.
fn label(tree: &Tree<'_>, at: At) -> FormatResult<Value> {
    if tree.kind(at) != Kind::Map {
        return as_text(tree, at);
    }
    let mut members = Members::new();
    for (key, at) in value::entries(tree, at)? {
        let spelled = match tree.kind(at) {
            Kind::Null if tree.text(at) != "null" => Value::text(tree.text(at)),
            _ => as_spelled(tree, at)?,
        };
        value::set(&mut members, tree.text(key).into_owned(), spelled);
    }
    Ok(Value::Map(members))
}

fn command(tree: &Tree<'_>, at: At) -> FormatResult<Value> {
    match tree.kind(at) {
        Kind::List => each(tree, at, &as_id),
        Kind::Map => {
            let mut members = Members::new();
            for (key, at) in value::entries(tree, at)? {
                let name = tree.text(key).into_owned();
                let found = match name.as_str() {
                    "cmd" | "command" | "run" if tree.kind(at) == Kind::List => {
                        each(tree, at, &as_id)?
                    }
                    "cmd" | "command" | "run" => as_text(tree, at)?,
                    _ => value::read(tree, at)?,
                };
                value::set(&mut members, name, found);
            }
            Ok(Value::Map(members))
        }
        _ => as_text(tree, at),
    }
}
