//! A layer over the user's folder as the workspace: an agent sees the folder at its own path, and what it
//! writes goes into a folder of ralph's that is thrown away.
//!
//! Nothing of the agent's reaches the user's folder but its version of the files that it may write for ralph:
//! its task's notes, the progress file, a diagnosis, the artefacts of its project. These are taken over once it
//! has ended, and checked as in the user's own folder.

mod leftovers;
mod space;
mod submodules;

pub(crate) use leftovers::{has_leftover_layers, sweep_layers};

use std::{
    collections::{BTreeSet, HashSet},
    hash::{DefaultHasher, Hash as _, Hasher as _},
    io::{self, Read as _},
    os::unix::fs::MetadataExt as _,
    path::{Path, PathBuf},
    thread::JoinHandle,
};

use ralph_core::{
    change::{CompiledPolicy, DecidingFiles, is_manifest, shown},
    id::IterationId,
    iteration::{AgentChange, ChangedFile},
    job::Job,
    signal::Claim,
};

use self::{
    leftovers::{LayerOwner, sweep_folder},
    space::{UpperSpace, free_bytes},
    submodules::alternates,
};
use super::{
    Continued, InPlace, RestoredAfter, RestoredFiles, StagedCandidate, VerifyLayer, Workspace,
    caches::{CacheAccess, Caches, VerifiedIn, sweep_caches},
    copied::CopiedFiles,
    in_place::{WrittenFiles, start_of},
};
use crate::{
    agent::DoneFile,
    artefacts::Artefacts,
    error::{LoopError, file_error},
    failpoint::failpoint,
    git::{
        GitError, Gitlink, LayerWork, Oid, Replay, ReplayRequest, Repo, StageSpec, Staged,
        Submodule,
    },
    iteration::{DIAGNOSIS_FOLDER, Findings, LOGS},
    journal_text::{oid, paths_from_text},
    layer::{
        CopySize, DiskReserve, FolderCopy, InPlaceReason, Layer, LayerFolder, LayerPlace,
        LayerTarget, PlaceKind, PlaceRequest, Prefill, PrefillFile, UpperEntry, UpperKind,
        checks::{CheckRequest, SocketSearch, check_repository},
        remove_tree,
        upper::Descent,
    },
    plain_file,
    process::{BindAccess, Containment, FolderRename, MountPlan, MountStep, OverlayMount},
    progress_file::ProgressFile,
    source::is_task_place,
    supervisor::{LayerSpace, LocalFuture},
};

/// The entries of a repository that are looked at in search of sockets.
const SOCKET_BUDGET: usize = 20_000;
/// The most that is copied into a layer before a run.
const COPIED: CopySize = CopySize {
    entries: 1_000,
    bytes: 16 * 1024 * 1024,
};
/// The sockets that are named.
const MOST_SOCKETS: usize = 5;
/// The most that layers may hold in memory, where no disk can.
const MEMORY_LIMIT: u64 = 2 * 1024 * 1024 * 1024;
/// The space that is held back for ralph while an agent runs.
const RESERVE: u64 = 64 * 1024 * 1024;
/// Holds files that are newer than the caches below an agent's layer.
const FRESH: &str = "fresh";

/// The layers of a loop: where they live, what they are laid over, and the one of the current iteration.
pub(crate) struct Layers {
    /// The repository's root, without symbolic links.
    root: PathBuf,
    place: LayerPlace,
    targets: Vec<LayerTarget>,
    /// Those that are checked out.
    submodules: Vec<Submodule>,
    /// Folders of tracked files that a program could not rename, if they were not copied.
    renamable: Vec<PathBuf>,
    logs: PathBuf,
    /// Parts of the data folder that no program may write.
    read_only: Vec<PathBuf>,
    current: Option<CurrentLayer>,
    caches: Caches,
    /// The layer in which the change was verified that is to land.
    verified: Option<VerifyLayer>,
    parked: Option<ParkedLayer>,
    removals: Removals,
    /// The most that one layer may hold.
    max_bytes: u64,
    reserve: Option<DiskReserve>,
    /// Facts about them that a person should know.
    notes: Vec<String>,
}

/// The layer of an agent that handed over.
struct ParkedLayer {
    /// The attempt that its work is kept as.
    attempt: String,
    base: String,
    layer: Layer,
}

/// Layers that are being deleted while the loop goes on. All are gone once this is dropped.
#[derive(Default)]
struct Removals(Vec<JoinHandle<()>>);

