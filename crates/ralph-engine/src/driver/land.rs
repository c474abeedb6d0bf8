//! Lands a verified tree: the task's new status and the work in one commit, by compare-and-swap.

use std::path::PathBuf;

use ralph_core::{
    artefacts::state::EntryStatus,
    config::CommitType,
    event::Event,
    iteration::StepDone,
    task::{Status, Task, TaskId},
    verdict::Verdict,
};

use super::{Driver, LoopError, notes::Turn};
use crate::{
    failpoint::failpoint,
    git::{CommitKind, LandError, Landing, commit_message},
};

pub(in crate::driver) const TASK_TRAILER: &str = "Ralph-Task";
pub(in crate::driver) const LOOP_TRAILER: &str = "Ralph-Loop";
pub(in crate::driver) const ITERATION_TRAILER: &str = "Ralph-Iteration";

impl Driver {
    pub(super) async fn land(&mut self, turn: &mut Turn) -> Result<StepDone, LoopError> {
        self.mark_landing(turn)?;
        self.write_entry(turn, EntryStatus::Completed, "verified")?;
        failpoint("source-written");
        // Also where nothing was left to write: a crash may have come between the file and the commit.
        let also = self.tracked(turn.task_id()).await?;
        let change = turn.notes.change.clone().unwrap_or_default();
        let message = self.message(turn);
        let subject = message.lines().next().unwrap_or_default().to_owned();
        if change.files.is_empty() && also.is_empty() {
            // A task that is right without a change, in a file that git does not know.
            self.told_landed(turn, None, subject);
            return Ok(StepDone::Landed { commit: None });
        }
        let tree = super::text::oid(&change.tree)?;
        let landing = Landing {
            branch: &self.branch,
            tree: &tree,
            parent: &turn.base,
            tip: turn.tip.as_ref().unwrap_or(&turn.base),
            message: &message,
            also: &also,
        };
        match self.repo.land(&landing).await {
            Ok(commit) => {
                failpoint("committed");
                self.base = commit.clone();
                // Git looks at the tree for the next iteration while this one is written down.
                self.repo.start_status().await;
                self.told_landed(turn, Some(commit.to_string()), subject);
                Ok(StepDone::Landed {
                    commit: Some(commit.to_string()),
                })
            }
            Err(LandError::Git(error)) => Err(error.into()),
            Err(moved @ LandError::Moved { .. }) => {
                // Not landed, so not completed.
                self.board.write_status(
                    turn.task_id(),
                    turn.task.status,
                    turn.task.attempts.made,
                )?;
                Ok(StepDone::LandRefused {
                    reason: moved.to_string(),
                })
            }
        }
    }

    /// What lands completes its task, but for a step towards a goal.
    fn mark_landing(&mut self, turn: &Turn) -> Result<(), LoopError> {
        if turn.machine.landed_as() == Verdict::Progress {
            return Ok(());
        }
        let attempts = Some(turn.start.attempt);
        self.board
            .write_status(turn.task_id(), Status::Completed, attempts)?;
        Ok(())
    }

    fn told_landed(&mut self, turn: &Turn, commit: Option<String>, subject: String) {
        self.tell(&Event::Landed {
            task: turn.task_id().to_string(),
            commit,
            subject,
            unverified: turn.machine.is_unverified(),
        });
    }

    /// The file of a task, relative to the root, if git tracks it: it goes into the commit, and the
    /// files of its project with it.
    async fn tracked(&self, task: &TaskId) -> Result<Vec<PathBuf>, LoopError> {
        let file = self.board.file_of(task);
        let relative = file.and_then(|f| Some(f.strip_prefix(self.repo.root()).ok()?.to_owned()));
        match relative {
            Some(path) if self.repo.is_tracked(&path).await? => {
                let mut all = vec![path];
                all.extend(self.committed_artefacts().await?);
                Ok(all)
            }
            _ => Ok(Vec::new()),
        }
    }

    fn message(&self, turn: &Turn) -> String {
        let mut body = String::new();
        if let Some(summary) = &turn.notes.said.block.summary {
            body.push_str(summary);
            body.push_str("\n\n");
        }
        if turn.machine.is_unverified() {
            body.push_str("Unverified: no verify command is configured for this task.\n");
        } else {
            body.push_str("Verified by ralph:\n");
            let last = turn.machine.run();
            for command in turn.notes.verification.iter().filter(|v| v.run == last) {
                let outcome = if command.passed {
                    "passed"
                } else {
                    "known failure, as at the start"
                };
                body.push_str(&format!("- {} ({outcome})\n", command.command));
            }
        }
        let trailers = [
            (TASK_TRAILER, turn.task_id().as_str()),
            (LOOP_TRAILER, self.loop_id.as_str()),
            (ITERATION_TRAILER, turn.id().as_str()),
        ];
        commit_message(
            self.commit_kind(&turn.task),
            &turn.task.text.title,
            &body,
            &trailers,
        )
    }

    /// By the first label that the config knows; a feature otherwise.
    fn commit_kind(&self, task: &Task) -> CommitKind {
        let types = &self.config.git.commit_types;
        let known = task
            .labels
            .iter()
            .find_map(|label| types.get(&label.to_lowercase()));
        match known {
            Some(CommitType::Fix) => CommitKind::Fix,
            Some(CommitType::Chore) => CommitKind::Chore,
            Some(CommitType::Feat) | None => CommitKind::Feat,
        }
    }
}
