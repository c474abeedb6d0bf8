//! The user's own folder as the workspace: agents work on the checked-out branch, and what is not theirs
//! to change is put back after them.

use std::{
    collections::{BTreeSet, HashSet},
    fs::Permissions,
    os::unix::fs::PermissionsExt as _,
    path::{Path, PathBuf},
    sync::Arc,
    time::SystemTime,
};

use async_trait::async_trait;
use ralph_core::{
    change::{CompiledPolicy, DecidingFiles, shown},
    job::Job,
    signal::Claim,
};

use super::{
    Continued, RestoredAfter, RestoredFiles, StagedCandidate, TrustedKind, TrustedPath, Workspace,
};
use crate::{
    agent::{DoneFile, kinds},
    artefacts::Artefacts,
    config_files::ConfigFiles,
    dot_ralph,
    error::{LoopError, file_error},
    failpoint::failpoint,
    git::{
        ChangedBy, GitError, Guard, GuardedFiles, History, Oid, RefGuard, Repo, ResetSpec,
        SavedFile, StageSpec, Staged,
    },
    iteration::{Findings, IterationFiles, LOGS},
    journal_text::{oid, paths_from_text},
    plain_file::{self, FileStamp},
    process::{BindAccess, MountPlan, PlaceholderKind, Placeholders, is_placeholder},
    progress_file::ProgressFile,
    source::{Snapshots, Source, TaskFiles, WrittenSince},
};

/// The list of placeholders in ralph's folder for a worktree.
pub(crate) const PLACEHOLDERS: &str = "placeholders";

/// The state of things before the programs of an iteration ran, as far as it is put back or told of.
#[derive(Debug, Default)]
pub(crate) struct BeforeRun {
    refs: Option<RefGuard>,
    /// When the last snapshot of this process was begun.
    refs_begun_at: Option<SystemTime>,
    /// The length of the reflog: what is in it beyond was done since.
    reflog: Option<u64>,
    /// Files of a person's that git does not track.
    untracked: Vec<(PathBuf, Option<FileStamp>)>,
    /// Settings of agents that git ignores, so that they would outlive the attempt.
    settings: IgnoredSettings,
    /// Files that verify commands made: no work of the agent's.
    made: HashSet<PathBuf>,
}

/// Settings of agents that git ignores, as the rules say that were in force when git was asked.
#[derive(Debug, Default)]
struct IgnoredSettings {
    paths: Vec<PathBuf>,
    /// Those that rules ignore, tracked or not.
    by_rules: Vec<PathBuf>,
    rules: Option<Vec<Option<FileStamp>>>,
}

impl IgnoredSettings {
    /// Asks git, where the rules have changed since it was asked last.
    async fn find(&mut self, repo: &Repo) -> Result<(), GitError> {
        let settings = kinds().iter().flat_map(|kind| kind.settings);
        let settings: Vec<&Path> = settings.map(Path::new).collect();
        let folders = settings.iter().flat_map(|path| path.ancestors().skip(1));
        let rules = folders.map(|folder| repo.root().join(folder).join(".gitignore"));
        let exclude = repo.common_dir().join("info/exclude");
        let rules: BTreeSet<PathBuf> = rules.chain([exclude]).collect();
        let rules = Some(rules.iter().map(|path| stamp_of(path)).collect());
        if self.rules != rules {
            self.by_rules = repo.ignored_by_rules(&settings).await?;
            self.rules = rules;
        }
        self.paths.clear();
        for path in &self.by_rules {
            if !repo.is_tracked(path).await? {
                self.paths.push(path.clone());
            }
        }
        Ok(())
    }
}

impl BeforeRun {
    /// Returns true if programs may have run since that nothing was put back after.
    pub(crate) fn is_in_force(&self) -> bool {
        self.refs.is_some()
    }

    /// Puts refs back; returns what was changed.
    pub(crate) fn restore_refs(&self) -> Result<Vec<String>, GitError> {
        let refs = self.refs.as_ref();
        let restored = refs.map(|refs| refs.restore_changed(ChangedBy::Programs));
        Ok(restored.transpose()?.unwrap_or_default())
    }

