//! Lands on the checked-out branch: the task's new status and the work in one commit, by
//! compare-and-swap.

use std::path::PathBuf;

use async_trait::async_trait;
use ralph_core::{
    artefacts::state::EntryStatus,
    config::{CommitType, Config},
    job::{Job, Outcome},
    secret::Redaction,
    task::{Status, Task, TaskId},
};

use super::{ITERATION_TRAILER, LOOP_TRAILER, LandResult, Landing, TASK_TRAILER};
use crate::{
    artefacts::Artefacts,
    board::Board,
    error::LoopError,
    failpoint::failpoint,
    git::{self, ChangedIndex, CommitKind, LandError, Repo, commit_message},
    journal_text::oid,
};

/// The flags that a commit names.
const MOST_FLAGS: usize = 30;

pub(crate) struct InPlaceLanding<'a> {
    pub(crate) repo: &'a Repo,
    pub(crate) board: &'a mut Board,
    pub(crate) artefacts: Option<&'a Artefacts>,
    /// Takes secrets out of the message.
    pub(crate) redaction: &'a Redaction,
    /// The owner of what is staged in the index besides.
    pub(crate) changed_index: ChangedIndex,
    /// The paths that are ralph's, relative to the root.
    pub(crate) own: &'a [PathBuf],
}

#[async_trait(?Send)]
impl Landing for InPlaceLanding<'_> {
    async fn land(&mut self, job: &Job, outcome: &Outcome) -> Result<LandResult, LoopError> {
        self.land_on_branch(job, outcome).await
    }
}

impl InPlaceLanding<'_> {
    async fn land_on_branch(
        &mut self,
        job: &Job,
        outcome: &Outcome,
    ) -> Result<LandResult, LoopError> {
        let task = &job.task;
        // What lands completes its task, but for a step towards a goal.
        if !outcome.verdict.is_progress() {
            let free = self.board.state(&task.id).map_or(0, |s| s.uncharged);
            let attempts = Some(job.attempt + free);
            self.board
                .write_status(&task.id, Status::Completed, attempts)?;
        }
        if let Some(artefacts) = self.artefacts {
            let found = outcome.verdict.sentence();
            artefacts.write_entry(job, &outcome.log, EntryStatus::Completed, &found)?;
        }
        failpoint("source-written");
        // Also where nothing was left to write: a crash may have come between the file and the commit.
        let also = self.tracked(&task.id).await?;
        let change = outcome.log.change.clone().unwrap_or_default();
        let message = message(job, outcome);
        let message = self.redaction.hide(&message).into_owned();
        let subject = message.lines().next().unwrap_or_default().to_owned();
        if change.files.is_empty() && also.is_empty() {
            return Ok(LandResult::Landed {
                commit: None,
                subject,
            });
        }
        let base = oid(outcome.log.onto(&job.start.base_commit))?;
        let seen = outcome.tip.as_deref().filter(|_| change.replayed.is_none());
        let tip = seen.map(oid).transpose()?;
        let tree = oid(&change.tree)?;
        let landing = git::LandRequest {
            branch: &job.start.branch,
            tree: &tree,
            parent: &base,
            tip: tip.as_ref().unwrap_or(&base),
            message: &message,
            also: &also,
            changed_index: self.changed_index,
            own: self.own,
        };
        match self.repo.land(&landing).await {
            Ok(commit) => {
                failpoint("committed");
                Ok(LandResult::Landed {
                    commit: Some(commit),
                    subject,
                })
            }
            Err(LandError::Git(error)) => Err(error.into()),
            Err(moved @ LandError::Moved { .. }) => {
                // Not landed, so not completed.
                self.board
                    .write_status(&task.id, task.status, task.attempts.made)?;
                Ok(LandResult::Moved {
                    reason: moved.to_string(),
                })
            }
        }
    }

    /// The file of a task, relative to the root, if git tracks it: it goes into the commit, and the
    /// files of its project with it.
    async fn tracked(&self, task: &TaskId) -> Result<Vec<PathBuf>, LoopError> {
        let file = self.board.file_of(task);
        let relative = file.and_then(|f| Some(f.strip_prefix(self.repo.root()).ok()?.to_owned()));
        let Some(path) = relative else {
            return Ok(Vec::new());
        };
        if !self.repo.is_tracked(&path).await? {
            return Ok(Vec::new());
        }
        let mut all = vec![path];
        if let Some(artefacts) = self.artefacts {
            all.extend(artefacts.committed(self.repo).await?);
        }
        Ok(all)
    }
}

fn message(job: &Job, outcome: &Outcome) -> String {
    let mut body = String::new();
    if let Some(summary) = &outcome.log.said.block.summary {
        body.push_str(summary);
        body.push_str("\n\n");
    }
    if outcome.unverified {
        body.push_str("Unverified: no verify command is configured for this task.\n");
    } else {
        body.push_str("Verified by ralph:\n");
        let commands = outcome.log.verification.iter();
        for command in commands.filter(|v| v.run == outcome.last_run) {
            let outcome = if command.passed {
                "passed"
            } else {
                "known failure, as at the start"
            };
            body.push_str(&format!("- {} ({outcome})\n", command.command));
        }
    }
    body.push_str(&flagged(outcome));
    let trailers = [
        (TASK_TRAILER, job.task.id.as_str()),
        (LOOP_TRAILER, job.loop_id.as_str()),
        (ITERATION_TRAILER, job.iteration.as_str()),
    ];
    commit_message(
        commit_kind(&job.config, &job.task),
        &job.task.text.title,
        &body,
        &trailers,
    )
}

/// Lists what a person should look at in a change.
fn flagged(outcome: &Outcome) -> String {
    let flags = outcome.log.change.as_ref().map(|change| &change.flags);
    let mut flags: Vec<&str> = flags.into_iter().flatten().map(String::as_str).collect();
    let mut seen = std::collections::HashSet::new();
    flags.retain(|flag| seen.insert(*flag));
    if flags.is_empty() {
        return String::new();
    }
    let mut text = "\nFlagged:\n".to_owned();
    for flag in flags.iter().take(MOST_FLAGS) {
        let line: String = flag.chars().filter(|c| !c.is_control()).collect();
        text.push_str(&format!("- {line}\n"));
    }
    if let Some(more @ 1..) = flags.len().checked_sub(MOST_FLAGS) {
        text.push_str(&format!("- and {more} more\n"));
    }
    text
}

/// By the first label that the config knows; a feature otherwise.
fn commit_kind(config: &Config, task: &Task) -> CommitKind {
    let types = &config.git.commit_types;
    let mut labels = task.labels.iter();
    match labels.find_map(|label| types.get(&label.to_lowercase())) {
        Some(CommitType::Fix) => CommitKind::Fix,
        Some(CommitType::Chore) => CommitKind::Chore,
        Some(CommitType::Feat) | None => CommitKind::Feat,
    }
}
