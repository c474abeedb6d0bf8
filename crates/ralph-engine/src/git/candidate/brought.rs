//! Files that a renamed folder brings along and that the base does not know: git ignored them, or did not track
//! them, where they were. They are no longer that by their old name.
//!
//! The upper folder holds none of them. Those that are not ignored by their new name are copied into it, so that
//! they are work as if the agent had written them there.

use std::collections::{BTreeSet, HashSet};
use std::path::{Path, PathBuf};

use ralph_core::change::{ChangeKind, Changed, EntryKind};

use super::{LayerDiff, LayerWork, TrackedFiles};
use crate::git::GitError;
use crate::layer::{Prefill, UpperEntry, UpperKind, upper::Descent};

impl LayerDiff {
    /// Finds what renamed folders bring along. What they bring of ralph's own and of the git folder is no work.
    pub(super) fn add_brought(
        &mut self,
        tracked: &TrackedFiles<'_>,
        work: &LayerWork<'_>,
        is_own: &dyn Fn(&Path) -> bool,
    ) -> Result<(), GitError> {
        let Some(below) = work.below else {
            return Ok(());
        };
        let entries = work.entries.iter();
        let known: HashSet<&Path> = entries.map(|entry| entry.path.as_path()).collect();
        let mut repositories: BTreeSet<PathBuf> = self.repositories();
        for UpperEntry { path, kind } in work.entries {
            let UpperKind::Folder {
                lower: Some(lower), ..
            } = kind
            else {
                continue;
            };
            let is_work = !lower.starts_with(".git") && !is_own(lower) && !is_own(path);
            if lower == path || !is_work || self.moved.contains_key(path) {
                continue;
            }
            let now = |old: &Path| Some(path.join(old.strip_prefix(lower).ok()?));
            let files = below.files(lower, |old| {
                let Some(shown) = now(old) else {
                    return Descent::Prune;
                };
                if is_repository(&shown) {
                    repositories.extend(shown.parent().map(Path::to_owned));
                }
                // What the upper folder has of it says itself what shows.
                if known.contains(shown.as_path()) || is_repository(&shown) || is_own(old) {
                    Descent::Prune
                } else {
                    Descent::Enter
                }
            });
            for file in files.map_err(GitError::io("read", lower))? {
                let Some(shown) = now(&file.path) else {
                    continue;
                };
                if is_repository(&shown) {
                    repositories.extend(shown.parent().map(Path::to_owned));
                } else if !known.contains(shown.as_path())
                    && !tracked.holds(&file.path)
                    && !is_own(&shown)
                {
                    self.brought.insert(shown, file);
                }
            }
        }
        let in_repository =
            |path: &Path| path.ancestors().any(|above| repositories.contains(above));
        self.brought.retain(|path, _| !in_repository(path));
        for repository in repositories {
            self.unstorable.insert(repository, EntryKind::Repository);
        }
        Ok(())
    }

    /// The repositories inside this one.
    pub(super) fn repositories(&self) -> BTreeSet<PathBuf> {
        let found = self.unstorable.iter();
        let found = found.filter(|(_, kind)| **kind == EntryKind::Repository);
        found.map(|(path, _)| path.clone()).collect()
    }

    /// Copies what is brought along into the upper folder. Returns what is too large to be part of a commit.
    pub(super) fn bring_up(
        &mut self,
        work: &LayerWork<'_>,
        max_bytes: u64,
    ) -> Result<Vec<Changed>, GitError> {
        let mut large = Vec::new();
        let Some(below) = work.below.filter(|_| !self.brought.is_empty()) else {
            return Ok(large);
        };
        let user = below.folders.last().map_or(work.folder, PathBuf::as_path);
        let prefill = Prefill::open(work.folder, user, below.xattrs)
            .map_err(GitError::io("open", work.folder))?;
        for (path, file) in std::mem::take(&mut self.brought) {
            if file.size > max_bytes {
                large.push(Changed {
                    path,
                    kind: ChangeKind::Added,
                    entry: EntryKind::File,
                    size: file.size,
                });
                continue;
            }
            let copied = prefill.copy(&file.from, &path);
            copied.map_err(GitError::io("copy", &file.from))?;
            self.gone.remove(&path);
            self.written.insert(path);
        }
        Ok(large)
    }
}

fn is_repository(path: &Path) -> bool {
    path.file_name().is_some_and(|name| name == ".git")
}
