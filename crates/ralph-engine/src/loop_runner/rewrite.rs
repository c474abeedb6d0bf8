//! Rewrites history that ralph made, because a person asked: `revert` takes iterations back,
//! `restore` all since a checkpoint, `squash` makes one commit of many.
//!
//! Begins with an intent in the journal; what a crash leaves is looked up by where the branch is, and
//! then finished or given up. Never drops a commit that no ref keeps, and never runs beside an agent:
//! the caller holds the worktree's lock, a command or a loop between two iterations.

mod error;
mod going;
mod reopen;
mod report;
mod restore;
mod revert;
mod squash;

pub use error::RewriteError;
pub use report::{OpenAgain, RevertReport};
pub use restore::{Restore, RestoreOutcome, plan_restore, restore};
pub(super) use revert::already_reverted;
pub use revert::{DroppedCommit, Revert, RevertPlan, Reverted, plan_revert, revert};
pub use squash::{Squash, SquashDone, SquashPlan, Squashed, plan_squash, squash};

use std::path::{Path, PathBuf};

use jiff::Timestamp;
use ralph_core::{change::shown, config::Config, memory};

use super::{files::own_files, restore::restore_git};
use crate::{
    config_files::ConfigFiles,
    failpoint::failpoint,
    git::{self, Head, Oid, Repo},
    identity,
    lock::{Lock, LockUse},
    plain_file,
    store::{DataDir, Journal, NewRewrite, RepositoryId, RewriteBody, RewriteKind, RewriteRow},
};

/// The repository, journal and files of a rewrite: borrowed from the holder of the lock.
pub struct Ground<'a> {
    pub root: &'a Path,
    pub repo: &'a Repo,
    pub journal: &'a mut dyn Journal,
    pub repository: &'a RepositoryId,
    /// Files of ralph's own besides the task files, relative to the root.
    pub own: &'a [PathBuf],
    /// The progress file among them.
    pub progress: &'a Path,
    pub now: Timestamp,
}

/// The facts that a command needs to open a rewrite without a loop.
pub struct Opening<'a> {
    pub root: &'a Path,
    pub data_dir: &'a DataDir,
    pub config: &'a Config,
    /// The project's `ralph.yaml`, as it was read.
    pub config_file: Option<&'a (PathBuf, Vec<u8>)>,
    pub git_environment: &'a git::GitEnvironment,
    pub now: Timestamp,
}

/// A worktree that no other ralph works in as long as this is held.
pub struct Opened {
    root: PathBuf,
    repo: Repo,
    journal: Box<dyn Journal>,
    repository: RepositoryId,
    own: Vec<PathBuf>,
    progress: PathBuf,
    now: Timestamp,
    notices: Vec<String>,
    _lock: Lock,
}

impl Opened {
    /// Takes the lock, and puts back what a killed loop left in the git folder.
    pub async fn open(opening: &Opening<'_>) -> Result<Self, RewriteError> {
        let root = opening.root;
        let lock = Lock::acquire(opening.data_dir, root, LockUse::Command)?;
        let state_dir = super::place::state_dir(root, opening.data_dir)?;
        let found = restore_git(&state_dir)?;
        let repo = Repo::open(root, &state_dir, opening.git_environment).await?;
        let mut journal = opening.data_dir.open_journal().await?;
        let known = identity::read_id(repo.common_dir());
        let repository = match known {
            Some(id) if journal.has_repository(&id).await? => RepositoryId(id),
            Some(_) | None => return Err(RewriteError::NeverRan),
        };
        let config_files = ConfigFiles::of(root, opening.config_file, None);
        Ok(Self {
            root: root.to_owned(),
            repo,
            journal,
            repository,
            own: own_files(opening.config, &config_files, root),
            progress: opening.config.memory.progress_file.clone(),
            now: opening.now,
            notices: found.notices,
            _lock: lock,
        })
    }

    /// Returns what a person should hear of what was put back.
    pub fn notices(&self) -> &[String] {
        &self.notices
    }

    pub fn ground(&mut self) -> Ground<'_> {
        Ground {
            root: &self.root,
            repo: &self.repo,
            journal: &mut *self.journal,
            repository: &self.repository,
            own: &self.own,
            progress: &self.progress,
            now: self.now,
        }
    }
}

/// The end of a rewrite that a crash had cut off.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Recovered {
    /// The branch had moved: the rest is done.
    Finished(String),
    /// Nothing had changed, and nothing does.
    GivenUp(String),
}

impl Recovered {
    pub fn sentence(&self) -> &str {
        match self {
            Self::Finished(sentence) | Self::GivenUp(sentence) => sentence,
        }
    }
}

/// Looks up what became of a rewrite without an end, and brings it to one.
pub async fn recover(ground: &mut Ground<'_>) -> Result<Option<Recovered>, RewriteError> {
    let worktree = ground.worktree();
    let unfinished = ground
        .journal
        .unfinished_rewrite(ground.repository, &worktree)
        .await?;
    let Some(row) = unfinished else {
        return Ok(None);
    };
    let (kind, branch) = (row.kind.as_str(), &row.branch);
    let (from, to) = (oid(&row.from)?, oid(&row.to)?);
    let repo = ground.repo;
    // What a revert goes to is part of where it began, so that alone says nothing.
    let moved = match repo.branch_tip(branch)? {
        None => false,
        Some(tip) => {
            tip == to || (repo.holds(&tip, &to).await? && !repo.holds(&tip, &from).await?)
        }
    };
    if !moved {
        ground.give_up(&row).await?;
        let sentence = format!(
            "a {kind} of {branch} was interrupted before it changed anything, and is given up"
        );
        return Ok(Some(Recovered::GivenUp(sentence)));
    }
    ground.finish(&row).await?;
    let sentence = format!(
        "a {kind} of {branch} was interrupted, and is finished; what it dropped is kept as {}",
        row.reference()
    );
    Ok(Some(Recovered::Finished(sentence)))
}

