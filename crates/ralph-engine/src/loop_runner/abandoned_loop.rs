//! The end of an abandoned loop: its process is gone, and another loop begins in its place.
//!
//! It ends as any other: with a checkpoint, a reason, and files that say so. Only writes down; what its
//! last iteration left is brought to its end by `reconcile`.

use ralph_core::{
    checkpoint::{Left, Moment, Stopped, Trigger},
    event::Tally,
    id::CheckpointId,
    loop_state::{LoopState, LoopStatus, LoopStatusConfig, Reached, Termination},
    termination::Stop,
};

use super::{Board, LoopError, LoopRunner, TaskScope, start_options, status_files};
use crate::{
    forecast::compared,
    loop_files::{LoopEnd, LoopFiles},
    source::Source,
    store::{ListedLoop, LoopRow},
};

/// No process can catch this one, so that no loop ends by it in any other way.
const ABANDONED: Stop = Stop::Interrupted { signal: 9 };

impl LoopRunner {
    /// Ends an abandoned loop.
    pub(super) async fn close_abandoned_loop(&mut self, row: &LoopRow) -> Result<(), LoopError> {
        let moment = self.abandoned_moment(row);
        self.journal
            .end_loop(
                &self.place.repository,
                &row.id,
                &ABANDONED,
                moment.at,
                Some(&moment),
            )
            .await?;
        let Some(listed) = self.journal.listed_loop(&row.id).await? else {
            return Ok(());
        };
        let mut status = self.status_of(row, &listed);
        status_files::add_recorded_iterations(&mut *self.journal, &mut status).await?;
        let termination = Termination::of(&ABANDONED, Reached::default());
        status.state = LoopState::after(&ABANDONED);
        status.completed_at = moment.at.to_string();
        status.last_checkpoint_id = Some(moment.id);
        termination
            .reason
            .as_str()
            .clone_into(&mut status.termination_reason);
        let ended = LoopEnd {
            termination: &termination,
            exit_code: ABANDONED.exit_code(),
            branch: &row.branch,
            verified: listed.verified,
            tasks: self.tally_of(row).await?,
            forecast: compared(&mut *self.journal, &self.place.repository, &row.id).await?,
        };
        let files = LoopFiles::new(&self.place.data_dir, status, self.redaction());
        let written = files
            .write_status()
            .and_then(|()| files.write_report(&ended));
        if let Err(error) = written {
            self.warn(format!(
                "how loop {} ended is in the journal alone: {error}",
                row.id
            ));
        }
        Ok(())
    }

    fn abandoned_moment(&self, row: &LoopRow) -> Moment {
        // A branch that was removed has no tip: then it is where the loop began.
        let tip = self.place.repo.branch_tip(&row.branch).ok().flatten();
        Moment {
            id: CheckpointId::new(uuid::Uuid::now_v7()),
            loop_id: row.id.clone(),
            at: self.now(),
            trigger: Trigger::Stop,
            note: None,
            branch: row.branch.clone(),
            commit: tip.map_or_else(|| row.base_commit.clone(), |tip| tip.to_string()),
            agent: row.agent.clone(),
            work: None,
            // What was left then is left now.
            pending: None,
            blocked: None,
            stopped: Some(Stopped {
                sentence: ABANDONED.sentence(),
                left: Left::Work,
            }),
        }
    }

    /// Where it stood, by what the journal keeps of it.
    fn status_of(&self, row: &LoopRow, listed: &ListedLoop) -> LoopStatus {
        let named = start_options::labels_of(&row.config);
        let limits = named.limits.unwrap_or(start_options::StartLimits {
            max_iterations: 0,
            max_cost: 0.0,
            max_duration_minutes: 0.0,
        });
        let config = LoopStatusConfig {
            max_iterations: limits.max_iterations,
            max_cost: limits.max_cost,
            max_duration_minutes: limits.max_duration_minutes,
            ..self.loop_config(&row.agent)
        };
        LoopStatus {
            task_id: named.task_id,
            project_id: if named.project_id.is_empty() {
                self.folder_name()
            } else {
                named.project_id
            },
            ..status_files::status_from_row(listed, config)
        }
    }

    /// Where its tasks stand now; nothing where they are gone.
    async fn tally_of(&mut self, row: &LoopRow) -> Result<Tally, LoopError> {
        if row.source == self.board.source.name() {
            return Ok(self.board.tally());
        }
        let Ok((source, tasks)) =
            Source::read(&self.place.root.join(&row.source), &self.place.root)
        else {
            return Ok(Tally::default());
        };
        let states = self
            .journal
            .task_states(&self.place.repository, source.name());
        let states = states.await?;
        let board = Board::new(source, tasks, TaskScope::default(), states);
        Ok(board.map_or_else(|_| Tally::default(), |board| board.tally()))
    }
}
