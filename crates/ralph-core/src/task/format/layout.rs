//! Which format a file has and where its tasks stand, by what is in it, never by its name.
//!
//! Looks at keys only; reads no task.

use super::error::{Fault, FormatResult};
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

pub(super) fn detect(tree: &Tree<'_>) -> FormatResult<Layout> {
    let root = 0;
    match tree.kind(root) {
        Kind::List => Ok(of_list(tree, root, None)),
        Kind::Map => of_map(tree, root),
        _ => read::mismatch(tree, root, "a list of tasks, or an object"),
    }
}

fn of_map(tree: &Tree<'_>, root: At) -> FormatResult<Layout> {
    let own = Format::ALL.into_iter().find_map(|format| {
        let mut names = format.rules().own_lists.iter();
        let list = names.find_map(|key| tree.member(root, key).filter(|at| is_list(tree, *at)));
        Some((format, list?))
    });
    if let Some((format, list)) = own {
        return Ok(Layout {
            format,
            ..of_list(tree, list, Some(root))
        });
    }
    if let Some(list) = tree.member(root, TASKS) {
        if !is_list(tree, list) {
            return read::mismatch(tree, list, "a list of tasks");
        }
        return Ok(of_list(tree, list, Some(root)));
    }
    if tree.member(root, "id").is_some() {
        return Ok(Layout {
            format: by_tasks(tree, &[root]).unwrap_or(Format::ALL[0]),
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
    let marked = |format: &Format| {
        let mark = format.rules().project_mark;
        let member = header.zip(mark);
        member.is_some_and(|(root, mark)| tree.member(root, mark).is_some())
    };
    let by_header = || Format::ALL.into_iter().find(marked);
    let format = by_tasks(tree, &tasks).or_else(by_header);
    Layout {
        format: format.unwrap_or(Format::ALL[0]),
        list: Some(list),
        tasks,
        header,
    }
}

/// The format that members of tasks speak for, if they do; of several the first in the table.
fn by_tasks(tree: &Tree<'_>, tasks: &[At]) -> Option<Format> {
    let mut stronger = &Format::ALL[1..];
    let mut found = None;
    for task in tasks.iter().filter(|at| tree.kind(**at) == Kind::Map) {
        for (key, value) in tree.members(*task) {
            let name = tree.text(key);
            let speaks = |format: &Format| (format.rules().marks_task)(tree, &name, value);
            if let Some(at) = stronger.iter().position(speaks) {
                found = Some(stronger[at]);
                stronger = &stronger[..at];
            }
        }
        if stronger.is_empty() {
            break;
        }
    }
    found
}

/// Returns what the object around the list says about the project. What is no text is passed over: it is
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
