//! Verifies a commit, or the working tree as it is, outside of an iteration: in the same kind of layer, or in a fresh
//! clone.
//!
//! Changes nothing of the user's, and needs no loop: the repository is only read, also while a loop works in it.
//! What the commands write is thrown away. Judges nothing: it says how each command ended.

use std::{
    collections::HashSet,
    path::{Path, PathBuf},
};

use jiff::Timestamp;
use ralph_core::{
    change::shown,
    config::{Config, Gigabytes, WorkspaceMode, needs_prepare},
    event::Event,
    task::VerifyCommand,
    verify::VerifyReport,
};

use crate::{
    agent::StopRequest,
    clock::Clock,
    environment::Environment,
    error::{LoopError, file_error},
    git::{GitEnvironment, Oid, Repo, StageSpec, Staged},
    iteration::{CommandRun, IterationFiles, VerifyPorts, run_verify_commands},
    layer::OwnedFolder,
    process::{BindAccess, Containment, MountPlan},
    report::Reporter,
    settings::read_project_files,
    workspace::{CacheAccess, LayerRequest, Layers, VerifyLayer, read_only_data},
};

/// The thing that is verified.
#[derive(Debug, Clone, Copy)]
pub enum CheckSubject<'a> {
    /// A commit by its name.
    Commit(&'a str),
    /// All files as they are now, but for those that git ignores and these, which are ralph's own.
    WorkingTree { own_paths: &'a [PathBuf] },
}

/// A commit or a working tree that is to be verified.
pub struct CommitCheck<'a> {
    pub root: &'a Path,
    pub data_dir: &'a Path,
    pub config: &'a Config,
    pub environment: &'a Environment,
    pub git_environment: &'a GitEnvironment,
    pub containment: Containment,
    pub subject: CheckSubject<'a>,
    /// True if a fresh clone is asked for.
    pub clean: bool,
    pub stop: StopRequest,
    pub clock: &'a dyn Clock,
    pub reporter: &'a mut dyn Reporter,
}

/// The result of verifying a commit.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CheckedCommit {
    /// None for a working tree.
    pub commit: Option<Oid>,
    /// Files of a working tree that can't be part of a commit: too large, or no plain files.
    pub left_out: Vec<PathBuf>,
    pub place: CheckPlace,
    pub report: VerifyReport,
}

/// The place in which a commit was verified.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum CheckPlace {
    Layer,
    Clone {
        /// Why there was no layer, where one was asked for.
        instead: Option<String>,
    },
}

/// Verifies a commit by hand.
pub async fn check_commit(check: CommitCheck<'_>) -> Result<CheckedCommit, LoopError> {
    let commands = commands_of(check.config, &[]);
    if check.config.verification.commands.is_empty() {
        return Err(LoopError::NoVerifyCommands);
    }
    let scratch = tempfile::tempdir().map_err(|e| file_error("make", &std::env::temp_dir(), e))?;
    // A git folder of its own: that of a loop is in use.
    let state_dir = scratch.path().join("git");
    let repo = Repo::open(check.root, &state_dir, check.git_environment).await?;
    let (commit, tree, left_out) = match check.subject {
        CheckSubject::Commit(name) => {
            let found = repo.find_commit(name).await?;
            let unknown = || LoopError::UnknownCommit { name: name.into() };
            let commit = found.ok_or_else(unknown)?;
            (Some(commit.clone()), commit, Vec::new())
        }
        CheckSubject::WorkingTree { own_paths } => {
            let staged = stage_working_tree(&repo, check.config, own_paths).await?;
            (None, staged.tree, staged.left_out)
        }
    };
    let mut files = IterationFiles::commit_check(scratch.path(), check.config.logs.max_mb.get())?;
    let ports = VerifyPorts {
        environment: check.environment,
        containment: check.containment,
        clock: check.clock,
        reporter: check.reporter,
        stop: check.stop,
        heartbeat: None,
    };
    let read_only = read_only_data(check.data_dir, repo.root(), check.environment);
    let in_layer = match (check.clean, check.config.workspace.mode) {
        (true, _) => Err(None),
        (false, WorkspaceMode::InPlace) => Err(Some("`workspace.mode` is in_place".to_owned())),
        (false, WorkspaceMode::Auto | WorkspaceMode::Overlay) => {
            let temp_dir = check.environment.temp_dir();
            let request = LayerRequest {
                repo: &repo,
                data_dir: check.data_dir,
                temp_dir: &temp_dir,
                read_only: read_only.clone(),
                containment: check.containment,
                max_bytes: check.config.workspace.max_gb.map(Gigabytes::bytes),
                unfinished: None,
                caches: CacheAccess::Read,
            };
            // Nothing is swept: an interrupted iteration may wait for its layer.
            let found = Layers::find(&request).await?;
            found.map_err(|reason| Some(reason.to_string()))
        }
    };
    let (place, report) = match in_layer {
        Ok(mut layers) => {
            layers.follow_user_caches();
            let base = repo.status().await?.head;
            let VerifyLayer { layer, .. } = layers.of_tree(&repo, &base, &tree, &[]).await?;
            let run = CommandRun {
                commands: &commands,
                config: check.config,
                root: repo.root(),
                mounts: &|| layers.mounts(&layer).map(Some),
                written: None,
                baseline: None,
                landed: &[],
            };
            let report = run_verify_commands(run, ports, &mut files).await;
            (CheckPlace::Layer, report)
        }
        Err(instead) => {
            let of_tree = match &commit {
                Some(commit) => commit.clone(),
                // A clone is of a commit; nothing refers to this one.
                None => {
                    let head = repo.status().await?.head;
                    repo.make_commit(&tree, &head, "working tree\n").await?
                }
            };
            let clone = CleanClone::make(&repo, &of_tree, check.data_dir, read_only).await?;
            let report = clone
                .run(&commands, check.config, ports, &mut files)
                .await?;
            (CheckPlace::Clone { instead }, report)
        }
    };
    Ok(CheckedCommit {
        commit,
        left_out,
        place,
        report,
    })
}

