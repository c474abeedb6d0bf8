//! Brings a change to where a person moved the branch meanwhile.
//!
//! Works on trees alone: neither the user's folder nor an index is read or written.

use std::path::PathBuf;

use ralph_core::change::ChangeKind;

use super::refs::{check_ref_name, read_branch};
use super::rewind::How;
use super::status::path_of;
use super::{GitError, Oid, Repo};

/// A change, and where the branch was seen last.
pub struct ReplayRequest<'a> {
    pub branch: &'a str,
    /// The commit that the change was made on.
    pub base: &'a Oid,
    /// The tree that was made.
    pub tree: &'a Oid,
    /// The commit that it would land on.
    pub seen: &'a Oid,
}

/// The change, as it is on the tip of the branch.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Replay {
    /// The branch is where it was seen.
    Unmoved,
    Onto {
        tip: Oid,
        tree: Oid,
        files: Vec<(PathBuf, ChangeKind)>,
    },
    /// The same lines were changed on the branch.
    Conflict { tip: Oid, paths: Vec<PathBuf> },
    /// The branch does not hold the commit any more that the change was made on.
    Rewritten { found: String },
}

impl Repo {
    /// Merges a change into the tip of its branch, if that has moved.
    pub async fn replay(&self, request: &ReplayRequest<'_>) -> Result<Replay, GitError> {
        check_ref_name(request.branch)?;
        let Some(tip) = read_branch(&self.common_dir, request.branch)? else {
            let found = "nothing".to_owned();
            return Ok(Replay::Rewritten { found });
        };
        if tip == *request.seen {
            return Ok(Replay::Unmoved);
        }
        let _state = self.in_order().await;
        if !self.is_ancestor(request.base, &tip).await? {
            let found = tip.to_string();
            return Ok(Replay::Rewritten { found });
        }
        let made = self
            .commit_tree(request.tree, request.base, "replayed\n")
            .await?;
        let base = format!("--merge-base={}", request.base);
        let args = [
            "merge-tree",
            "--write-tree",
            "--no-messages",
            "--name-only",
            "-z",
            &base,
            tip.as_str(),
            made.as_str(),
        ];
        let answer = self.git(args).answer().await?;
        let mut parts = answer.stdout.split(|byte| *byte == 0);
        let tree = parts.next().unwrap_or_default();
        match answer.code {
            Some(0) => {}
            Some(1) => {
                let paths = parts.filter(|path| !path.is_empty()).map(path_of);
                let paths = paths.collect();
                return Ok(Replay::Conflict { tip, paths });
            }
            _ => return Err(answer.into_error()),
        }
        let tree = Oid::parse(&String::from_utf8_lossy(tree)).map_err(|bad| {
            let command = "git merge-tree".to_owned();
            let answer = bad.0;
            GitError::Unexpected { command, answer }
        })?;
        let moved = self.moved_paths(&tip, &tree, &[]).await?;
        let files = moved.into_iter().map(|moved| {
            let kind = match moved.how {
                How::Comes => ChangeKind::Added,
                How::Goes => ChangeKind::Deleted,
                How::Changes => ChangeKind::Modified,
            };
            (moved.path, kind)
        });
        Ok(Replay::Onto {
            tip,
            tree,
            files: files.collect(),
        })
    }
}
