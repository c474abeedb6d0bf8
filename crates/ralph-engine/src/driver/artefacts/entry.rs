//! The entry of an iteration in `state.json`, and which files of the project go into its commit.

use std::path::PathBuf;

use ralph_core::artefacts::{
    obstacles::Obstacles,
    state::{Entry, EntryStatus},
};

use super::{Artefacts, read};
use crate::{
    driver::{
        Driver, LoopError,
        notes::{AgentSeen, Turn},
        record::first_words,
    },
    source::write_atomically,
};

impl Driver {
    /// Writes down what the iteration came to, once: the entry is looked up by its number.
    pub(in crate::driver) fn write_entry(
        &self,
        turn: &Turn,
        status: EntryStatus,
        verdict: &str,
    ) -> Result<(), LoopError> {
        match (&self.artefacts, turn.agent) {
            (Some(artefacts), AgentSeen::Started) => artefacts.write_entry(turn, status, verdict),
            (Some(_), AgentSeen::NotYet) | (None, _) => Ok(()),
        }
    }

    /// Files of the project that belong into a commit with its task file: those that git tracks, and
    /// new ones that it does not ignore.
    pub(in crate::driver) async fn committed_artefacts(&self) -> Result<Vec<PathBuf>, LoopError> {
        let Some(artefacts) = &self.artefacts else {
            return Ok(Vec::new());
        };
        let mut found = Vec::new();
        for path in [artefacts.folder.state(), artefacts.folder.obstacles()] {
            let Some(name) = path.file_name().filter(|_| path.is_file()) else {
                continue;
            };
            let path = artefacts.relative.join(name);
            if self.repo.is_tracked(&path).await? || !self.repo.is_ignored(&path).await? {
                found.push(path);
            }
        }
        Ok(found)
    }
}

impl Artefacts {
    fn write_entry(
        &self,
        turn: &Turn,
        status: EntryStatus,
        verdict: &str,
    ) -> Result<(), LoopError> {
        let number = self.number(turn);
        let mut log = self.read_state()?;
        let was = log.clone();
        let obstacles = read(&self.folder.obstacles(), Obstacles::parse)?;
        log.put(&Entry {
            iteration: number,
            task_id: turn.task_id().to_string(),
            status,
            summary: summary(turn, status, verdict),
            files_modified: files(turn),
            obstacles: obstacles.map_or_else(Vec::new, |all| all.met_in(number)),
        });
        if log != was {
            write_atomically(&self.folder.state(), log.render().as_bytes())?;
        }
        Ok(())
    }
}

/// In the agent's own words where it found some, with what ralph made of it where that is not all.
fn summary(turn: &Turn, status: EntryStatus, verdict: &str) -> String {
    let said = &turn.notes.said;
    let words = said.block.summary.clone();
    let words = words.unwrap_or_else(|| first_words(&said.final_message));
    let words = words.trim();
    match (status, words.is_empty()) {
        (EntryStatus::Completed, false) => words.to_owned(),
        (EntryStatus::Attempted, false) => format!("{words} ({verdict})"),
        (EntryStatus::Completed | EntryStatus::Attempted, true) => verdict.to_owned(),
    }
}

fn files(turn: &Turn) -> Vec<String> {
    let change = turn.notes.change.as_ref();
    let files = change
        .map(|change| change.files.as_slice())
        .unwrap_or_default();
    files.iter().map(|file| file.path.clone()).collect()
}
