//! The branch that ralph works on: how it stands to a commit, and how it is checked out.
//!
//! Decides nothing: which branch it is and where it starts is said by the loop. Never takes a branch that
//! another worktree has checked out, and never overwrites what is not committed.

use std::fmt;
use std::fs;
use std::path::{Path, PathBuf};

use ralph_core::{figures, sanitize::one_line};

use super::refs::{HeadFile, branch_ref, check_ref_name, read_branch, read_head, write_head};
use super::status::path_of;
use super::{Along, CommitInfo, GitError, Oid, Repo, TreeEdit, TreeFile};

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum BranchOutcome {
    Made,
    /// It was there, and is checked out now.
    Switched,
    /// It was checked out already.
    Current,
}

/// The standing of a branch to a commit that it could be started from.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum BranchStanding {
    Absent,
    /// It holds all of the commit's history, and perhaps work of its own.
    Holds {
        tip: Oid,
    },
    /// The commit has all of its work.
    Merged {
        tip: Oid,
        by: MergedBy,
    },
    /// Each has commits that the other lacks.
    Diverged {
        tip: Oid,
        own: LackedCommits,
        lacked: LackedCommits,
    },
}

/// The way in which a branch was merged.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum MergedBy {
    /// By a merge or a fast-forward: its commits are there.
    History,
    /// By a squash or a rebase: its changes are there, in other commits.
    Changes,
}

/// Commits that one side has and the other lacks.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LackedCommits {
    pub count: usize,
    pub newest: String,
}

impl LackedCommits {
    fn of(commits: &[CommitInfo]) -> Self {
        let newest = commits.first().map(|newest| {
            let subject = one_line(&newest.subject, 60);
            format!("{} {subject}", newest.oid.short())
        });
        Self {
            count: commits.len(),
            newest: newest.unwrap_or_default(),
        }
    }
}

impl fmt::Display for LackedCommits {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let many = figures::count(self.count, "commit", "commits");
        write!(f, "{many} (the last is {})", self.newest)
    }
}

/// The commits of a branch on another base.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Transplant {
    Made {
        tip: Oid,
    },
    /// The same lines were changed there.
    Conflict {
        commit: String,
        paths: Vec<PathBuf>,
    },
    /// A merge, or a signed commit: git itself has to do it.
    NotPlain {
        commit: String,
    },
}

/// Settles a file in conflict from its bytes at the base, on our side and on theirs, if it can.
pub type SettleConflict<'a> = dyn Fn(&Path, [&[u8]; 3]) -> Option<Vec<u8>> + Sync + 'a;

/// The most of a file that is read to settle a conflict in it.
const MAX_SETTLED_BYTES: u64 = 64 * 1024 * 1024;

/// A merge that git could not do alone.
pub(super) struct MergeConflict {
    /// The merge, with conflicts marked in these files.
    tree: Oid,
    pub(super) paths: Vec<PathBuf>,
}

impl Repo {
    /// Returns the commit that is checked out, and the name of its branch if there is one.
    pub fn head_and_branch(&self) -> Result<(Oid, Option<String>), GitError> {
        self.current()
    }

    /// Compares a branch with a commit.
    pub async fn standing(&self, branch: &str, commit: &Oid) -> Result<BranchStanding, GitError> {
        check_ref_name(branch)?;
        let Some(tip) = read_branch(&self.common_dir, branch)? else {
            return Ok(BranchStanding::Absent);
        };
        if tip == *commit || self.is_ancestor(commit, &tip).await? {
            return Ok(BranchStanding::Holds { tip });
        }
        if self.is_ancestor(&tip, commit).await? {
            let by = MergedBy::History;
            return Ok(BranchStanding::Merged { tip, by });
        }
        if self.has_changes_of(commit, &tip).await? {
            let by = MergedBy::Changes;
            return Ok(BranchStanding::Merged { tip, by });
        }
        let own = self.commits_between(commit, &tip, Along::All).await?;
        let lacked = self.commits_between(&tip, commit, Along::All).await?;
        Ok(BranchStanding::Diverged {
            tip,
            own: LackedCommits::of(&own),
            lacked: LackedCommits::of(&lacked),
        })
    }

    /// Returns whether all changes of a branch are in a commit, though its commits are not.
    async fn has_changes_of(&self, commit: &Oid, tip: &Oid) -> Result<bool, GitError> {
        let Some(base) = self.merge_base(commit, tip).await? else {
            return Ok(false);
        };
        // Nothing would come of a merge.
        let merged = self.merge_trees(&base, commit, tip).await?;
        if merged.ok() == Some(self.tree_of(commit).await?) {
            return Ok(true);
        }
        // Each of its commits, or all of them as one, stands there as another commit.
        let tree = self.tree_of(tip).await?;
        let as_one = self.make_commit(&tree, &base, "compared\n").await?;
        for made in [tip, &as_one] {
            let args = ["cherry", commit.as_str(), made.as_str()];
            let output = self.git(args).run().await?;
            let text = String::from_utf8_lossy(&output);
            let mut lines = text.lines().peekable();
            if lines.peek().is_some() && lines.all(|line| line.starts_with('-')) {
                return Ok(true);
            }
        }
        Ok(false)
    }

