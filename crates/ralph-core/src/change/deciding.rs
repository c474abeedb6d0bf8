//! Works out which files decide what the verify commands do.
//!
//! Derived from the commands: the scripts that they name, the targets and tasks that these run, and for
//! each ecosystem that is there the files that its runners and compilers read to know what to do. A file
//! that is only compiled or tested decides nothing. Reads through a function of the caller, and runs nothing.

mod ecosystem;
mod follow;
mod manifest;
mod pattern;
mod shell;

use std::{
    collections::BTreeSet,
    path::{Path, PathBuf},
};

use crate::task::VerifyCommand;
use ecosystem::{ALL, Ecosystem, UNIVERSAL};
pub(super) use manifest::{deciding_part_changed, has_parts};
pub(super) use pattern::name_matches;

/// Folders of files that tests read and no tool obeys.
const DATA_FOLDERS: [&str; 4] = ["fixtures", "__fixtures__", "testdata", "node_modules"];

/// The files that decide what the verify commands do.
#[derive(Debug, Clone, Default)]
pub struct DecidingFiles {
    /// Scripts and configurations that the commands lead to.
    derived: BTreeSet<PathBuf>,
    /// Files that they would lead to, and that are not there: a new one decides something.
    missing: BTreeSet<PathBuf>,
    /// The ecosystems that are there, and so the names that mean something.
    present: Vec<&'static Ecosystem>,
}

impl DecidingFiles {
    /// Works out the files for these commands. `tracked` are the files of the base; `read` gives the text
    /// of one of them, and is asked for few: scripts, manifests, makefiles.
    pub fn derive(
        commands: &[VerifyCommand],
        tracked: &[PathBuf],
        read: &dyn Fn(&Path) -> Option<Vec<u8>>,
    ) -> Self {
        follow::follow(commands, tracked, read)
    }

    /// Returns the files that decide something by their names alone, where nothing is known of the commands
    /// and the repository.
    pub fn by_name() -> Self {
        Self {
            present: ALL.iter().collect(),
            ..Self::default()
        }
    }

    /// Tells whether a file decides what a verify command does, also one that is new.
    pub fn contains(&self, path: &Path) -> bool {
        let mut above = path.ancestors();
        if self.derived.contains(path) || above.any(|path| self.missing.contains(path)) {
            return true;
        }
        let is_data = path
            .iter()
            .any(|part| DATA_FOLDERS.iter().any(|data| part == *data));
        let named = |names: &[&str]| names.iter().any(|name| name_matches(name, path));
        !is_data && (named(UNIVERSAL) || self.present.iter().any(|one| named(one.files)))
    }
}

#[cfg(test)]
mod tests;