impl Removals {
    fn add(&mut self, layer: Layer) {
        self.0.retain(|removal| !removal.is_finished());
        // A layer that no thread can be had for is deleted here.
        let removal = std::thread::Builder::new().spawn(move || drop(layer));
        self.0.extend(removal);
    }
}

impl Drop for Removals {
    fn drop(&mut self) {
        for removal in self.0.drain(..) {
            // What is left after a panic is swept by the next command.
            let _ = removal.join();
        }
    }
}

struct CurrentLayer {
    iteration: IterationId,
    layer: Layer,
    /// Files of ralph's that were taken over from the last run, relative to the root.
    taken: HashSet<PathBuf>,
    /// Those that were not, as a person had changed them meanwhile.
    left: Vec<PathBuf>,
    /// The folders that were copied into it.
    copied: CopiedFiles,
}

impl CurrentLayer {
    fn new(iteration: &IterationId, layer: Layer) -> Self {
        Self {
            iteration: iteration.clone(),
            copied: CopiedFiles::load(layer.path()),
            layer,
            taken: HashSet::new(),
            left: Vec::new(),
        }
    }
}

/// The repository and the machine that layers are asked for.
pub(crate) struct LayerRequest<'a> {
    pub(crate) repo: &'a Repo,
    pub(crate) data_dir: &'a Path,
    pub(crate) temp_dir: &'a Path,
    /// Parts of the data folder that no program may write.
    pub(crate) read_only: Vec<PathBuf>,
    pub(crate) containment: Containment,
    /// The most that one layer may hold; none for half of what is free.
    pub(crate) max_bytes: Option<u64>,
    /// The iteration that a crash cut off: its layer is taken up again.
    pub(crate) unfinished: Option<&'a IterationId>,
    pub(crate) caches: CacheAccess,
}

impl<'a> LayerRequest<'a> {
    fn place(&self) -> PlaceRequest<'a> {
        PlaceRequest {
            repository: self.repo.root(),
            data_dir: self.data_dir,
            temp_dir: self.temp_dir,
            memory_dir: None,
            memory_limit: MEMORY_LIMIT,
            containment: self.containment,
        }
    }
}

impl Layers {
    /// Opens the layers of a loop, where they can be used, and sweeps those that a crash left.
    pub(crate) async fn open(
        request: LayerRequest<'_>,
    ) -> Result<Result<Self, InPlaceReason>, LoopError> {
        let mut layers = match Self::find(&request).await? {
            Ok(layers) => layers,
            Err(reason) => return Ok(Err(reason)),
        };
        if let Some(iteration) = request.unfinished {
            layers.take_up(iteration)?;
        }
        for (_, folder) in request.place().folders() {
            sweep_folder(&folder, &layers.root, request.unfinished);
        }
        Ok(Ok(layers))
    }

    /// Finds out whether layers can be used here, by trying one.
    pub(crate) async fn find(
        request: &LayerRequest<'_>,
    ) -> Result<Result<Self, InPlaceReason>, LoopError> {
        let repo = request.repo;
        let root = repo.root();
        let place = match LayerPlace::find(&request.place()) {
            Ok(place) => place,
            Err(reason) => return Ok(Err(reason)),
        };
        let tracked = repo.tracked_paths().await?;
        let links = tracked.submodules.iter();
        let submodules: Vec<Submodule> = links.filter_map(|l| Submodule::of(root, l)).collect();
        let read = |path: &Path| plain_file::read(path).ok();
        let elsewhere = submodules
            .iter()
            .find(|m| m.head(&read).as_ref() != Some(&m.commit));
        if let Some(module) = elsewhere {
            let path = module.path.clone();
            return Ok(Err(InPlaceReason::Submodule { path }));
        }
        let checked = check_repository(&CheckRequest {
            root,
            tracked: &tracked.files,
            containment: request.containment,
            socket_budget: SOCKET_BUDGET,
        });
        let mut checked = match checked {
            Ok(checked) => checked,
            Err(error) => {
                let error = error.to_string();
                return Ok(Err(InPlaceReason::Unreadable { error }));
            }
        };
        if !checked.reasons.is_empty() {
            return Ok(Err(checked.reasons.swap_remove(0)));
        }
        let notes = notes(&place, &checked.sockets, root);
        let folders = [root, repo.git_dir(), repo.common_dir()].map(Path::to_owned);
        let modules = submodules.iter().map(|module| module.git_dir.clone());
        let mounts = checked.sub_mounts.iter();
        let mounts = mounts.filter_map(|mount| Some(mount.strip_prefix(root).ok()?.to_owned()));
        let links = tracked.submodules.iter().map(|link| link.path.clone());
        let not_copied: Vec<PathBuf> = mounts.chain(links).collect();
        let folders = folders.into_iter().chain(checked.sub_mounts).chain(modules);
        let folders = folders.chain(alternates(&repo.common_dir().join("objects")));
        let half = || free_bytes(&place.folder).map_or(u64::MAX, |free| free / 2);
        let max_bytes = request.max_bytes.unwrap_or_else(half);
        if request.caches == CacheAccess::Write {
            sweep_caches(&place.folder);
        }
        Ok(Ok(Self {
            caches: Caches::open(&place, root, request.caches),
            verified: None,
            root: root.to_owned(),
            targets: folders.map(LayerTarget::new).collect(),
            logs: root.join(LOGS),
            renamable: renamable(&place, &tracked.files, &not_copied),
            submodules,
            read_only: request.read_only.clone(),
            max_bytes: place
                .max_bytes
                .map_or(max_bytes, |most| most.min(max_bytes)),
            place,
            current: None,
            parked: None,
            removals: Removals::default(),
            reserve: None,
            notes,
        }))
    }

