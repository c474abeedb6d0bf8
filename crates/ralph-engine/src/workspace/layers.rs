//! The layers of a loop: where they live, what they are laid over, and the one of the current iteration.

mod layered;
mod leftovers;
mod submodules;
mod verifying;

pub(crate) use layered::Layered;
pub(crate) use leftovers::{has_leftover_layers, sweep_layers};

use std::{
    collections::{BTreeSet, HashSet},
    io,
    path::{Path, PathBuf},
    thread::JoinHandle,
};

use ralph_core::{
    change::shown,
    figures::{bytes, first_of},
    id::IterationId,
    job::Job,
};

pub(crate) use self::submodules::alternates;

use self::leftovers::{LayerOwner, sweep_folder};
use super::{
    VerifyLayer,
    caches::{CacheAccess, Caches, sweep_caches},
    copied::CopiedFiles,
};
use crate::{
    error::{LoopError, file_error},
    git::{Gitlink, LayerWork, Repo, StageSpec, Staged, Submodule},
    iteration::LOGS,
    layer::{
        CopySize, DiskReserve, FolderCopy, InPlaceReason, Layer, LayerFolder, LayerPlace,
        LayerTarget, PlaceKind, PlaceRequest, Prefill, UpperEntry,
        checks::{CheckRequest, SocketSearch, check_repository},
        free_bytes,
        upper::Descent,
    },
    plain_file,
    process::{BindAccess, Containment, FolderRename, MountPlan, MountStep},
};

/// The entries of a repository that are looked at in search of sockets.
const SOCKET_BUDGET: usize = 20_000;
/// The bytes that a program can write over the logs.
const MOST_OF_LOGS: u64 = 64 * 1024 * 1024;
/// The most that is copied into a layer before a run.
const COPIED: CopySize = CopySize {
    entries: 1_000,
    bytes: 16 * 1024 * 1024,
};
/// The sockets that are named.
const MOST_SOCKETS: usize = 5;
/// A folder in memory, for layers that no disk can hold.
const MEMORY: &str = "/dev/shm";
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
    /// The most that one file may hold, where a person has set a limit: a sparse file may be larger than half of
    /// what is free.
    max_file: Option<u64>,
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
            memory_dir: Some(Path::new(MEMORY)),
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
            max_file: request.max_bytes,
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

    /// Takes the reserve, where a program has left little else. The next agent's run holds it again.
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

    fn prefill(&self, layer: &Layer) -> Result<Prefill, LoopError> {
        let upper = self.upper_of(layer);
        Prefill::open(upper, &self.root, self.place.options.xattrs)
            .map_err(|e| file_error("open", upper, e))
    }

    /// Plans what a program in a layer sees. The journal can't be written. The logs, which ralph writes
    /// meanwhile, have an overlay of their own in memory: what a program writes there is dropped when it ends.
    pub(crate) fn mounts(&self, layer: &Layer) -> Result<MountPlan, LoopError> {
        let mut plan = layer.mount_plan()?;
        plan.max_written = Some(self.max_bytes);
        plan.max_file = self.max_file;
        // A bind of the data folder would uncover them again: they are covered last.
        plan.steps.retain(
            |step| !matches!(step, MountStep::Cover { path } if *path == self.place.folder),
        );
        for path in &self.read_only {
            plan = plan.bind(path, path, BindAccess::ReadOnly);
        }
        // Who only reads makes no folder for logs.
        if self.logs.is_dir() || self.caches.access() == CacheAccess::Write {
            self.add_logs(&mut plan)?;
        }
        Ok(plan.cover(&self.place.folder))
    }

    fn add_logs(&self, plan: &mut MountPlan) -> Result<(), LoopError> {
        // A mount has no symbolic link in its path.
        let real = std::fs::create_dir_all(&self.logs).and_then(|()| self.logs.canonicalize());
        let path = real.map_err(|e| file_error("make", &self.logs, e))?;
        let is_overlay = |step: &MountStep| matches!(step, MountStep::Overlay(_));
        // Before what covers the folder that it lies in.
        let at = plan
            .steps
            .iter()
            .take_while(|step| is_overlay(step))
            .count();
        let xattrs = self.place.options.xattrs;
        let most = Some(MOST_OF_LOGS);
        let logs = MountStep::Scratch { path, xattrs, most };
        plan.steps.insert(at, logs);
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
        let below = self.layer().map(|layer| layer.below(&self.root));
        let work = LayerWork {
            folder: self.upper().unwrap_or(&self.root),
            entries: &entries,
            index: index.as_deref(),
            gitlinks: &gitlinks,
            below: below.as_ref(),
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
    if let (PlaceKind::Memory, Some(most)) = (place.kind, place.max_bytes) {
        notes.push(format!(
            "layers are kept in memory, in {}, up to {}: no disk here can hold them",
            place.folder.display(),
            bytes(most)
        ));
    }
    if !sockets.found.is_empty() {
        let named = sockets.found.iter();
        let named = named.map(|path| path.strip_prefix(root).unwrap_or(path));
        let named: Vec<String> = named.map(shown).collect();
        notes.push(format!(
            "agents and verify commands can't connect to sockets in the repository: {} (`workspace.mode: in_place` lets them)",
            first_of(&named, MOST_SOCKETS)
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
