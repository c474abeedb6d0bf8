//! Where an iteration works: a folder with the code, what an agent may not change in it, and how its
//! work becomes a tree.
//!
//! No part of an iteration may assume that this is the user's own folder.

mod caches;
mod copied;
mod in_place;
mod layers;

pub(crate) use caches::CacheAccess;
pub(crate) use in_place::{BeforeRun, InPlace, PLACEHOLDERS};
pub(crate) use layers::{
    LayerRequest, Layered, Layers, alternates, has_leftover_layers, sweep_layers,
};

use std::{
    path::{Path, PathBuf},
    time::SystemTime,
};

use async_trait::async_trait;
use ralph_core::{
    change::{CompiledPolicy, DecidingFiles},
    iteration::{AgentChange, ChangedFile},
    job::Job,
    signal::Claim,
};

use crate::{
    agent::{self, DoneFile},
    artefacts::Artefacts,
    config_files::ConfigFiles,
    environment::Environment,
    error::LoopError,
    git::{GitError, Oid, Replay, ReplayRequest, Repo, SavedFile, Staged},
    iteration::Findings,
    layer::{Layer, LayerSpace},
    process::{MountPlan, PlaceholderKind},
    progress_file::ProgressFile,
};

/// Refuses to go on where the repository was: one that was moved away must not get a new folder in its old
/// place.
pub(crate) fn check_there(root: &Path) -> Result<(), LoopError> {
    match std::fs::metadata(root) {
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => {
            Err(LoopError::MovedAway(root.to_owned()))
        }
        Ok(_) | Err(_) => Ok(()),
    }
}

/// The paths of the data folder that programs of an agent's may read and not write: all of it, or ralph's own
/// files in it where the repository or another folder of the environment lies in it too.
pub(crate) fn read_only_data(
    data_dir: &Path,
    root: &Path,
    environment: &Environment,
) -> Vec<PathBuf> {
    let mut others = environment.vars.iter();
    let is_shared = root.starts_with(data_dir)
        || others.any(|(name, value)| {
            name != "RALPH_DATA_DIR" && Path::new(value).starts_with(data_dir)
        });
    let own = [
        "ralph.db",
        "ralph.db-wal",
        "ralph.db-shm",
        "worktrees",
        "locks",
        "ralph-loops",
    ];
    let paths = if is_shared {
        own.iter().map(|name| data_dir.join(name)).collect()
    } else {
        vec![data_dir.to_owned()]
    };
    // A mount has no symbolic link in its path. What is not there needs no guard.
    let real = paths.iter().filter_map(|path| path.canonicalize().ok());
    real.collect()
}

/// A path of a repository that ralph and the user's own programs trust.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct TrustedPath {
    pub(crate) path: PathBuf,
    pub(crate) kind: TrustedKind,
}

/// The kind of what may be made at a trusted path where nothing is, and what a program finds there instead.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum TrustedKind {
    /// An empty folder.
    Folder,
    /// A file that can't be opened: ralph itself knows that it is none.
    OwnFile,
    /// A file that says nothing, so that an agent which can't read its settings need not give up.
    Settings,
}

impl TrustedKind {
    pub(crate) fn placeholder(self) -> PlaceholderKind {
        match self {
            Self::Folder => PlaceholderKind::Folder,
            Self::OwnFile | Self::Settings => PlaceholderKind::File,
        }
    }
}

/// The paths of a repository that ralph and the user's own programs trust, there or not: the git folders, the
/// configuration, prompts, settings of agents.
pub(crate) fn trusted_paths(repo: &Repo, config_files: &ConfigFiles) -> Vec<TrustedPath> {
    let root = repo.root();
    let folders = [
        repo.git_dir().to_owned(),
        repo.common_dir().to_owned(),
        // A git folder elsewhere is named by a file.
        root.join(".git"),
        root.join(".ralph/prompts"),
    ];
    let settings = agent::kinds().iter().flat_map(|kind| kind.settings);
    let own = config_files.all_paths().map(|path| root.join(path));
    let settings = settings.map(|path| root.join(path));
    let trusted = |kind| move |path| TrustedPath { path, kind };
    let folders = folders.into_iter().map(trusted(TrustedKind::Folder));
    let mut paths: Vec<TrustedPath> = folders
        .chain(own.map(trusted(TrustedKind::OwnFile)))
        .chain(settings.map(trusted(TrustedKind::Settings)))
        .collect();
    paths.sort();
    paths.dedup();
    paths
}

