//! The files of the project as they stood before a run, kept where no agent writes.
//!
//! Not synced: it has to survive the end of ralph, not of the machine.

use std::path::Path;

use ralph_core::{artefacts::ProjectName, id::IterationId};
use serde::{Deserialize, Serialize};

use crate::error::{LoopError, file_error};

const FILE: &str = "artefacts.json";

#[derive(Debug, Clone, Default, Serialize, Deserialize)]
pub(super) struct Snapshot {
    pub(super) project: String,
    /// The iteration whose agent was started after it.
    pub(super) iteration_id: IterationId,
    /// Its number in `state.json`.
    pub(super) number: u64,
    pub(super) state: String,
    pub(super) obstacles: String,
    /// The brief, where it is a text.
    pub(super) spec: Option<String>,
    /// The words of the next prompt about files that could not be read.
    pub(super) set_aside: Vec<String>,
    /// Ids of the obstacles that were there before the iteration.
    #[serde(default)]
    pub(super) known: Vec<String>,
}

impl Snapshot {
    /// The last one, if it is of this project.
    pub(super) fn load(folder: &Path, project: &ProjectName) -> Option<Self> {
        let bytes = std::fs::read(folder.join(FILE)).ok()?;
        let found: Self = serde_json::from_slice(&bytes).ok()?;
        (found.project == project.as_str()).then_some(found)
    }

    pub(super) fn save(&self, folder: &Path) -> Result<(), LoopError> {
        let path = folder.join(FILE);
        let new = path.with_extension("new");
        let text = serde_json::to_string(self).unwrap_or_default();
        std::fs::write(&new, text)
            .and_then(|()| std::fs::rename(&new, &path))
            .map_err(|error| file_error("write", &path, error))
    }
}
