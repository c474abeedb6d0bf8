//! Files of ralph's own in the working tree: `.ralph/`, the progress file, and which paths they are.

use std::{
    collections::HashSet,
    path::{Component, Path, PathBuf},
};

use ralph_core::{
    config::{Config, MemoryConfig},
    memory::ProgressFeature,
    task::format::Format,
};

use super::{Board, LoopError, LoopRunner};
use crate::error::file_error;
use crate::{
    config_files::ConfigFiles,
    iteration::{DIAGNOSIS_FOLDER, LOGS},
    source::Source,
};

impl LoopRunner {
    /// Paths that are ralph's, relative to the root: never staged as an agent's work, never dirty.
    pub(super) fn own_paths(&self) -> Vec<PathBuf> {
        let mut own = self.source_files();
        own.extend(self.files.other_sources.iter().cloned());
        own.extend(self.files.artefacts.iter().map(|a| a.own_path().to_owned()));
        own.extend(own_files(
            &self.settings.config,
            &self.files.config_files,
            &self.place.root,
        ));
        own
    }

    /// The files of the board's tasks, relative to the root.
    pub(super) fn source_files(&self) -> Vec<PathBuf> {
        let files = self.board.source.files().iter();
        files.filter_map(|file| file.inside.clone()).collect()
    }

    /// Takes away what a killed ralph was writing.
    pub(super) fn sweep(&self) -> Result<(), LoopError> {
        let tasks = self.board.source.files().iter().map(|f| f.path.clone());
        let folders: HashSet<PathBuf> = tasks
            .chain(self.files.config_files.paths())
            .filter_map(|f| Some(f.canonicalize().unwrap_or(f).parent()?.to_owned()))
            .collect();
        for folder in folders {
            crate::atomic::sweep(&folder).map_err(|e| file_error("look through", &folder, e))?;
        }
        Ok(())
    }

    pub(super) fn ensure_dot_ralph(&self) -> Result<(), LoopError> {
        crate::dot_ralph::ensure(&self.place.root).map_err(|source| LoopError::File {
            what: "make",
            path: self.place.root.join(".ralph"),
            source,
        })
    }

    pub(super) fn feature(&self) -> ProgressFeature {
        feature(&self.board, &self.place.root)
    }
}

/// Returns what a loop is about: names the branch and the progress file.
pub(super) fn feature(board: &Board, root: &Path) -> ProgressFeature {
    let meta = board.source.meta();
    let parent = board.parent();
    let folder = root.file_name().map(|n| n.to_string_lossy().into_owned());
    let name = parent
        .map(|t| t.text.title.clone())
        .or(meta.project)
        .or(meta.title)
        .or(folder)
        .unwrap_or_else(|| "project".into());
    ProgressFeature {
        name,
        parent: parent.map(|t| t.id.to_string()),
    }
}

/// The project's own template of a prompt, where it has one.
pub(crate) const TEMPLATE: &str = ".ralph/prompts/iteration.md";
/// The instructions of a person to every agent, beside a PRD.
const INSTRUCTIONS: &str = "PROMPT.md";

/// Where the instructions of a PRD are, if there are any. Other sources have none.
pub(super) fn instructions_path(source: &Source) -> Option<PathBuf> {
    let [file] = source.files() else {
        return None;
    };
    (file.format == Format::Prd).then(|| file.path.with_file_name(INSTRUCTIONS))
}

/// Refuses configured paths that name something else than what ralph would write there: nothing of a
/// person's is ever moved out of the way for it. Asked by all that would run, and by all that look whether
/// something is wrong.
pub fn check_configured_paths(config: &Config, root: &Path) -> Result<(), LoopError> {
    let MemoryConfig {
        progress_file,
        archive_dir,
        ..
    } = &config.memory;
    let parent = &config.tasks.parent_id_file;
    let written = [
        ("memory.progress_file", progress_file),
        ("tasks.parent_id_file", parent),
        ("memory.archive_dir", archive_dir),
    ];
    let prices = config.economics.prices_file.as_ref();
    let wrong = |key, path: &Path, problem| {
        let path = path.to_owned();
        Err(LoopError::ConfiguredPath { key, path, problem })
    };
    for (key, path) in written {
        if let Some(problem) = out_of_place(path, root) {
            return wrong(key, path, problem);
        }
    }
    if root.join(archive_dir).exists() && !root.join(archive_dir).is_dir() {
        return wrong("memory.archive_dir", archive_dir, "is not a folder");
    }
    let files = written.into_iter().take(2);
    for (key, path) in files.chain(prices.map(|path| ("economics.prices_file", path))) {
        if root.join(path).is_dir() {
            return wrong(key, path, "is a folder, not a file");
        }
    }
    Ok(())
}

/// Tells why ralph may not write to a path, by its words alone.
fn out_of_place(path: &Path, root: &Path) -> Option<&'static str> {
    let mut plain = PathBuf::new();
    for part in root.join(path).components() {
        if part == Component::ParentDir {
            plain.pop();
        } else {
            plain.push(part);
        }
    }
    match plain.strip_prefix(root) {
        Ok(within) if within.starts_with(".git") => Some("is in git's own folder"),
        Ok(within) if within != Path::new("") => None,
        Ok(_) | Err(_) => Some("leads out of the repository"),
    }
}

/// The same without the task files.
pub(super) fn own_files(config: &Config, config_files: &ConfigFiles, root: &Path) -> Vec<PathBuf> {
    let mut own = vec![
        config.memory.progress_file.clone(),
        config.memory.archive_dir.clone(),
        PathBuf::from(LOGS),
        PathBuf::from(DIAGNOSIS_FOLDER),
        PathBuf::from(".ralph/.gitignore"),
        config.tasks.parent_id_file.clone(),
    ];
    own.extend(of_projects(root));
    let configs = config_files.paths();
    own.extend(configs.filter_map(|f| f.strip_prefix(root).ok().map(Path::to_owned)));
    own
}

/// Returns what ralph and its agents write down about artefacts projects: it is no work of any loop.
fn of_projects(root: &Path) -> Vec<PathBuf> {
    let folders = std::fs::read_dir(root.join(PROJECTS)).into_iter().flatten();
    let folders =
        folders.filter_map(|entry| Some(Path::new(PROJECTS).join(entry.ok()?.file_name())));
    folders
        .flat_map(|folder| KEPT.map(|name| folder.join(name)))
        .collect()
}

const PROJECTS: &str = ".artefacts";
const KEPT: [&str; 4] = ["tasks.json", "state.json", "obstacles.json", "results.md"];
