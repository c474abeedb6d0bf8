//! Keeps the files of the loop in the data folder as they must be: its state, its iterations, its end.
//!
//! Only tells; nothing is decided by what stands there. A file that can't be written is a warning: the
//! journal has it all.

use std::{collections::HashMap, io};

use ralph_core::{
    dollars::Dollars,
    event::Event,
    id::CheckpointId,
    loop_state::{LoopState, LoopStatus, LoopStatusConfig, MOST_ITERATIONS, Reached, Termination},
    record::IterationRecord,
    termination::Stop,
};

use super::{
    LoopError, LoopRunner,
    start_options::{LoopLabels, StartLimits},
};
use crate::{
    forecast::compared,
    heartbeat::Heartbeat,
    loop_files::{LoopEnd, LoopFiles, folder},
    store::{Journal, ListedLoop},
};

impl LoopRunner {
    /// Opens the files of the loop; what a loop that goes on had done before is in the journal.
    pub(super) async fn open_loop_files(&mut self) -> Result<(), LoopError> {
        let Some(row) = self.journal.listed_loop(&self.loop_id).await? else {
            return Ok(());
        };
        let mut status = self.new_status(&row);
        add_recorded_iterations(&mut *self.journal, &mut status).await?;
        let data_dir = &self.place.data_dir;
        let files = LoopFiles::new(data_dir, status, self.redaction());
        self.output.loop_files = Some(files);
        let folder = folder(data_dir, &self.loop_id);
        self.write_loop_status();
        self.output.heartbeat = Some(Heartbeat::start(folder, &self.loop_id, &self.place.root));
        Ok(())
    }

    fn new_status(&self, row: &ListedLoop) -> LoopStatus {
        LoopStatus {
            task_id: self.task_of_loop(),
            project_id: self.project_name(),
            ..status_from_row(row, self.loop_config(&row.agent))
        }
    }

    pub(super) fn loop_config(&self, agent: &str) -> LoopStatusConfig {
        let limits = self.machine.limits();
        LoopStatusConfig {
            max_iterations: limits.max_iterations,
            max_cost: limits.max_cost.map_or(0.0, Dollars::usd),
            max_duration_minutes: limits.max_time.map_or(0.0, |t| t.as_secs_f64() / 60.0),
            context_threshold: self.settings.config.handoff.context_threshold.as_f64(),
            agent_type: agent.to_owned(),
            model: String::new(),
        }
    }

    /// The names of this loop, to be kept with it.
    pub(super) fn labels(&self) -> LoopLabels {
        LoopLabels {
            project_id: self.project_name(),
            task_id: self.task_of_loop(),
            limits: Some(StartLimits::from(&self.loop_config(""))),
        }
    }

    /// The parent of the tasks, or the one task that is worked on; empty where there is neither.
    fn task_of_loop(&self) -> String {
        let parent = self.board.parent().map(|task| &task.id);
        let only = self.board.only_task().or(parent);
        let only = only.or_else(|| self.board.only_root());
        only.map(ToString::to_string).unwrap_or_default()
    }

    fn project_name(&self) -> String {
        let meta = self.board.source.meta();
        let executed = self.files.artefacts.as_ref().map(|a| a.name().to_owned());
        let named = executed.or(meta.project);
        named.unwrap_or_else(|| self.folder_name())
    }

    pub(super) fn folder_name(&self) -> String {
        let folder = self.place.root.file_name();
        folder.map_or_else(String::new, |name| name.to_string_lossy().into_owned())
    }

    /// Moves the loop to its next state, and says so.
    pub(super) fn enter_state(&mut self, next: LoopState) -> Result<(), LoopError> {
        let Some(files) = &mut self.output.loop_files else {
            return Ok(());
        };
        files.status.state = files.status.state.to(next)?;
        self.write_loop_status();
        Ok(())
    }

    /// Sets the state in `status.json` to paused. It may do so before its first iteration, or before a fresh agent takes
    /// over: then it runs first.
    pub(super) fn set_state_paused(&mut self) -> Result<(), LoopError> {
        if let Some(LoopState::Initializing | LoopState::Handoff) = self.loop_state() {
            self.enter_state(LoopState::Running)?;
        }
        self.enter_state(LoopState::Paused)
    }

    /// Sets the state to handoff: a fresh agent takes over. After a crash that may be the first that is done.
    pub(super) fn set_state_handoff(&mut self) -> Result<(), LoopError> {
        self.set_state_running()?;
        self.enter_state(LoopState::Handoff)
    }

    /// Sets the state to running, if it is another.
    pub(super) fn set_state_running(&mut self) -> Result<(), LoopError> {
        match self.loop_state() {
            Some(LoopState::Running) => Ok(()),
            _ => self.enter_state(LoopState::Running),
        }
    }

