//! Finds the task source of a project where the user names none.

use std::path::{Path, PathBuf};

use ralph_core::config::TasksConfig;

#[derive(Debug, thiserror::Error)]
pub enum FindError {
    #[error("there is no task source {path}")]
    NotThere { path: PathBuf },
    #[error("found no tasks in {root}")]
    Nothing { root: PathBuf },
    #[error("found more than one task source: {}", names.join(", "))]
    Several { names: Vec<String> },
}

impl FindError {
    pub fn hint(&self) -> String {
        match self {
            Self::NotThere { .. } => "name a task file, or a folder of them".into(),
            Self::Nothing { .. } => {
                "write a prd.json or .ralph/tasks/*.yaml, or name a file: `ralph run FILE`; `ralph tasks add TITLE` makes a first task".into()
            }
            Self::Several { names } => format!(
                "name one: `ralph run {}`, or set `tasks.source` in ralph.yaml",
                names.first().map_or("", String::as_str)
            ),
        }
    }
}

/// Files that people keep a product's stories in.
const FILES: [&str; 8] = [
    "PRD.json",
    "prd.json",
    "tasks.json",
    "scripts/ralph/prd.json",
    "scripts/ralph/PRD.json",
    ".ralph/prd.json",
    ".ralph/PRD.json",
    "plans/prd.json",
];

/// The source to use: the one that was named (relative to `start`), the configured one, or the only
/// one there is below `root`.
pub fn find_source(
    named: Option<&Path>,
    tasks: &TasksConfig,
    root: &Path,
    start: &Path,
) -> Result<PathBuf, FindError> {
    let existing = |path: PathBuf| match path.canonicalize() {
        Ok(path) => Ok(path),
        Err(_) => Err(FindError::NotThere { path }),
    };
    if let Some(named) = named {
        return existing(start.join(named));
    }
    if let Some(configured) = &tasks.source {
        return existing(root.join(configured));
    }
    let mut found: Vec<PathBuf> = Vec::new();
    let mut add = |path: PathBuf| {
        // Two names of one file, where case makes no difference, are one source.
        if let Ok(path) = path.canonicalize()
            && !found.contains(&path)
        {
            found.push(path);
        }
    };
    for name in FILES {
        add(root.join(name));
    }
    let folder = root.join(&tasks.path);
    if super::task_files(&folder).is_ok_and(|files| !files.is_empty()) {
        add(folder);
    }
    let mut projects: Vec<_> = std::fs::read_dir(root.join(".artefacts"))
        .into_iter()
        .flatten()
        .filter_map(|entry| entry.ok().map(|e| e.path().join("tasks.json")))
        .collect();
    projects.sort();
    projects.into_iter().for_each(&mut add);
    match found.len() {
        0 => Err(FindError::Nothing {
            root: root.to_owned(),
        }),
        1 => Ok(found.swap_remove(0)),
        _ => Err(FindError::Several {
            names: found.iter().map(|p| super::name_of(p, root)).collect(),
        }),
    }
}
