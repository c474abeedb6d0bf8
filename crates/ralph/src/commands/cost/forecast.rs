//! Forecasts the cost of the remaining tasks from those of the last loop.

use ralph_core::{board::Board, economics::ComparedForecast, id::LoopId};
use ralph_engine::{
    forecast::{CostHistory, compared},
    store::{Journal, JournalError, RepositoryId},
};

use super::Foreseen;
use crate::{error::CommandError, project::Project, queue};

pub(super) async fn forecast(
    project: &Project,
    journal: Option<&mut (Box<dyn Journal>, RepositoryId)>,
) -> Result<Foreseen, CommandError> {
    let (past, path) = match journal {
        Some((journal, repository)) => {
            let past = ForecastBasis::read(project, &mut **journal, repository).await;
            // What is foreseen is the rest of what the last loop worked at.
            let path = queue::source_path(project, &mut **journal, repository).await?;
            (past?, path)
        }
        None => (ForecastBasis::default(), project.source_path(None)?),
    };
    let (_, graph, _) = project.source(Some(&path))?;
    let scope = project.scope(&graph)?;
    let board = Board::new(graph, scope.parent())?;
    let counts = board.counts();
    let remaining_tasks = counts.ready + counts.waiting;
    Ok(Foreseen {
        loop_id: past.loop_id,
        finished_tasks: past.history.finished.len(),
        remaining_tasks,
        range: past
            .history
            .forecast(remaining_tasks, project.config().economics.multi_agent),
        earlier: past.earlier,
    })
}

#[derive(Default)]
struct ForecastBasis {
    loop_id: Option<LoopId>,
    history: CostHistory,
    earlier: Option<ComparedForecast>,
}

impl ForecastBasis {
    async fn read(
        project: &Project,
        journal: &mut dyn Journal,
        repository: &RepositoryId,
    ) -> Result<Self, JournalError> {
        let worktree = project.worktree();
        let Some(last) = journal.last_loop(repository, &worktree).await? else {
            return Ok(Self::default());
        };
        Ok(Self {
            history: CostHistory::of_loop(journal, repository, &last.id).await?,
            earlier: compared(journal, repository, &last.id).await?,
            loop_id: Some(last.id),
        })
    }
}
