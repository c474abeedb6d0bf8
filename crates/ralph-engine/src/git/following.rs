//! The intent that the user's folder follows a landed commit.
//!
//! Written before the branch is moved, and taken away once the files and the index have followed: whatever
//! comes between, any later command finishes it. One intent covers all commits since the folder last followed.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use super::refs::{HeadFile, read_branch, read_head};
use super::repo::remove_if_there;
use super::{GitError, Oid, Repo};
use crate::journal_text::{path_from_text, path_to_text};

const NAME: &str = "following.json";

/// The commits between which the folder is to follow.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Following {
    branch: String,
    /// The commit that the folder is known to have followed.
    from: String,
    to: String,
    /// Paths of ralph's own, which are written elsewhere.
    own: Vec<String>,
    /// The process that wrote it.
    process: u32,
}

/// The result of following.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct FolderFollowed {
    /// The commit that the folder has followed; none where there was nothing to follow.
    pub commit: Option<Oid>,
    /// Files that are left as they are, as a person changed them meanwhile.
    pub left: Vec<PathBuf>,
    /// The owner of the lock that kept the index from following. A later command brings it along.
    pub locked: Option<String>,
}

/// Returns whether a killed process, or one that met a lock, left a folder that has still to follow.
pub fn is_following(state_dir: &Path) -> bool {
    state_dir.join(NAME).exists()
}

impl Repo {
    /// Notes that the folder is to follow a commit. Returns what was noted before.
    pub(super) fn note_following(
        &self,
        branch: &str,
        from: &Oid,
        to: &Oid,
        own: &[PathBuf],
    ) -> Result<Option<Following>, GitError> {
        let before = self.read_following()?;
        let began = before
            .as_ref()
            .filter(|b| b.branch == branch && (b.to == from.as_str() || b.to == to.as_str()));
        let next = Following {
            branch: branch.to_owned(),
            from: began.map_or_else(|| from.to_string(), |b| b.from.clone()),
            to: to.to_string(),
            own: own.iter().map(|path| path_to_text(path)).collect(),
            process: std::process::id(),
        };
        self.write_following(Some(&next))?;
        Ok(before)
    }

    /// Puts back what was noted before.
    pub(super) fn write_following(&self, following: Option<&Following>) -> Result<(), GitError> {
        let path = self.state_dir.join(NAME);
        let Some(following) = following else {
            return remove_if_there(&path);
        };
        let text = serde_json::to_vec(following)
            .map_err(|error| GitError::io("write", &path)(io::Error::other(error)))?;
        let new = self.state_dir.join("following.new");
        fs::write(&new, text)
            .and_then(|()| fs::rename(&new, &path))
            .map_err(GitError::io("write", &path))
    }

    fn read_following(&self) -> Result<Option<Following>, GitError> {
        let path = self.state_dir.join(NAME);
        match fs::read(&path) {
            // One that can't be read is the half of a write that a power cut ended: the journal knows the rest.
            Ok(text) => Ok(serde_json::from_slice(&text).ok()),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
            Err(error) => Err(GitError::io("read", &path)(error)),
        }
    }

    /// Makes the folder follow a commit that landed before a crash, as far as it has not.
    pub async fn follow_landed(
        &self,
        branch: &str,
        from: &Oid,
        to: &Oid,
        own: &[PathBuf],
    ) -> Result<FolderFollowed, GitError> {
        self.note_following(branch, from, to, own)?;
        self.finish_following().await
    }

    /// Makes the folder follow what was noted: files first, then the index.
    pub async fn finish_following(&self) -> Result<FolderFollowed, GitError> {
        let Some(following) = self.read_following()? else {
            self.write_following(None)?;
            return Ok(FolderFollowed::default());
        };
        let parse = |text: &str| {
            Oid::parse(text).map_err(|bad| GitError::Unexpected {
                command: format!("read {NAME}"),
                answer: bad.0,
            })
        };
        let (from, to) = (parse(&following.from)?, parse(&following.to)?);
        let tip = read_branch(&self.common_dir, &following.branch)?;
        let is_checked_out =
            read_head(&self.git_dir)? == HeadFile::Branch(following.branch.clone());
        // The commit did not land, or a person went on elsewhere: then the folder is theirs.
        if tip.as_ref() != Some(&to) || !is_checked_out {
            self.write_following(None)?;
            return Ok(FolderFollowed::default());
        }
        let own: Vec<PathBuf> = following.own.iter().map(|p| path_from_text(p)).collect();
        if following.process != std::process::id() {
            self.take_back_spares(&from, &to, &own).await?;
        }
        let mut left = self.follow(&from, &to, &own).await?;
        crate::failpoint::failpoint("folder-followed");
        let locked = match self.bring_index_along(&from, &to).await {
            Ok(kept) => {
                self.write_following(None)?;
                left.extend(kept);
                left.sort();
                left.dedup();
                None
            }
            Err(locked @ GitError::Locked { .. }) => Some(locked.to_string()),
            Err(error) => return Err(error),
        };
        self.leave_to_owner();
        Ok(FolderFollowed {
            commit: Some(to),
            left,
            locked,
        })
    }
}
