//! A layer over the user's folder as the workspace: an agent sees the folder at its own path, and what it
//! writes goes into a folder of ralph's that is thrown away.
//!
//! Nothing of the agent's reaches the user's folder but its version of the files that it may write for ralph:
//! its task's notes, the progress file, a diagnosis, the artefacts of its project. These are taken over once it
//! has ended, and checked as in the user's own folder.

use std::{
    collections::HashSet,
    hash::{DefaultHasher, Hash as _, Hasher as _},
    io::{self, Read as _},
    os::unix::fs::MetadataExt as _,
    path::{Path, PathBuf},
};

use async_trait::async_trait;
use ralph_core::{
    change::{CompiledPolicy, DecidingFiles, is_manifest, shown},
    iteration::{AgentChange, ChangedFile},
    job::Job,
    signal::Claim,
};

use super::super::{
    Continued, InPlace, RestoredAfter, RestoredFiles, StagedCandidate, VerifyLayer, Workspace,
    in_place::{WrittenFiles, start_of},
};
use super::{Layers, ParkedLayer, folder_of, is_named};
use crate::{
    agent::DoneFile,
    artefacts::Artefacts,
    error::{LoopError, file_error},
    failpoint::failpoint,
    git::{GitError, Replay, ReplayRequest, Repo, StageSpec, Staged},
    iteration::{DIAGNOSIS_FOLDER, Findings},
    journal_text::{oid, paths_from_text},
    layer::{Layer, LayerSpace, Prefill, PrefillFile, UpperEntry, UpperKind, UpperSpace},
    owner::{Owner, make_folders},
    plain_file,
    process::MountPlan,
    progress_file::ProgressFile,
    source::is_task_place,
};

/// The user's folder, seen through a layer.
pub(crate) struct Layered<'a> {
    pub(crate) folder: InPlace<'a>,
    pub(crate) layers: &'a mut Layers,
}

