//! The files that an interview about a brief leaves, and their reading: the brief and its
//! history, how far the interview has come, the tasks that it made.
//!
//! Asks and prints nothing: the rounds are led by the command.

mod files;
mod headless;
mod progress;
mod tasks;

pub use files::{Claim, clear_done, keep_spec, read_spec, read_waiting, write_spec, write_waiting};
pub use headless::{Headless, run_headless};
pub use progress::Progress;
pub use tasks::{FoundTasks, look_at_tasks, tasks_before};

use std::{io, path::PathBuf};

#[derive(Debug, thiserror::Error)]
pub enum InterviewError {
    #[error("can't read {}", path.display())]
    Read { path: PathBuf, source: io::Error },
    #[error("can't write {}", path.display())]
    Write { path: PathBuf, source: io::Error },
    #[error("{} can't be read: {message}", path.display())]
    Broken { path: PathBuf, message: String },
}

impl InterviewError {
    fn read(path: PathBuf) -> impl FnOnce(io::Error) -> Self {
        move |source| Self::Read { path, source }
    }

    fn write(path: PathBuf) -> impl FnOnce(io::Error) -> Self {
        move |source| Self::Write { path, source }
    }
}
