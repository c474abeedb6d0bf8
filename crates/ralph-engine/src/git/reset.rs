//! Puts the working tree back to the base, and takes away what an agent made.
//!
//! Leaves what was there before and what is ignored. Follows no symlink while it removes, and gives
//! itself back the rights that an agent took from folders.

use std::collections::HashSet;
use std::fs;
use std::io;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::time::Instant;

use super::call::Index;
use super::early::VerifiedLook;
use super::refs::{check_ref_name, read_branch};
use super::repo::StageIndex;
use super::stage::{StageSpec, joined};
use super::status::{SCAN, Seen, path_of, read_seen};
use super::{GitError, Oid, Repo};
use crate::plain_file;

pub struct ResetSpec<'a> {
    pub branch: &'a str,
    pub base: &'a Oid,
    /// Untracked files from before the agent.
    pub keep_untracked: &'a HashSet<PathBuf>,
    /// Files and folders of ralph's own; they stay as they are.
    pub own_paths: &'a [PathBuf],
}

/// The files that programs wrote since a tree was staged.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct WrittenMeanwhile {
    /// Tracked ones, which are put back.
    pub rewritten: Vec<PathBuf>,
    /// New ones that are not ignored. They stay: a person may have made them.
    pub made: Vec<PathBuf>,
    /// Those of both that were asked for, as they were written.
    pub saved: Vec<SavedFile>,
}

/// A file with its content at a moment.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SavedFile {
    pub path: PathBuf,
    pub content: Vec<u8>,
}

impl Repo {
    pub async fn reset_to(&self, spec: &ResetSpec<'_>) -> Result<(), GitError> {
        check_ref_name(spec.branch)?;
        let mut state = self.in_order().await;
        state.staged = None;
        let tip = read_branch(&self.common_dir, spec.branch)?;
        self.put_branch_at(spec.branch, spec.base, tip.as_ref())
            .await?;
        let seen = self.scan_against(spec.base, &mut state).await?;
        let is_own = |path: &Path| spec.own_paths.iter().any(|own| path.starts_with(own));
        self.drop_attributes(&seen, spec.keep_untracked)?;
        // Files of ralph's own may hold a person's work, such as a task file that was edited and not
        // committed: they are never overwritten, not even for a moment.
        let changed: Vec<&Path> = seen
            .changed
            .iter()
            .map(|entry| entry.path.as_path())
            .filter(|path| !is_own(path))
            .collect();
        self.check_out(Index::Base, &changed).await?;
        // Looked at again: an agent may have hidden files by a `.gitignore` that is gone now, or goes now.
        let mut may_hide = true;
        while may_hide {
            may_hide = false;
            for path in self.scan().await?.untracked {
                if !is_own(&path) && !spec.keep_untracked.contains(&path) {
                    remove_created(&self.root, &path)?;
                    may_hide |= path.file_name().is_some_and(|name| name == ".gitignore");
                }
            }
        }
        self.publish_index(&mut state).await
    }