    /// Ends the watch: no program of the iteration runs any more.
    pub(crate) fn release(&mut self) -> Result<(), GitError> {
        self.untracked.clear();
        self.made.clear();
        self.reflog = None;
        self.refs.take().map_or(Ok(()), RefGuard::release)
    }
}

/// Trusted paths that are not there, and what keeps programs from making them.
struct KeptFree {
    placeholders: Placeholders,
    paths: Vec<TrustedPath>,
}

/// The user's folder, lent by the loop for the time of an iteration.
pub(crate) struct InPlace<'a> {
    pub(crate) root: &'a Path,
    /// ralph's own folder outside of the repository.
    pub(crate) state_dir: &'a Path,
    pub(crate) repo: &'a Repo,
    pub(crate) guard: Option<&'a Guard>,
    /// None below a layer, where nothing is to be put back.
    pub(crate) before: Option<&'a mut BeforeRun>,
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
    /// Parts of the repository that a program in a sandbox may neither write nor make.
    pub(crate) trusted: Vec<TrustedPath>,
    /// True if a program can be shown parts of the folder in another way than they are.
    pub(crate) has_mounts: bool,
}

#[async_trait(?Send)]
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

    async fn start(&mut self, job: &Job) -> Result<Continued, LoopError> {
        if let Some(before) = &mut self.before {
            before.settings.find(self.repo).await?;
        }
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
    }

    fn before_run(&mut self, job: &Job) -> Result<DoneFile, LoopError> {
        // A program that is not root could not change what root has written there.
        self.repo.leave_to_owner();
        self.snapshots
            .take(self.source, self.state_dir, job.iteration.as_str())?;
        if let Some(before) = &mut self.before {
            let root = self.root;
            let untracked = paths_from_text(&job.start.untracked).into_iter();
            before.untracked = untracked
                .map(|path| (path.clone(), stamp_of(&root.join(path))))
                .collect();
            let task_folder = self.source.folder().and_then(|f| f.strip_prefix(root).ok());
            let in_folder = |path: &&PathBuf| path.parent() == task_folder;
            let own = self.own_paths.iter();
            let own: Vec<PathBuf> = own.filter(|path| !in_folder(path)).cloned().collect();
            let guarded = GuardedFiles {
                besides: &before.settings.paths,
                own: &own,
                task_folder,
            };
            let earlier = before.refs_begun_at;
            let refs = RefGuard::take(self.repo, &job.start.branch, guarded, earlier)?;
            before.refs_begun_at = refs.begun_at();
            before.refs = Some(refs);
            before.reflog = self.repo.reflog_bytes();
        }
        let files = TaskFiles::find(self.root, &job.config.tasks, self.source, |_| false);
        self.snapshots.known = Some(files);
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
        if !self.has_mounts {
            return Ok(None);
        }
        let mut read_only = self.read_only.clone();
        // A mount has no symbolic link in its path.
        let there = self.trusted.iter().filter(|one| !is_placeholder(&one.path));
        read_only.extend(there.filter_map(|one| one.path.canonicalize().ok()));
        read_only.sort();
        read_only.dedup();
        let kept_free = self.keep_free(&read_only)?;
        let free = kept_free.iter().flat_map(|kept| &kept.paths);
        let mut plan = MountPlan::default();
        // A folder that a guarded file lies in could be moved away with it, and another one made in its place: not
        // if it is a mount itself.
        let guarded = read_only.iter().chain(free.clone().map(|one| &one.path));
        for path in above(guarded, self.root) {
            plan = plan.bind(path, path, BindAccess::ReadWrite);
        }
        for path in &read_only {
            plan = plan.bind(path, path, BindAccess::ReadOnly);
        }
        for TrustedPath { path, kind } in free {
            let from = match kind {
                TrustedKind::Folder | TrustedKind::OwnFile => path.clone(),
                TrustedKind::Settings => self.blank_settings(path)?,
            };
            plan = plan.bind(&from, path, BindAccess::ReadOnly);
        }
        plan.placeholders = kept_free.map(|kept| Arc::new(kept.placeholders));
        Ok(Some(plan))
    }

    fn claim_in_files(&self, job: &Job, done_file: &DoneFile) -> Option<Claim> {
        let artefacts = self.artefacts.as_ref()?;
        artefacts.claim(job, self.source, done_file)
    }

    fn restore_own_files(&mut self, job: &Job, progress: &str) -> Result<RestoredFiles, LoopError> {
        let (wedges, wrote) = self.free_wedges()?;
        let mut restored = self.restore_shared_files(job, progress, wrote)?;
        if !wedges.is_empty() {
            restored.findings.refuse(wedges.join("; "));
        }
        for name in self.restore_config()? {
            restored.findings.halt(format!(
                "{name} was edited while the agent ran; it is put back"
            ));
        }
        Ok(restored)
    }

    async fn restore_history(&mut self, job: &Job) -> Result<Findings, LoopError> {
        let mut found = Findings::default();
        let (base, branch) = (oid(&job.start.base_commit)?, &job.start.branch);
        let persons = self.persons_commit().await;
        found.flags.extend(self.restore_refs()?);
        match &self.repo.history(&base, branch).await? {
            History::Unmoved => {}
            History::Ahead { .. } => match persons {
                // One folder can't hold two works apart: what is whose is for the person to say.
                Some(commit) => found.halt(self.keep_persons_commit(job, &base, &commit).await?),
                None => found
                    .flags
                    .push("the agent committed by itself; its commits are squashed".into()),
            },
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
        found.flags.extend(self.restore_guarded()?);
        Ok(found)
    }

    fn restore_git_folder(&mut self) -> Result<Vec<String>, LoopError> {
        let mut found = self.restore_refs()?;
        found.extend(self.restore_guarded()?);
        Ok(found)
    }

    async fn stage(&mut self, job: &Job) -> Result<Staged, LoopError> {
        let (base, untracked) = self.start_of(job)?;
        let spec = StageSpec {
            base: &base,
            branch: &job.start.branch,
            untracked_before: &untracked,
            own_paths: &self.own_paths,
            max_file_bytes: self.policy.max_file_bytes,
        };
        Ok(self.repo.stage(&spec).await?)
    }

    fn changed_file(&self, path: &Path) -> PathBuf {
        self.root.join(path)
    }

    async fn fingerprint(&self) -> Option<u64> {
        let own_folder = Path::new(dot_ralph::FOLDER);
        self.repo.fingerprint(own_folder).await.ok()
    }

    async fn restore_after_commands(
        &mut self,
        job: &Job,
        progress: &str,
        candidate: Option<StagedCandidate<'_>>,
    ) -> Result<RestoredAfter, LoopError> {
        let (flags, wrote) = self.free_wedges()?;
        let mut after = RestoredAfter {
            flags,
            ..RestoredAfter::default()
        };
        let shared = self.restore_shared_files(job, progress, wrote)?;
        after.flags.extend(shared.findings.into_flags());
        let configs = self.restore_config()?.into_iter();
        after
            .flags
            .extend(configs.map(|name| format!("{name} was edited; it is put back")));
        let (base, untracked) = self.start_of(job)?;
        let persons = self.persons_commit().await;
        after.flags.extend(self.restore_refs()?);
        let Some(StagedCandidate { tree, tip, files }) = candidate else {
            after.flags.extend(self.moved_history(job, &base).await?);
            after.flags.extend(self.restore_guarded()?);
            return Ok(after);
        };
        let tip = tip.unwrap_or(&base);
        if let Some(commit) = persons {
            let kept = self.keep_persons_commit(job, tip, &commit).await?;
            after.flags.push(kept);
        } else if self.repo.put_branch_back(&job.start.branch, tip).await? {
            after
                .flags
                .push("the branch was moved or left; it is put back".into());
        }
        after.flags.extend(self.restore_guarded()?);
        let spec = StageSpec {
            base: &base,
            branch: &job.start.branch,
            untracked_before: &untracked,
            own_paths: &self.own_paths,
            max_file_bytes: self.policy.max_file_bytes,
        };
        let lands = |path: &Path| {
            let changed = files.iter().map(|file| Path::new(&file.path));
            self.policy.verify_output.lands(path, changed)
        };
        let written = self.repo.restore_staged(&spec, tree, &lands).await?;
        after.rewritten = written.rewritten;
        after.saved = written.saved;
        if let Some(before) = &mut self.before {
            before.made.extend(written.made);
        }
        Ok(after)
    }

    fn take_saved(&mut self, saved: Vec<SavedFile>) -> Result<Vec<PathBuf>, LoopError> {
        let mut taken = Vec::new();
        for SavedFile { path, content } in saved {
            let whole = self.root.join(&path);
            plain_file::make_room(&whole)
                .and_then(|()| std::fs::write(&whole, content))
                .map_err(|e| file_error("write", &whole, e))?;
            if let Some(before) = &mut self.before {
                before.made.remove(&path);
            }
            taken.push(path);
        }
        Ok(taken)
    }

    fn edited_untracked(&self, _job: &Job) -> Result<Vec<PathBuf>, LoopError> {
        let before = self.before.iter().flat_map(|before| &before.untracked);
        let edited = before.filter(|(path, stamp)| stamp_of(&self.root.join(path)) != *stamp);
        Ok(edited.map(|(path, _)| path.clone()).collect())
    }

    async fn hold_for_next(&mut self, job: &Job, _attempt: &str) -> Result<(), LoopError> {
        self.reset(job).await
    }

    async fn reset(&mut self, job: &Job) -> Result<(), LoopError> {
        let (base, untracked) = self.start_of(job)?;
        let reset = ResetSpec {
            branch: &job.start.branch,
            base: &base,
            keep_untracked: &untracked,
            own_paths: &self.own_paths,
        };
        Ok(self.repo.reset_to(&reset).await?)
    }
}

