//! Submodules in a layer, and objects that a repository borrows from another.

use std::{
    ffi::OsStr,
    os::unix::ffi::OsStrExt as _,
    path::{Component, Path, PathBuf},
};

use ralph_core::change::{shown, submodule_paths};

use super::Layers;
use crate::{
    error::{LoopError, file_error},
    git::{Oid, Repo, Submodule},
    journal_text::{path_from_text, path_to_text},
    layer::{Layer, UpperEntry, UpperKind},
    plain_file,
};

/// The file beside the objects of a submodule that says where it lies.
const MODULE_PATH: &str = "path";

impl Layers {
    /// The submodules that were moved to another commit in the current layer, and that commit.
    pub(super) fn moved_submodules(&self) -> Vec<(&Submodule, Oid)> {
        let Some(layer) = self.layer() else {
            return Vec::new();
        };
        let read = |path: &Path| shown_in(layer, path);
        let moved = self.submodules.iter().filter_map(|module| {
            let head = module.head(&read)?;
            (head != module.commit).then_some((module, head))
        });
        moved.collect()
    }

    /// The submodules that were added in the current layer: repositories that its `.gitmodules` names, and that
    /// the user does not have. Their objects are taken into the layer's own folder, each hashed again.
    pub(super) async fn added_submodules(
        &self,
        repo: &Repo,
        entries: &[UpperEntry],
    ) -> Result<Vec<Submodule>, LoopError> {
        let Some(layer) = self.layer() else {
            return Ok(Vec::new());
        };
        let new = entries.iter().filter_map(|entry| {
            let is_file = matches!(entry.kind, UpperKind::File { .. });
            let folder = entry
                .path
                .parent()
                .filter(|_| entry.path.ends_with(".git") && is_file)?;
            let known = self.submodules.iter().any(|m| folder.starts_with(&m.path));
            (!known && !folder.as_os_str().is_empty()).then(|| folder.to_owned())
        });
        let read = |path: &Path| shown_in(layer, path);
        let named = read(&self.root.join(".gitmodules")).unwrap_or_default();
        let named = submodule_paths(&String::from_utf8_lossy(&named));
        let mut added = Vec::new();
        for path in new.filter(|path| named.contains(path)) {
            let folder = self.root.join(&path);
            let Some(git_dir) = git_dir_of(&folder, read(&folder.join(".git"))) else {
                continue;
            };
            let unknown = Oid::parse(&"0".repeat(40)).ok();
            let Some(found) = unknown.map(|commit| Submodule {
                path,
                commit,
                git_dir,
            }) else {
                continue;
            };
            let (Some(head), Some(objects)) = (
                found.head(&read),
                place_in(layer, &found.git_dir.join("objects")),
            ) else {
                continue;
            };
            let own = Submodule {
                git_dir: layer.path().join("modules").join(head.as_str()),
                commit: head,
                path: found.path,
            };
            if repo.take_new_module(&own, &objects).await? {
                let note = own.git_dir.join(MODULE_PATH);
                std::fs::write(&note, path_to_text(&own.path))
                    .map_err(|e| file_error("write", &note, e))?;
                added.push(own);
            }
        }
        Ok(added)
    }

    /// The submodules of the current layer whose objects were taken.
    fn taken_submodules(&self) -> Vec<Submodule> {
        let folder = self.layer().map(|layer| layer.path().join("modules"));
        let entries = folder.and_then(|folder| std::fs::read_dir(folder).ok());
        let entries = entries.into_iter().flatten().flatten();
        let taken = entries.filter_map(|entry| {
            let git_dir = entry.path();
            let path = std::fs::read_to_string(git_dir.join(MODULE_PATH)).ok()?;
            Some(Submodule {
                path: path_from_text(&path),
                commit: Oid::parse(entry.file_name().to_str()?).ok()?,
                git_dir,
            })
        });
        taken.collect()
    }

    /// Shows a submodule that was added in the current layer in another one.
    async fn fill_added(
        &self,
        repo: &Repo,
        layer: &Layer,
        module: &Submodule,
    ) -> Result<(), LoopError> {
        let prefill = self.prefill(layer)?;
        let folder = self.upper_of(layer).join(&module.path);
        prefill
            .opaque_folder(&module.path)
            .map_err(|e| file_error("make", &folder, e))?;
        Ok(repo.fill_module(module, &module.commit, &folder).await?)
    }