    /// The commit that two histories have in common; `None` where they never met.
    pub async fn merge_base(&self, one: &Oid, other: &Oid) -> Result<Option<Oid>, GitError> {
        let args = ["merge-base", one.as_str(), other.as_str()];
        let answer = self.git(args).answer().await?;
        let text = String::from_utf8_lossy(&answer.stdout);
        Ok(Oid::parse(text.trim_end()).ok())
    }

    /// Merges two trees, or says where they conflict.
    pub(super) async fn merge_trees(
        &self,
        base: &Oid,
        ours: &Oid,
        theirs: &Oid,
    ) -> Result<Result<Oid, MergeConflict>, GitError> {
        let base = format!("--merge-base={base}");
        let args = ["merge-tree", "--write-tree", "--no-messages", "--name-only"];
        let call = self.git(args).arg("-z").arg(base);
        let call = call.arg(ours.as_str()).arg(theirs.as_str());
        let answer = call.answer().await?;
        let mut parts = answer.stdout.split(|byte| *byte == 0);
        let tree = parts.next().unwrap_or_default();
        if !matches!(answer.code, Some(0 | 1)) {
            return Err(answer.into_error());
        }
        let tree = Oid::parse(&String::from_utf8_lossy(tree));
        let tree = tree.map_err(|bad| GitError::Unexpected {
            command: "git merge-tree".to_owned(),
            answer: bad.0,
        })?;
        Ok(if answer.code == Some(0) {
            Ok(tree)
        } else {
            let paths = parts.filter(|path| !path.is_empty()).map(path_of);
            let paths = paths.collect();
            Err(MergeConflict { tree, paths })
        })
    }

    /// Makes the commits that `tip` has and `onto` lacks again, on top of `onto`. What is there already is left
    /// out, and `settle` is asked about files in conflict. Moves nothing.
    pub async fn transplant(
        &self,
        tip: &Oid,
        onto: &Oid,
        settle: &SettleConflict<'_>,
    ) -> Result<Transplant, GitError> {
        let mut commits = self.commits_between(onto, tip, Along::All).await?;
        commits.reverse();
        let mut made = onto.clone();
        for commit in commits {
            let named = || format!("{} {}", commit.oid.short(), one_line(&commit.subject, 60));
            let [parent] = commit.parents.as_slice() else {
                return Ok(Transplant::NotPlain { commit: named() });
            };
            let tree = match self.merge_trees(parent, &made, &commit.oid).await? {
                Ok(tree) => tree,
                Err(conflict) => {
                    let sides = [parent, &made, &commit.oid];
                    match self.settle(&conflict, sides, settle).await? {
                        Some(tree) => tree,
                        None => {
                            return Ok(Transplant::Conflict {
                                commit: named(),
                                paths: conflict.paths,
                            });
                        }
                    }
                }
            };
            if tree == self.tree_of(&made).await? {
                continue;
            }
            let Some(carried) = self.carry_over_as(&commit.oid, &made, Some(&tree)).await? else {
                return Ok(Transplant::NotPlain { commit: named() });
            };
            made = carried;
        }
        Ok(Transplant::Made { tip: made })
    }

    /// The tree of a merge whose conflicts were all settled.
    async fn settle(
        &self,
        conflict: &MergeConflict,
        [base, ours, theirs]: [&Oid; 3],
        settle: &SettleConflict<'_>,
    ) -> Result<Option<Oid>, GitError> {
        let mut edits = Vec::new();
        for path in &conflict.paths {
            let at = async |commit| self.read_at(commit, path, MAX_SETTLED_BYTES).await;
            let (Some(base), Some(ours_now), Some(theirs)) =
                (at(base).await?, at(ours).await?, at(theirs).await?)
            else {
                return Ok(None);
            };
            let mode = self.mode_in(ours, path).await?;
            let settled = settle(path, [&base, &ours_now, &theirs]);
            let (Some(mode), Some(bytes)) = (mode, settled) else {
                return Ok(None);
            };
            edits.push(TreeEdit {
                path: path.clone(),
                to: TreeFile::Is { mode, bytes },
            });
        }
        self.tree_with(&conflict.tree, &edits).await.map(Some)
    }

