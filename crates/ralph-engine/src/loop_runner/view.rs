//! The facts that the loop's decisions depend on: the board, the time, people.

use std::time::Duration;

use jiff::Timestamp;
use ralph_core::{
    config::Config,
    loop_machine::{ChargedAttempts, LoopView, PauseState, PersonAtTerminal},
    task::TaskId,
    termination::RemainingWork,
};

use super::Board;

/// The moment of a decision.
#[derive(Debug, Clone, Copy)]
pub(super) struct LoopMoment {
    pub(super) now: Timestamp,
    pub(super) elapsed: Duration,
    pub(super) signal: Option<i32>,
    pub(super) main_back_at: Option<Timestamp>,
    pub(super) pause: PauseState,
    pub(super) person: PersonAtTerminal,
    /// A project of artefacts is executed.
    pub(super) executes: bool,
}

pub(super) struct View<'a> {
    board: &'a Board,
    config: &'a Config,
    at: LoopMoment,
}

impl<'a> View<'a> {
    pub(super) fn new(board: &'a Board, config: &'a Config, at: LoopMoment) -> Self {
        Self { board, config, at }
    }
}

impl LoopView for View<'_> {
    fn now(&self) -> Timestamp {
        self.at.now
    }

    fn elapsed(&self) -> Duration {
        self.at.elapsed
    }

    fn signal(&self) -> Option<i32> {
        self.at.signal
    }

    fn work(&self, last: Option<&TaskId>) -> RemainingWork {
        RemainingWork {
            all_complete: self.board.all_complete(),
            other_ready: self.board.ready_besides(last),
            same_ready: last.is_some_and(|task| self.board.is_ready(task)),
            questions: self.board.open_questions(),
        }
    }

    fn attempts(&self, task: &TaskId) -> ChargedAttempts {
        ChargedAttempts {
            made: self.board.attempts(task),
            max: self.board.max_attempts(task, self.config),
            idle_in_a_row: self.board.idle_in_a_row(task),
        }
    }

    fn next_task(&self) -> Option<TaskId> {
        self.board.next()
    }

    fn exhausted_task(&self) -> Option<(TaskId, ChargedAttempts)> {
        let spent = self.board.spent(self.config).filter(|_| self.at.executes)?;
        let attempts = ChargedAttempts {
            made: spent.attempts,
            max: spent.max_attempts,
            idle_in_a_row: 0,
        };
        Some((spent.id, attempts))
    }

    fn main_back_at(&self) -> Option<Timestamp> {
        self.at.main_back_at
    }

    fn pause_state(&self) -> PauseState {
        self.at.pause
    }

    fn person(&self) -> PersonAtTerminal {
        self.at.person
    }
}