    /// Returns where they live.
    pub(crate) fn folder(&self) -> &Path {
        &self.place.folder
    }

    /// Returns what a person should know of them.
    pub(crate) fn notes(&self) -> &[String] {
        &self.notes
    }

    /// Goes on with the layer of an iteration that was cut off, if it is still there.
    fn take_up(&mut self, iteration: &IterationId) -> Result<(), LoopError> {
        let fail = |error| file_error("read", &self.place.folder, error);
        let entries = std::fs::read_dir(&self.place.folder).map_err(fail)?;
        for entry in entries.flatten() {
            let of = LayerOwner::of(&entry.path());
            if of.is_some_and(|of| of.iteration == iteration.as_str())
                && let Some(mut layer) = Layer::adopt(&self.place, &entry.path(), &self.targets)?
            {
                let fresh = Some(layer.path().join(FRESH)).filter(|fresh| fresh.is_dir());
                let lowers = fresh.into_iter().chain(self.caches.lowers());
                layer.set_lowers(&self.root, lowers.collect());
                self.current = Some(CurrentLayer::new(iteration, layer));
                return Ok(());
            }
        }
        Ok(())
    }

    /// Holds some space back while an agent runs: one that fills the disk gets an error, and ralph goes on.
    fn hold_reserve(&mut self) {
        if self.reserve.is_none() {
            let bytes = free_bytes(&self.place.folder).map_or(0, |free| RESERVE.min(free / 8));
            // Where none can be held, it is the disk's own reserve that is left.
            self.reserve = DiskReserve::hold(&self.place.folder, bytes).ok();
        }
    }

    /// Takes the reserve, where an agent has left little else.
    fn release_reserve(&mut self) {
        if free_bytes(&self.place.folder).is_none_or(|free| free < RESERVE) {
            self.reserve = None;
        }
    }

    /// Makes the layer of an iteration, unless there is one. No folder of these paths is copied into it.
    fn begin(&mut self, iteration: &IterationId, own: &[PathBuf]) -> Result<(), LoopError> {
        if let Some(current) = &self.current
            && current.iteration == *iteration
        {
            return Ok(());
        }
        self.drop_current();
        let mut layer = Layer::create(&self.place, &self.targets)?;
        self.caches.follow_user();
        layer.set_lowers(&self.root, self.caches.lowers());
        self.make_current(iteration, layer)?;
        self.copy_folders(own)
    }

    /// Goes on with the layer of an agent that handed over, where the user's folder is what it was then.
    fn unpark(&mut self, job: &Job) -> Result<bool, LoopError> {
        let goes_on = self.parked.take().filter(|parked| {
            job.start.attempt_ref.as_ref() == Some(&parked.attempt)
                && job.start.base_commit == parked.base
        });
        let Some(parked) = goes_on else {
            return Ok(false);
        };
        self.make_current(&job.iteration, parked.layer)?;
        Ok(true)
    }

    fn make_current(&mut self, iteration: &IterationId, layer: Layer) -> Result<(), LoopError> {
        let owner = LayerOwner {
            iteration: iteration.to_string(),
            worktree: self.root.clone(),
        };
        owner.write(layer.path())?;
        self.current = Some(CurrentLayer::new(iteration, layer));
        Ok(())
    }

