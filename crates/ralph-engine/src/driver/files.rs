//! Files of ralph's own in the working tree: `.ralph/`, the progress file, and which paths they are.

use std::{
    collections::HashSet,
    io::Write as _,
    path::{Path, PathBuf},
};

use ralph_core::{
    config::Config,
    memory::{self, Entry, Feature},
};

use super::{Driver, LoopError, config_files::ConfigFiles};
use crate::plain_file;

impl Driver {
    /// Paths that are ralph's, relative to the root: never staged as an agent's work, never dirty.
    pub(super) fn own_paths(&self) -> Vec<PathBuf> {
        let mut own = self.source_files();
        own.extend(self.other_sources.iter().cloned());
        own.extend(self.artefacts.iter().map(|a| a.own_path().to_owned()));
        own.extend(own_files(&self.config, &self.config_files, &self.root));
        own
    }

    /// The files of the board's tasks, relative to the root.
    pub(super) fn source_files(&self) -> Vec<PathBuf> {
        let files = self.board.source.files().iter();
        files
            .filter_map(|f| f.path.strip_prefix(&self.root).ok().map(Path::to_owned))
            .collect()
    }

    /// Takes away what a killed ralph was writing.
    pub(super) fn sweep(&self) -> Result<(), LoopError> {
        let tasks = self.board.source.files().iter().map(|f| f.path.clone());
        let folders: HashSet<PathBuf> = tasks
            .chain(self.config_files.paths())
            .filter_map(|f| Some(f.canonicalize().unwrap_or(f).parent()?.to_owned()))
            .collect();
        for folder in folders {
            crate::atomic::sweep(&folder).map_err(|e| file_error("look through", &folder, e))?;
        }
        Ok(())
    }

    pub(super) fn ensure_dot_ralph(&self) -> Result<(), LoopError> {
        crate::dot_ralph::ensure(&self.root).map_err(|source| LoopError::File {
            what: "make",
            path: self.root.join(".ralph"),
            source,
        })
    }

    /// What this loop is about: names the branch and the progress file.
    pub(super) fn feature(&self) -> Feature {
        let meta = self.board.source.meta();
        let parent = self.board.parent();
        let folder = self
            .root
            .file_name()
            .map(|n| n.to_string_lossy().into_owned());
        let name = parent
            .map(|t| t.text.title.clone())
            .or(meta.project)
            .or(meta.title)
            .or(folder)
            .unwrap_or_else(|| "project".into());
        Feature {
            name,
            parent: parent.map(|t| t.id.to_string()),
        }
    }

    fn progress_path(&self) -> PathBuf {
        self.root.join(&self.config.memory.progress_file)
    }

    /// The progress file as it is; a new one where there is none, or where it is about another
    /// feature.
    pub(super) fn read_progress(&self) -> Result<String, LoopError> {
        let text = self.progress_on_disk()?;
        let feature = self.feature();
        if text.trim().is_empty() || !memory::belongs_to(&text, &feature) {
            return Ok(memory::render_new(&feature, self.clock.now()));
        }
        Ok(text)
    }

    fn progress_on_disk(&self) -> Result<String, LoopError> {
        let path = self.progress_path();
        match plain_file::read(&path) {
            Ok(bytes) => Ok(String::from_utf8_lossy(&bytes).into_owned()),
            // What is no file is made room for when it is written.
            Err(e) if is_no_file(&e) => Ok(String::new()),
            Err(source) => Err(file_error("read", &path, source)),
        }
    }

    /// Moves the progress file of another feature to the archive, before a loop writes its own.
    pub(super) fn archive_progress(&self) -> Result<(), LoopError> {
        let text = self.progress_on_disk()?;
        if text.trim().is_empty() || memory::belongs_to(&text, &self.feature()) {
            return Ok(());
        }
        let path = self.progress_path();
        let archive = self.root.join(&self.config.memory.archive_dir);
        let name = format!("progress-{}.md", self.clock.now().strftime("%Y%m%d-%H%M%S"));
        std::fs::create_dir_all(&archive)
            .and_then(|()| std::fs::rename(&path, archive.join(name)))
            .map_err(|source| file_error("archive", &path, source))
    }