    /// Returns the paths that differ between two commits.
    pub async fn differing_paths(&self, from: &Oid, to: &Oid) -> Result<Vec<PathBuf>, GitError> {
        let moved = self.moved_paths(from, to, &[]).await?;
        Ok(moved.into_iter().map(|moved| moved.path).collect())
    }

    /// Checks that a branch can be checked out here at this commit. Changes nothing.
    pub async fn check_switch(&self, branch: &str, to: &Oid) -> Result<(), GitError> {
        let mut state = self.in_order().await;
        let (head, current) = self.current()?;
        self.refuse_branch_elsewhere(branch, current.as_deref())?;
        self.take_over_index(&mut state, &head).await?;
        self.read_into_folder(branch, (&head, to), ReadTrial::Yes)
            .await
    }

    /// Checks out a branch: where it is, or from HEAD; `to` puts it at another commit first. It must be where
    /// it was seen when this begins.
    pub async fn switch_to_branch(
        &self,
        branch: &str,
        to: Option<&Oid>,
    ) -> Result<BranchOutcome, GitError> {
        check_ref_name(branch)?;
        let mut state = self.in_order().await;
        state.base_index = None;
        state.staged = None;
        let (head, current) = self.current()?;
        let tip = read_branch(&self.common_dir, branch)?;
        let to = to.or(tip.as_ref()).unwrap_or(&head);
        let is_current = current.as_deref() == Some(branch);
        if is_current && tip.as_ref() == Some(to) {
            return Ok(BranchOutcome::Current);
        }
        self.refuse_branch_elsewhere(branch, current.as_deref())?;
        self.take_over_index(&mut state, &head).await?;
        if tip.is_none() {
            // A name that can't be had is found before a file is touched.
            let why = "ralph: branch made";
            self.move_ref(&branch_ref(branch), to, None, why).await?;
        }
        let read = self.read_into_folder(branch, (&head, to), ReadTrial::No);
        if let Err(error) = read.await {
            if tip.is_none() {
                let name = branch_ref(branch);
                self.git(["update-ref", "--no-deref", "-d", &name, to.as_str()])
                    .run()
                    .await?;
            }
            return Err(error);
        }
        if let Some(tip) = tip.as_ref().filter(|tip| *tip != to) {
            let why = "ralph: branch started over";
            self.move_ref(&branch_ref(branch), to, Some(tip), why)
                .await?;
        }
        self.shadow.set_head(to)?;
        if !is_current {
            self.clear_lock(&self.git_dir.join("HEAD")).await?;
            write_head(&self.git_dir, branch)?;
        }
        self.publish_index(&mut state).await?;
        Ok(match tip {
            None => BranchOutcome::Made,
            Some(_) => BranchOutcome::Switched,
        })
    }

    fn refuse_branch_elsewhere(&self, branch: &str, current: Option<&str>) -> Result<(), GitError> {
        let elsewhere = self.worktree_on(branch);
        match elsewhere.filter(|_| current != Some(branch)) {
            None => Ok(()),
            Some(worktree) => Err(GitError::BranchElsewhere {
                branch: branch.to_owned(),
                worktree,
            }),
        }
    }

    /// Takes folder and index from one commit to another. Git overwrites nothing that is not committed.
    async fn read_into_folder(
        &self,
        branch: &str,
        (head, to): (&Oid, &Oid),
        trial: ReadTrial,
    ) -> Result<(), GitError> {
        if head == to {
            return Ok(());
        }
        let mut args = vec!["read-tree", "-m", "-u"];
        if trial == ReadTrial::Yes {
            args.push("-n");
        }
        args.extend([head.as_str(), to.as_str()]);
        let answer = self.git(args).answer().await?;
        if answer.code == Some(0) {
            return Ok(());
        }
        let paths = quoted_paths(answer.stderr());
        if paths.is_empty() {
            return Err(answer.into_error());
        }
        Err(GitError::InTheWay {
            branch: branch.to_owned(),
            paths,
        })
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

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum ReadTrial {
    Yes,
    No,
}

/// The paths that git names when it refuses to overwrite something.
fn quoted_paths(stderr: &str) -> Vec<String> {
    let names = stderr.lines().filter_map(|line| {
        let (_, rest) = line.split_once('\'')?;
        let (name, _) = rest.rsplit_once('\'')?;
        Some(name.to_owned())
    });
    names.collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_are_read_from_what_git_says() {
        let stderr = "error: Entry 'a b.txt' not uptodate. Cannot merge.\n\
                      error: Untracked working tree file 'it's.txt' would be overwritten by merge.\n";
        assert_eq!(quoted_paths(stderr), ["a b.txt", "it's.txt"]);
        assert_eq!(quoted_paths("fatal: no such thing\n"), [""; 0]);
    }
}