impl Layered<'_> {
    /// The files that an agent may write for ralph, relative to the root: files, and folders of such.
    fn shared_paths(&self) -> Vec<PathBuf> {
        let mut paths = vec![PathBuf::from(DIAGNOSIS_FOLDER)];
        let root = self.folder.root;
        let below = |path: &Path| path.strip_prefix(root).ok().map(Path::to_owned);
        let sources = self.folder.source.files().iter();
        paths.extend(sources.filter_map(|file| below(&file.path)));
        paths.extend(below(self.folder.progress.path()));
        let artefacts = self.folder.artefacts.as_ref();
        paths.extend(artefacts.map(|a| a.own_path().to_owned()));
        paths
    }

    /// The paths whose folders stay as the user has them: ralph writes there between runs.
    fn uncopied(&self) -> Vec<PathBuf> {
        let own = self.folder.own_paths.iter().cloned();
        own.chain(self.shared_paths()).collect()
    }

    /// Tells if a file is a new one where ralph looks for tasks: what is in it are suggestions, and no work.
    fn is_new_task_file(&self, job: &Job, path: &Path) -> bool {
        is_task_place(
            path,
            &job.config.tasks,
            self.folder.root,
            self.folder.source,
        ) && self.folder.root.join(path).symlink_metadata().is_err()
    }

    /// Takes over the agent's version of a file that it may write. The lower one shows again in the layer.
    fn take_over(&self, path: &Path, kind: &UpperKind, prefill: &Prefill) -> io::Result<()> {
        let to = self.folder.root.join(path);
        match kind {
            UpperKind::File { .. } => {
                let from = self.layers.upper().map(|upper| upper.join(path));
                let bytes = plain_file::read(&from.unwrap_or_default())?;
                if let Some(folder) = to.parent() {
                    make_folders(folder)?;
                }
                plain_file::make_room(&to)?;
                let owner = Owner::at(&to);
                std::fs::write(&to, bytes)?;
                if let Some(owner) = owner {
                    owner.take(std::fs::File::open(&to)?);
                }
            }
            UpperKind::Whiteout => match std::fs::remove_file(&to) {
                Err(error) if error.kind() == io::ErrorKind::NotFound => {}
                removed => removed?,
            },
            // A folder, a link or a pipe in place of a file is no edit of it.
            UpperKind::Folder { .. }
            | UpperKind::Symlink
            | UpperKind::Other(_)
            | UpperKind::UnreadableFolder
            | UpperKind::TooLong => {}
        }
        prefill.forget(path)
    }

    /// The folders of what the agent installed or built that its change is verified with: those that are
    /// caches by their name, where the change touches what says what belongs into them and nothing else makes them.
    fn caches_of_agent(&self, job: &Job, files: &[ChangedFile]) -> Result<Vec<PathBuf>, LoopError> {
        let names = &job.config.workspace.caches;
        let is_made = !job.config.verification.prepare.is_empty();
        let mut files = files.iter();
        if is_made || names.is_empty() || !files.any(|file| is_manifest(Path::new(&file.path))) {
            return Ok(Vec::new());
        }
        let mut found: Vec<PathBuf> = Vec::new();
        for entry in self.layers.entries()? {
            let is_cache =
                matches!(entry.kind, UpperKind::Folder { .. }) && is_named(&entry.path, names);
            // Each folder stands before what is in it.
            if is_cache && !found.iter().any(|above| entry.path.starts_with(above)) {
                found.push(entry.path);
            }
        }
        Ok(found)
    }

    /// Takes over what verify commands wrote of what lands with the change, as if the agent had written it.
    async fn written_that_lands(
        &self,
        job: &Job,
        change: &AgentChange,
        verified: &VerifyLayer,
    ) -> Result<Vec<PathBuf>, LoopError> {
        let names = &job.config.workspace.caches;
        let entries = self
            .layers
            .written_in(&verified.layer, &|path| is_named(path, names))?;
        let upper = folder_of(&verified.layer, self.folder.root);
        let upper = upper.map(|folder| verified.layer.upper(folder)).transpose();
        let upper = upper.map_err(|e| file_error("read", verified.layer.path(), e))?;
        let (Some(upper), Some(current)) = (upper, self.layers.layer()) else {
            return Ok(Vec::new());
        };
        let policy = self.folder.policy;
        let tree = oid(&change.tree)?;
        let mut taken = Vec::new();
        for UpperEntry { path, kind } in entries {
            let is_own = self
                .folder
                .own_paths
                .iter()
                .any(|own| path.starts_with(own));
            let changed = change.files.iter().map(|file| Path::new(&file.path));
            let UpperKind::File { mode, size } = kind else {
                continue;
            };
            if is_own || !policy.verify_output.lands(&path, changed) || size > policy.max_file_bytes
            {
                continue;
            }
            let mut content = Vec::new();
            upper
                .open_file(&path)
                .and_then(|mut file| file.read_to_end(&mut content))
                .map_err(|e| file_error("read", &path, e))?;
            let repo = self.folder.repo;
            let before = repo.read_at(&tree, &path, policy.max_file_bytes).await?;
            if before.as_ref() == Some(&content) {
                continue;
            }
            let file = PrefillFile {
                content: &content,
                mode,
                modified: None,
            };
            let prefill = self.layers.prefill(current)?;
            let written = prefill.file(&path, &file);
            written.map_err(|e| file_error("take over", &path, e))?;
            taken.push(path);
        }
        Ok(taken)
    }

    /// Says of files that are not the agent's to change that it did, and that this is not taken.
    fn untaken(&self, job: &Job, entries: &[UpperEntry]) -> Vec<String> {
        let configured: HashSet<PathBuf> = self.folder.config_files.all_paths().collect();
        let untracked = paths_from_text(&job.start.untracked);
        let entries = entries.iter().filter(|entry| {
            let is_folder = matches!(entry.kind, UpperKind::Folder { .. });
            !is_folder
                && (untracked.contains(&entry.path)
                    || configured.contains(&self.folder.root.join(&entry.path)))
        });
        let paths = entries.map(|entry| shown(&entry.path));
        paths
            .map(|path| format!("{path} was edited by the agent; the edit is not taken"))
            .collect()
    }
}