    /// Returns the files whose time would pass for older than what was built from another version of them;
    /// `None` where the caches are not to be used.
    async fn stale_files(
        &self,
        repo: &Repo,
        base: &Oid,
        own_paths: &[PathBuf],
    ) -> Option<Vec<PathBuf>> {
        let Some(commit) = self.caches.commit() else {
            return Some(Vec::new());
        };
        let mut changed = Vec::new();
        if commit != *base {
            // A commit that is gone says nothing.
            changed = repo.differing(&commit, base, own_paths).await.ok()?;
        }
        let is_fitting = !is_about(&self.caches.folders(), &changed);
        is_fitting.then(|| self.caches.stale(&changed))
    }

    /// Writes files again below the current layer whose time would pass for older than what was built from another
    /// version of them.
    async fn freshen(
        &mut self,
        repo: &Repo,
        base: &Oid,
        own_paths: &[PathBuf],
    ) -> Result<(), LoopError> {
        let stale = self.stale_files(repo, base, own_paths).await;
        let Some(current) = &mut self.current else {
            return Ok(());
        };
        let mut lowers = self.caches.lowers();
        match stale {
            Some(paths) if paths.is_empty() => {}
            Some(paths) => {
                let fresh = current.layer.path().join(FRESH);
                std::fs::create_dir_all(&fresh).map_err(|e| file_error("make", &fresh, e))?;
                repo.write_files(base, &paths, &fresh).await?;
                lowers.insert(0, fresh);
            }
            None => {
                self.caches.give_up();
                lowers.clear();
            }
        }
        current.layer.set_lowers(&self.root, lowers);
        Ok(())
    }

    /// Begins the caches again from the user's own, where an agent's are part of them.
    fn give_up_caches_of_agent(&mut self) {
        if self.caches.is_by_agent() {
            self.caches.give_up();
        }
    }

    /// Makes a layer for commands that are to see a tree, and nothing that is not in it but what git ignores.
    pub(crate) async fn of_tree(
        &self,
        repo: &Repo,
        base: &Oid,
        tree: &Oid,
        own_paths: &[PathBuf],
    ) -> Result<VerifyLayer, LoopError> {
        let mut layer = Layer::create(&self.place, &self.targets)?;
        let made = std::fs::metadata(layer.path()).and_then(|meta| meta.modified());
        let began = made.map_err(|e| file_error("read", layer.path(), e))?;
        let status = repo.status().await?;
        let is_own = |path: &&PathBuf| own_paths.iter().any(|own| path.starts_with(own));
        let changed = status.changed.iter().map(|entry| &entry.path);
        let changed: Vec<PathBuf> = changed.filter(|p| !is_own(p)).cloned().collect();
        let upper = self.upper_of(&layer);
        let gone = repo.fill_folder(base, tree, &changed, upper).await?;
        let mut caches = self.caches.lowers();
        match self.stale_files(repo, base, own_paths).await {
            Some(paths) => drop(repo.write_files(tree, &paths, upper).await?),
            None => caches.clear(),
        }
        self.fill_submodules(repo, &layer, tree).await?;
        let untracked = status.untracked.iter().filter(|path| !is_own(path));
        let hidden: Vec<PathBuf> = gone.iter().chain(untracked).cloned().collect();
        self.hide(&layer, &hidden)?;
        if !caches.is_empty() && !self.caches_fit(repo, tree, upper).await? {
            caches.clear();
        }
        let on_caches = !caches.is_empty();
        layer.set_lowers(&self.root, caches);
        Ok(VerifyLayer {
            layer,
            began,
            on_caches,
            by_agent: on_caches && self.caches.is_by_agent(),
        })
    }

    /// Hides files of the user's in a layer that holds a tree, and the folders in which nothing else is.
    fn hide(&self, layer: &Layer, paths: &[PathBuf]) -> Result<(), LoopError> {
        let upper = self.upper_of(layer);
        let prefill = self.prefill(layer)?;
        let kind = |path: &Path| path.symlink_metadata().ok();
        let is_folder = |path: &Path| kind(path).is_some_and(|meta| meta.is_dir());
        let hidden: HashSet<&Path> = paths.iter().map(PathBuf::as_path).collect();
        let above = paths.iter().flat_map(|path| path.ancestors().skip(1));
        let above: BTreeSet<&Path> = above.filter(|path| !path.as_os_str().is_empty()).collect();
        let caches = self.caches.lowers();
        let mut emptied: HashSet<&Path> = HashSet::new();
        // What is below a folder comes after it.
        for folder in above.into_iter().rev() {
            let is_filled = kind(&upper.join(folder)).is_some()
                || caches.iter().any(|cache| cache.join(folder).exists());
            if is_filled || !is_folder(&self.root.join(folder)) {
                continue;
            }
            let Ok(mut entries) = std::fs::read_dir(self.root.join(folder)) else {
                continue;
            };
            let is_hidden = |path: &Path| hidden.contains(path) || emptied.contains(path);
            if entries.all(|entry| entry.is_ok_and(|e| is_hidden(&folder.join(e.file_name())))) {
                emptied.insert(folder);
            }
        }
        let mut done: HashSet<&Path> = HashSet::new();
        for path in paths {
            // What the tree has in the place of a folder or a file of the user's covers it.
            let is_covered = is_folder(&upper.join(path))
                || path
                    .ancestors()
                    .skip(1)
                    .any(|above| kind(&upper.join(above)).is_some_and(|meta| !meta.is_dir()));
            let topmost = path
                .ancestors()
                .filter(|above| emptied.contains(above))
                .last();
            let path = topmost.unwrap_or(path);
            if !is_covered && done.insert(path) {
                let hidden = prefill.whiteout(path);
                hidden.map_err(|e| file_error("hide", path, e))?;
            }
        }
        Ok(())
    }

