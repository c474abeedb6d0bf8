//! Carries out a person's commands when no loop runs: under the worktree's lock, with the same code.
//!
//! Starts no agent and switches no branch. What an interrupted iteration would undo again is left in
//! the queue for the loop that brings it to its end.

use std::path::PathBuf;

use jiff::Timestamp;
use ralph_core::{config::Config, task::Task};

use super::{
    Board, LoopError, TaskScope,
    commands::{CommandExecutor, LoopPresence},
    files::own_files,
    place::{register as register_repository, state_dir},
};
use crate::{
    config_files::ConfigFiles,
    git::{self, Guard, Repo},
    lock::{Lock, LockUse},
    source::Source,
    store::{DataDir, Journal, RepositoryId},
};

/// A worktree without a loop, and what commands need there.
#[derive(Debug, Clone)]
pub struct IdleWorktree {
    pub root: PathBuf,
    pub data_dir: DataDir,
    pub source: PathBuf,
    pub git_environment: git::GitEnvironment,
    pub config: Config,
    /// The project's `ralph.yaml`, as it was read.
    pub config_file: Option<(PathBuf, Vec<u8>)>,
}

/// The commands that were left in the queue.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum QueueRemainder {
    Nothing,
    /// An iteration was interrupted, and is brought to its end by the next `ralph run`.
    ForTheNextRun,
}

/// Carries out the commands in the queue of a worktree without a loop. An error of the lock says that
/// one runs.
pub async fn run_waiting_commands(
    idle: &IdleWorktree,
    now: Timestamp,
) -> Result<QueueRemainder, LoopError> {
    let _lock = Lock::acquire(&idle.data_dir, &idle.root, LockUse::Command)?;
    let state_dir = state_dir(&idle.root, &idle.data_dir)?;
    let repo = Repo::open(&idle.root, &state_dir, &idle.git_environment).await?;
    if Guard::is_in_force(&state_dir) {
        // A loop was killed: what it knew of the person's index is rebuilt by a look at the tree.
        repo.status().await?;
    }
    let mut journal = idle.data_dir.open_journal().await?;
    let (repository, _) = register_repository(&repo, &mut *journal, now).await?;
    let worktree = idle.root.to_string_lossy().into_owned();
    let rows = journal.waiting_commands(&repository, &worktree).await?;
    let interrupted = journal.interrupted_loop(&repository, &worktree).await?;
    let unfinished = match interrupted {
        Some(row) => journal.unfinished_iteration(&row.id).await?.is_some(),
        None => false,
    };
    let mut left = QueueRemainder::Nothing;
    let config_files = ConfigFiles::of(&idle.root, idle.config_file.as_ref(), None);
    let own = own_files(&idle.config, &config_files, &idle.root);
    let (source, tasks) = Source::read(&idle.source, &idle.root)?;
    let mut board = board(source, tasks, &mut *journal, &repository).await?;
    for row in rows {
        if unfinished && !row.command.leaves_tasks_alone() {
            left = QueueRemainder::ForTheNextRun;
            continue;
        }
        let mut executor = CommandExecutor {
            root: &idle.root,
            repo: &repo,
            journal: &mut *journal,
            repository: &repository,
            board: &mut board,
            own: &own,
            progress: &idle.config.memory.progress_file,
            now,
            presence: LoopPresence::NotRunning,
        };
        let _ = executor.execute(&row).await?;
    }
    // Only now: what a command wrote before a crash is no edit of a person's.
    note_edits(&mut board, &mut *journal, &repository, now).await?;
    journal.close().await?;
    Ok(left)
}

/// Makes the repository known to the journal, where ralph never ran before.
pub async fn register(idle: &IdleWorktree, now: Timestamp) -> Result<RepositoryId, LoopError> {
    let _lock = Lock::acquire(&idle.data_dir, &idle.root, LockUse::Command)?;
    let state_dir = state_dir(&idle.root, &idle.data_dir)?;
    let repo = Repo::open(&idle.root, &state_dir, &idle.git_environment).await?;
    let mut journal = idle.data_dir.open_journal().await?;
    let (repository, _) = register_repository(&repo, &mut *journal, now).await?;
    journal.close().await?;
    Ok(repository)
}

async fn board(
    source: Source,
    tasks: Vec<Task>,
    journal: &mut dyn Journal,
    repository: &RepositoryId,
) -> Result<Board, LoopError> {
    let states = journal.task_states(repository, source.name()).await?;
    let known = journal.task_list(repository, source.name()).await?;
    let mut board = Board::new(source, tasks, TaskScope::default(), states)?;
    board.recall_list(known);
    Ok(board)
}

async fn note_edits(
    board: &mut Board,
    journal: &mut dyn Journal,
    repository: &RepositoryId,
    now: Timestamp,
) -> Result<(), LoopError> {
    let source = board.source.name().to_owned();
    let list = board.take_list_change();
    if let Some(ids) = &list.ids {
        journal
            .set_task_list(repository, &source, ids, &list.moved)
            .await?;
    }
    for (task, state) in board.take_answered() {
        journal
            .answer_by_edit(repository, &source, &task, &state, now)
            .await?;
    }
    Ok(())
}
