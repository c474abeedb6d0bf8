//! `revert`: puts the branch back to the commit before an iteration's, and opens the tasks again that
//! were completed since.
//!
//! Task files do not go back: they stay as they are now but for those statuses. Where git tracks
//! them and they then differ from what that commit had, one commit on top of it holds them.

use std::path::PathBuf;

use jiff::Timestamp;
use ralph_core::{change::shown, command::Others, task::TaskId};
use serde::{Deserialize, Serialize};

use super::{
    Ground, Intended, RewriteError,
    going::Going,
    oid, recover,
    reopen::{self, Reopening},
};
use crate::{
    git::{CommitKind, Head, Oid, TreeEdit, TreeFile, commit_message},
    store::{JournalError, LandingRow, ReopenedTask, RewriteBody, RewriteKind},
};

/// On the commit that holds the task files after a revert.
const REVERT_TRAILER: &str = "Ralph-Revert";

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Revert {
    pub iteration: u64,
    pub others: Others,
}

/// A commit that goes; the JSON form is a contract (docs/json.md).
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct DroppedCommit {
    pub commit: String,
    pub subject: String,
    pub author: String,
    /// `None`: no iteration made it as it is.
    pub iteration: Option<u64>,
    pub task_id: Option<String>,
}

/// The commits and tasks that a revert would take back.
#[derive(Debug)]
pub struct RevertPlan {
    pub iteration: u64,
    pub branch: String,
    pub from: Oid,
    /// The commit before the iteration's.
    pub target: Oid,
    /// Newest first.
    pub commits: Vec<DroppedCommit>,
    pub reopened: Vec<ReopenedTask>,
    /// Task files that are not there any more, so that their tasks stay as they are.
    pub gone: Vec<String>,
    head: Head,
    body: RewriteBody,
    /// The paths in which the new tree differs from the target.
    files: Vec<TreeEdit>,
}

/// The commits and tasks that a revert took back.
#[derive(Debug)]
pub struct Reverted {
    pub plan: RevertPlan,
    /// Where the branch is now: the target, or a commit on it that holds the task files.
    pub tip: Oid,
    /// The commit that holds the task files, where one was needed.
    pub task_commit: Option<Oid>,
    /// Keeps what was dropped.
    pub reference: String,
    /// Files that were changed meanwhile, and that were left alone.
    pub left: Vec<PathBuf>,
}

/// Takes back iteration N and everything after it.
pub async fn revert(ground: &mut Ground<'_>, wanted: Revert) -> Result<Reverted, RewriteError> {
    recover(ground).await?;
    let plan = plan_revert(ground, wanted).await?;
    carry_out(ground, plan).await
}

/// Does what is planned.
pub(super) async fn carry_out(
    ground: &mut Ground<'_>,
    plan: RevertPlan,
) -> Result<Reverted, RewriteError> {
    let id = uuid::Uuid::now_v7().to_string();
    let (tip, task_commit) = new_tip(ground, &plan, &id).await?;
    let intended = Intended {
        kind: RewriteKind::Revert,
        head: &plan.head,
        to: &tip,
        made: task_commit.as_ref(),
        body: plan.body.clone(),
        id: &id,
    };
    let (row, left) = ground.carry_out(intended).await?;
    Ok(Reverted {
        reference: row.reference(),
        plan,
        tip,
        task_commit,
        left,
    })
}

/// The ref of a revert of iteration `n` that was begun since then.
pub(in super::super) async fn already_reverted(
    ground: &mut Ground<'_>,
    n: u64,
    since: Timestamp,
) -> Result<Option<String>, JournalError> {
    let row = ground.journal.landing(ground.repository, n).await?;
    let Some(by) = row.and_then(|row| row.reverted_by) else {
        return Ok(None);
    };
    // The id of a rewrite has the moment in it when it was begun, to the millisecond.
    let begun = uuid::Uuid::parse_str(&by)
        .ok()
        .and_then(|id| id.get_timestamp())
        .map_or(0, |at| {
            at.to_unix().0 * 1_000 + u64::from(at.to_unix().1) / 1_000_000
        });
    let since = u64::try_from(since.as_millisecond()).unwrap_or(0);
    Ok((begun >= since).then(|| RewriteKind::Revert.reference(&by)))
}

/// Works out what would go, or why nothing may. Changes nothing.
pub async fn plan_revert(
    ground: &mut Ground<'_>,
    wanted: Revert,
) -> Result<RevertPlan, RewriteError> {
    let head = ground.settled_head().await?;
    let commit = find_commit(ground, wanted.iteration, &head).await?;
    let no_parent = || RewriteError::NotOnBranch {
        n: wanted.iteration,
        commit: commit.short().to_owned(),
        branch: head.branch.clone(),
    };
    let target = ground.repo.parent_of(&commit).await?;
    let back = Back {
        target: target.ok_or_else(no_parent)?,
        since: wanted.iteration,
        others: wanted.others,
    };
    let plan = plan_back(ground, head, back).await?;
    Ok(RevertPlan {
        iteration: wanted.iteration,
        ..plan
    })
}

/// Where a branch is to go back to.
pub(super) struct Back {
    pub(super) target: Oid,
    /// The last iteration that made no commit and stays.
    pub(super) since: u64,
    pub(super) others: Others,
}

