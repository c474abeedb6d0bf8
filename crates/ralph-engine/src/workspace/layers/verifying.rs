//! Layers in which a tree is verified, and the caches that verifications leave.

use std::{
    collections::{BTreeSet, HashSet},
    path::{Path, PathBuf},
};

use super::super::{VerifyLayer, caches::VerifiedIn};
use super::{FRESH, Layers, is_about, is_named};
use crate::{
    error::{LoopError, file_error},
    git::{Oid, Repo},
    layer::{Layer, UpperKind},
};

impl Layers {
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
    pub(super) async fn freshen(
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
    pub(super) fn give_up_caches_of_agent(&mut self) {
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
        // What the tree has too is in the layer already.
        let is_in_tree = |path: &&PathBuf| upper.join(path).symlink_metadata().is_ok();
        let untracked = status.untracked.iter();
        let untracked = untracked.filter(|path| !is_own(path) && !is_in_tree(path));
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
    pub(super) fn hide(&self, layer: &Layer, paths: &[PathBuf]) -> Result<(), LoopError> {
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
}