/// Stores the working tree, without a commit.
async fn stage_working_tree(
    repo: &Repo,
    config: &Config,
    own_paths: &[PathBuf],
) -> Result<Staged, LoopError> {
    let (head, branch) = repo.head_and_branch()?;
    let spec = StageSpec {
        base: &head,
        branch: branch.as_deref().unwrap_or("HEAD"),
        untracked_before: &HashSet::new(),
        own_paths,
        max_file_bytes: u64::from(config.safety.max_file_mb.get()) * 1_000_000,
    };
    Ok(repo.stage(&spec).await?)
}

/// The configured commands and these, behind those that make a checkout ready.
pub(crate) fn commands_of(config: &Config, more: &[VerifyCommand]) -> Vec<VerifyCommand> {
    let verification = &config.verification;
    let mut commands = verification.prepare.clone();
    commands.extend(verification.commands.iter().cloned());
    let is_new = |command: &&VerifyCommand| !verification.commands.contains(command);
    commands.extend(more.iter().filter(is_new).cloned());
    commands
}

/// A fresh clone of a commit, in a folder that goes with it.
pub(crate) struct CleanClone {
    folder: OwnedFolder,
    /// Paths that the commands may read and not write: the data folder, and the repository.
    read_only: Vec<PathBuf>,
    /// Submodules that are not stored here, and so are empty in it.
    missing: Vec<PathBuf>,
}

impl CleanClone {
    pub(crate) async fn make(
        repo: &Repo,
        commit: &Oid,
        data_dir: &Path,
        mut read_only: Vec<PathBuf>,
    ) -> Result<Self, LoopError> {
        let place = data_dir.join("clones");
        let folder = OwnedFolder::clone_in(&place).map_err(|e| file_error("make", &place, e))?;
        let real = |path: &Path| path.canonicalize().ok();
        let of_repo = [repo.root(), repo.git_dir(), repo.common_dir()];
        read_only.extend(of_repo.into_iter().filter_map(real));
        let mut clone = Self {
            folder,
            read_only,
            missing: Vec::new(),
        };
        let root = clone.root()?;
        std::fs::create_dir(&root).map_err(|e| file_error("make", &root, e))?;
        clone.missing = repo.clone_commit(commit, &root).await?;
        Ok(clone)
    }

    /// The top of the clone, without symbolic links.
    fn root(&self) -> Result<PathBuf, LoopError> {
        let path = &self.folder.path;
        let real = path.canonicalize();
        let real = real.map_err(|e| file_error("find", path, e))?;
        Ok(real.join("clone"))
    }

    /// Says what it lacks for verify commands to mean anything, where that is known.
    pub(crate) fn lacks(&self, prepare_commands: usize) -> Result<Option<String>, LoopError> {
        let root = self.root()?;
        let files = read_project_files(&root).map_err(|e| file_error("read", &root, e))?;
        Ok(if prepare_commands == 0 && needs_prepare(&files) {
            Some("set verification.prepare".into())
        } else if let Some(path) = self.missing.first() {
            let path = shown(path);
            let what = "is not stored in this repository as the commit records it";
            Some(format!("its submodule {path} {what}"))
        } else {
            None
        })
    }

    /// Runs commands in it.
    pub(crate) async fn run(
        &self,
        commands: &[VerifyCommand],
        config: &Config,
        ports: VerifyPorts<'_>,
        files: &mut IterationFiles,
    ) -> Result<VerifyReport, LoopError> {
        let root = self.root()?;
        let has_mounts = ports.containment.has_mount_namespace();
        let mounts = || {
            let mut plan = MountPlan::default();
            for path in &self.read_only {
                plan = plan.bind(path, path, BindAccess::ReadOnly);
            }
            let plan = plan.bind(&root, &root, BindAccess::ReadWrite);
            Ok(has_mounts.then_some(plan))
        };
        let run = CommandRun {
            commands,
            config,
            root: &root,
            mounts: &mounts,
            written: None,
            baseline: None,
            landed: &[],
        };
        Ok(run_verify_commands(run, ports, files).await)
    }
}

/// Tells no one.
pub struct SilentReporter;

impl Reporter for SilentReporter {
    fn report(&mut self, _event: &Event, _at: Timestamp) {}
}