    /// After a run: keeps the agent's edit of the progress file if it lost nothing, else puts it back.
    pub(super) fn check_progress(&self, before: &str) -> Result<bool, LoopError> {
        let path = self.progress_path();
        let Ok(bytes) = plain_file::read(&path) else {
            return self.write_progress(before).map(|()| false);
        };
        let after = String::from_utf8_lossy(&bytes);
        if after == before {
            return Ok(false);
        }
        if memory::accept_edit(before, &after).is_some() {
            return Ok(true);
        }
        self.write_progress(before).map(|()| false)
    }

    pub(super) fn append_progress(&self, entry: &Entry) -> Result<(), LoopError> {
        let text = self.read_progress()?;
        let cap = usize::try_from(self.config.memory.max_bytes.get()).unwrap_or(usize::MAX);
        self.write_progress(&memory::record(&text, entry, cap))
    }

    /// Not durable, on purpose: it can be rebuilt.
    pub(super) fn write_progress(&self, text: &str) -> Result<(), LoopError> {
        let path = self.progress_path();
        let now = plain_file::read(&path).ok();
        let added = now.and_then(|now| text.as_bytes().strip_prefix(now.as_slice()));
        if added.is_some_and(<[u8]>::is_empty) {
            return Ok(());
        }
        let write = || {
            // What is only longer is added to, at once, as all iterations but few end like that.
            if let Some(added) = added
                && std::fs::symlink_metadata(&path).is_ok_and(|found| found.is_file())
            {
                let mut file = std::fs::File::options().append(true).open(&path)?;
                return file.write_all(added);
            }
            if let Some(folder) = path.parent() {
                std::fs::create_dir_all(folder)?;
            }
            // Where what a kill leaves is neither seen nor committed.
            let logs = self.root.join(LOGS);
            std::fs::create_dir_all(&logs)?;
            let temporary = logs.join("progress.new");
            plain_file::make_room(&path)?;
            plain_file::make_room(&temporary)?;
            std::fs::write(&temporary, text)?;
            std::fs::rename(&temporary, &path)
        };
        write().map_err(|source| file_error("write", &path, source))
    }
}

pub(super) const LOGS: &str = ".ralph/logs";

/// Refuses configured paths that name something else than what ralph would write there: nothing of a
/// person's is ever moved out of the way for it.
pub(super) fn refuse_wrong_paths(config: &Config, root: &Path) -> Result<(), LoopError> {
    let wrong = |key, path: &Path, problem| LoopError::ConfiguredPath {
        key,
        path: path.to_owned(),
        problem,
    };
    let files = [
        ("memory.progress_file", Some(&config.memory.progress_file)),
        ("tasks.parent_id_file", Some(&config.tasks.parent_id_file)),
        (
            "economics.prices_file",
            config.economics.prices_file.as_ref(),
        ),
    ];
    for (key, path) in files {
        let Some(path) = path else { continue };
        if root.join(path).is_dir() {
            return Err(wrong(key, path, "is a folder, not a file"));
        }
    }
    let archive = &config.memory.archive_dir;
    if root.join(archive).exists() && !root.join(archive).is_dir() {
        return Err(wrong("memory.archive_dir", archive, "is not a folder"));
    }
    Ok(())
}

/// The same without the task files.
pub(super) fn own_files(config: &Config, config_files: &ConfigFiles, root: &Path) -> Vec<PathBuf> {
    let mut own = vec![
        config.memory.progress_file.clone(),
        config.memory.archive_dir.clone(),
        PathBuf::from(LOGS),
        PathBuf::from(super::gutter::FOLDER),
        PathBuf::from(".ralph/.gitignore"),
        config.tasks.parent_id_file.clone(),
    ];
    own.extend(of_projects(root));
    let configs = config_files.paths();
    own.extend(configs.filter_map(|f| f.strip_prefix(root).ok().map(Path::to_owned)));
    own
}

/// What ralph and its agents write down about artefacts projects: it is no work of any loop.
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

fn is_no_file(error: &std::io::Error) -> bool {
    use std::io::ErrorKind;
    matches!(error.kind(), ErrorKind::NotFound | ErrorKind::InvalidInput)
}

pub(super) fn file_error(what: &'static str, path: &Path, source: std::io::Error) -> LoopError {
    LoopError::File {
        what,
        path: path.to_owned(),
        source,
    }
}