    fn loop_state(&self) -> Option<LoopState> {
        self.output
            .loop_files
            .as_ref()
            .map(|files| files.status.state)
    }

    pub(super) fn add_to_status(&mut self, record: &IterationRecord, checkpoint: &CheckpointId) {
        if let Some(files) = &mut self.output.loop_files {
            files.status.add(record, Some(checkpoint));
        }
        self.write_loop_status();
    }

    /// The last words, in both files.
    pub(super) async fn close_loop_files(
        &mut self,
        stop: &Stop,
        checkpoint: Option<&CheckpointId>,
    ) -> Result<(), LoopError> {
        let last = LoopState::after(stop);
        if self.loop_state() == Some(LoopState::Handoff) {
            self.enter_state(LoopState::Running)?;
        }
        if last == LoopState::Completed {
            self.enter_state(LoopState::Completing)?;
        }
        let reached = Reached {
            iterations: self.machine.tally().iterations,
            elapsed: self.began.elapsed(),
        };
        let termination = Termination::of(stop, reached);
        let now = self.now().to_string();
        if let Some(files) = &mut self.output.loop_files {
            files.status.completed_at = now;
            if checkpoint.is_some() {
                files.status.last_checkpoint_id = checkpoint.cloned();
            }
            termination
                .reason
                .as_str()
                .clone_into(&mut files.status.termination_reason);
        }
        self.enter_state(last)?;
        let row = self.journal.listed_loop(&self.loop_id).await?;
        let verified = row.map_or(0, |row| row.verified);
        let ended = LoopEnd {
            termination: &termination,
            exit_code: stop.exit_code(),
            branch: &self.place.branch,
            verified,
            tasks: self.board.tally(),
            forecast: compared(&mut *self.journal, &self.place.repository, &self.loop_id).await?,
        };
        let files = self.output.loop_files.as_ref();
        let written = files.map(|files| files.write_report(&ended));
        self.tell_written(written);
        Ok(())
    }

    fn write_loop_status(&mut self) {
        let written = self.output.loop_files.as_ref().map(LoopFiles::write_status);
        self.tell_written(written);
    }

    /// Says that the files can't be written, and that they can again, each once.
    fn tell_written(&mut self, written: Option<io::Result<()>>) {
        let Some(written) = written else { return };
        let before = self.output.files_written;
        self.output.files_written = FilesWritten::of(&written);
        let event = match (before, written) {
            (FilesWritten::Yes, Err(error)) => Event::Warning {
                message: format!(
                    "status.json of this loop can't be written: {error}; it is tried again with the next change"
                ),
            },
            (FilesWritten::No, Ok(())) => Event::Notice {
                message: "status.json of this loop is written again".to_owned(),
            },
            (FilesWritten::Yes, Ok(())) | (FilesWritten::No, Err(_)) => return,
        };
        self.tell(&event);
    }
}

/// The outcome of the last time that the files of a loop were written.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) enum FilesWritten {
    #[default]
    Yes,
    No,
}

impl FilesWritten {
    fn of(written: &io::Result<()>) -> Self {
        if written.is_ok() { Self::Yes } else { Self::No }
    }
}

/// Where a loop stands by its row alone: nothing of its iterations yet.
pub(super) fn status_from_row(row: &ListedLoop, config: LoopStatusConfig) -> LoopStatus {
    LoopStatus {
        loop_id: row.id.clone(),
        task_id: String::new(),
        project_id: String::new(),
        state: LoopState::Initializing,
        goal: row.goal.clone(),
        config,
        current_iteration: row.iterations,
        iterations: Vec::new(),
        total_input_tokens: row.input_tokens,
        total_output_tokens: row.output_tokens,
        total_cost: row.cost.map_or(0.0, Dollars::usd),
        started_at: row.started_at.clone(),
        completed_at: String::new(),
        termination_reason: String::new(),
        last_checkpoint_id: None,
        errors: Vec::new(),
    }
}

/// Adds what the loop had done before, from the journal.
pub(super) async fn add_recorded_iterations(
    journal: &mut dyn Journal,
    status: &mut LoopStatus,
) -> Result<(), LoopError> {
    let most = u32::try_from(MOST_ITERATIONS).unwrap_or(u32::MAX);
    let records = match status.current_iteration {
        0 => Vec::new(),
        _ => journal.last_records_of(&status.loop_id, most).await?,
    };
    let shown = records.len() as u64;
    let checkpoints = match shown {
        0 => HashMap::new(),
        _ => journal.checkpoints_after(&status.loop_id).await?,
    };
    for (at, record) in (1..).zip(&records) {
        let nth = (status.current_iteration + at).saturating_sub(shown);
        status.show(record, nth, checkpoints.get(&record.iteration));
    }
    Ok(())
}
