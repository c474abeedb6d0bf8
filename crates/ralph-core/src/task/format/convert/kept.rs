//! The difference between tasks and how another format says them: what must not differ, and what is named.

use std::collections::{HashMap, HashSet};

use super::{LostField, Where};
use crate::sanitize::fold;
use crate::task::format::error::{Fault, FormatResult};
use crate::task::format::story::{self, CUT};
use crate::task::format::tree::Tree;
use crate::task::format::{Document, Format, Meta, layout};
use crate::task::{Task, TaskId};

/// Checks that every task is there, with its status, what it is in and what it waits for.
pub(super) fn check_work(before: &Document, after: &Document, to: Format) -> FormatResult<()> {
    let by_id: HashMap<&TaskId, &Task> = after.tasks.iter().map(|task| (&task.id, task)).collect();
    let to = to.as_str();
    for was in &before.tasks {
        let Some(is) = by_id.get(&was.id) else {
            let message = format!("its id can't be written as {to}");
            return Err(Fault::nowhere(message).of(&was.id));
        };
        let links =
            |task: &Task| -> HashSet<TaskId> { task.links.depends_on.iter().cloned().collect() };
        let message = if was.status != is.status {
            let (was, is) = (was.status, is.status);
            format!("its status {was} can't be written as {to}: it would be read as {is}")
        } else if was.links.parent_id != is.links.parent_id {
            format!("what it is in can't be written as {to}")
        } else if links(was) != links(is) {
            format!("what it depends on can't be written as {to}")
        } else {
            continue;
        };
        return Err(Fault::nowhere(message).of(&was.id));
    }
    if after.tasks.len() != before.tasks.len() {
        let message = format!("can't be written as {to}: it would be read as other tasks");
        return Err(Fault::nowhere(message));
    }
    Ok(())
}

/// The fields that are not read from the new file as they were.
pub(super) fn lost(before: &Document, after: &Document) -> Vec<LostField> {
    let mut found = Vec::new();
    let Meta {
        project,
        branch_name,
        title,
        description,
    } = &before.meta;
    let around = [
        ("project", project, &after.meta.project),
        ("branchName", branch_name, &after.meta.branch_name),
        ("title", title, &after.meta.title),
        ("description", description, &after.meta.description),
    ];
    for (name, was, is) in around {
        if was.is_some() && was != is {
            add(&mut found, name, Where::Around);
        }
    }
    if before
        .checks
        .iter()
        .any(|check| !after.checks.contains(check))
    {
        add(&mut found, "checks", Where::Around);
    }
    let order = |document: &Document| -> Vec<TaskId> {
        document.tasks.iter().map(|task| task.id.clone()).collect()
    };
    if order(before) != order(after) {
        add(&mut found, "order", Where::Around);
    }
    let by_id: HashMap<&TaskId, &Task> = after.tasks.iter().map(|task| (&task.id, task)).collect();
    let has_priorities = before.tasks.iter().any(|task| task.priority.is_some());
    let parents = before.tasks.iter();
    let parents: HashSet<&TaskId> = parents
        .filter_map(|task| task.links.parent_id.as_ref())
        .collect();
    let pairs = before
        .tasks
        .iter()
        .filter_map(|was| Some((was, *by_id.get(&was.id)?)));
    for (was, is) in pairs {
        // Where no task has a priority, or for what only holds others, one more changes nothing.
        let may_get_priority = !has_priorities || parents.contains(&was.id);
        for name in lost_of(was, is, may_get_priority) {
            add(&mut found, name, Where::InTask);
        }
    }
    found
}

fn lost_of(was: &Task, is: &Task, may_get_priority: bool) -> Vec<&'static str> {
    let texts = |items: &[String]| -> Vec<String> { items.iter().map(|item| fold(item)).collect() };
    let commands =
        |task: &Task| -> Vec<String> { task.verify.iter().map(ToString::to_string).collect() };
    let notes = |task: &Task| fold(task.text.notes.as_deref().unwrap_or_default());
    // More than there was is no loss: some formats have no task without a type, or say the title first.
    let has_all = |was: &[String], is: &[String]| was.iter().all(|one| is.contains(one));
    let said = fold(&is.text.description);
    let mut lines = was.text.description.lines().map(fold);
    let is_told = lines.all(|line| said.contains(&line)) && !was.text.description.contains(CUT);
    let same = [
        ("title", fold(&was.text.title) == fold(&is.text.title)),
        ("description", is_told),
        (
            "acceptance",
            texts(&was.text.acceptance) == texts(&is.text.acceptance),
        ),
        ("verify", commands(was) == commands(is)),
        ("files", was.text.files == is.text.files),
        ("notes", notes(was) == notes(is)),
        (
            "expectsChange",
            was.text.expects_change == is.text.expects_change,
        ),
        ("labels", has_all(&was.labels, &is.labels)),
        ("area", was.area.is_none() || was.area == is.area),
        (
            "priority",
            was.priority == is.priority || (was.priority.is_none() && may_get_priority),
        ),
        (
            "attempts",
            was.attempts.made.unwrap_or(0) == is.attempts.made.unwrap_or(0),
        ),
        ("maxAttempts", was.attempts.max == is.attempts.max),
        ("createdAt", was.created_at == is.created_at),
        ("updatedAt", was.updated_at == is.updated_at),
    ];
    let lost = same.iter().filter(|(_, is_same)| !is_same);
    lost.map(|(name, _)| *name).collect()
}

/// Adds the members of a file that are no part of what was read.
pub(super) fn add_untold(found: &mut Vec<LostField>, tree: &Tree<'_>) -> FormatResult<()> {
    let layout = layout::detect(tree)?;
    for (key, value) in layout.header.into_iter().flat_map(|at| tree.members(at)) {
        let name = tree.text(key);
        let is_meta = layout::META.iter().any(|names| names.contains(&&*name));
        let is_list = Some(value) == layout.list || layout.path.iter().any(|part| *part == name);
        if !is_meta && !is_list && story::says_something(tree, value) {
            add(found, &name, Where::Around);
        }
    }
    for at in &layout.tasks {
        let is_inner = |name: &String| {
            let value = tree.member(*at, name);
            value.is_some_and(|value| layout.is_inner(value))
        };
        let names = story::untold(tree, layout.format, *at).into_iter();
        names
            .filter(|name| !is_inner(name))
            .for_each(|name| add(found, &name, Where::InTask));
    }
    Ok(())
}

pub(super) fn add(found: &mut Vec<LostField>, field: &str, place: Where) {
    let is_in_task = place == Where::InTask;
    let known = found
        .iter_mut()
        .find(|lost| lost.field == field && lost.tasks.is_some() == is_in_task);
    match known {
        Some(LostField {
            tasks: Some(tasks), ..
        }) => *tasks += 1,
        Some(LostField { tasks: None, .. }) => {}
        None => found.push(LostField {
            field: field.to_owned(),
            tasks: is_in_task.then_some(1),
        }),
    }
}