/// The findings when ralph's own files were put back.
#[derive(Debug)]
pub(crate) struct RestoredFiles {
    pub(crate) findings: Findings,
    /// The agent added to the progress file, and lost nothing of it.
    pub(crate) progress_edited: bool,
}

/// The tree that would be committed, and where the branch stood when it was written.
#[derive(Clone, Copy)]
pub(crate) struct StagedCandidate<'a> {
    pub(crate) tree: &'a Oid,
    pub(crate) tip: Option<&'a Oid>,
    /// The change that made it.
    pub(crate) files: &'a [ChangedFile],
}

/// The findings after formatters or verify commands.
#[derive(Debug, Default)]
pub(crate) struct RestoredAfter {
    /// The changes that they made to what ralph trusts, which are put back.
    pub(crate) flags: Vec<String>,
    /// Tracked files that they wrote, and that are put back.
    pub(crate) rewritten: Vec<PathBuf>,
    /// Files among these and new ones that land with the change, if it does.
    pub(crate) saved: Vec<SavedFile>,
}

/// The tree that an earlier attempt made of the workspace, or why it could not be continued.
pub(crate) type Continued = Result<Option<Oid>, String>;

/// The workspace of a user's folder: a layer over it where there are layers, else the folder itself.
pub(crate) fn of_user<'a>(
    folder: InPlace<'a>,
    layers: Option<&'a mut Layers>,
) -> Box<dyn Workspace + 'a> {
    match layers {
        Some(layers) => Box::new(Layered { folder, layers }),
        None => Box::new(folder),
    }
}

/// A layer in which a tree is verified.
#[derive(Debug)]
pub(crate) struct VerifyLayer {
    pub(crate) layer: Layer,
    began: SystemTime,
    /// True if ralph's own caches lie below it.
    on_caches: bool,
    /// True if an agent's caches are shown in it.
    by_agent: bool,
}

impl VerifyLayer {
    /// Returns the folder that holds what was written below a repository's root.
    pub(crate) fn written(&self, root: &Path) -> &Path {
        let mut folders = self.layer.folders().iter();
        let of_root = folders.find(|folder| folder.target == root);
        of_root.map_or(self.layer.path(), |folder| &folder.upper)
    }
}

/// Without layers of its own, a workspace has no limit of space and no caches, and verifies where it works.
#[async_trait(?Send)]
pub(crate) trait Workspace {
    /// Returns the folder that agents and verify commands work in.
    fn root(&self) -> &Path;

    /// Returns the repository that the work is staged in.
    fn repo(&self) -> &Repo;

    /// Returns what a change may contain.
    fn policy(&self) -> &CompiledPolicy;

    /// Returns the files that decide what verification does.
    fn deciding(&self) -> &DecidingFiles;

    fn progress(&self) -> &ProgressFile;

    /// Returns the files of the project that is executed.
    fn artefacts(&self) -> Option<&Artefacts>;

    /// Returns the paths that are ralph's, relative to the root: never an agent's work.
    fn own_paths(&self) -> &[PathBuf];

    /// Makes the tree what the job starts from: its base, with the work of an attempt that is continued.
    async fn start(&mut self, job: &Job) -> Result<Continued, LoopError>;

    /// Notes how everything is that is not the agent's to change, before a run of it.
    fn before_run(&mut self, job: &Job) -> Result<DoneFile, LoopError>;

