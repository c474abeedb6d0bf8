//! The progress file of a loop: read, added to, and put back where an agent lost something of it.
//!
//! Not durable, on purpose: it can be rebuilt.

use std::{
    io::Write as _,
    path::{Path, PathBuf},
};

use jiff::Timestamp;
use ralph_core::{
    change::shown,
    config::Config,
    memory::{self, AgentNote, MemoryCaps, ProgressEntry, ProgressFeature},
    secret::{Redaction, hidden_flag},
};

use crate::{
    error::{LoopError, file_error},
    failpoint::fault,
    iteration::LOGS,
    plain_file,
};

#[derive(Debug, Clone)]
pub(crate) struct ProgressFile {
    root: PathBuf,
    path: PathBuf,
    archive: PathBuf,
    caps: MemoryCaps,
    /// The subject of the file.
    feature: ProgressFeature,
    /// When a new one says that it was begun.
    began: Timestamp,
}

impl ProgressFile {
    pub(crate) fn new(
        root: &Path,
        config: &Config,
        feature: ProgressFeature,
        began: Timestamp,
    ) -> Self {
        let memory = &config.memory;
        let bytes = |n: std::num::NonZeroU64| usize::try_from(n.get()).unwrap_or(usize::MAX);
        Self {
            root: root.to_owned(),
            path: root.join(&memory.progress_file),
            archive: root.join(&memory.archive_dir),
            caps: MemoryCaps {
                file_bytes: bytes(memory.max_bytes),
                patterns_bytes: bytes(config.prompt.patterns_bytes),
            },
            feature,
            began,
        }
    }

    pub(crate) fn path(&self) -> &Path {
        &self.path
    }

    /// Returns the text as it is; that of a new one where there is none, or where it is about another
    /// feature.
    pub(crate) fn read(&self) -> Result<String, LoopError> {
        let text = self.on_disk()?;
        if text.trim().is_empty() || !memory::belongs_to(&text, &self.feature) {
            return Ok(memory::render_new(&self.feature, self.began));
        }
        Ok(text)
    }

    fn on_disk(&self) -> Result<String, LoopError> {
        match plain_file::read(&self.path) {
            Ok(bytes) => Ok(String::from_utf8_lossy(&bytes).into_owned()),
            // What is no file is moved out of the way when it is written.
            Err(e) if is_no_file(&e) => Ok(String::new()),
            Err(source) => Err(file_error("read", &self.path, source)),
        }
    }

    /// Moves the progress file of another feature to the archive, before a loop writes its own.
    pub(crate) fn archive(&self, now: Timestamp) -> Result<(), LoopError> {
        let text = self.on_disk()?;
        if text.trim().is_empty() || memory::belongs_to(&text, &self.feature) {
            return Ok(());
        }
        let name = format!("progress-{}.md", now.strftime("%Y%m%d-%H%M%S"));
        std::fs::create_dir_all(&self.archive)
            .and_then(|()| std::fs::rename(&self.path, self.archive.join(name)))
            .map_err(|source| file_error("archive", &self.path, source))
    }

    /// After a run: keeps the agent's edit if it lost nothing, and puts the text back otherwise. Returns
    /// true if an edit was kept that is more than patterns and notes.
    pub(crate) fn keep_edit(&self, before: &str) -> Result<bool, LoopError> {
        let Ok(bytes) = plain_file::read(&self.path) else {
            return self.write(before).map(|()| false);
        };
        let after = String::from_utf8_lossy(&bytes);
        if after == before {
            return Ok(false);
        }
        if memory::accept_edit(before, &after).is_some() {
            return Ok(memory::has_own_words(before, &after));
        }
        self.write(before).map(|()| false)
    }

    /// Hides secrets that an agent wrote into the file; returns what to say of it.
    pub(crate) fn hide_added(
        &self,
        before: &str,
        redaction: &Redaction,
    ) -> Result<Option<String>, LoopError> {
        let Ok(now) = plain_file::read(&self.path) else {
            return Ok(None);
        };
        let Some((hidden, rules)) = redaction.hide_added(before.as_bytes(), &now) else {
            return Ok(None);
        };
        self.write(&String::from_utf8_lossy(&hidden))?;
        let name = self.path.strip_prefix(&self.root).unwrap_or(&self.path);
        Ok(Some(hidden_flag(&shown(name), &rules)))
    }

    pub(crate) fn append(&self, entry: &ProgressEntry) -> Result<(), LoopError> {
        self.write(&memory::record(&self.read()?, entry, self.caps))
    }

    /// Adds an entry to the file that is there, unless it has it. It may be about another feature, and archived next.
    pub(crate) fn append_missing(&self, entry: &ProgressEntry) -> Result<(), LoopError> {
        let mut text = self.on_disk()?;
        if text.trim().is_empty() {
            text = memory::render_new(&self.feature, self.began);
        }
        if memory::has_entry(&text, entry) {
            return Ok(());
        }
        self.write(&memory::record(&text, entry, self.caps))
    }

    pub(crate) fn write(&self, text: &str) -> Result<(), LoopError> {
        let path = &self.path;
        let now = plain_file::read(path).ok();
        let added = now.and_then(|now| text.as_bytes().strip_prefix(now.as_slice()));
        if added.is_some_and(<[u8]>::is_empty) {
            return Ok(());
        }
        let write = || {
            fault("progress")?;
            // A text that is only longer is appended to, as at the end of nearly all iterations.
            if let Some(added) = added
                && std::fs::symlink_metadata(path).is_ok_and(|found| found.is_file())
            {
                let mut file = std::fs::File::options().append(true).open(path)?;
                return file.write_all(added);
            }
            if let Some(folder) = path.parent() {
                std::fs::create_dir_all(folder)?;
            }
            // Where what a kill leaves is neither seen nor committed.
            let logs = self.root.join(LOGS);
            std::fs::create_dir_all(&logs)?;
            let temporary = logs.join("progress.new");
            plain_file::make_room(path)?;
            plain_file::make_room(&temporary)?;
            std::fs::write(&temporary, text)?;
            match std::fs::rename(&temporary, path) {
                // The logs are on a disk of their own.
                Err(error) if error.kind() == std::io::ErrorKind::CrossesDevices => {
                    std::fs::remove_file(&temporary)?;
                    plain_file::replace(path, text.as_bytes())
                }
                other => other,
            }
        };
        write().map_err(|source| file_error("write", path, source))
    }
}

/// Adds an agent's note to the progress file in `root`, where the agent works; returns the file. What an agent may not
/// change of it is checked after the run, as for all that agents write there.
pub fn add_agent_note(
    root: &Path,
    config: &Config,
    note: &AgentNote,
) -> Result<PathBuf, LoopError> {
    let feature = ProgressFeature {
        name: String::new(),
        parent: None,
    };
    let file = ProgressFile::new(root, config, feature, Timestamp::UNIX_EPOCH);
    let text = file.on_disk()?;
    file.write(&memory::add_note(&text, note, file.caps))?;
    Ok(file.path)
}

fn is_no_file(error: &std::io::Error) -> bool {
    use std::io::ErrorKind;
    matches!(error.kind(), ErrorKind::NotFound | ErrorKind::InvalidInput)
}
