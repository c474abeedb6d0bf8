//! The git folder of ralph's own, outside the repository.
//!
//! Settings, excludes and attributes are copies from when it was made; HEAD and index are its own;
//! refs, reflogs and objects are the repository's. It lives as long as its [`Shadow`], and one that a
//! crash left is removed when the next is made. Never holds the only copy of anything.

use std::fs;
use std::os::unix::fs::{FileExt, symlink};
use std::path::{Path, PathBuf};

use tempfile::TempDir;

use super::call::Index;
use super::config::{ConfigScope, Setting, render_settings};
use super::{GitError, Oid};

const PREFIX: &str = "git-";
/// Held locked by the process that uses the folder.
const OWNER: &str = "owner";

#[derive(Debug)]
pub(super) struct Shadow {
    folder: TempDir,
    _owner: fs::File,
}

impl Shadow {
    pub(super) fn make(
        state_dir: &Path,
        common_dir: &Path,
        settings: &[Setting],
    ) -> Result<Self, GitError> {
        fs::create_dir_all(state_dir).map_err(GitError::io("make", state_dir))?;
        // Held while folders are made and swept, so that a new one is not taken for a leftover.
        let gate = lock_file(
            &state_dir.join("git.lock"),
            rustix::fs::FlockOperation::LockExclusive,
        )?;
        sweep_leftovers(state_dir);
        let folder = tempfile::Builder::new()
            .prefix(PREFIX)
            .tempdir_in(state_dir)
            .map_err(GitError::io("make a folder in", state_dir))?;
        let owner = lock_file(
            &folder.path().join(OWNER),
            rustix::fs::FlockOperation::LockExclusive,
        )?;
        drop(gate);
        let shadow = Self {
            folder,
            _owner: owner,
        };
        shadow
            .fill(common_dir, settings)
            .map_err(GitError::io("fill", shadow.path()))?;
        Ok(shadow)
    }

    pub(super) fn path(&self) -> &Path {
        self.folder.path()
    }

    /// Where the index stands that equals the base.
    pub(super) fn index(&self) -> PathBuf {
        self.path().join("index")
    }

    /// Where the next commit is put together, so that `index` stays at the base until it has landed.
    pub(super) fn stage_index(&self) -> PathBuf {
        self.path().join("index.stage")
    }

    pub(super) fn index_of(&self, index: Index) -> PathBuf {
        match index {
            Index::Base => self.index(),
            Index::Stage => self.stage_index(),
            Index::Side => self.path().join("index.side"),
            Index::Module => self.path().join("module-index"),
        }
    }

    pub(super) fn user_settings(&self) -> PathBuf {
        self.path().join("user-config")
    }

    /// Makes `oid` what later calls compare with.
    pub(super) fn set_head(&self, oid: &Oid) -> Result<(), GitError> {
        let path = self.path().join("HEAD");
        let text = format!("{oid}\n").into_bytes();
        let write = || {
            // Most calls say what is there already; and to empty a file would wait for the disk.
            if fs::read(&path)? == text {
                return Ok(());
            }
            let file = fs::File::options().write(true).open(&path)?;
            file.write_all_at(&text, 0)?;
            file.set_len(text.len() as u64)
        };
        write().map_err(GitError::io("write", &path))
    }

    fn fill(&self, common_dir: &Path, settings: &[Setting]) -> std::io::Result<()> {
        let here = self.path();
        fs::write(here.join("HEAD"), "ref: refs/heads/none\n")?;
        fs::write(
            here.join("config"),
            render_settings(settings, ConfigScope::Repository),
        )?;
        fs::write(
            self.user_settings(),
            render_settings(settings, ConfigScope::User),
        )?;
        fs::create_dir(here.join("info"))?;
        fs::create_dir(here.join("logs"))?;
        fs::create_dir_all(common_dir.join("logs/refs"))?;
        for shared in ["refs", "packed-refs", "logs/refs"] {
            symlink(common_dir.join(shared), here.join(shared))?;
        }
        if common_dir.join("shallow").exists() {
            symlink(common_dir.join("shallow"), here.join("shallow"))?;
        }
        // Large files must end up where the person's own git-lfs finds and pushes them.
        if settings
            .iter()
            .any(|setting| setting.key.starts_with("filter.lfs."))
        {
            fs::create_dir_all(common_dir.join("lfs"))?;
            symlink(common_dir.join("lfs"), here.join("lfs"))?;
        }
        Ok(())
    }

    /// Copies the excludes, attributes and sparse patterns of the repository and of the worktree.
    pub(super) fn copy_info(&self, git_dir: &Path, common_dir: &Path) -> Result<(), GitError> {
        let sources = [
            (common_dir, "info/exclude"),
            (common_dir, "info/attributes"),
            (git_dir, "info/sparse-checkout"),
        ];
        for (folder, name) in sources {
            let from = folder.join(name);
            let plain = fs::symlink_metadata(&from).is_ok_and(|meta| meta.is_file());
            if plain {
                fs::copy(&from, self.path().join(name)).map_err(GitError::io("copy", &from))?;
            }
        }
        Ok(())
    }
}

fn lock_file(path: &Path, operation: rustix::fs::FlockOperation) -> Result<fs::File, GitError> {
    let file = fs::OpenOptions::new()
        .create(true)
        .truncate(false)
        .write(true)
        .open(path)
        .map_err(GitError::io("open", path))?;
    rustix::fs::flock(&file, operation)
        .map_err(|error| GitError::io("lock", path)(error.into()))?;
    Ok(file)
}

/// What can't be removed now is left for the next time.
fn sweep_leftovers(state_dir: &Path) {
    let Ok(entries) = fs::read_dir(state_dir) else {
        return;
    };
    for entry in entries.flatten() {
        let is_shadow = entry.file_name().to_string_lossy().starts_with(PREFIX)
            && entry.path().join(OWNER).exists();
        if !is_shadow {
            continue;
        }
        let free = lock_file(
            &entry.path().join(OWNER),
            rustix::fs::FlockOperation::NonBlockingLockExclusive,
        );
        if free.is_ok() {
            let _ = fs::remove_dir_all(entry.path());
        }
    }
}