#[async_trait(?Send)]
impl Workspace for Layered<'_> {
    fn root(&self) -> &Path {
        self.folder.root
    }

    fn repo(&self) -> &Repo {
        self.folder.repo
    }

    fn policy(&self) -> &CompiledPolicy {
        self.folder.policy
    }

    fn deciding(&self) -> &DecidingFiles {
        self.folder.deciding
    }

    fn progress(&self) -> &ProgressFile {
        self.folder.progress
    }

    fn artefacts(&self) -> Option<&Artefacts> {
        self.folder.artefacts.as_deref()
    }

    fn own_paths(&self) -> &[PathBuf] {
        &self.folder.own_paths
    }

    async fn start(&mut self, job: &Job) -> Result<Continued, LoopError> {
        if !job.config.verification.prepare.is_empty() {
            self.layers.give_up_caches_of_agent();
        }
        let goes_on = self.layers.unpark(job)?;
        self.layers.begin(&job.iteration, &self.uncopied())?;
        let base = oid(&job.start.base_commit)?;
        let own = &self.folder.own_paths;
        self.layers.freshen(self.folder.repo, &base, own).await?;
        let Some(attempt) = &job.start.attempt_ref else {
            return Ok(Ok(None));
        };
        let tree = match self.folder.repo.attempt_tree(attempt, &base).await {
            Ok(tree) => tree,
            Err(error) => {
                return Ok(Err(format!(
                    "the last attempt at {} does not fit the branch any more: {error}",
                    job.task.id
                )));
            }
        };
        if let Some(layer) = self.layers.layer().filter(|_| !goes_on) {
            let upper = self.layers.upper_of(layer);
            let repo = self.folder.repo;
            let gone = repo.fill_folder(&base, &tree, &[], upper).await?;
            self.layers.fill_submodules(repo, layer, &tree).await?;
            self.layers.hide(layer, &gone)?;
        }
        failpoint("attempt-taken-up");
        Ok(Ok(Some(tree)))
    }

    fn before_run(&mut self, job: &Job) -> Result<DoneFile, LoopError> {
        self.layers.begin(&job.iteration, &self.uncopied())?;
        self.layers.hold_reserve();
        let done_file = self.folder.before_run(job)?;
        let (Some(upper), Some(path)) = (self.layers.upper(), done_file.path()) else {
            return Ok(done_file);
        };
        let Ok(below) = path.strip_prefix(self.folder.root) else {
            return Ok(done_file);
        };
        // Its folder is made in the layer, so that it can be watched from the start.
        if let (Some(layer), Some(folder)) = (self.layers.layer(), below.parent()) {
            let prefill = self.layers.prefill(layer)?;
            let made = prefill.folder(folder).and_then(|()| prefill.forget(below));
            made.map_err(|e| file_error("make", folder, e))?;
        }
        Ok(DoneFile::new(Some(upper.join(below))))
    }

    fn mounts(&self) -> Result<Option<MountPlan>, LoopError> {
        let layer = self.layers.layer();
        layer.map(|layer| self.layers.mounts(layer)).transpose()
    }

    fn space(&self) -> Option<Box<dyn LayerSpace>> {
        let layer = self.layers.layer()?;
        let uppers = layer.folders().iter().map(|folder| folder.upper.clone());
        Some(Box::new(UpperSpace {
            uppers: uppers.collect(),
            xattrs: self.layers.place.options.xattrs,
            max_bytes: self.layers.max_bytes,
            max_file: self.layers.max_file,
        }))
    }

    fn after_run(&mut self, job: &Job) -> Result<(), LoopError> {
        self.layers.release_reserve();
        let (mut taken, mut left) = (HashSet::new(), Vec::new());
        let Some(layer) = self.layers.layer() else {
            return Ok(());
        };
        let shared = self.shared_paths();
        // It is looked for in the layer, where it is watched.
        let done_file = self.folder.artefacts.as_ref().map(|a| a.done_file());
        let prefill = self.layers.prefill(layer)?;
        for entry in self.layers.entries()? {
            let is_shared = shared.iter().any(|path| entry.path.starts_with(path))
                || self.is_new_task_file(job, &entry.path);
            let is_done_file = done_file == Some(self.folder.root.join(&entry.path));
            if !is_shared || is_done_file || matches!(entry.kind, UpperKind::Folder { .. }) {
                continue;
            }
            if self
                .folder
                .source
                .is_written(&self.folder.root.join(&entry.path))
            {
                left.push(entry.path.clone());
                let forgotten = prefill.forget(&entry.path);
                forgotten.map_err(|e| file_error("drop", &entry.path, e))?;
                continue;
            }
            self.take_over(&entry.path, &entry.kind, &prefill)
                .map_err(|e| file_error("take over", &entry.path, e))?;
            taken.insert(entry.path);
        }
        if let Some(current) = &mut self.layers.current {
            (current.taken, current.left) = (taken, left);
        }
        Ok(())
    }

    fn claim_in_files(&self, job: &Job, done_file: &DoneFile) -> Option<Claim> {
        self.folder.claim_in_files(job, done_file)
    }

    fn restore_own_files(&mut self, job: &Job, progress: &str) -> Result<RestoredFiles, LoopError> {
        let root = self.folder.root;
        let current = self.layers.current.as_ref();
        let is_taken = |path: &Path| {
            let below = path.strip_prefix(root).unwrap_or(path);
            current.is_some_and(|current| current.taken.contains(below))
        };
        let mut sources = self.folder.source.files().iter();
        let wrote = WrittenFiles {
            tasks: sources
                .any(|file| is_taken(&file.path))
                .then(|| self.folder.source.written()),
            progress: is_taken(self.folder.progress.path()),
        };
        let left = current.map(|current| current.left.clone());
        let mut restored = self.folder.restore_shared_files(job, progress, wrote)?;
        let entries = self.layers.entries()?;
        let untaken = self.untaken(job, &entries);
        restored.findings.flags.extend(untaken);
        let changed = self.layers.changed_submodules(&entries);
        restored.findings.flags.extend(changed);
        let left = left.unwrap_or_default().into_iter().map(|path| {
            let path = shown(&path);
            format!("{path} was changed by a person meanwhile; the agent's edit is not taken")
        });
        restored.findings.flags.extend(left);
        Ok(restored)
    }

    async fn restore_history(&mut self, job: &Job) -> Result<Findings, LoopError> {
        let mut found = Findings::default();
        let branch = format!("refs/heads/{}", job.start.branch);
        let repo = self.folder.repo;
        if self
            .layers
            .written_in_git(repo.common_dir(), &branch)
            .is_some()
        {
            found
                .flags
                .push("the agent committed by itself; its commits are squashed".into());
        }
        Ok(found)
    }

    fn restore_git_folder(&mut self) -> Result<Vec<String>, LoopError> {
        // The git folder that the agent wrote to goes with the layer.
        Ok(Vec::new())
    }

    async fn stage(&mut self, job: &Job) -> Result<Staged, LoopError> {
        let (base, untracked) = start_of(job)?;
        let root = self.folder.root;
        let configured = self.folder.config_files.all_paths();
        let configured = configured.filter_map(|p| Some(p.strip_prefix(root).ok()?.to_owned()));
        let own: Vec<PathBuf> = self
            .folder
            .own_paths
            .iter()
            .cloned()
            .chain(configured)
            .collect();
        let spec = StageSpec {
            base: &base,
            branch: &job.start.branch,
            untracked_before: &untracked,
            own_paths: &own,
            max_file_bytes: self.folder.policy.max_file_bytes,
        };
        if !job.verify_commands().is_empty() {
            // The layer in which the change is verified begins with what is in the user's folder.
            self.folder.repo.start_status_beside().await;
        }
        self.layers.stage(self.folder.repo, &spec).await
    }

    fn changed_file(&self, path: &Path) -> PathBuf {
        let root = self.folder.root;
        let written = self.layers.upper().unwrap_or(root).join(path);
        // What was not changed is asked for too: it says which submodules there are.
        if written.symlink_metadata().is_ok() {
            written
        } else {
            root.join(path)
        }
    }

    async fn fingerprint(&self) -> Option<u64> {
        let mut hash = DefaultHasher::new();
        let upper = self.layers.upper()?;
        for entry in self.layers.entries().ok()? {
            if entry.path.starts_with(crate::dot_ralph::FOLDER) {
                continue;
            }
            entry.path.hash(&mut hash);
            let meta = std::fs::symlink_metadata(upper.join(&entry.path)).ok();
            let stamp = meta.map(|m| (m.size(), m.mtime(), m.mtime_nsec(), m.mode()));
            stamp.hash(&mut hash);
        }
        Some(hash.finish())
    }

    async fn replay(&self, request: &ReplayRequest<'_>) -> Result<Replay, GitError> {
        self.folder.repo.replay(request).await
    }

    fn cache_flags(&self, job: &Job, files: &[ChangedFile]) -> Result<Vec<String>, LoopError> {
        let caches = self.caches_of_agent(job, files)?;
        let names: Vec<String> = caches.iter().map(|path| shown(path)).collect();
        Ok(if !names.is_empty() {
            vec![format!(
                "caches: agent. Verified with the agent's own {}: set `verification.prepare` to have it made again",
                names.join(", ")
            )]
        } else if self.layers.caches.is_by_agent() {
            vec![
                "caches: agent. Verified with what an agent installed in an earlier iteration: set \
                 `verification.prepare` to have it made again"
                    .into(),
            ]
        } else {
            Vec::new()
        })
    }

    async fn verify_layer(
        &self,
        job: &Job,
        change: &AgentChange,
    ) -> Result<Option<VerifyLayer>, LoopError> {
        let onto = change.onto(&job.start.base_commit);
        let (base, tree) = (oid(onto)?, oid(&change.tree)?);
        let own = &self.folder.own_paths;
        let made = self.layers.of_tree(self.folder.repo, &base, &tree, own);
        let mut made = made.await?;
        let caches = self.caches_of_agent(job, &change.files)?;
        if let Some(upper) = self.layers.upper() {
            let prefill = self.layers.prefill(&made.layer)?;
            for path in caches {
                let linked = prefill.link_folder(upper, &path);
                linked.map_err(|e| file_error("take over", &path, e))?;
                made.by_agent = true;
            }
        }
        Ok(Some(made))
    }

    async fn settle_verified(
        &mut self,
        job: &Job,
        change: &AgentChange,
        verified: VerifyLayer,
    ) -> Result<Vec<PathBuf>, LoopError> {
        let written = self.written_that_lands(job, change, &verified).await;
        self.layers.verified = Some(verified);
        written
    }

    fn mounts_of(&self, layer: &Layer) -> Result<MountPlan, LoopError> {
        self.layers.mounts(layer)
    }

    async fn restore_after_commands(
        &mut self,
        _job: &Job,
        _progress: &str,
        _candidate: Option<StagedCandidate<'_>>,
    ) -> Result<RestoredAfter, LoopError> {
        // What they wrote is in a layer, and may have filled the disk.
        self.layers.release_reserve();
        Ok(RestoredAfter::default())
    }

    fn edited_untracked(&self, job: &Job) -> Result<Vec<PathBuf>, LoopError> {
        let untracked = paths_from_text(&job.start.untracked);
        let entries = self.layers.entries()?.into_iter();
        let written = entries.filter(|entry| {
            matches!(entry.kind, UpperKind::File { .. }) && untracked.contains(&entry.path)
        });
        Ok(written.map(|entry| entry.path).collect())
    }

    async fn hold_for_next(&mut self, job: &Job, attempt: &str) -> Result<(), LoopError> {
        let layer = self.layers.current.take().map(|current| current.layer);
        self.layers.parked = layer.map(|layer| ParkedLayer {
            attempt: attempt.to_owned(),
            base: job.start.base_commit.clone(),
            layer,
        });
        Ok(())
    }

    async fn reset(&mut self, _job: &Job) -> Result<(), LoopError> {
        self.layers.drop_current();
        Ok(())
    }
}
