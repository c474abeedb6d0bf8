//! Whether an agent kept to the history it was given, and how to put it back if not.
//!
//! Commits on top of the base are accepted. Anything else (amend, reset, rebase, another branch) is
//! history moved: what it made is kept aside under a ref, never thrown away.

use ralph_core::id::IterationId;

use super::refs::{HeadFile, branch_ref, check_ref_name, read_branch, read_head, write_head};
use super::{GitError, Oid, Repo};

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum History {
    /// The branch stands at the base.
    Unmoved,
    /// The agent committed on top of the base.
    Ahead { tip: Oid },
    /// The branch does not hold the base any more, or is gone.
    Rewritten { found: Option<Oid> },
    /// HEAD is not on the branch.
    LeftBranch { head: String },
}

/// Where moved history was put; `None` if there was nothing to keep.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct KeptAside {
    pub branch: Option<String>,
    pub head: Option<String>,
}

impl Repo {
    pub async fn history(&self, base: &Oid, branch: &str) -> Result<History, GitError> {
        let _state = self.in_order().await;
        self.history_now(base, branch).await
    }

    pub(super) async fn history_now(&self, base: &Oid, branch: &str) -> Result<History, GitError> {
        match read_head(&self.git_dir)? {
            HeadFile::Branch(found) if found == branch => {}
            HeadFile::Branch(head) | HeadFile::Other(head) => {
                return Ok(History::LeftBranch { head });
            }
            HeadFile::Detached(oid) => {
                return Ok(History::LeftBranch {
                    head: oid.to_string(),
                });
            }
        }
        match read_branch(&self.common_dir, branch)? {
            Some(tip) if tip == *base => Ok(History::Unmoved),
            Some(tip) if self.is_ancestor(base, &tip).await? => Ok(History::Ahead { tip }),
            found => Ok(History::Rewritten { found }),
        }
    }

    /// Puts the branch and HEAD back to the recorded commit. Files and index stay as they are.
    pub async fn undo_moved_history(
        &self,
        branch: &str,
        recorded: &Oid,
        iteration_id: &IterationId,
    ) -> Result<KeptAside, GitError> {
        check_ref_name(branch)?;
        check_ref_name(iteration_id.as_str())?;
        let _state = self.in_order().await;
        let mut kept = KeptAside::default();
        let head = read_head(&self.git_dir)?;
        let head_commit = match &head {
            HeadFile::Detached(oid) => Some(oid.clone()),
            HeadFile::Branch(other) if other != branch => read_branch(&self.common_dir, other)?,
            HeadFile::Branch(_) | HeadFile::Other(_) => None,
        };
        let tip = read_branch(&self.common_dir, branch)?;
        if let Some(commit) = head_commit.filter(|commit| commit != recorded) {
            kept.head = Some(
                self.keep_aside(&format!("{iteration_id}-head"), &commit)
                    .await?,
            );
        }
        if let Some(tip) = tip.as_ref().filter(|tip| *tip != recorded) {
            kept.branch = Some(
                self.keep_aside(&format!("{iteration_id}-branch"), tip)
                    .await?,
            );
        }
        self.put_branch_at(branch, recorded, tip.as_ref()).await?;
        Ok(kept)
    }

    /// Puts the branch and HEAD back to where they were seen; returns whether they had moved.
    pub async fn put_branch_back(&self, branch: &str, seen: &Oid) -> Result<bool, GitError> {
        check_ref_name(branch)?;
        let _state = self.in_order().await;
        let tip = read_branch(&self.common_dir, branch)?;
        let is_on_branch = read_head(&self.git_dir)? == HeadFile::Branch(branch.to_owned());
        if tip.as_ref() == Some(seen) && is_on_branch {
            return Ok(false);
        }
        self.put_branch_at(branch, seen, tip.as_ref()).await?;
        Ok(true)
    }

    /// Moves the branch from what was found to `to`, and HEAD onto the branch.
    pub(super) async fn put_branch_at(
        &self,
        branch: &str,
        to: &Oid,
        found: Option<&Oid>,
    ) -> Result<(), GitError> {
        if found != Some(to) {
            self.move_ref(
                &branch_ref(branch),
                to,
                found,
                "ralph: back to the recorded commit",
            )
            .await?;
        }
        if read_head(&self.git_dir)? != HeadFile::Branch(branch.to_owned()) {
            self.clear_lock(&self.git_dir.join("HEAD")).await?;
            write_head(&self.git_dir, branch)?;
        }
        Ok(())
    }

    async fn keep_aside(&self, name: &str, commit: &Oid) -> Result<String, GitError> {
        let name = format!("refs/ralph/attempts/{name}");
        let found = super::refs::read_ref(&self.common_dir, &name)?;
        if found.as_ref() != Some(commit) {
            self.move_ref(&name, commit, found.as_ref(), "ralph: kept aside")
                .await?;
        }
        Ok(name)
    }

    pub(super) async fn is_ancestor(&self, ancestor: &Oid, of: &Oid) -> Result<bool, GitError> {
        let args = [
            "merge-base",
            "--is-ancestor",
            ancestor.as_str(),
            of.as_str(),
        ];
        let answer = self.git(args).answer().await?;
        match answer.code {
            Some(0) => Ok(true),
            Some(1) => Ok(false),
            _ => Err(answer.into_error()),
        }
    }
}