/// Works out what goes with all that is on the branch since a commit of its history.
pub(super) async fn plan_back(
    ground: &mut Ground<'_>,
    head: Head,
    back: Back,
) -> Result<RevertPlan, RewriteError> {
    let target = back.target;
    let going = Going::read(ground, &target, &head).await?;
    if back.others == Others::Refuse {
        going.refuse_others()?;
    }
    let affected = going.affected(ground, back.since, &head);
    let wanted_tasks = completed_by(&affected);
    let reopening = reopen::plan(ground.root, &wanted_tasks)?;
    let own = reopening.own_paths(ground.own);
    ground.refuse_dirty(&own).await?;
    let files = task_files(ground, &reopening, &target, &head).await?;
    refuse_in_the_way(ground, &target, &head, &own).await?;
    let numbers = affected.iter().map(|row| row.n);
    Ok(RevertPlan {
        iteration: numbers.min().unwrap_or(back.since + 1),
        branch: head.branch.clone(),
        from: head.oid.clone(),
        target,
        commits: going.shown(),
        reopened: reopening.tasks,
        gone: reopening.gone,
        body: RewriteBody {
            iterations: affected.iter().map(|row| row.id.clone()).collect(),
            numbers: affected.iter().map(|row| row.n).collect(),
            reopened: wanted_tasks,
        },
        head,
        files,
    })
}

/// The commit of iteration `n`, which must be in the history of HEAD.
async fn find_commit(ground: &mut Ground<'_>, n: u64, head: &Head) -> Result<Oid, RewriteError> {
    let row = ground.journal.landing(ground.repository, n).await?;
    let row = row.ok_or(RewriteError::NoSuchIteration { n })?;
    let Some(commit) = &row.result_commit else {
        let verdict = row.verdict.unwrap_or_else(|| "it has no end".into());
        return Err(RewriteError::LandedNothing { n, verdict });
    };
    let commit = oid(commit)?;
    if ground.repo.holds(&head.oid, &commit).await? && row.branch == head.branch {
        return Ok(commit);
    }
    if let Some(by) = &row.reverted_by {
        let reference = RewriteKind::Revert.reference(by);
        return Err(RewriteError::AlreadyReverted { n, reference });
    }
    if let Some(by) = &row.squashed_by {
        let rewrites = ground.journal.rewrites(ground.repository).await?;
        let made = rewrites.into_iter().find(|one| one.id == *by);
        let made = made.and_then(|one| one.made).unwrap_or_default();
        return Err(RewriteError::Squashed {
            n,
            commit: made.chars().take(10).collect(),
            reference: RewriteKind::Squash.reference(by),
        });
    }
    if row.branch != head.branch {
        return Err(RewriteError::OtherBranch {
            n,
            branch: row.branch,
            found: head.branch.clone(),
        });
    }
    Err(RewriteError::NotOnBranch {
        n,
        commit: commit.short().to_owned(),
        branch: row.branch,
    })
}

/// The tasks that these iterations completed, each once.
fn completed_by(affected: &[LandingRow]) -> Vec<ReopenedTask> {
    let mut tasks: Vec<ReopenedTask> = Vec::new();
    for row in affected {
        let Ok(task_id) = TaskId::parse(&row.task_id) else {
            continue;
        };
        let task = ReopenedTask {
            source: row.source.clone(),
            task_id,
            title: row.title.clone().unwrap_or_default(),
        };
        let is_there =
            |one: &ReopenedTask| (&one.source, &one.task_id) == (&task.source, &task.task_id);
        if !tasks.iter().any(is_there) {
            tasks.push(task);
        }
    }
    tasks
}

/// The tracked task files as the new commit has them.
async fn task_files(
    ground: &Ground<'_>,
    reopening: &Reopening,
    target: &Oid,
    head: &Head,
) -> Result<Vec<TreeEdit>, RewriteError> {
    let mut files = Vec::new();
    for file in &reopening.files {
        if let Some(mode) = ground.repo.mode_in(&head.oid, &file.path).await? {
            let (path, bytes) = (file.path.clone(), file.bytes.clone());
            let to = TreeFile::Is { mode, bytes };
            files.push(TreeEdit { path, to });
        }
    }
    // A file of tasks that was removed since stays removed.
    for folder in &reopening.folders {
        let now = ground.repo.files_below(&head.oid, folder).await?;
        for path in ground.repo.files_below(target, folder).await? {
            let ending = path.extension().and_then(|e| e.to_str());
            let is_tasks = matches!(ending, Some("json" | "yaml" | "yml"));
            if is_tasks && !now.contains(&path) {
                let to = TreeFile::Gone;
                files.push(TreeEdit { path, to });
            }
        }
    }
    Ok(files)
}

async fn refuse_in_the_way(
    ground: &Ground<'_>,
    target: &Oid,
    head: &Head,
    own: &[PathBuf],
) -> Result<(), RewriteError> {
    let found = ground.repo.in_the_way(&head.oid, target, own).await?;
    if found.is_empty() {
        return Ok(());
    }
    let paths = found.iter().map(|path| shown(path)).collect();
    Err(RewriteError::InTheWay { paths })
}

/// The target, or a commit on it with the task files as they are to be.
async fn new_tip(
    ground: &Ground<'_>,
    plan: &RevertPlan,
    id: &str,
) -> Result<(Oid, Option<Oid>), RewriteError> {
    let tree = ground.repo.tree_with(&plan.target, &plan.files).await?;
    if tree == ground.repo.tree_of(&plan.target).await? {
        return Ok((plan.target.clone(), None));
    }
    let title = format!("take back iteration {}", plan.iteration);
    let mut body = format!(
        "{} commits went; the tasks are as they were but for those that are open again:\n",
        plan.commits.len()
    );
    for task in &plan.reopened {
        body.push_str(&format!("- {} {}\n", task.task_id, task.title));
    }
    let trailers = [(REVERT_TRAILER, id)];
    let message = commit_message(CommitKind::Chore, &title, &body, &trailers);
    let commit = ground
        .repo
        .make_commit(&tree, &plan.target, &message)
        .await?;
    Ok((commit.clone(), Some(commit)))
}