    /// Returns whether the caches are still nothing but ignored files in a tree that was written into an upper
    /// folder.
    async fn caches_fit(&self, repo: &Repo, tree: &Oid, upper: &Path) -> Result<bool, LoopError> {
        let folders = self.caches.folders();
        let is_there = |path: &Path| upper.join(path).symlink_metadata().is_ok();
        if folders.iter().any(|folder| is_there(folder)) {
            return Ok(false);
        }
        let mut above = folders.iter().flat_map(|folder| folder.ancestors().skip(1));
        if !above.any(|folder| is_there(&folder.join(".gitignore"))) {
            return Ok(true);
        }
        let ignored = repo.ignored_folders(tree, &folders).await?;
        Ok(folders.iter().all(|folder| ignored.contains(folder)))
    }

    /// Keeps the caches of a verification whose tree is this commit's, for what comes after.
    pub(crate) async fn keep_caches(
        &mut self,
        repo: &Repo,
        commit: &Oid,
        names: &[String],
        verified: VerifyLayer,
    ) -> Result<(), LoopError> {
        let taken = self.take_caches(repo, commit, names, &verified).await;
        self.removals.add(verified.layer);
        taken
    }

    async fn take_caches(
        &mut self,
        repo: &Repo,
        commit: &Oid,
        names: &[String],
        verified: &VerifyLayer,
    ) -> Result<(), LoopError> {
        let upper = self.upper_of(&verified.layer);
        let entries = self.written_in(&verified.layer, &|path| is_named(path, names))?;
        let entries = entries.into_iter();
        let folders = entries.filter(|entry| matches!(entry.kind, UpperKind::Folder { .. }));
        let folders = folders.map(|entry| entry.path);
        let mut folders: Vec<PathBuf> = folders.filter(|path| is_named(path, names)).collect();
        if folders.is_empty() {
            return Ok(());
        }
        let ignored = repo.ignored_folders(commit, &folders).await?;
        folders.retain(|folder| ignored.contains(folder));
        let mut untracked = Vec::new();
        for folder in folders {
            if repo.files_below(commit, &folder).await?.is_empty() {
                untracked.push(folder);
            }
        }
        if !verified.on_caches {
            self.caches.give_up();
        }
        let mut changed = Vec::new();
        if let Some(before) = self.caches.commit() {
            changed = repo.differing(&before, commit, &[]).await?;
        }
        let from = VerifiedIn {
            upper,
            since: verified.began,
            commit,
            changed: &changed,
            by_agent: verified.by_agent,
        };
        let taken = self.caches.take(&untracked, from);
        taken.map_err(|e| file_error("keep the caches of", &self.root, e))
    }

    /// Takes the layer in which the change was verified that has landed.
    pub(crate) fn take_verified(&mut self) -> Option<VerifyLayer> {
        self.verified.take()
    }

    /// Gives up the caches where the user's own have changed since.
    pub(crate) fn follow_user_caches(&mut self) {
        self.caches.follow_user();
    }

    fn prefill(&self, layer: &Layer) -> Result<Prefill, LoopError> {
        let upper = self.upper_of(layer);
        Prefill::open(upper, &self.root, self.place.options.xattrs)
            .map_err(|e| file_error("open", upper, e))
    }

