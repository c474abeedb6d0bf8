//! The entry of an iteration in `state.json`, and which files of the project go into its commit.

use std::path::PathBuf;

use ralph_core::{
    artefacts::{
        obstacles::Obstacles,
        state::{EntryStatus, LogEntry},
    },
    job::{IterationLog, Job},
    memory::first_words,
};

use super::{Artefacts, read};
use crate::{error::LoopError, git::Repo, source::write_atomically};

impl Artefacts {
    /// Writes down what the iteration came to, once: the entry is looked up by its number.
    pub(crate) fn write_entry(
        &self,
        job: &Job,
        log: &IterationLog,
        status: EntryStatus,
        verdict: &str,
    ) -> Result<(), LoopError> {
        let number = self.number(job);
        let mut entries = self.read_state()?;
        let was = entries.clone();
        let obstacles = read(&self.folder.obstacles(), Obstacles::parse)?;
        entries.put(&LogEntry {
            iteration: number,
            task_id: job.task.id.to_string(),
            status,
            summary: summary(log, status, verdict),
            files_modified: files(log),
            obstacles: obstacles.map_or_else(Vec::new, |all| all.met_in(number)),
        });
        if entries != was {
            write_atomically(&self.folder.state(), entries.render().as_bytes())?;
        }
        Ok(())
    }

    /// Returns the files of the project that belong into a commit with its task file: those that git
    /// tracks, and new ones that it does not ignore.
    pub(crate) async fn committed(&self, repo: &Repo) -> Result<Vec<PathBuf>, LoopError> {
        let mut found = Vec::new();
        for path in [self.folder.state(), self.folder.obstacles()] {
            let Some(name) = path.file_name().filter(|_| path.is_file()) else {
                continue;
            };
            let path = self.relative.join(name);
            if repo.is_tracked(&path).await? || !repo.is_ignored(&path).await? {
                found.push(path);
            }
        }
        Ok(found)
    }
}

/// In the agent's own words where it found some, with what ralph made of it where that is not all.
fn summary(log: &IterationLog, status: EntryStatus, verdict: &str) -> String {
    let said = &log.said;
    let words = said.block.summary.clone();
    let words = words.unwrap_or_else(|| first_words(&said.final_message));
    let words = words.trim();
    match (status, words.is_empty()) {
        (EntryStatus::Completed, false) => words.to_owned(),
        (EntryStatus::Attempted, false) => format!("{words} ({verdict})"),
        (EntryStatus::Completed | EntryStatus::Attempted, true) => verdict.to_owned(),
    }
}

fn files(log: &IterationLog) -> Vec<String> {
    let change = log.change.as_ref();
    let files = change
        .map(|change| change.files.as_slice())
        .unwrap_or_default();
    files.iter().map(|file| file.path.clone()).collect()
}