    /// Puts the tracked files of the working tree back to what was staged, after programs that ralph started. Returns
    /// the content of what they wrote of the files that are to be saved.
    pub async fn restore_staged(
        &self,
        spec: &StageSpec<'_>,
        tree: &Oid,
        is_saved: &dyn Fn(&Path) -> bool,
    ) -> Result<WrittenMeanwhile, GitError> {
        let mut state = self.in_order().await;
        let began = Instant::now();
        match state.staged.as_ref().filter(|staged| staged.tree == *tree) {
            Some(staged) => {
                if let Some(look) = self.untouched(staged, spec.own_paths) {
                    state.verified = Some(VerifiedLook {
                        tree: tree.clone(),
                        seen: look.rest.clone(),
                        began,
                    });
                    return Ok(WrittenMeanwhile::default());
                }
                if let StageIndex::Held(held) = &staged.index {
                    held.write(&self.shadow.stage_index())?;
                }
            }
            None => {
                state.staged = None;
                self.shadow.set_head(spec.base)?;
                self.ensure_index(spec.base).await?;
                self.copy_base_to_stage()?;
                let read = ["read-tree", "--reset", tree.as_str()];
                self.git(read).index(Index::Stage).run().await?;
            }
        }
        let look = || {
            let look = ["--no-optional-locks"].into_iter().chain(SCAN);
            self.git(look).index(Index::Stage).run()
        };
        let is_own = |path: &Path| spec.own_paths.iter().any(|own| path.starts_with(own));
        let mut seen = read_seen(&look().await?)?;
        let whole = seen.clone();
        seen.changed
            .retain(|entry| entry.worktree != b'.' && !is_own(&entry.path));
        let is_new = |path: &&PathBuf| !is_own(path) && !spec.untracked_before.contains(*path);
        let written = seen.changed.iter().map(|entry| &entry.path);
        let written = written.chain(seen.untracked.iter().filter(is_new));
        let saved = written.filter(|path| is_saved(path)).filter_map(|path| {
            let whole = self.root.join(path);
            let meta = fs::symlink_metadata(&whole).ok()?;
            let fits = meta.is_file() && meta.len() <= spec.max_file_bytes;
            let content = fits.then(|| plain_file::read(&whole).ok()).flatten()?;
            let path = path.clone();
            Some(SavedFile { path, content })
        });
        let saved: Vec<SavedFile> = saved.collect();
        if !seen.changed.is_empty() {
            self.drop_attributes(&seen, spec.untracked_before)?;
            let changed: Vec<&Path> = seen.changed.iter().map(|e| e.path.as_path()).collect();
            self.check_out(Index::Stage, &changed).await?;
            // Looked at again: the rules of what is ignored may have changed.
            seen.untracked = read_seen(&look().await?)?.untracked;
        }
        seen.untracked
            .retain(|path| !is_own(path) && !spec.untracked_before.contains(path));
        if seen.changed.is_empty() && seen.untracked.is_empty() {
            state.verified = Some(VerifiedLook {
                tree: tree.clone(),
                seen: whole,
                began,
            });
        }
        Ok(WrittenMeanwhile {
            rewritten: seen.changed.into_iter().map(|entry| entry.path).collect(),
            made: seen.untracked,
            saved,
        })
    }

    /// Takes away attributes that are not the base's before anything is written by them: an encoding that
    /// does not exist lets nothing be.
    fn drop_attributes(&self, seen: &Seen, keep: &HashSet<PathBuf>) -> Result<(), GitError> {
        let changed = seen.changed.iter().map(|entry| &entry.path);
        let made = seen.untracked.iter().filter(|path| !keep.contains(*path));
        for path in changed.chain(made) {
            if path
                .file_name()
                .is_some_and(|name| name == ".gitattributes")
            {
                remove_created(&self.root, path)?;
            }
        }
        Ok(())
    }

    /// Writes paths as an index has them, whatever stands in their place.
    pub(super) async fn check_out(&self, index: Index, paths: &[&Path]) -> Result<(), GitError> {
        if paths.is_empty() {
            return Ok(());
        }
        let args = ["checkout-index", "--force", "--index", "-z", "--stdin"];
        let list = joined(paths);
        let call = self.git(args).index(index).stdin(list.clone());
        if call.answer().await?.code != Some(0) {
            make_folders_writable(&self.root, &self.root.join(".git"));
            self.drop_hidden_attributes().await?;
            self.git(args).index(index).stdin(list).run().await?;
        }
        Ok(())
    }

    /// Takes away attributes that are ignored, and so not seen. Git would not have written them.
    async fn drop_hidden_attributes(&self) -> Result<(), GitError> {
        let args = [
            "ls-files",
            "-z",
            "--others",
            "--",
            ":(glob)**/.gitattributes",
        ];
        let found = self.git(args).magic_pathspecs().run().await?;
        for path in found.split(|byte| *byte == 0).filter(|p| !p.is_empty()) {
            remove_created(&self.root, &path_of(path))?;
        }
        Ok(())
    }
}

