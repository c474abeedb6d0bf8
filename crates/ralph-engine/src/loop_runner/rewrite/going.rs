//! The commits that go with a revert: whose they are, and which iterations they belong to.

use std::collections::HashMap;

use super::{DroppedCommit, Ground, RewriteError};
use crate::{
    git::{Along, CommitInfo, Head, Oid},
    landing::ITERATION_TRAILER,
    store::{LandingRow, RewriteKind, RewriteRow},
};

/// Others' commits that a refusal names.
const MOST_NAMED: usize = 5;

/// The commits that go, and what the journal knows of them.
pub(super) struct Going {
    commits: Vec<CommitInfo>,
    landings: Vec<LandingRow>,
    rewrites: Vec<RewriteRow>,
}

impl Going {
    pub(super) async fn read(
        ground: &mut Ground<'_>,
        target: &Oid,
        head: &Head,
    ) -> Result<Self, RewriteError> {
        Ok(Self {
            commits: ground
                .repo
                .commits_between(target, &head.oid, Along::All)
                .await?,
            landings: ground.journal.landings(ground.repository).await?,
            rewrites: ground.journal.rewrites(ground.repository).await?,
        })
    }

    fn by_commit(&self) -> HashMap<&str, &LandingRow> {
        let rows = self.landings.iter();
        rows.filter_map(|row| Some((row.result_commit.as_deref()?, row)))
            .collect()
    }

    /// A commit that is as ralph made it. One with an iteration's trailer that the journal does not
    /// know was amended or rebased, and may hold their work.
    fn is_ralphs(&self, commit: &CommitInfo, known: &HashMap<&str, &LandingRow>) -> bool {
        let made = |row: &RewriteRow| row.made.as_deref() == Some(commit.oid.as_str());
        if known.contains_key(commit.oid.as_str()) || self.rewrites.iter().any(made) {
            return true;
        }
        let ours = |(key, _): &(String, String)| key.starts_with("Ralph-");
        commit.trailers.iter().any(ours) && commit.trailer(ITERATION_TRAILER).next().is_none()
    }

    pub(super) fn refuse_others(&self) -> Result<(), RewriteError> {
        let known = self.by_commit();
        let others = self.commits.iter().filter(|c| !self.is_ralphs(c, &known));
        let others: Vec<&CommitInfo> = others.collect();
        if others.is_empty() {
            return Ok(());
        }
        let commits = name_commits(&others);
        Err(RewriteError::OthersCommits { commits })
    }

    /// The iterations whose work goes: those whose commits go, those in a squash that goes, and those
    /// since that completed a task without a commit.
    pub(super) fn affected(&self, ground: &Ground<'_>, n: u64, head: &Head) -> Vec<LandingRow> {
        let goes = |commit: &str| self.commits.iter().any(|c| c.oid.as_str() == commit);
        let squashes: Vec<&str> = self
            .rewrites
            .iter()
            .filter(|row| row.kind == RewriteKind::Squash && row.made.as_deref().is_some_and(goes))
            .map(|row| row.id.as_str())
            .collect();
        let worktree = ground.worktree();
        let is_affected = |row: &&LandingRow| match row.result_commit.as_deref() {
            Some(commit) => {
                let squashed = row.squashed_by.as_deref();
                goes(commit) || squashed.is_some_and(|by| squashes.contains(&by))
            }
            None => {
                row.n > n
                    && row.branch == head.branch
                    && row.worktree == worktree
                    && row.reverted_by.is_none()
            }
        };
        self.landings.iter().filter(is_affected).cloned().collect()
    }

    pub(super) fn shown(&self) -> Vec<DroppedCommit> {
        let known = self.by_commit();
        let shown = self.commits.iter().map(|commit| {
            let row = known.get(commit.oid.as_str());
            DroppedCommit {
                commit: commit.oid.to_string(),
                subject: commit.subject.clone(),
                author: commit.author.clone(),
                iteration: row.map(|row| row.n),
                task_id: row.map(|row| row.task_id.clone()),
            }
        });
        shown.collect()
    }
}

/// Commits for a person: a few of them, and how many more there are.
pub(super) fn name_commits(commits: &[&CommitInfo]) -> Vec<String> {
    let name = |c: &&CommitInfo| format!("{} {} ({})", c.oid.short(), c.subject, c.author);
    let mut names: Vec<String> = commits.iter().take(MOST_NAMED).map(name).collect();
    if commits.len() > MOST_NAMED {
        names.push(format!("and {} more", commits.len() - MOST_NAMED));
    }
    names
}