    /// Plans what the next program of the agent's, or a formatter, sees of the file system; `None` where that
    /// is what ralph sees. Each program needs a plan of its own.
    fn mounts(&self) -> Result<Option<MountPlan>, LoopError>;

    /// Returns where the next program writes, where that is limited.
    fn space(&self) -> Option<Box<dyn LayerSpace>> {
        None
    }

    /// Takes over the files that an agent may write for ralph, once a run is over.
    fn after_run(&mut self, _job: &Job) -> Result<(), LoopError> {
        Ok(())
    }

    /// Returns the claim that files of an executed project make.
    fn claim_in_files(&self, job: &Job, done_file: &DoneFile) -> Option<Claim>;

    /// Puts back what an agent changed of the task files, the configuration and the progress file.
    fn restore_own_files(&mut self, job: &Job, progress: &str) -> Result<RestoredFiles, LoopError>;

    /// Puts the branch back where an agent rewrote history or left it, and what else it changed in the git folder.
    async fn restore_history(&mut self, job: &Job) -> Result<Findings, LoopError>;

    /// Puts back what an agent changed in the git folder but for its history; returns what that was.
    fn restore_git_folder(&mut self) -> Result<Vec<String>, LoopError>;

    /// Writes the tree that would be committed.
    async fn stage(&mut self, job: &Job) -> Result<Staged, LoopError>;

    /// Returns where a changed file is to be read.
    fn changed_file(&self, path: &Path) -> PathBuf;

    /// Returns a number that differs when the agent has changed something.
    async fn fingerprint(&self) -> Option<u64>;

    /// Brings a change to where a person moved the branch. In the user's own folder a person's commit can't be
    /// told from the agent's.
    async fn replay(&self, _request: &ReplayRequest<'_>) -> Result<Replay, GitError> {
        Ok(Replay::Unmoved)
    }

    /// Says what of the agent's own, besides its change, the change would be verified with.
    fn cache_flags(&self, _job: &Job, _files: &[ChangedFile]) -> Result<Vec<String>, LoopError> {
        Ok(Vec::new())
    }

    /// Makes a layer in which a tree is verified; `None` where it is verified where it was made.
    async fn verify_layer(
        &self,
        _job: &Job,
        _change: &AgentChange,
    ) -> Result<Option<VerifyLayer>, LoopError> {
        Ok(None)
    }

    /// Takes over what verify commands wrote in such a layer that lands with a change that passed, and returns
    /// it. The rest of what they wrote is kept until the change has landed, or is dropped.
    async fn settle_verified(
        &mut self,
        _job: &Job,
        _change: &AgentChange,
        _verified: VerifyLayer,
    ) -> Result<Vec<PathBuf>, LoopError> {
        Ok(Vec::new())
    }

    /// Writes what verify commands wrote in the place of the candidate, and lands with it; returns the paths.
    fn take_saved(&mut self, _saved: Vec<SavedFile>) -> Result<Vec<PathBuf>, LoopError> {
        Ok(Vec::new())
    }

    /// Plans what a verify command sees in such a layer.
    fn mounts_of(&self, layer: &Layer) -> Result<MountPlan, LoopError> {
        Ok(layer.mount_plan()?)
    }

    /// Puts back what formatters or verify commands changed that is not theirs to change. A candidate is there
    /// once the tree was written: then its files are put back too.
    async fn restore_after_commands(
        &mut self,
        job: &Job,
        progress: &str,
        candidate: Option<StagedCandidate<'_>>,
    ) -> Result<RestoredAfter, LoopError>;

    /// Returns the files of a person's, which git does not track, that an agent changed.
    fn edited_untracked(&self, job: &Job) -> Result<Vec<PathBuf>, LoopError>;

    /// Puts the base back, and holds the workspace ready for an agent that goes on with an attempt.
    async fn hold_for_next(&mut self, job: &Job, attempt: &str) -> Result<(), LoopError>;

    /// Puts the base back, without the work of the attempt.
    async fn reset(&mut self, job: &Job) -> Result<(), LoopError>;
}
