//! Asks of a change: does it touch what decides how pages are verified in a browser, and may it?
//!
//! Flows and the pictures that a person approved are evidence. An agent changes them where its task says so.

use std::{
    collections::BTreeSet,
    path::{Component, Path, PathBuf},
};

use super::{ChangeSet, Flag, FlagKind, Inspection, Refusal, RefusalReason};
use crate::task::{TaskText, VerifyCommand};

/// The folder of approved pictures, beside the flows that they belong to.
pub const BASELINES: &str = "__baselines__";

/// The flows of a project, and those of them that a task is about.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct FlowFiles {
    folder: PathBuf,
    /// Flows at other places, which verify commands name.
    elsewhere: BTreeSet<PathBuf>,
    /// Files and folders that the task names.
    of_task: BTreeSet<PathBuf>,
}

impl FlowFiles {
    /// `folder` is that of the flows, relative to the project like all paths here.
    pub fn new(folder: &Path, commands: &[VerifyCommand], task: &TaskText) -> Self {
        let named = commands
            .iter()
            .filter_map(VerifyCommand::flows)
            .flatten()
            .map(Path::new)
            .filter(|path| path.components().count() > 1 || is_flow_file(path));
        let texts = [&task.title, &task.description]
            .into_iter()
            .chain(&task.acceptance);
        let words = texts.flat_map(|text| text.split_whitespace());
        let paths = words
            .map(|word| word.trim_matches(|c: char| "`'\"(),.;:*<>[]".contains(c) && c != '.'))
            .map(|word| word.trim_end_matches('.'))
            .filter(|word| word.contains('/') || is_flow_file(Path::new(word)))
            .chain(task.files.iter().map(String::as_str));
        Self {
            folder: plain(folder),
            elsewhere: named.map(plain).collect(),
            of_task: paths
                .map(|path| path.trim_end_matches("**").trim_end_matches('*'))
                .map(|path| plain(Path::new(path)))
                .filter(|path| path.components().next().is_some())
                .collect(),
        }
    }

    /// Tells whether a file is a flow, or an approved picture.
    pub fn contains(&self, path: &Path) -> bool {
        let is_in_folder =
            path.starts_with(&self.folder) && self.folder.components().next().is_some();
        is_in_folder
            || self.elsewhere.iter().any(|flow| path.starts_with(flow))
            || path.components().any(|part| part.as_os_str() == BASELINES)
    }

    /// Refuses changed flows and pictures, or flags those that the task names.
    pub fn inspect(&self, change: &ChangeSet) -> Inspection {
        let mut inspection = Inspection::default();
        let touched = change.changes.iter().map(|changed| &changed.path);
        for path in touched.filter(|path| self.contains(path)) {
            let path = path.clone();
            if self.is_of_task(&path) {
                let kind = FlagKind::FlowChanged;
                inspection.flags.push(Flag { path, kind });
            } else {
                let reason = RefusalReason::FlowChanged;
                inspection.refusals.push(Refusal { path, reason });
            }
        }
        inspection
    }

    /// A task that names a flow or its folder is about it, and about its pictures.
    fn is_of_task(&self, path: &Path) -> bool {
        self.of_task.iter().any(|named| {
            path.starts_with(named)
                || picture_of(path).is_some_and(|flow| flow == without_end(named))
        })
    }
}

fn is_flow_file(path: &Path) -> bool {
    path.extension()
        .is_some_and(|end| end == "yaml" || end == "yml")
}

/// The flow to which an approved picture belongs, without the end of its name: `flows/__baselines__/start/…` is of
/// `flows/start`.
fn picture_of(path: &Path) -> Option<PathBuf> {
    let parts: Vec<Component<'_>> = path.components().collect();
    let at = parts
        .iter()
        .position(|part| part.as_os_str() == BASELINES)?;
    let flow = parts.get(at + 1)?;
    let above: PathBuf = parts[..at].iter().collect();
    Some(above.join(flow))
}

fn without_end(path: &Path) -> PathBuf {
    if is_flow_file(path) {
        path.with_extension("")
    } else {
        path.to_owned()
    }
}

/// The same path without `./`.
fn plain(path: &Path) -> PathBuf {
    let is_named =
        |part: &Component<'_>| matches!(part, Component::Normal(_) | Component::ParentDir);
    path.components().filter(is_named).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::change::{ChangeKind, Changed, EntryKind};

    fn change(paths: &[&str]) -> ChangeSet {
        let changed = |path: &&str| Changed {
            path: (*path).into(),
            kind: ChangeKind::Modified,
            entry: EntryKind::File,
            size: 1,
        };
        ChangeSet {
            changes: paths.iter().map(changed).collect(),
        }
    }

    fn found(files: &FlowFiles, path: &str) -> &'static str {
        let found = files.inspect(&change(&[path]));
        match (found.refusals.len(), found.flags.len()) {
            (0, 0) => "free",
            (1, 0) => "refused",
            (0, 1) => "flagged",
            _ => "both",
        }
    }

    #[test]
    fn flows_and_pictures_are_changed_only_by_a_task_that_names_them() {
        let folder = Path::new(".ralph/flows");
        let none = FlowFiles::new(folder, &[], &TaskText::default());
        let about = |text: &str| TaskText {
            description: text.into(),
            ..TaskText::default()
        };
        let flow = FlowFiles::new(
            folder,
            &[],
            &about("Extend `.ralph/flows/start.yaml`, please."),
        );
        let all = FlowFiles::new(folder, &[], &about("Write flows in .ralph/flows/."));
        let listed = TaskText {
            files: vec![".ralph/flows/**".into()],
            ..TaskText::default()
        };
        let listed = FlowFiles::new(folder, &[], &listed);
        let elsewhere = [VerifyCommand::flow("e2e/shop.yaml")];
        let elsewhere = FlowFiles::new(folder, &elsewhere, &TaskText::default());
        let picture = ".ralph/flows/__baselines__/start/top-linux-1280x720.png";
        for (files, path, expected) in [
            (&none, ".ralph/flows/start.yaml", "refused"),
            (&none, picture, "refused"),
            (&none, "src/flows/start.yaml", "free"),
            (&none, "e2e/__baselines__/a/b.png", "refused"),
            (&none, "e2e/shop.yaml", "free"),
            (&elsewhere, "e2e/shop.yaml", "refused"),
            (&flow, ".ralph/flows/start.yaml", "flagged"),
            (&flow, picture, "flagged"),
            (&flow, ".ralph/flows/other.yaml", "refused"),
            (&flow, ".ralph/flows/__baselines__/other/a.png", "refused"),
            (&all, ".ralph/flows/new.yaml", "flagged"),
            (&listed, picture, "flagged"),
        ] {
            assert_eq!(found(files, path), expected, "{path}");
        }
    }
}
