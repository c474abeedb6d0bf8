//! Says in a sentence what was taken for the tasks of a file and for done, where that is not plain from the
//! usual shape, and which lists were left aside.

use super::error::line_column;
use super::fields::{DONE_LIKE, Field};
use super::layout::{self, Layout};
use super::status::Vocabulary;
use super::tree::{At, Kind, Tree};
use super::warning::{FormatWarning, Notices, WarningKind};
use super::{ids, looks, parse_tree, status, story};
use crate::task::{Place, Status};

/// The sentence, such as "tasks: `features[].userStories`, 55 leaves in 12 features; done: `passes`". `None`
/// for a file of the usual shape.
pub(super) fn describe(tree: &Tree<'_>, layout: &Layout) -> Option<String> {
    let rules = layout.format.rules();
    if !rules.lenient || layout.list.is_none() || layout.tasks.is_empty() {
        return None;
    }
    let named = ids::other_names(tree, layout);
    let places = layout.parents.iter().zip(&layout.keys);
    let without_id = |(at, (parent, key)): &(&At, (&Option<usize>, &Option<At>))| {
        looks::has_no_id(tree, **at) && key.is_none() && !named.contains_key(*parent)
    };
    let derived = layout.tasks.iter().zip(places).filter(without_id).count();
    let mut names: Vec<&str> = named.into_values().collect();
    names.sort_unstable();
    names.dedup();
    let keyed = layout.keys.iter().any(Option::is_some);
    let file = Vocabulary::of(tree, layout);
    let list = layout.path.last().map_or("", String::as_str);
    let usual_list =
        layout.path.is_empty() || rules.own_lists.contains(&list) || list == super::layout::TASKS;
    let done = done(&file);
    let usual_done = matches!(done.as_str(), "`passes`" | "`status`");
    let usual = usual_list && usual_done && derived == 0 && names.is_empty() && !keyed;
    if usual && !layout.is_nested() && !layout.is_wrapped() && layout.not_read.is_empty() {
        return None;
    }
    let mut said = format!("tasks: {}, {}", path(layout), counts(layout));
    said.push_str(&format!("; done: {done}"));
    match derived {
        0 => {}
        n if n == layout.tasks.len() => said.push_str("; ids: from the titles"),
        n => said.push_str(&format!("; ids: {n} of them from the titles")),
    }
    if !names.is_empty() {
        said.push_str(&format!("; ids: `{}`", names.join("`, `")));
    }
    if keyed {
        said.push_str("; ids: the keys");
    }
    Some(said)
}

fn done(file: &Vocabulary) -> String {
    match (file.done_flag(), file.word_member()) {
        (Some((_, name)), _) => format!("`{name}`"),
        (None, Some(Field::State)) => "`state`".to_owned(),
        (None, Some(_)) => "`status`".to_owned(),
        (None, None) => match file.measure() {
            Some((Field::Progress, name)) => format!("`{name}`"),
            Some((_, name)) => format!("`{name}`, written as `passes`"),
            None => "nothing says so yet, `passes` will".to_owned(),
        },
    }
}

fn path(layout: &Layout) -> String {
    let mut path = layout.path.join(".");
    for names in &layout.inner_names {
        path.push_str("[]");
        match &names[..] {
            [one] => path.push_str(&format!(".{one}")),
            several => path.push_str(&format!(".{{{}}}", several.join(","))),
        }
    }
    if path.is_empty() {
        "the list".to_owned()
    } else {
        format!("`{path}`")
    }
}

fn counts(layout: &Layout) -> String {
    let all = layout.tasks.len();
    let leaves = (0..all).filter(|task| layout.is_leaf(*task)).count();
    let number = |n: usize, one: &str, several: &str| {
        let noun = if n == 1 { one } else { several };
        format!("{n} {noun}")
    };
    if leaves == all {
        return number(all, "task", "tasks");
    }
    let containers = match (&layout.path[..], layout.inner_names.len()) {
        ([.., name], 1) if all - leaves > 1 => format!("{} {name}", all - leaves),
        _ => number(all - leaves, "container", "containers"),
    };
    format!("{} in {containers}", number(leaves, "leaf", "leaves"))
}