/// A rewrite that is about to be done.
struct Intended<'a> {
    kind: RewriteKind,
    head: &'a Head,
    to: &'a Oid,
    made: Option<&'a Oid>,
    body: RewriteBody,
    id: &'a str,
}

impl Ground<'_> {
    fn worktree(&self) -> String {
        self.root.to_string_lossy().into_owned()
    }

    /// Where HEAD is, in a repository that may be worked on.
    async fn settled_head(&mut self) -> Result<Head, RewriteError> {
        let head = self.repo.preflight().await?;
        let worktree = self.worktree();
        let interrupted = self
            .journal
            .interrupted_loop(self.repository, &worktree)
            .await?;
        if let Some(row) = interrupted
            && let Some(unfinished) = self.journal.unfinished_iteration(&row.id).await?
        {
            return Err(RewriteError::Unfinished { n: unfinished.n });
        }
        Ok(head)
    }

    /// A person's changes that are not committed are theirs.
    async fn refuse_dirty(&self, own: &[PathBuf]) -> Result<(), RewriteError> {
        let status = self.repo.status().await?;
        let dirty = status
            .changed
            .iter()
            .filter(|entry| !own.iter().any(|own| entry.path.starts_with(own)));
        let paths: Vec<String> = dirty.map(|entry| shown(&entry.path)).collect();
        if paths.is_empty() {
            Ok(())
        } else {
            Err(RewriteError::Dirty { paths })
        }
    }

    /// The intent, the ref, the branch, and the rest.
    async fn carry_out(
        &mut self,
        intended: Intended<'_>,
    ) -> Result<(RewriteRow, Vec<PathBuf>), RewriteError> {
        let Intended { kind, head, to, .. } = intended;
        let row = RewriteRow {
            id: intended.id.to_owned(),
            kind,
            branch: head.branch.clone(),
            from: head.oid.to_string(),
            to: to.to_string(),
            made: intended.made.map(ToString::to_string),
            body: intended.body,
        };
        let worktree = self.worktree();
        self.journal
            .begin_rewrite(&NewRewrite {
                id: &row.id,
                repository: self.repository,
                worktree: &worktree,
                kind,
                branch: &row.branch,
                from: &row.from,
                to: &row.to,
                made: row.made.as_deref(),
                body: &row.body,
                at: self.now,
            })
            .await?;
        failpoint("rewrite-intended");
        let why = format!("ralph: {}", kind.as_str());
        let moved = match self.repo.keep_ref(&row.reference(), &head.oid).await {
            Ok(()) => {
                failpoint("rewrite-kept");
                let repo = self.repo;
                repo.move_branch(&row.branch, &head.oid, to, &why).await
            }
            Err(error) => Err(error),
        };
        if let Err(error) = moved {
            self.give_up(&row).await?;
            return Err(error.into());
        }
        failpoint("branch-moved");
        let left = self.finish(&row).await?;
        Ok((row, left))
    }

    /// All that follows once the branch has moved. Can be done again.
    async fn finish(&mut self, row: &RewriteRow) -> Result<Vec<PathBuf>, RewriteError> {
        let mut left = Vec::new();
        if row.kind == RewriteKind::Revert {
            let status = self.repo.status().await?;
            let (from, to) = (oid(&row.from)?, oid(&row.to)?);
            // A person who has gone on from there has a tree of their own.
            if status.branch.as_deref() == Some(&row.branch) && status.head == to {
                let own = reopen::own_paths(self, &row.body)?;
                left = self.repo.follow(&from, &to, &own).await?;
                self.repo.match_index_to_head().await?;
            }
            failpoint("tree-followed");
            reopen::write(self.root, &row.body)?;
            failpoint("tasks-reopened");
            self.note_in_progress(row);
        }
        self.journal
            .end_rewrite(self.repository, row, self.now)
            .await?;
        failpoint("rewrite-recorded");
        Ok(left)
    }

    /// Tells the agents to come that what they may read of is gone. The file is only a help: where
    /// it can't be written, nothing is lost.
    fn note_in_progress(&self, row: &RewriteRow) {
        let path = self.root.join(self.progress);
        let Ok(text) =
            plain_file::read(&path).map(|bytes| String::from_utf8_lossy(&bytes).into_owned())
        else {
            return;
        };
        let noted = memory::taken_back(&text, &row.body.numbers, &row.id, self.now);
        if noted != text {
            let _ = std::fs::write(&path, noted);
        }
    }

    async fn give_up(&mut self, row: &RewriteRow) -> Result<(), RewriteError> {
        self.repo.drop_ref(&row.reference()).await?;
        Ok(self.journal.give_up_rewrite(&row.id, self.now).await?)
    }
}

/// The commit that a text from the journal names.
fn oid(text: &str) -> Result<Oid, RewriteError> {
    Oid::parse(text).map_err(|bad| {
        RewriteError::Git(git::GitError::Unexpected {
            command: "read the journal".into(),
            answer: bad.to_string(),
        })
    })
}
