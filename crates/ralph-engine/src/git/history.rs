//! Whether an agent kept to the history it was given, and how to put it back if not.
//!
//! Commits on top of the base are accepted. Anything else (amend, reset, rebase, another branch) is
//! history moved: what it made is kept aside under a ref, never thrown away.

use std::io::{Read as _, Seek as _, SeekFrom};

use ralph_core::id::IterationId;

use super::refs::{HeadFile, branch_ref, check_ref_name, read_branch, read_head, write_head};
use super::{GitError, Oid, Repo};
use crate::{environment::REFLOG_ACTION, plain_file};

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

/// Words with which git's own commands begin what they write into a reflog when they make a commit.
const COMMITTING: [&str; 6] = ["commit", "merge", "pull", "cherry-pick", "revert", "am"];
/// The part of a reflog that is looked at.
const REFLOG_BYTES: u64 = 256 * 1024;
const HEAD_LOG: &str = "logs/HEAD";

/// Tells whether git's own commands write this into a reflog when they make a commit: `commit (merge)`.
fn is_committing(action: &str) -> bool {
    let word = action.split(' ').next().unwrap_or_default();
    COMMITTING.contains(&word)
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

    /// The length of the reflog of HEAD; nothing where none is kept.
    pub fn reflog_bytes(&self) -> Option<u64> {
        let found = std::fs::symlink_metadata(self.git_dir.join(HEAD_LOG)).ok()?;
        Some(found.len())
    }

    /// The last commit that a person made with git since the reflog of HEAD was this long, and what it is about.
    /// A person has the identity that ralph commits with; programs of a run leave their own word there, and
    /// one in a container, which may not, seldom has it.
    pub async fn persons_commit(&self, since: u64) -> Option<String> {
        let who = &self.identity().await.ok()?.committer;
        let mut log = plain_file::open(&self.git_dir.join(HEAD_LOG)).ok()?;
        log.seek(SeekFrom::Start(since)).ok()?;
        let mut new = Vec::new();
        log.take(REFLOG_BYTES).read_to_end(&mut new).ok()?;
        let new = String::from_utf8_lossy(&new);
        new.lines().rev().find_map(|line| {
            let (ids, message) = line.split_once('\t')?;
            let (word, subject) = message.split_once(": ")?;
            let mut ids = ids.splitn(3, ' ').skip(1);
            let (made, by) = (ids.next()?, ids.next()?);
            let is_persons =
                word != REFLOG_ACTION && is_committing(word) && by.starts_with(who.as_str());
            let short = made.get(..10).unwrap_or(made);
            is_persons.then(|| format!("{short} ({subject})"))
        })
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
