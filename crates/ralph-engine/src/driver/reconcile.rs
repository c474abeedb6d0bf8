//! Finishes or undoes what a crash left. An intent without a result is looked up, never repeated
//! blindly: is there a commit with this iteration's trailer?

use std::time::Instant;

use ralph_core::{
    event::Event,
    iteration::{Action, StepDone},
    task::Status,
};

use super::{
    Driver, LoopError,
    artefacts::{Artefacts, project_of},
    board::{Board, Scope},
    land::ITERATION_TRAILER,
    logs::Logs,
    notes::{AgentSeen, Turn},
};
use crate::{
    git::{Landed, ResetSpec},
    source::{Source, has_mark},
    store::{LoopRow, Step, UnfinishedIteration},
};

/// What is to become of an iteration that a crash left.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Leftover {
    GoOn,
    /// Its loop is over: no agent is started for it.
    Abandon,
}

impl Driver {
    /// Brings an unfinished iteration of this loop to its end.
    pub(super) async fn reconcile(&mut self, leftover: Leftover) -> Result<(), LoopError> {
        let Some(unfinished) = self.journal.unfinished_iteration(&self.loop_id).await? else {
            return Ok(());
        };
        let n = unfinished.n;
        let Some(mut task) = self.board.task(&unfinished.start.task).cloned() else {
            // The task is gone from the file: nothing can be said about it but that it ended. What its
            // agent left must not be taken for the next one's work.
            self.put_base_back(&unfinished).await?;
            return self
                .journal
                .forget_iteration(&unfinished.start.id, self.now())
                .await
                .map_err(Into::into);
        };
        let UnfinishedIteration { start, steps, .. } = unfinished;
        // What an unfinished landing wrote into the file is no status that a person gave it.
        if task.status == Status::Completed {
            task.status = Status::Open;
            self.board.mark(&task.id, Status::Open)?;
        }
        let mut turn = self.turn(n, start, task)?;
        self.fold(&mut turn, &steps)?;
        if has_mark(&self.state_dir, turn.id().as_str()) || !turn.notes.runs.is_empty() {
            turn.agent = AgentSeen::Started;
        }
        let mut logs = Logs::open(&self.root, n, self.config.logs.max_mb.get())?;
        logs.heading("taken up again after an interruption");
        self.look_up(&mut turn, leftover).await?;
        let deadline = self.deadline(Instant::now());
        self.drive(&mut turn, &mut logs, deadline).await?;
        let finished = self.finish_turn(turn, logs).await?;
        self.machine
            .tally_mut()
            .add_recovered(n, &finished.usage, finished.spent);
        self.tell(&Event::Notice {
            message: format!(
                "iteration {n}, which was interrupted, is brought to its end: {}",
                finished.verdict.sentence()
            ),
        });
        Ok(())
    }

    fn fold(&self, turn: &mut Turn, steps: &[Step]) -> Result<(), LoopError> {
        for step in steps {
            if let Step::Done(done) = step {
                turn.notes.observe(done);
                turn.machine.apply(done)?;
            }
        }
        Ok(())
    }

    /// Finds out what became of the step that was under way.
    async fn look_up(&mut self, turn: &mut Turn, leftover: Leftover) -> Result<(), LoopError> {
        match turn.machine.next() {
            // The agent died with ralph. What it left is kept, and nobody is charged.
            Action::Bundle { .. } | Action::StartAgent { .. } => {
                self.note_step(turn, &StepDone::Interrupted).await
            }
            // Nothing was under way but the wait: it is waited again, and gone on with.
            Action::Wait { .. } => match leftover {
                Leftover::GoOn => Ok(()),
                Leftover::Abandon => self.note_step(turn, &StepDone::Interrupted).await,
            },
            Action::Land => self.look_up_landing(turn).await,
            // Verification runs on the working tree: it must still be the one that was inspected.
            Action::Verify if self.tree_is_as_inspected(turn).await? => Ok(()),
            Action::Verify => self.note_step(turn, &StepDone::Interrupted).await,
            Action::Inspect | Action::Keep { .. } | Action::Record { .. } | Action::Done => Ok(()),
        }
    }

    /// An agent can write trailers too. A commit of ours stands right on the base, and holds what was
    /// verified and, besides, files of ralph's own alone.
    async fn is_ours(&self, landed: &Landed, turn: &Turn) -> Result<bool, LoopError> {
        let Some(change) = &turn.notes.change else {
            return Ok(false);
        };
        if landed.parents != [turn.base.clone()] {
            return Ok(false);
        }
        let verified = super::text::oid(&change.tree)?;
        let own = self.own_paths();
        let (differing, total) = self
            .repo
            .diff_stat(&verified, &landed.tree, own.len() + 1)
            .await?;
        let all_own = differing
            .iter()
            .all(|d| own.iter().any(|o| d.path.starts_with(o)));
        Ok(all_own && differing.len() == total)
    }