/// The files of ralph's that an agent wrote, or may have written.
#[derive(Debug)]
pub(super) struct WrittenFiles {
    /// None where no task file can have been.
    pub(super) tasks: Option<WrittenSince>,
    pub(super) progress: bool,
}

impl InPlace<'_> {
    /// Has something stand in each trusted path that is not there.
    fn keep_free(&self, read_only: &[PathBuf]) -> Result<Option<KeptFree>, LoopError> {
        let is_guarded = |path: &Path| read_only.iter().any(|above| path.starts_with(above));
        let real = self.trusted.iter().filter_map(|one| {
            let path = real_place(&one.path)?;
            let kind = one.kind;
            Some(TrustedPath { path, kind })
        });
        let mut paths: Vec<TrustedPath> = real
            .filter(|one| one.path.starts_with(self.root) && !is_guarded(&one.path))
            .collect();
        // In a folder that is kept free nothing can be made.
        let folders = paths.iter().filter(|one| one.kind == TrustedKind::Folder);
        let folders: Vec<PathBuf> = folders.map(|one| one.path.clone()).collect();
        paths.retain(|one| {
            !one.path
                .ancestors()
                .skip(1)
                .any(|up| folders.iter().any(|f| f == up))
        });
        if paths.is_empty() {
            return Ok(None);
        }
        let ups = above(paths.iter().map(|one| &one.path), self.root);
        let ups = ups
            .into_iter()
            .map(|up| (up.to_owned(), PlaceholderKind::Folder));
        let own = paths
            .iter()
            .map(|one| (one.path.clone(), one.kind.placeholder()));
        let wanted: BTreeSet<(PathBuf, PlaceholderKind)> = ups.chain(own).collect();
        let wanted: Vec<(PathBuf, PlaceholderKind)> = wanted.into_iter().collect();
        let list = self.state_dir.join(PLACEHOLDERS);
        let placeholders =
            Placeholders::make(&list, &wanted).map_err(|e| file_error("write", &list, e))?;
        paths.retain(|one| placeholders.hold(&one.path, one.kind.placeholder()));
        Ok(Some(KeptFree {
            placeholders,
            paths,
        }))
    }

    /// A file of ralph's that is read as settings which set nothing.
    fn blank_settings(&self, path: &Path) -> Result<PathBuf, LoopError> {
        let is_json = path
            .extension()
            .is_some_and(|end| end == "json" || end == "jsonc");
        let (name, text) = if is_json {
            ("blank.json", "{}\n")
        } else {
            ("blank", "")
        };
        let blank = self.state_dir.join(name);
        if !blank.exists() {
            plain_file::replace(&blank, text.as_bytes())
                .and_then(|()| std::fs::set_permissions(&blank, Permissions::from_mode(0o444)))
                .map_err(|e| file_error("write", &blank, e))?;
        }
        Ok(blank)
    }

    /// Takes away what would keep git from looking at the folder; says what it was, and which of ralph's files were
    /// written. In the user's own folder any edit may be the agent's.
    fn free_wedges(&self) -> Result<(Vec<String>, WrittenFiles), LoopError> {
        let refs = self.before.as_ref().and_then(|before| before.refs.as_ref());
        let mut written = None;
        let changed = || {
            let found = written.insert(self.source.written());
            let paths = self.source.paths_of(found);
            let paths = paths.filter_map(|path| path.strip_prefix(self.root).ok());
            paths.map(Path::to_owned).collect()
        };
        let freed = refs.map(|refs| refs.free_wedges(changed)).transpose()?;
        let wrote = WrittenFiles {
            tasks: Some(written.unwrap_or_else(|| self.source.written())),
            progress: true,
        };
        Ok((freed.unwrap_or_default(), wrote))
    }

    /// The base of a job, and the untracked files that are not its agent's.
    fn start_of(&self, job: &Job) -> Result<(Oid, HashSet<PathBuf>), LoopError> {
        let (base, mut untracked) = start_of(job)?;
        let made = self.before.iter().flat_map(|before| &before.made);
        untracked.extend(made.cloned());
        Ok((base, untracked))
    }

    fn restore_refs(&self) -> Result<Vec<String>, LoopError> {
        if let Some(guard) = self.guard {
            let before = self.before.as_deref();
            if before.is_some_and(BeforeRun::is_in_force) {
                guard.reopen_places_but_objects()?;
            } else {
                guard.reopen_places()?;
            }
        }
        let restored = self.before.as_ref().map(|before| before.restore_refs());
        Ok(restored.transpose()?.unwrap_or_default())
    }

    /// Puts back the guarded files of the git folder; the refs are right already.
    fn restore_guarded(&self) -> Result<Vec<String>, LoopError> {
        let restored = self.guard.map(|guard| self.restore_git_files(guard));
        Ok(restored.transpose()?.unwrap_or_default())
    }

    fn restore_git_files(&self, guard: &Guard) -> Result<Vec<String>, LoopError> {
        let tampered = guard.restore_checked()?;
        let said = tampered.iter().map(|t| {
            let name = t.path.strip_prefix(self.root).unwrap_or(&t.path);
            format!("{} {}", shown(name), t.how)
        });
        Ok(said.collect())
    }

    /// Puts the configuration back; returns the names of what was edited.
    fn restore_config(&self) -> Result<Vec<String>, LoopError> {
        let edited = self.config_files.put_back(self.state_dir)?;
        let names = edited.iter().map(|path| {
            let name = path.strip_prefix(self.root).unwrap_or(path);
            shown(name)
        });
        Ok(names.collect())
    }

    /// The last commit that a person made since the run began, as far as that can be known.
    async fn persons_commit(&self) -> Option<String> {
        let since = self.before.as_ref().and_then(|before| before.reflog)?;
        self.repo.persons_commit(since).await
    }

    /// Takes a person's commits off the branch that programs of the run work on, and keeps them under a ref;
    /// returns what to tell the person.
    async fn keep_persons_commit(
        &self,
        job: &Job,
        base: &Oid,
        commit: &str,
    ) -> Result<String, LoopError> {
        let branch = &job.start.branch;
        let undone = self.repo.undo_moved_history(branch, base, &job.iteration);
        let kept = undone.await?.branch.unwrap_or_default();
        Ok(format!(
            "a person committed {commit} on {branch} while ralph worked in the same folder; it is not squashed, \
             but kept at {kept}: `git merge {kept}` brings it back"
        ))
    }

    /// Puts the branch back where a program that ralph started rewrote history or left it.
    async fn moved_history(&self, job: &Job, base: &Oid) -> Result<Option<String>, LoopError> {
        let branch = &job.start.branch;
        match self.repo.history(base, branch).await? {
            History::Unmoved | History::Ahead { .. } => Ok(None),
            History::Rewritten { .. } | History::LeftBranch { .. } => {
                let undone = self.repo.undo_moved_history(branch, base, &job.iteration);
                undone.await?;
                Ok(Some("the branch was moved or left; it is put back".into()))
            }
        }
    }

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
        let written = wrote.tasks;
        if let Some(written) = &written {
            found.suggested.extend(self.source.added(written));
        }
        if let Some(artefacts) = &mut self.artefacts {
            found
                .flags
                .extend(artefacts.restore_tasks(job, self.source)?);
        }
        if let Some(written) = &written {
            let secrets = &self.policy.secrets;
            let said = self.source.put_back(written, &job.task.id, secrets)?;
            found.flags.extend(said);
        }
        if let Some(known) = &self.snapshots.known {
            // What is known was found after the snapshot was taken.
            let refs = self.before.as_ref().and_then(|before| before.refs.as_ref());
            let is_unchanged = |folder: &Path| refs.is_some_and(|refs| refs.is_unchanged(folder));
            let now = TaskFiles::find(self.root, &job.config.tasks, self.source, is_unchanged);
            let logs = self.root.join(LOGS);
            let new = now.set_new_aside(known, self.root, &logs, job.number)?;
            found.flags.extend(new.flags);
            found.suggested.extend(new.suggested);
        }
        if let Some(artefacts) = &mut self.artefacts {
            found
                .flags
                .extend(artefacts.put_back(job, &self.policy.secrets)?);
        }
        if !found.flags.is_empty() {
            // Whatever was set aside is named by one of them.
            IterationFiles::hide_in_set_aside(self.root, job.number, &self.policy.secrets)?;
        }
        let mut progress_edited = false;
        if wrote.progress {
            found
                .flags
                .extend(self.progress.hide_added(progress, &self.policy.secrets)?);
            progress_edited = self.progress.keep_edit(progress)?;
        }
        Ok(RestoredFiles {
            findings: found,
            progress_edited,
        })
    }
}

/// The folders of a repository that paths lie in, each before what lies in it.
fn above<'p>(paths: impl Iterator<Item = &'p PathBuf>, root: &Path) -> BTreeSet<&'p Path> {
    let is_inside = |path: &&Path| *path != root && path.starts_with(root);
    paths
        .flat_map(|path| path.ancestors().skip(1).take_while(is_inside))
        .collect()
}

/// The place of a path that is not there, or is only kept free, without symbolic links.
fn real_place(path: &Path) -> Option<PathBuf> {
    match path.symlink_metadata() {
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => {}
        Ok(_) if is_placeholder(path) => {}
        Ok(_) | Err(_) => return None,
    }
    let there = path.ancestors().skip(1).find(|folder| folder.exists())?;
    let below = path.strip_prefix(there).ok()?;
    Some(there.canonicalize().ok()?.join(below))
}

fn stamp_of(path: &Path) -> Option<FileStamp> {
    let found = std::fs::symlink_metadata(path).ok()?;
    Some(FileStamp::new(&found))
}

pub(super) fn start_of(job: &Job) -> Result<(Oid, HashSet<PathBuf>), LoopError> {
    Ok((
        oid(&job.start.base_commit)?,
        paths_from_text(&job.start.untracked),
    ))
}
