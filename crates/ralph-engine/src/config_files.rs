//! The project's configuration, its own prompts included, as it stood when the loop began, and what
//! is done about edits of it while an agent ran: they are the agent's, and are undone, so that no restart can adopt them.
//!
//! A file that was not there is guarded too. What is taken away is kept in ralph's own folder.

use std::{
    io,
    path::{Path, PathBuf},
};

use serde::{Deserialize, Serialize};

use crate::{
    error::{LoopError, file_error},
    journal_text::{path_from_text, path_to_text},
    loop_runner::TEMPLATE,
    plain_file,
    settings::config_paths,
    source::write_atomically,
};

/// Every place that a configuration is read from, with its text where there was one.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct ConfigFiles(Vec<(String, Option<String>)>);

impl ConfigFiles {
    /// As they stand: `used` is the file that was read, which may be any, and `others` the prompt beside
    /// the tasks and what the configuration refers to, such as the file that says which tasks to work on.
    pub(crate) fn of(
        root: &Path,
        used: Option<&(PathBuf, Vec<u8>)>,
        others: impl IntoIterator<Item = PathBuf>,
    ) -> Self {
        let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
        let mut files = Vec::new();
        if let Some((path, bytes)) = used {
            files.push((path_to_text(path), Some(text(bytes))));
        }
        // Prompts are configuration too: an agent must not write what the next one is told, nor what
        // it costs.
        let prompts = root.join(TEMPLATE);
        let prompts = ["plan.md", "init.md", "interview.md", "execute.md"]
            .map(|name| prompts.with_file_name(name))
            .into_iter()
            .chain([prompts.clone()]);
        let others = others.into_iter().chain(prompts);
        for path in config_paths(root).into_iter().chain(others) {
            if used.is_none_or(|(used, _)| *used != path) {
                let there = plain_file::read(&path).ok();
                files.push((path_to_text(&path), there.as_deref().map(text)));
            }
        }
        Self(files)
    }

    /// All of them, also those that are not there.
    pub(crate) fn all_paths(&self) -> impl Iterator<Item = PathBuf> {
        self.0.iter().map(|(path, _)| path_from_text(path))
    }

    /// Those that are there.
    pub(crate) fn paths(&self) -> impl Iterator<Item = PathBuf> {
        let there = self.0.iter().filter(|(_, text)| text.is_some());
        there.map(|(path, _)| path_from_text(path))
    }

    /// The text of one of them, as it was.
    pub(crate) fn text(&self, path: &Path) -> Option<&str> {
        let wanted = path_to_text(path);
        let found = self.0.iter().find(|(path, _)| *path == wanted)?;
        found.1.as_deref()
    }

    /// Puts back what is not as it was; gives the paths of those. What is taken away goes to `aside`.
    pub(crate) fn put_back(&self, aside: &Path) -> Result<Vec<PathBuf>, LoopError> {
        let mut found = Vec::new();
        for (path, was) in &self.0 {
            let path = path_from_text(path);
            let is_there = path.symlink_metadata().is_ok();
            let same = match was {
                Some(was) => plain_file::read(&path).is_ok_and(|now| now == was.as_bytes()),
                None => !is_there,
            };
            if same {
                continue;
            }
            if is_there {
                keep_aside(&path, aside).map_err(|e| file_error("put back", &path, e))?;
            }
            if let Some(was) = was {
                write_atomically(&path, was.as_bytes())?;
            }
            found.push(path);
        }
        Ok(found)
    }
}

/// Takes a file away. Its text, if it is one, is kept where a person can find it.
fn keep_aside(path: &Path, aside: &Path) -> io::Result<()> {
    if let (Ok(bytes), Some(name)) = (plain_file::read(path), path.file_name()) {
        std::fs::write(aside.join(taken(name)), bytes)?;
    }
    plain_file::remove(path)
}

fn taken(name: &std::ffi::OsStr) -> std::ffi::OsString {
    let mut taken = std::ffi::OsString::from("taken-away-");
    taken.push(name);
    taken
}
