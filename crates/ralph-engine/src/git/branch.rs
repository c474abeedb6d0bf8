//! The branch that ralph works on: made from HEAD, or continued.
//!
//! Never moves a branch, and never takes one that another worktree has checked out.

use std::fs;
use std::path::{Path, PathBuf};

use super::refs::{HeadFile, branch_ref, check_ref_name, read_branch, read_head, write_head};
use super::{Along, GitError, Repo};

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum BranchOutcome {
    Made,
    /// It was there, and is checked out now.
    Switched,
    /// It was checked out already.
    Current,
}

/// Commits of the branch that is checked out that another branch lacks.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Lacking {
    /// The branch that is checked out, or its commit where there is none.
    pub head: String,
    pub commits: usize,
    /// Paths in which the two differ.
    pub differing: Vec<PathBuf>,
}

impl Repo {
    /// Returns what `branch` lacks of HEAD's history; `None` where it holds all of it, is checked out or
    /// does not exist.
    pub async fn lacks_of_head(&self, branch: &str) -> Result<Option<Lacking>, GitError> {
        check_ref_name(branch)?;
        let (head, current) = self.current()?;
        let Some(tip) = read_branch(&self.common_dir, branch)? else {
            return Ok(None);
        };
        if current.as_deref() == Some(branch) || self.is_ancestor(&head, &tip).await? {
            return Ok(None);
        }
        let lacking = self.commits_between(&tip, &head, Along::All).await?;
        let (differing, _) = self.diff_stat(&head, &tip, usize::MAX).await?;
        Ok(Some(Lacking {
            head: current.unwrap_or_else(|| head.short().to_owned()),
            commits: lacking.len(),
            differing: differing.into_iter().map(|stat| stat.path).collect(),
        }))
    }

    /// The working tree must be clean where the two branches differ; git refuses otherwise.
    pub async fn switch_to_branch(&self, branch: &str) -> Result<BranchOutcome, GitError> {
        check_ref_name(branch)?;
        let mut state = self.in_order().await;
        state.base_index = None;
        state.staged = None;
        let (head, current) = self.current()?;
        if current.as_deref() == Some(branch) {
            return Ok(BranchOutcome::Current);
        }
        self.adopt_real_index(&mut state)?;
        self.shadow.set_head(&head)?;
        self.ensure_index(&head).await?;
        let outcome = match read_branch(&self.common_dir, branch)? {
            None => {
                let why = "ralph: branch made from HEAD";
                self.move_ref(&branch_ref(branch), &head, None, why).await?;
                BranchOutcome::Made
            }
            Some(tip) => {
                if let Some(worktree) = self.worktree_on(branch) {
                    let branch = branch.to_owned();
                    return Err(GitError::BranchElsewhere { branch, worktree });
                }
                if tip != head {
                    let args = ["read-tree", "-m", "-u", head.as_str(), tip.as_str()];
                    self.git(args).run().await?;
                }
                self.shadow.set_head(&tip)?;
                BranchOutcome::Switched
            }
        };
        self.clear_lock(&self.git_dir.join("HEAD")).await?;
        write_head(&self.git_dir, branch)?;
        self.publish_index(&mut state).await?;
        Ok(outcome)
    }

    /// The other worktree that has this branch checked out.
    fn worktree_on(&self, branch: &str) -> Option<PathBuf> {
        let linked = fs::read_dir(self.common_dir.join("worktrees"));
        let linked = linked
            .into_iter()
            .flatten()
            .flatten()
            .map(|entry| entry.path());
        let wanted = HeadFile::Branch(branch.to_owned());
        linked
            .chain([self.common_dir.clone()])
            .filter(|git_dir| *git_dir != self.git_dir)
            .find(|git_dir| read_head(git_dir).is_ok_and(|head| head == wanted))
            .map(|git_dir| place_of_worktree(&git_dir))
    }
}

/// A linked worktree's folder names its `.git` file; the main one's lies beside it.
fn place_of_worktree(git_dir: &Path) -> PathBuf {
    let named = fs::read_to_string(git_dir.join("gitdir")).ok();
    let dot_git = named.map_or_else(|| git_dir.to_owned(), |text| PathBuf::from(text.trim_end()));
    dot_git.parent().unwrap_or(&dot_git).to_owned()
}