/// Removes a file or nested repository, and folders that are empty then.
pub(super) fn remove_created(root: &Path, path: &Path) -> Result<(), GitError> {
    let full = root.join(path);
    remove(&full)
        .or_else(|error| {
            if error.kind() != io::ErrorKind::PermissionDenied {
                return Err(error);
            }
            for above in path.ancestors().skip(1) {
                make_writable(&root.join(above));
            }
            if full.is_dir() && !full.is_symlink() {
                make_folders_writable(&full, Path::new(""));
            }
            remove(&full)
        })
        .map_err(GitError::io("remove", &full))?;
    for above in path
        .ancestors()
        .skip(1)
        .filter(|above| !above.as_os_str().is_empty())
    {
        if fs::remove_dir(root.join(above)).is_err() {
            break;
        }
    }
    Ok(())
}

fn remove(path: &Path) -> io::Result<()> {
    let removed = match fs::symlink_metadata(path) {
        Ok(meta) if meta.is_dir() => fs::remove_dir_all(path),
        Ok(_) => fs::remove_file(path),
        Err(error) => Err(error),
    };
    match removed {
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
        other => other,
    }
}

/// Gives the owner all rights on `top` and every folder below it but `skipped`.
fn make_folders_writable(top: &Path, skipped: &Path) {
    let mut folders = vec![top.to_owned()];
    while let Some(folder) = folders.pop() {
        make_writable(&folder);
        let Ok(entries) = fs::read_dir(&folder) else {
            continue;
        };
        for entry in entries.flatten() {
            let is_folder = entry.file_type().is_ok_and(|kind| kind.is_dir());
            if is_folder && entry.path() != skipped {
                folders.push(entry.path());
            }
        }
    }
}

/// What can't be changed shows in the call that follows.
pub(super) fn make_writable(folder: &Path) {
    let Ok(meta) = fs::symlink_metadata(folder) else {
        return;
    };
    let mode = meta.permissions().mode();
    if meta.is_dir() && mode & 0o700 != 0o700 {
        let _ = fs::set_permissions(folder, fs::Permissions::from_mode(mode | 0o700));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Root may write anywhere, so the right to do that is given up first, by this thread alone.
    fn without_overriding_rights(work: impl FnOnce() + Send + 'static) {
        use rustix::thread::{CapabilitySet, capabilities, set_capabilities};
        let thread = std::thread::spawn(move || {
            let mut sets = capabilities(None).unwrap();
            let override_rights = CapabilitySet::DAC_OVERRIDE | CapabilitySet::DAC_READ_SEARCH;
            sets.effective.remove(override_rights);
            set_capabilities(None, sets).unwrap();
            work();
        });
        thread.join().unwrap();
    }

    #[test]
    fn removes_what_lies_in_folders_that_may_not_be_written() {
        let top = tempfile::tempdir().unwrap();
        let root = top.path().to_owned();
        fs::create_dir_all(root.join("a/b/nested/.git")).unwrap();
        fs::write(root.join("a/b/file"), "x").unwrap();
        fs::write(root.join("a/keep"), "x").unwrap();
        fs::write(root.join("a/b/nested/.git/HEAD"), "x").unwrap();
        for folder in ["a/b/nested/.git", "a/b/nested", "a/b", "a"] {
            let mode = fs::Permissions::from_mode(0o500);
            fs::set_permissions(root.join(folder), mode).unwrap();
        }
        without_overriding_rights({
            let root = root.clone();
            move || {
                assert!(fs::remove_file(root.join("a/b/file")).is_err());
                remove_created(&root, Path::new("a/b/file")).unwrap();
                remove_created(&root, Path::new("a/b/nested")).unwrap();
            }
        });
        assert!(!root.join("a/b").exists());
        assert!(root.join("a/keep").exists());
    }

    #[test]
    fn removes_a_symlink_and_not_what_it_points_to() {
        let top = tempfile::tempdir().unwrap();
        let outside = tempfile::tempdir().unwrap();
        fs::write(outside.path().join("precious"), "x").unwrap();
        std::os::unix::fs::symlink(outside.path(), top.path().join("link")).unwrap();
        remove_created(top.path(), Path::new("link")).unwrap();
        assert!(!top.path().join("link").is_symlink());
        assert!(outside.path().join("precious").exists());
    }
}