    /// Plans what a program in a layer sees. The journal can't be written. The logs, which ralph writes
    /// meanwhile, have an overlay of their own: what a program writes there is dropped when it ends.
    pub(crate) fn mounts(&self, layer: &Layer) -> Result<MountPlan, LoopError> {
        let mut plan = layer.mount_plan()?;
        // A bind of the data folder would uncover them again: they are covered last.
        plan.steps.retain(
            |step| !matches!(step, MountStep::Cover { path } if *path == self.place.folder),
        );
        for path in &self.read_only {
            plan = plan.bind(path, path, BindAccess::ReadOnly);
        }
        // Who only reads makes no folder for logs.
        if self.logs.is_dir() || self.caches.access() == CacheAccess::Write {
            self.add_logs(layer, &mut plan)?;
        }
        Ok(plan.cover(&self.place.folder))
    }

    fn add_logs(&self, layer: &Layer, plan: &mut MountPlan) -> Result<(), LoopError> {
        let folder = layer.path().join("logs");
        let (upper, work) = (folder.join("upper"), folder.join("work"));
        let ready = std::fs::create_dir_all(&self.logs)
            .and_then(|()| remove_tree(&folder))
            .and_then(|()| std::fs::create_dir_all(&upper))
            .and_then(|()| std::fs::create_dir_all(&work));
        ready.map_err(|e| file_error("make", &folder, e))?;
        // A mount has no symbolic link in its path.
        let real = self.logs.canonicalize();
        let real = real.map_err(|e| file_error("find", &self.logs, e))?;
        let is_overlay = |step: &MountStep| matches!(step, MountStep::Overlay(_));
        // Before what covers the folder that it lies in.
        let at = plan
            .steps
            .iter()
            .take_while(|step| is_overlay(step))
            .count();
        let logs = OverlayMount {
            target: real.clone(),
            lowers: vec![real],
            upper,
            work,
            options: self.place.options,
        };
        plan.steps.insert(at, MountStep::Overlay(logs));
        Ok(())
    }

    fn layer(&self) -> Option<&Layer> {
        self.current.as_ref().map(|current| &current.layer)
    }

    /// The folder that holds what was written in the current layer.
    fn upper(&self) -> Option<&Path> {
        self.layer().map(|layer| self.upper_of(layer))
    }

