//! The end of a loop for people: work that was put aside comes back, and what can be done next is said.
//!
//! Nothing of it can fail a loop: what can't be found out is left out.

use ralph_core::{event::NextStep, figures::count, sanitize::one_line};

use super::{LoopError, LoopRunner};
use crate::{
    git::{Along, CommitInfo, Oid, Unstashed},
    programs::{find_program, path_folders},
};

/// The message of ralph's stashes begins with this; the loop's id follows.
pub(super) const STASH: &str = "ralph: work put aside by --stash, loop";

/// Tasks for a person that are named, and the columns of their titles.
const MOST_FOR_PERSON: usize = 3;
const MOST_TITLE: usize = 80;

/// Branches that people merge into, where it is not known from which one ralph started.
const USUAL: [&str; 3] = ["main", "master", "trunk"];

impl LoopRunner {
    /// Puts the user's uncommitted work aside, for this loop.
    pub(super) async fn put_aside(&mut self) -> Result<Option<String>, LoopError> {
        let own = self.own_paths();
        let message = format!("{STASH} {}", self.loop_id);
        let stashed = self.place.repo.stash_user_work(&message, &own).await?;
        Ok(stashed.map(|_| {
            "your uncommitted changes of tracked files are put aside until the end (`git stash list`)"
                .to_owned()
        }))
    }

    /// Brings back at the end what this loop put aside, if HEAD is still where the loop worked.
    pub(super) async fn bring_back_at_end(&mut self) {
        let head = self.place.repo.head_and_branch();
        if head.is_ok_and(|(_, now)| now.as_ref() == Some(&self.place.branch))
            && self.bring_back().await
        {
            self.notice("your uncommitted changes are back");
        }
    }

    /// Brings back what this loop put aside; returns whether it did. What does not fit stays in the stash, and
    /// is named.
    pub(super) async fn bring_back(&mut self) -> bool {
        let mark = format!("{STASH} {}", self.loop_id);
        let Ok(stashes) = self.place.repo.stashes(&mark).await else {
            return false;
        };
        let mut is_back = false;
        for found in stashes {
            let reason = match self.place.repo.unstash_user_work(&found.stash).await {
                Ok(Unstashed::Back) => {
                    is_back = true;
                    continue;
                }
                Ok(Unstashed::Kept { reason }) => reason,
                Err(error) => error.to_string(),
            };
            self.warn(format!(
                "your uncommitted changes stay in the stash: {reason}"
            ));
        }
        is_back
    }

    /// Lists what a person can do now.
    pub(super) async fn next_steps(&mut self) -> Vec<NextStep> {
        let mut steps = self.steps_with_branch().await.unwrap_or_default();
        let questions = self.board.open_questions();
        if questions > 0 {
            let many = count(questions, "question waits", "questions wait");
            steps.push(step("ralph escalations", format!("{many} for an answer")));
        }
        for task in self.board.for_person().take(MOST_FOR_PERSON) {
            let command = format!("ralph tasks done {}", task.id);
            let title = one_line(&task.text.title, MOST_TITLE);
            steps.push(step(command, format!("when a person has done it: {title}")));
        }
        let suggestions = self.journal.suggestions(&self.place.repository).await;
        let suggestions = suggestions.map_or(0, |all| all.len());
        if suggestions > 0 {
            let many = count(suggestions, "suggested task", "suggested tasks");
            steps.push(step("ralph tasks add --from-suggestions", many));
        }
        let stashes = self.place.repo.stashes(STASH).await.unwrap_or_default();
        for found in stashes {
            let command = format!("git stash pop '{}'", found.name);
            steps.push(step(command, "work that ralph put aside".to_owned()));
        }
        steps
    }

    /// Lists what can be done with the work on the branch.
    async fn steps_with_branch(&mut self) -> Result<Vec<NextStep>, LoopError> {
        let repo = &self.place.repo;
        let branch = &self.place.branch;
        let mut steps = Vec::new();
        let report = || step("ralph report", "everything about this feature".to_owned());
        let Some(tip) = repo.branch_tip(branch)? else {
            return Ok(steps);
        };
        let (base, into) = self.base_of_branch()?;
        let Ok(base_commit) = Oid::parse(&self.place.start.commit) else {
            return Ok(steps);
        };
        let commits = repo.commits_between(&base_commit, &tip, Along::FirstParents);
        let commits = commits.await?;
        if commits.is_empty() {
            if self.machine.tally().iterations > 0 {
                steps.push(report());
            }
            return Ok(steps);
        }
        let many = count(commits.len(), "commit", "commits");
        let look = format!("git diff {base}...{branch}");
        steps.push(step(look, format!("{many} on {branch}")));
        steps.push(report());
        steps.extend(self.step_for_owner(&commits));
        let (_, current) = repo.head_and_branch()?;
        let ralphs = commits.iter().filter(|commit| is_ralphs(commit)).count();
        if ralphs > 1 && current.as_ref() == Some(branch) {
            steps.push(step(
                "ralph squash",
                format!("one commit of ralph's {ralphs}"),
            ));
        }
        if let Some(into) = into {
            let merge = format!("git switch {into} && git merge {branch}");
            steps.push(step(merge, format!("take it into {into}")));
        }
        Ok(steps)
    }

    /// The command that tells the tool which owns the task file what this loop completed. ralph does not start
    /// it: such tools run hooks of the repository, which an agent may have written.
    fn step_for_owner(&self, commits: &[CommitInfo]) -> Option<NextStep> {
        let file = self.board.source.files().first()?;
        let command = file.format.close_command()?;
        let program = command.split(' ').next()?;
        let folders = path_folders(&self.runtime.environment.vars);
        find_program(program, &folders)?;
        let own = |commit: &&CommitInfo| {
            let mut loops = commit.trailer("Ralph-Loop");
            loops.any(|id| id == self.loop_id.as_str())
        };
        let ids = commits.iter().rev().filter(own);
        let ids: Vec<&str> = ids
            .flat_map(|commit| commit.trailer("Ralph-Task"))
            .collect();
        if ids.is_empty() {
            return None;
        }
        let command = format!("{command} {}", ids.join(" "));
        let what = format!("{program} has records of its own, which ralph does not change");
        Some(step(command, what))
    }

    /// Returns what the branch is compared with, and the branch that it can be merged into.
    fn base_of_branch(&self) -> Result<(String, Option<String>), LoopError> {
        let (repo, start) = (&self.place.repo, &self.place.start);
        let exists = |name: &str| {
            let is_other = name != self.place.branch;
            Ok::<_, LoopError>(is_other && !name.is_empty() && repo.branch_tip(name)?.is_some())
        };
        for name in [start.from.as_str()].into_iter().chain(USUAL) {
            // A tag or `HEAD~1` is no branch, and may be no name for one either.
            if exists(name).unwrap_or(false) {
                return Ok((name.to_owned(), Some(name.to_owned())));
            }
        }
        Ok((start.commit.chars().take(10).collect(), None))
    }
}

fn is_ralphs(commit: &CommitInfo) -> bool {
    commit.trailer("Ralph-Iteration").next().is_some()
}

fn step(command: impl Into<String>, what: String) -> NextStep {
    NextStep {
        command: command.into(),
        what,
    }
}
