//! Reads the board: the tasks of a source with what the journal remembers of them.

use ralph_core::{
    board::Board,
    task::{TaskId, graph::Graph},
};
use ralph_engine::{
    source::Source,
    store::{Journal, RepositoryId},
};

use crate::{error::CommandError, project::Project};

/// The board of `graph`, which was read from `source`. Without a journal, no task has a history.
pub(crate) async fn read(
    project: &Project,
    journal: Option<&mut (Box<dyn Journal>, RepositoryId)>,
    source: &Source,
    graph: Graph,
    scope: Option<&TaskId>,
) -> Result<Board, CommandError> {
    let board = Board::new(graph, scope)?;
    let Some((journal, repository)) = journal else {
        return Ok(board);
    };
    let states = journal
        .task_states(repository, source.name())
        .await?
        .into_iter();
    let states = states.filter_map(|(id, state)| Some((TaskId::parse(&id).ok()?, state)));
    let mut board = board.with_histories(states);
    if let Some(known) = journal.task_list(repository, source.name()).await? {
        board.follow_titles(&known);
    }
    let worktree = project.worktree();
    let last = journal.last_loop(repository, &worktree).await?;
    if let Some(row) = last.filter(|row| row.source == source.name()) {
        let completed = journal.last_completed(&row.id).await?;
        if let Some(id) = completed.and_then(|id| TaskId::parse(&id).ok()) {
            board.set_last_completed(&id);
        }
    }
    Ok(board)
}
