//! Finds the task source of a project where the user names none.

use std::path::{Path, PathBuf};

use ralph_core::config::TasksConfig;

#[derive(Debug, thiserror::Error)]
pub enum FindError {
    #[error("there is no task source {path}")]
    NotThere { path: PathBuf },
    #[error("found no tasks in {root}")]
    Nothing { root: PathBuf },
    #[error("found tasks only in {}, which an agent made", names.join(", "))]
    MadeByAgents { names: Vec<String> },
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
            Self::MadeByAgents { names } => format!(
                "they are suggestions: `ralph tasks add --from-suggestions`; to work on all of them name the file: `ralph run {}`",
                names.first().map_or("", String::as_str)
            ),
            Self::Several { names } => format!(
                "name one: `ralph run {}`, or set `tasks.source` in ralph.yaml",
                names.first().map_or("", String::as_str)
            ),
        }
    }
}

/// Files that people keep a product's stories in, and that can be what a project is about.
pub(super) const CONTENT_FILES: [&str; 4] =
    ["PRD.json", "prd.json", "tasks.json", "plans/prd.json"];

/// Files of the same kind whose names are ralph's own.
pub(super) const OWN_FILES: [&str; 4] = [
    ".ralph/prd.json",
    ".ralph/PRD.json",
    "scripts/ralph/prd.json",
    "scripts/ralph/PRD.json",
];

/// The source to use: the one that was named (relative to `start`), the configured one, or the only
/// one there is below `root`. A file that an agent made is none, unless it is named: `made_by_agents` says which
/// of some names are such files.
pub fn find_source(
    named: Option<&Path>,
    tasks: &TasksConfig,
    root: &Path,
    start: &Path,
    made_by_agents: impl FnOnce(&[String]) -> Vec<String>,
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
    for name in CONTENT_FILES.iter().chain(&OWN_FILES) {
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
    let name = |path: &PathBuf| super::name_of(path, root);
    let is_content = |name: &String| CONTENT_FILES.contains(&name.as_str());
    let contents: Vec<String> = found.iter().map(name).filter(is_content).collect();
    let mut made = Vec::new();
    if !contents.is_empty() {
        made = made_by_agents(&contents);
        found.retain(|path| !made.contains(&name(path)));
    }
    match found.len() {
        0 if !made.is_empty() => Err(FindError::MadeByAgents { names: made }),
        0 => Err(FindError::Nothing {
            root: root.to_owned(),
        }),
        1 => Ok(found.swap_remove(0)),
        _ => Err(FindError::Several {
            names: found.iter().map(name).collect(),
        }),
    }
}