    fn upper_of<'a>(&self, layer: &'a Layer) -> &'a Path {
        folder_of(layer, &self.root).map_or(layer.path(), |folder| &folder.upper)
    }

    /// Lists what was written in the current layer. The git folder is one entry.
    fn entries(&self) -> Result<Vec<UpperEntry>, LoopError> {
        let layer = self.layer();
        layer.map_or(Ok(Vec::new()), |layer| self.written_in(layer, &|_| false))
    }

    /// Lists what was written in a layer. A git folder is one entry, and so are the folders that are not
    /// entered.
    fn written_in(
        &self,
        layer: &Layer,
        is_one: &dyn Fn(&Path) -> bool,
    ) -> Result<Vec<UpperEntry>, LoopError> {
        let Some(folder) = folder_of(layer, &self.root) else {
            return Ok(Vec::new());
        };
        let fail = |e: io::Error| file_error("read", &folder.upper, e);
        let upper = layer.upper(folder).map_err(fail)?;
        let descend = |path: &Path| {
            let is_git = path.file_name().is_some_and(|name| name == ".git");
            if is_git || is_one(path) {
                Descent::Prune
            } else {
                Descent::Enter
            }
        };
        let entries = upper
            .scan(descend)
            .map_err(|e| fail(io::Error::other(e.to_string())))?;
        Ok(match &self.current {
            Some(current) => current.copied.taken_out(&folder.upper, entries),
            None => entries,
        })
    }

    /// Copies folders that hold tracked files into a new layer, as far as that is little: elsewhere a program of an
    /// ordinary user can't rename them.
    fn copy_folders(&mut self, own: &[PathBuf]) -> Result<(), LoopError> {
        let Some(current) = &self.current else {
            return Ok(());
        };
        let upper = self.upper_of(&current.layer);
        let prefill = self.prefill(&current.layer)?;
        let mut budget = COPIED;
        let mut done = Vec::new();
        for folder in &self.renamable {
            let is_own = |own: &PathBuf| own.starts_with(folder) || folder.starts_with(own);
            if own.iter().any(is_own) {
                continue;
            }
            match prefill.copy_folder(folder, budget) {
                Ok(FolderCopy::Copied(size)) => {
                    budget.entries = budget.entries.saturating_sub(size.entries);
                    budget.bytes = budget.bytes.saturating_sub(size.bytes);
                    done.push(folder.clone());
                }
                Ok(FolderCopy::LeftAlone) => {}
                // Such as a file that can't be read: then it is shown as it is.
                Err(_) => prefill
                    .forget(folder)
                    .map_err(|e| file_error("drop", folder, e))?,
            }
        }
        if done.is_empty() {
            return Ok(());
        }
        let layer = current.layer.path();
        let copied = CopiedFiles::of(upper, done)
            .and_then(|copied| copied.save(layer).map(|()| copied))
            .map_err(|e| file_error("note the copies in", layer, e))?;
        if let Some(current) = &mut self.current {
            current.copied = copied;
        }
        Ok(())
    }

    /// Writes the tree of the base with what was written in the current layer.
    pub(crate) async fn stage(
        &self,
        repo: &Repo,
        spec: &StageSpec<'_>,
    ) -> Result<Staged, LoopError> {
        let entries = self.entries()?;
        let index = self.written_in_git(repo.git_dir(), "index");
        let mut gitlinks = Vec::new();
        for (module, commit) in self.moved_submodules() {
            let written = self.written_in_git(&module.git_dir, "objects");
            let written = written.unwrap_or_else(|| module.git_dir.join("objects"));
            if repo.take_module_commit(module, &commit, &written).await? {
                let path = module.path.clone();
                gitlinks.push(Gitlink { path, commit });
            }
        }
        let added = self.added_submodules(repo, &entries).await?;
        gitlinks.extend(added.into_iter().map(|module| Gitlink {
            path: module.path,
            commit: module.commit,
        }));
        let work = LayerWork {
            folder: self.upper().unwrap_or(&self.root),
            entries: &entries,
            index: index.as_deref(),
            gitlinks: &gitlinks,
        };
        Ok(repo.stage_layer(spec, &work).await?)
    }

    /// Throws the current layer away.
    pub(crate) fn drop_current(&mut self) {
        let current = self.current.take().map(|current| current.layer);
        let verified = self.verified.take().map(|verified| verified.layer);
        for layer in current.into_iter().chain(verified) {
            self.removals.add(layer);
        }
    }

    /// The place of a file of the git folder in the layer, if it was written there.
    fn written_in_git(&self, git_dir: &Path, name: &str) -> Option<PathBuf> {
        let layer = self.layer()?;
        let path = git_dir.join(name);
        let folders = layer.folders().iter().rev();
        let found = folders.filter_map(|folder| {
            let below = path.strip_prefix(&folder.target).ok()?;
            Some(folder.upper.join(below))
        });
        found
            .into_iter()
            .find(|path| path.symlink_metadata().is_ok())
    }
}

/// Names what is different in a layer here, and where layers are kept that is not ralph's own folder.
fn notes(place: &LayerPlace, sockets: &SocketSearch, root: &Path) -> Vec<String> {
    let mut notes = Vec::new();
    if place.kind == PlaceKind::Sibling {
        notes.push(format!(
            "layers are kept beside the repository, in {}: ralph's data folder is on another disk or can't hold them",
            place.folder.display()
        ));
    }
    if !sockets.found.is_empty() {
        let named = sockets.found.iter().take(MOST_SOCKETS);
        let named = named.map(|path| path.strip_prefix(root).unwrap_or(path));
        let named: Vec<String> = named.map(shown).collect();
        let more = sockets.found.len().saturating_sub(MOST_SOCKETS);
        let more = if more > 0 {
            format!(" and {more} more")
        } else {
            String::new()
        };
        notes.push(format!(
            "agents and verify commands can't connect to sockets in the repository: {}{more} (`workspace.mode: in_place` lets them)",
            named.join(", ")
        ));
    }
    notes
}

/// The folders at the top that hold tracked files, where programs can't rename a folder of the base and it is not
/// much to copy.
fn renamable(place: &LayerPlace, tracked: &[PathBuf], not: &[PathBuf]) -> Vec<PathBuf> {
    if place.folder_rename == FolderRename::Works || tracked.len() as u64 > COPIED.entries {
        return Vec::new();
    }
    let tops = tracked.iter().filter_map(|path| {
        let mut parts = path.components();
        let top = PathBuf::from(parts.next()?.as_os_str());
        parts.next().map(|_| top)
    });
    let tops: BTreeSet<PathBuf> = tops.collect();
    let is_plain = |top: &PathBuf| {
        !top.starts_with(crate::dot_ralph::FOLDER) && !not.iter().any(|path| path.starts_with(top))
    };
    tops.into_iter().filter(is_plain).collect()
}

/// Returns whether a folder is a cache by its name.
fn is_named(path: &Path, names: &[String]) -> bool {
    let name = path.file_name().and_then(|name| name.to_str());
    name.is_some_and(|name| names.iter().any(|cache| cache == name))
}