    /// Shows submodules in a layer as a tree records them, where that is not what the user has.
    pub(super) async fn fill_submodules(
        &self,
        repo: &Repo,
        layer: &Layer,
        tree: &Oid,
    ) -> Result<(), LoopError> {
        let added = self.taken_submodules();
        if !added.is_empty() {
            let paths = added.iter().map(|module| module.path.as_path());
            let links = repo.gitlinks_of(tree, paths).await?;
            let is_there = |m: &&Submodule| {
                links
                    .iter()
                    .any(|l| l.path == m.path && l.commit == m.commit)
            };
            for module in added.iter().filter(is_there) {
                self.fill_added(repo, layer, module).await?;
            }
        }
        if self.submodules.is_empty() {
            return Ok(());
        }
        let prefill = self.prefill(layer)?;
        let paths = self.submodules.iter().map(|module| module.path.as_path());
        let links = repo.gitlinks_of(tree, paths).await?;
        for module in &self.submodules {
            if !links.iter().any(|link| link.path == module.path) {
                let hidden = prefill.whiteout(&module.path);
                hidden.map_err(|e| file_error("hide", &module.path, e))?;
            }
        }
        for link in links {
            let mut modules = self.submodules.iter();
            let module = modules.find(|m| m.path == link.path && m.commit != link.commit);
            let Some(module) = module else { continue };
            let folder = self.upper_of(layer).join(&module.path);
            let dot_git = plain_file::read(&self.root.join(&module.path).join(".git"));
            prefill
                .opaque_folder(&module.path)
                .and_then(|()| std::fs::write(folder.join(".git"), dot_git?))
                .map_err(|e| file_error("make", &folder, e))?;
            repo.fill_module(module, &link.commit, &folder).await?;
            if let Some(head) = place_in(layer, &module.git_dir.join("HEAD")) {
                let made = head.parent().map_or(Ok(()), std::fs::create_dir_all);
                made.and_then(|()| std::fs::write(&head, format!("{}\n", link.commit)))
                    .map_err(|e| file_error("write", &head, e))?;
            }
        }
        Ok(())
    }

    /// Says of submodules that an agent changed what is not part of the commit.
    pub(super) fn changed_submodules(&self, entries: &[UpperEntry]) -> Vec<String> {
        let moved = self.moved_submodules();
        let is_changed = |module: &&Submodule| {
            let mut inside = entries
                .iter()
                .filter(|e| e.path.starts_with(&module.path) && e.path != module.path);
            inside.any(|e| {
                matches!(e.kind, UpperKind::File { .. } | UpperKind::Whiteout)
                    && !e.path.ends_with(".git")
            }) && !moved.iter().any(|(m, _)| m.path == module.path)
        };
        let changed = self.submodules.iter().filter(is_changed);
        changed
            .map(|module| {
                let path = shown(&module.path);
                format!("files of the submodule {path} were changed and not committed in it: that is not part of the change")
            })
            .collect()
    }
}

/// The place in a layer where something at this path is written.
fn place_in(layer: &Layer, path: &Path) -> Option<PathBuf> {
    let mut folders = layer.folders().iter().rev();
    folders.find_map(|folder| Some(folder.upper.join(path.strip_prefix(&folder.target).ok()?)))
}

/// A file as a program in a layer sees it.
fn shown_in(layer: &Layer, path: &Path) -> Option<Vec<u8>> {
    let written = place_in(layer, path)?;
    match std::fs::symlink_metadata(&written) {
        Ok(meta) if meta.is_file() => plain_file::read(&written).ok(),
        // It was deleted, or something else stands there.
        Ok(_) => None,
        Err(_) => plain_file::read(path).ok(),
    }
}

/// The git folder that the file of that name in a folder leads to, without links.
fn git_dir_of(folder: &Path, dot_git: Option<Vec<u8>>) -> Option<PathBuf> {
    let text = String::from_utf8(dot_git?).ok()?;
    let path = folder.join(text.strip_prefix("gitdir:")?.trim());
    let mut whole = PathBuf::new();
    for part in path.components() {
        match part {
            Component::ParentDir => drop(whole.pop()),
            Component::CurDir => {}
            part => whole.push(part),
        }
    }
    Some(whole)
}

/// The folders of objects that a repository borrows from, and that these borrow from.
pub(crate) fn alternates(objects: &Path) -> Vec<PathBuf> {
    let mut found: Vec<PathBuf> = Vec::new();
    let mut pending = vec![objects.to_owned()];
    while let Some(objects) = pending.pop() {
        let text = plain_file::read(&objects.join("info/alternates")).unwrap_or_default();
        for line in text
            .split(|byte| *byte == b'\n')
            .filter(|line| !line.is_empty())
        {
            let folder = objects.join(OsStr::from_bytes(line)).canonicalize();
            if let Ok(folder) = folder
                && folder.is_dir()
                && !found.contains(&folder)
            {
                found.push(folder.clone());
                pending.push(folder);
            }
        }
    }
    found
}
