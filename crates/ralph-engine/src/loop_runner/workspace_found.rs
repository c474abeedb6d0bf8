//! Says where agents work here: in layers, or in the user's own folder and why.

use std::path::{Path, PathBuf};

use ralph_core::config::WorkspaceMode;

use super::LoopError;
use crate::{
    git::Repo,
    layer::InPlaceReason,
    process::Containment,
    workspace::{CacheAccess, LayerRequest, Layers},
};

/// The place that agents work in.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum WorkspaceFound {
    Layers {
        folder: PathBuf,
        notes: Vec<String>,
    },
    InPlace {
        reason: InPlaceReason,
    },
    /// In the user's own folder, as the configuration says.
    Asked,
}

impl WorkspaceFound {
    pub(crate) fn of(layers: &Layers) -> Self {
        Self::Layers {
            folder: layers.folder().to_owned(),
            notes: layers.notes().to_vec(),
        }
    }

    /// Returns where agents work, behind `workspace: `.
    pub fn sentence(&self) -> String {
        match self {
            Self::Layers { folder, .. } => format!("layers in {}", folder.display()),
            Self::InPlace { reason } => {
                let hint = reason.hint().map(|hint| format!("; {hint}"));
                format!("in place: {reason}{}", hint.unwrap_or_default())
            }
            Self::Asked => "in place: `workspace.mode` says so".to_owned(),
        }
    }

    /// Returns what a person should know of it at the start.
    pub fn notes(&self) -> Vec<String> {
        match self {
            Self::Layers { notes, .. } => notes.clone(),
            Self::InPlace { reason } => {
                let hint = reason.hint().map(|hint| format!(" ({hint})"));
                let hint = hint.unwrap_or_default();
                vec![format!("agents work in your own folder: {reason}{hint}")]
            }
            Self::Asked => Vec::new(),
        }
    }
}

/// A look at what a run would find, without beginning one.
#[derive(Debug, Clone, Copy)]
pub struct WorkspaceLook<'a> {
    pub data_dir: &'a Path,
    pub temp_dir: &'a Path,
    pub containment: Containment,
    pub mode: WorkspaceMode,
}

impl WorkspaceLook<'_> {
    /// Tries a layer over a repository, and leaves nothing behind.
    pub async fn look(&self, repo: &Repo) -> Result<WorkspaceFound, LoopError> {
        if self.mode == WorkspaceMode::InPlace {
            return Ok(WorkspaceFound::Asked);
        }
        let absent: Vec<&Path> = self
            .data_dir
            .ancestors()
            .take_while(|folder| !folder.exists())
            .collect();
        let found = Layers::find(&LayerRequest {
            caches: CacheAccess::Read,
            repo,
            data_dir: self.data_dir,
            temp_dir: self.temp_dir,
            read_only: Vec::new(),
            containment: self.containment,
            max_bytes: None,
            unfinished: None,
        })
        .await?;
        let found = match found {
            Ok(layers) => {
                // Only where it is empty.
                let _ = std::fs::remove_dir(layers.folder());
                WorkspaceFound::of(&layers)
            }
            Err(reason) => WorkspaceFound::InPlace { reason },
        };
        for folder in absent {
            let _ = std::fs::remove_dir(folder);
        }
        Ok(found)
    }
}