/// Returns whether a change of these paths can make something else of folders that git ignores.
fn is_about(folders: &[PathBuf], paths: &[PathBuf]) -> bool {
    paths.iter().any(|path| {
        let is_rule = path.file_name().is_some_and(|name| name == ".gitignore");
        is_rule
            || folders
                .iter()
                .any(|folder| path.starts_with(folder) || folder.starts_with(path))
    })
}

/// The folder of a layer that is laid over a repository's root.
fn folder_of<'a>(layer: &'a Layer, root: &Path) -> Option<&'a LayerFolder> {
    let mut folders = layer.folders().iter();
    folders.find(|folder| folder.target == root)
}

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
                    std::fs::create_dir_all(folder)?;
                }
                plain_file::make_room(&to)?;
                std::fs::write(&to, bytes)?;
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

    fn start<'a>(&'a mut self, job: &'a Job) -> LocalFuture<'a, Result<Continued, LoopError>> {
        Box::pin(async {
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
        })
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
            place: self.layers.place.folder.clone(),
            xattrs: self.layers.place.options.xattrs,
            max_bytes: self.layers.max_bytes,
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
            tasks: sources.any(|file| is_taken(&file.path)),
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

    fn restore_history<'a>(
        &'a mut self,
        job: &'a Job,
    ) -> LocalFuture<'a, Result<Findings, LoopError>> {
        Box::pin(async {
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
        })
    }

    fn restore_git_folder(&mut self) -> Result<Vec<String>, LoopError> {
        // The git folder that the agent wrote to goes with the layer.
        Ok(Vec::new())
    }

    fn stage<'a>(&'a mut self, job: &'a Job) -> LocalFuture<'a, Result<Staged, LoopError>> {
        Box::pin(async {
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
            self.layers.stage(self.folder.repo, &spec).await
        })
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

    fn fingerprint(&self) -> LocalFuture<'_, Option<u64>> {
        Box::pin(async {
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
        })
    }

    fn replay<'a>(
        &'a self,
        request: &'a ReplayRequest<'a>,
    ) -> LocalFuture<'a, Result<Replay, GitError>> {
        Box::pin(self.folder.repo.replay(request))
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

    fn verify_layer<'a>(
        &'a self,
        job: &'a Job,
        change: &'a AgentChange,
    ) -> LocalFuture<'a, Result<Option<VerifyLayer>, LoopError>> {
        Box::pin(async move {
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
        })
    }

    fn settle_verified<'a>(
        &'a mut self,
        job: &'a Job,
        change: &'a AgentChange,
        verified: VerifyLayer,
    ) -> LocalFuture<'a, Result<Vec<PathBuf>, LoopError>> {
        Box::pin(async move {
            let written = self.written_that_lands(job, change, &verified).await;
            self.layers.verified = Some(verified);
            written
        })
    }

    fn mounts_of(&self, layer: &Layer) -> Result<MountPlan, LoopError> {
        self.layers.mounts(layer)
    }

    fn restore_after_commands<'a>(
        &'a mut self,
        _job: &'a Job,
        _progress: &'a str,
        _candidate: Option<StagedCandidate<'a>>,
    ) -> LocalFuture<'a, Result<RestoredAfter, LoopError>> {
        // What they wrote is in a layer.
        Box::pin(async { Ok(RestoredAfter::default()) })
    }

    fn edited_untracked(&self, job: &Job) -> Result<Vec<PathBuf>, LoopError> {
        let untracked = paths_from_text(&job.start.untracked);
        let entries = self.layers.entries()?.into_iter();
        let written = entries.filter(|entry| {
            matches!(entry.kind, UpperKind::File { .. }) && untracked.contains(&entry.path)
        });
        Ok(written.map(|entry| entry.path).collect())
    }

    fn hand_over<'a>(
        &'a mut self,
        job: &'a Job,
        attempt: &'a str,
    ) -> LocalFuture<'a, Result<(), LoopError>> {
        Box::pin(async {
            let layer = self.layers.current.take().map(|current| current.layer);
            self.layers.parked = layer.map(|layer| ParkedLayer {
                attempt: attempt.to_owned(),
                base: job.start.base_commit.clone(),
                layer,
            });
            Ok(())
        })
    }

    fn reset<'a>(&'a mut self, _job: &'a Job) -> LocalFuture<'a, Result<(), LoopError>> {
        Box::pin(async {
            self.layers.drop_current();
            Ok(())
        })
    }
}
