//! The user's own folder as the workspace: agents work on the checked-out branch, and what is not theirs
//! to change is put back after them.

use std::path::{Path, PathBuf};

use ralph_core::{
    change::{CompiledPolicy, DecidingFiles, shown},
    iteration::{AgentChange, ChangedFile},
    job::Job,
    signal::Claim,
};

use super::{Continued, RestoredFiles, VerifyLayer, Workspace};
use crate::{
    agent::DoneFile,
    artefacts::Artefacts,
    config_files::ConfigFiles,
    dot_ralph,
    error::{LoopError, file_error},
    failpoint::failpoint,
    git::{GitError, Guard, History, Replay, ReplayRequest, Repo, ResetSpec, StageSpec, Staged},
    iteration::Findings,
    journal_text::{oid, paths_from_text},
    layer::Layer,
    process::{BindAccess, Containment, MountPlan},
    progress_file::ProgressFile,
    source::{Snapshots, Source},
    supervisor::LocalFuture,
};

/// The user's folder, lent by the loop for the time of an iteration.
pub(crate) struct InPlace<'a> {
    pub(crate) root: &'a Path,
    /// ralph's own folder outside of the repository.
    pub(crate) state_dir: &'a Path,
    pub(crate) repo: &'a Repo,
    pub(crate) guard: Option<&'a Guard>,
    pub(crate) policy: &'a CompiledPolicy,
    pub(crate) deciding: &'a DecidingFiles,
    pub(crate) source: &'a mut Source,
    pub(crate) snapshots: &'a mut Snapshots,
    pub(crate) artefacts: Option<&'a mut Artefacts>,
    pub(crate) config_files: &'a ConfigFiles,
    pub(crate) progress: &'a ProgressFile,
    /// Paths that are ralph's, relative to the root: never staged as an agent's work.
    pub(crate) own_paths: Vec<PathBuf>,
    /// Parts of the data folder that no program may write.
    pub(crate) read_only: Vec<PathBuf>,
    pub(crate) containment: Containment,
}

