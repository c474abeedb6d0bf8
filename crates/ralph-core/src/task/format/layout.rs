//! Which format a file has and where its tasks stand, by what is in it, never by its name.
//!
//! Looks at keys only; reads no task.

use super::error::{Fault, Outcome};
use super::tree::{At, Kind, Tree};
use super::{Format, Meta, read};

/// Where the tasks of a file are.
#[derive(Debug)]
pub(super) struct Layout {
    pub(super) format: Format,
    /// The list that holds the tasks; `None` for a file that is one task.
    pub(super) list: Option<At>,
    pub(super) tasks: Vec<At>,
    /// The object around the list.
    pub(super) header: Option<At>,
}

/// Names of the list, the ones that only PRD files use first.
pub(super) const PRD_LISTS: [&str; 4] = ["userStories", "user_stories", "stories", "features"];

/// Names of what a file says about its project: the project's, the branch's, title, description;
/// of each, the first that is there counts.
pub(super) const META: [&[&str]; 4] = [
    &["project", "projectName", "project_name", "name"],
    &["branchName", "branch_name", "branch"],
    &["title"],
    &["description"],
];

/// The name that all formats use.
pub(super) const TASKS: &str = "tasks";

pub(super) fn detect(tree: &Tree<'_>) -> Outcome<Layout> {
    let root = 0;
    match tree.kind(root) {
        Kind::List => Ok(of_list(tree, root, None)),
        Kind::Map => of_map(tree, root),
        _ => read::mismatch(tree, root, "a list of tasks, or an object"),
    }
}

fn of_map(tree: &Tree<'_>, root: At) -> Outcome<Layout> {
    let prd = PRD_LISTS
        .iter()
        .find_map(|key| tree.member(root, key).filter(|at| is_list(tree, *at)));
    if let Some(list) = prd {
        let mut layout = of_list(tree, list, Some(root));
        layout.format = Format::Prd;
        return Ok(layout);
    }
    if let Some(list) = tree.member(root, TASKS) {
        if !is_list(tree, list) {
            return read::mismatch(tree, list, "a list of tasks");
        }
        return Ok(of_list(tree, list, Some(root)));
    }
    if tree.member(root, "id").is_some() {
        return Ok(Layout {
            format: of_tasks(tree, &[root]),
            list: None,
            tasks: vec![root],
            header: None,
        });
    }
    let message = "expected a list of tasks under `tasks` or `userStories`, or one task with an `id`, found neither";
    Err(Fault::at(tree.start(root), message))
}

fn is_list(tree: &Tree<'_>, at: At) -> bool {
    tree.kind(at) == Kind::List
}

fn of_list(tree: &Tree<'_>, list: At, header: Option<At>) -> Layout {
    let tasks: Vec<At> = tree.children(list).collect();
    let mut format = of_tasks(tree, &tasks);
    let named = header.is_some_and(|root| tree.member(root, "project_name").is_some());
    if format == Format::Native && named {
        format = Format::Artefacts;
    }
    Layout {
        format,
        list: Some(list),
        tasks,
        header,
    }
}

fn of_tasks(tree: &Tree<'_>, tasks: &[At]) -> Format {
    let mut format = Format::Native;
    for task in tasks {
        format = stronger(format, of_task(tree, *task));
        if format == Format::Prd {
            break;
        }
    }
    format
}

/// The format that the members of one task speak for.
fn of_task(tree: &Tree<'_>, task: At) -> Format {
    let mut format = Format::Native;
    if tree.kind(task) != Kind::Map {
        return format;
    }
    for (key, value) in tree.members(task) {
        match &*tree.text(key) {
            "passes" => return Format::Prd,
            "dependencies" => format = Format::Artefacts,
            "status" if tree.text(value) == "pending" => format = Format::Artefacts,
            // No task may be pending any more; the flag still tells.
            "blocked" if matches!(tree.kind(value), Kind::True | Kind::False) => {
                format = Format::Artefacts;
            }
            _ => {}
        }
    }
    format
}

/// Which of two formats a file has of which parts speak for each.
fn stronger(a: Format, b: Format) -> Format {
    match (a, b) {
        (Format::Prd, _) | (_, Format::Prd) => Format::Prd,
        (Format::Artefacts, _) | (_, Format::Artefacts) => Format::Artefacts,
        (Format::Native, Format::Native) => Format::Native,
    }
}

/// What the object around the list says about the project. What is no text is passed over: it is
/// not ralph's.
pub(super) fn meta(tree: &Tree<'_>, layout: &Layout) -> Meta {
    let Some(root) = layout.header else {
        return Meta::default();
    };
    let text = |at: At| {
        let text = read::text(tree, at, "").ok()?;
        (!text.trim().is_empty()).then_some(text)
    };
    let first = |keys: &[&str]| {
        keys.iter()
            .filter_map(|key| tree.member(root, key))
            .find_map(|at| text(at).or_else(|| tree.member(at, "name").and_then(text)))
    };
    let [project, branch_name, title, description] = META.map(first);
    Meta {
        project,
        branch_name,
        title,
        description,
    }
}
