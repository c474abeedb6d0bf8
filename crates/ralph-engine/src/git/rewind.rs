//! Moves a branch to another commit that a person asked for: only from the value that was seen, and only
//! after a ref keeps it. The working tree is taken along by `follow`.

use std::collections::HashSet;
use std::fs;
use std::path::{Path, PathBuf};

use super::refs::{branch_ref, check_ref_name, read_branch, read_ref};
use super::status::path_of;
use super::{GitError, Oid, Repo};

/// A path that differs between two commits.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct MovedPath {
    pub(super) path: PathBuf,
    pub(super) how: How,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum How {
    Comes,
    Goes,
    Changes,
}

impl Repo {
    /// Where a branch is.
    pub fn branch_tip(&self, branch: &str) -> Result<Option<Oid>, GitError> {
        check_ref_name(branch)?;
        read_branch(&self.common_dir, branch)
    }

    /// Keeps a commit under a ref of ralph's own.
    pub async fn keep_ref(&self, name: &str, commit: &Oid) -> Result<(), GitError> {
        check_ref_name(name)?;
        let _state = self.in_order().await;
        let found = read_ref(&self.common_dir, name)?;
        if found.as_ref() == Some(commit) {
            return Ok(());
        }
        let why = "ralph: kept before a rewrite";
        self.move_ref(name, commit, found.as_ref(), why).await
    }

    /// Takes a ref of ralph's own away.
    pub async fn drop_ref(&self, name: &str) -> Result<(), GitError> {
        check_ref_name(name)?;
        let _state = self.in_order().await;
        if read_ref(&self.common_dir, name)?.is_none() {
            return Ok(());
        }
        let args = ["update-ref", "--no-deref", "-d", name];
        self.git(args).run().await.map(drop)
    }

    /// Compare-and-swap of a branch. Files and index stay as they are.
    pub async fn move_branch(
        &self,
        branch: &str,
        from: &Oid,
        to: &Oid,
        why: &str,
    ) -> Result<(), GitError> {
        check_ref_name(branch)?;
        let _state = self.in_order().await;
        self.move_ref(&branch_ref(branch), to, Some(from), why)
            .await
    }

    /// Files that git does not know and that stand where going from one commit to the other would
    /// write.
    pub async fn in_the_way(
        &self,
        from: &Oid,
        to: &Oid,
        own: &[PathBuf],
    ) -> Result<Vec<PathBuf>, GitError> {
        let moved = self.moved_paths(from, to, own).await?;
        let goes: HashSet<&Path> = moved
            .iter()
            .filter(|moved| moved.how != How::Comes)
            .map(|moved| moved.path.as_path())
            .collect();
        let comes = moved.iter().filter(|moved| moved.how == How::Comes);
        let mut found = Vec::new();
        for moved in comes {
            // What stands above it and goes makes room.
            if moved.path.ancestors().skip(1).any(|a| goes.contains(a)) {
                continue;
            }
            self.collect_others(&moved.path, &goes, &mut found);
        }
        Ok(found)
    }

    /// What lies at or below a path and is not among those that go.
    fn collect_others(&self, path: &Path, goes: &HashSet<&Path>, found: &mut Vec<PathBuf>) {
        let full = self.root.join(path);
        let Ok(meta) = fs::symlink_metadata(&full) else {
            return;
        };
        if !meta.is_dir() {
            if !goes.contains(path) {
                found.push(path.to_owned());
            }
            return;
        }
        for entry in fs::read_dir(&full).into_iter().flatten().flatten() {
            self.collect_others(&path.join(entry.file_name()), goes, found);
        }
    }

    /// Lists what differs between two commits: `:MODE MODE ID ID LETTER`, then the path, each ended by a NUL.
    pub(super) async fn raw_diff(&self, from: &Oid, to: &Oid) -> Result<Vec<u8>, GitError> {
        let args = [
            "diff-tree",
            "-r",
            "-z",
            "--raw",
            "--no-renames",
            "--no-abbrev",
        ];
        let call = self.git(args).arg(from.as_str()).arg(to.as_str());
        call.run().await
    }

    pub(super) async fn moved_paths(
        &self,
        from: &Oid,
        to: &Oid,
        own: &[PathBuf],
    ) -> Result<Vec<MovedPath>, GitError> {
        let mut moved = parse_raw(&self.raw_diff(from, to).await?);
        moved.retain(|one| !own.iter().any(|own| one.path.starts_with(own)));
        Ok(moved)
    }
}

/// Reads `git diff-tree -z --raw`. Submodules are left out, as git itself leaves their folders.
fn parse_raw(output: &[u8]) -> Vec<MovedPath> {
    let mut fields = output.split(|byte| *byte == 0);
    let mut moved = Vec::new();
    while let (Some(head), Some(path)) = (fields.next(), fields.next()) {
        let head = String::from_utf8_lossy(head);
        let mut words = head.trim_start_matches(':').split(' ');
        let (Some(old), Some(new)) = (words.next(), words.next()) else {
            continue;
        };
        if old == "160000" || new == "160000" {
            continue;
        }
        let how = match (old, new) {
            ("000000", _) => How::Comes,
            (_, "000000") => How::Goes,
            (_, _) => How::Changes,
        };
        moved.push(MovedPath {
            path: path_of(path),
            how,
        });
    }
    moved
}