/// Warnings about lists that look like work beside the one that was chosen.
pub(super) fn not_read(tree: &Tree<'_>, layout: &Layout, file: u32) -> Vec<FormatWarning> {
    let notices = Notices::default();
    for (path, list) in &layout.not_read {
        let (line, _) = line_column(tree.source.as_bytes(), tree.start(*list));
        let chosen = layout.path.join(".");
        let message = format!(
            "the list `{path}` on line {line} looks like tasks too and is not read; the tasks are those of `{chosen}`"
        );
        notices.add(WarningKind::NotRead, tree.start(*list), message);
    }
    if layout.format.rules().lenient {
        warn_of_lists_by_status(tree, layout, &notices);
        warn_of_flags(tree, layout, &notices);
    }
    let place = Place {
        file,
        ..Place::default()
    };
    notices.take(None, place)
}

/// Warns of lists beside the tasks that name some of them under a status, such as `completed: [1, 2]`.
fn warn_of_lists_by_status(tree: &Tree<'_>, layout: &Layout, notices: &Notices) {
    let members = layout.header.into_iter().flat_map(|map| tree.members(map));
    for (key, list) in members {
        let name = tree.text(key);
        let is_name = |at: At| matches!(tree.kind(at), Kind::Text | Kind::Number);
        let names = tree.kind(list) == Kind::List && tree.children(list).any(is_name);
        if names && status::synonym(&name).is_some_and(|status| status != Status::Open) {
            let message =
                format!("the list `{name}` is not read: tasks say themselves that they are {name}");
            notices.add(WarningKind::NotRead, tree.start(key), message);
        }
    }
}

/// Warns of flags that may say done under a name that ralph does not know, where nothing else does.
fn warn_of_flags(tree: &Tree<'_>, layout: &Layout, notices: &Notices) {
    let mut first = layout.tasks.iter().take(8);
    if first.any(|at| tree.kind(*at) == Kind::Map && looks::Looks::of_item(tree, *at).marked) {
        return;
    }
    let file = Vocabulary::of(tree, layout);
    if file.done_flag().is_some() || file.word_member().is_some() || file.measure().is_some() {
        return;
    }
    let mut seen: Vec<String> = Vec::new();
    let tasks = layout.tasks.iter();
    let tasks = tasks.filter(|at| tree.kind(**at) == Kind::Map);
    for (key, value) in tasks.flat_map(|at| tree.members(*at)) {
        let name = tree.text(key);
        let is_known = Field::of(&name).is_some() || DONE_LIKE.contains(&&*name);
        if tree.kind(value) != Kind::True || is_known || seen.iter().any(|known| *known == name) {
            continue;
        }
        let message = format!(
            "`{name}` is not read, and nothing says which tasks are done; if it does, call it `passes`"
        );
        notices.add(WarningKind::NotRead, tree.start(value), message);
        seen.push(name.into_owned());
    }
}

/// A field of tasks that means nothing to ralph and whose text an agent is told.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct UnknownField {
    pub name: String,
    /// The number of tasks that have it.
    pub tasks: usize,
    pub first: Place,
}

/// The fields with text that ralph does not know, in the order of the file. Empty where the file can't be read.
pub fn unknown_fields(file_name: &str, file: u32, bytes: &[u8]) -> Vec<UnknownField> {
    let mut found: Vec<UnknownField> = Vec::new();
    let Ok(Some(tree)) = parse_tree(file_name, bytes) else {
        return found;
    };
    let Ok(layout) = layout::detect(&tree) else {
        return found;
    };
    for (position, task) in layout.tasks.iter().enumerate() {
        if !layout.is_leaf(position) || tree.kind(*task) != Kind::Map {
            continue;
        }
        for (key, value) in tree.members(*task) {
            let name = tree.text(key);
            if !story::is_told_by_name(&tree, &layout, &name, value) {
                continue;
            }
            match found.iter_mut().find(|known| known.name == name) {
                Some(known) => known.tasks += 1,
                None => found.push(UnknownField {
                    name: name.into_owned(),
                    tasks: 1,
                    first: Place {
                        file,
                        position: position as u32,
                        offset: tree.start(key) as u32,
                    },
                }),
            }
        }
    }
    found
}