    /// Whether the working tree is still the one that was looked at before the crash.
    async fn tree_is_as_inspected(&self, turn: &mut Turn) -> Result<bool, LoopError> {
        let parts = self.stage_spec(turn);
        let spec = parts.as_spec(&self.branch, &self.policy);
        let staged = self.repo.stage(&spec).await?;
        turn.tip = staged.tip;
        let inspected = turn.notes.change.as_ref();
        Ok(inspected.is_some_and(|c| c.tree == staged.tree.as_str()))
    }

    async fn look_up_landing(&mut self, turn: &mut Turn) -> Result<(), LoopError> {
        let found = self
            .repo
            .find_commit_with_trailer(
                &turn.base,
                &self.branch,
                ITERATION_TRAILER,
                turn.id().as_str(),
            )
            .await?;
        if let Some(landed) = found
            && self.is_ours(&landed, turn).await?
        {
            self.repo.match_index_to_head().await?;
            self.base = landed.oid.clone();
            let commit = Some(landed.oid.to_string());
            return self.note_step(turn, &StepDone::Landed { commit }).await;
        }
        if self.tree_is_as_inspected(turn).await? {
            return Ok(());
        }
        // Somebody changed the tree since: what was verified is not what is there.
        self.board
            .write_status(&turn.task.id.clone(), ralph_core::task::Status::Open, None)?;
        self.note_step(turn, &StepDone::Interrupted).await
    }

    /// Ends an interrupted loop of another source: its iteration is brought to its end, and the loop
    /// is closed.
    pub(super) async fn abandon(&mut self, row: &LoopRow) -> Result<(), LoopError> {
        let path = self.root.join(&row.source);
        match Source::read(&path, &self.root) {
            Ok((source, tasks)) => {
                let states = self
                    .journal
                    .task_states(&self.repository, source.name())
                    .await?;
                let board = Board::new(source, tasks, Scope::default(), states)?;
                self.other_sources = self.source_files();
                let theirs = self.artefacts_of(row).await?;
                let ours = std::mem::replace(&mut self.board, board);
                let ours = (ours, std::mem::replace(&mut self.artefacts, theirs));
                let done = self.reconcile(Leftover::Abandon).await;
                (self.board, self.artefacts) = ours;
                self.other_sources.clear();
                done?;
            }
            Err(_) => {
                if let Some(unfinished) = self.journal.unfinished_iteration(&row.id).await? {
                    self.put_base_back(&unfinished).await?;
                    self.journal
                        .forget_iteration(&unfinished.start.id, self.now())
                        .await?;
                }
            }
        }
        self.close_given_up(row).await
    }

    /// The files of the project that another loop executed.
    async fn artefacts_of(&mut self, row: &LoopRow) -> Result<Option<Artefacts>, LoopError> {
        let Some(project) = project_of(&row.config) else {
            return Ok(None);
        };
        let unfinished = self.journal.unfinished_iteration(&row.id).await?;
        let id = unfinished.map(|iteration| iteration.start.id);
        Artefacts::open(&project, &self.root, &self.state_dir, id.as_ref()).map(Some)
    }

    /// The work of an iteration whose task can't be found any more: kept under its ref all the same.
    async fn put_base_back(&mut self, unfinished: &UnfinishedIteration) -> Result<(), LoopError> {
        let base = super::text::oid(&unfinished.start.base_commit)?;
        let untracked = super::text::paths_from_text(&unfinished.start.untracked);
        let own = self.own_paths();
        let spec = crate::git::StageSpec {
            base: &base,
            branch: &self.branch,
            untracked_before: &untracked,
            own_paths: &own,
            max_file_bytes: self.policy.max_file_bytes,
        };
        let staged = self.repo.stage(&spec).await?;
        if !staged.change.is_empty() {
            self.repo
                .save_attempt(&unfinished.start.id, &base, &staged.tree)
                .await?;
            let reset = ResetSpec {
                branch: &self.branch,
                base: &base,
                keep_untracked: &untracked,
                own_paths: &own,
            };
            self.repo.reset_to(&reset).await?;
        }
        Ok(())
    }

    /// Between iterations the file wins: a person may have edited it.
    pub(super) async fn reload_tasks(&mut self) -> Result<(), LoopError> {
        self.reread_tasks()?;
        self.note_edits().await
    }

    /// What the agent of an execution added to the tasks is work like any other.
    pub(super) async fn take_new_tasks(&mut self) -> Result<(), LoopError> {
        if self.artefacts.is_none() {
            return Ok(());
        }
        let (source, tasks) = Source::read(self.board.source.path(), &self.root)?;
        self.board.replace_tasks(source, tasks)?;
        self.note_edits().await
    }

    /// The same, while it is not known yet whose edits these are.
    pub(super) fn reread_tasks(&mut self) -> Result<(), LoopError> {
        if !self.board.source.has_changed() {
            return Ok(());
        }
        let (source, tasks) = Source::read(self.board.source.path(), &self.root)?;
        self.board.replace_tasks(source, tasks)
    }
}