impl Workspace for InPlace<'_> {
    fn root(&self) -> &Path {
        self.root
    }

    fn repo(&self) -> &Repo {
        self.repo
    }

    fn policy(&self) -> &CompiledPolicy {
        self.policy
    }

    fn deciding(&self) -> &DecidingFiles {
        self.deciding
    }

    fn progress(&self) -> &ProgressFile {
        self.progress
    }

    fn artefacts(&self) -> Option<&Artefacts> {
        self.artefacts.as_deref()
    }

    fn own_paths(&self) -> &[PathBuf] {
        &self.own_paths
    }

    fn start<'a>(&'a mut self, job: &'a Job) -> LocalFuture<'a, Result<Continued, LoopError>> {
        Box::pin(async {
            let Some(attempt) = &job.start.attempt_ref else {
                return Ok(Ok(None));
            };
            let base = oid(&job.start.base_commit)?;
            let continued = self.repo.start_from_attempt(attempt, &base).await;
            failpoint("attempt-taken-up");
            Ok(match continued {
                Ok(tree) => Ok(Some(tree)),
                Err(error) => Err(format!(
                    "the last attempt at {} does not fit the branch any more: {error}",
                    job.task.id
                )),
            })
        })
    }

    fn before_run(&mut self, job: &Job) -> Result<DoneFile, LoopError> {
        self.snapshots
            .take(self.source, self.state_dir, job.iteration.as_str())?;
        let path = match &mut self.artefacts {
            Some(artefacts) => {
                artefacts.before_run(job)?;
                Some(artefacts.done_file())
            }
            None => None,
        };
        Ok(DoneFile::new(path))
    }

    fn mounts(&self) -> Result<Option<MountPlan>, LoopError> {
        if !self.containment.has_mount_namespace() {
            return Ok(None);
        }
        let mut plan = MountPlan::default();
        for path in &self.read_only {
            plan = plan.bind(path, path, BindAccess::ReadOnly);
        }
        Ok(Some(plan))
    }

    fn after_run(&mut self, _job: &Job) -> Result<(), LoopError> {
        Ok(())
    }

    fn claim_in_files(&self, job: &Job, done_file: &DoneFile) -> Option<Claim> {
        let artefacts = self.artefacts.as_ref()?;
        artefacts.claim(job, self.source, done_file)
    }

    fn restore_own_files(&mut self, job: &Job, progress: &str) -> Result<RestoredFiles, LoopError> {
        let mut restored = self.restore_shared_files(job, progress, WrittenFiles::ANY)?;
        for path in self.config_files.put_back(self.state_dir)? {
            let name = path.strip_prefix(self.root).unwrap_or(&path).display();
            restored.findings.halt(format!(
                "{name} was edited while the agent ran; it is put back"
            ));
        }
        Ok(restored)
    }

    fn restore_history<'a>(
        &'a mut self,
        job: &'a Job,
    ) -> LocalFuture<'a, Result<Findings, LoopError>> {
        Box::pin(async {
            let mut found = Findings::default();
            let (base, branch) = (oid(&job.start.base_commit)?, &job.start.branch);
            match &self.repo.history(&base, branch).await? {
                History::Unmoved => {}
                History::Ahead { .. } => found
                    .flags
                    .push("the agent committed by itself; its commits are squashed".into()),
                History::Rewritten { .. } | History::LeftBranch { .. } => {
                    let undone = self.repo.undo_moved_history(branch, &base, &job.iteration);
                    let kept = undone.await?;
                    let place = kept
                        .branch
                        .or(kept.head)
                        .map(|r| format!(", kept at {r}"))
                        .unwrap_or_default();
                    found.halt(format!(
                        "the agent rewrote history or left the branch; it is put back{place}"
                    ));
                }
            }
            Ok(found)
        })
    }

    fn restore_git_folder(&mut self) -> Result<Vec<String>, LoopError> {
        let Some(guard) = self.guard else {
            return Ok(Vec::new());
        };
        let tampered = guard.restore_changed()?;
        let tampered = tampered.iter();
        Ok(tampered
            .map(|t| format!("{} {}", shown(&t.path), t.how))
            .collect())
    }

    fn stage<'a>(&'a mut self, job: &'a Job) -> LocalFuture<'a, Result<Staged, LoopError>> {
        Box::pin(async {
            let (base, untracked) = start_of(job)?;
            let spec = StageSpec {
                base: &base,
                branch: &job.start.branch,
                untracked_before: &untracked,
                own_paths: &self.own_paths,
                max_file_bytes: self.policy.max_file_bytes,
            };
            Ok(self.repo.stage(&spec).await?)
        })
    }

    fn changed_file(&self, path: &Path) -> PathBuf {
        self.root.join(path)
    }

    fn fingerprint(&self) -> LocalFuture<'_, Option<u64>> {
        Box::pin(async {
            let own_folder = Path::new(dot_ralph::FOLDER);
            self.repo.fingerprint(own_folder).await.ok()
        })
    }

    fn replay<'a>(
        &'a self,
        _request: &'a ReplayRequest<'a>,
    ) -> LocalFuture<'a, Result<Replay, GitError>> {
        Box::pin(async { Ok(Replay::Unmoved) })
    }

    fn cache_flags(&self, _job: &Job, _files: &[ChangedFile]) -> Result<Vec<String>, LoopError> {
        Ok(Vec::new())
    }

    fn verify_layer<'a>(
        &'a self,
        _job: &'a Job,
        _change: &'a AgentChange,
    ) -> LocalFuture<'a, Result<Option<VerifyLayer>, LoopError>> {
        Box::pin(async { Ok(None) })
    }

    fn settle_verified<'a>(
        &'a mut self,
        _job: &'a Job,
        _change: &'a AgentChange,
        _verified: VerifyLayer,
    ) -> LocalFuture<'a, Result<Vec<PathBuf>, LoopError>> {
        Box::pin(async { Ok(Vec::new()) })
    }

    fn mounts_of(&self, layer: &Layer) -> Result<MountPlan, LoopError> {
        Ok(layer.mount_plan()?)
    }

    fn restore_after_verify(
        &mut self,
        job: &Job,
        progress: &str,
    ) -> Result<Vec<String>, LoopError> {
        let mut found = self.restore_own_files(job, progress)?.findings.into_flags();
        found.extend(self.restore_git_folder()?);
        Ok(found)
    }

    fn reset<'a>(&'a mut self, job: &'a Job) -> LocalFuture<'a, Result<(), LoopError>> {
        Box::pin(async {
            let (base, untracked) = start_of(job)?;
            let reset = ResetSpec {
                branch: &job.start.branch,
                base: &base,
                keep_untracked: &untracked,
                own_paths: &self.own_paths,
            };
            Ok(self.repo.reset_to(&reset).await?)
        })
    }
}

/// The files of ralph's that an agent wrote, or may have written.
#[derive(Debug, Clone, Copy)]
pub(super) struct WrittenFiles {
    pub(super) tasks: bool,
    pub(super) progress: bool,
}

impl WrittenFiles {
    /// In the user's own folder any edit may be the agent's.
    const ANY: Self = Self {
        tasks: true,
        progress: true,
    };
}

impl InPlace<'_> {
    /// Puts back what an agent changed of the files that it may write in part: tasks, artefacts, progress.
    pub(super) fn restore_shared_files(
        &mut self,
        job: &Job,
        progress: &str,
        wrote: WrittenFiles,
    ) -> Result<RestoredFiles, LoopError> {
        let mut found = Findings::default();
        dot_ralph::ensure(self.root)
            .map_err(|e| file_error("make", &self.root.join(dot_ralph::FOLDER), e))?;
        if let Some(artefacts) = &mut self.artefacts {
            found
                .flags
                .extend(artefacts.restore_tasks(job, self.source)?);
        }
        if wrote.tasks {
            let tampering = self.source.put_back(&job.task.id)?;
            let tampering = tampering.iter().map(|t| format!("task file: {t}"));
            found.flags.extend(tampering);
        }
        if let Some(artefacts) = &mut self.artefacts {
            found.flags.extend(artefacts.put_back(job)?);
        }
        Ok(RestoredFiles {
            findings: found,
            progress_edited: wrote.progress && self.progress.keep_edit(progress)?,
        })
    }
}

pub(super) fn start_of(
    job: &Job,
) -> Result<(crate::git::Oid, std::collections::HashSet<PathBuf>), LoopError> {
    Ok((
        oid(&job.start.base_commit)?,
        paths_from_text(&job.start.untracked),
    ))
}
