//! What the tasks that are left will cost, by what those of the last loop did.

use ralph_core::{
    dollars::Dollars,
    economics::{Caller, ForecastBasis, MULTI_AGENT_FACTOR, forecast},
    select::Plan,
};
use ralph_engine::store::{Journal, JournalError, RepositoryId};

use super::Foreseen;
use crate::{error::CommandError, project::Project, queue};

/// Any will do: the same history must give the same forecast.
const SEED: u64 = 1;

pub(super) async fn foresee(
    project: &Project,
    journal: Option<&mut (Journal, RepositoryId)>,
) -> Result<Foreseen, CommandError> {
    let (past, path) = match journal {
        Some((journal, repository)) => {
            let past = Past::read(project, journal, repository).await;
            // What is foreseen is the rest of what the last loop worked at.
            let path = queue::source_path(project, journal, repository).await?;
            (past.map_err(CommandError::internal)?, path)
        }
        None => (Past::default(), project.source_path(None)?),
    };
    let (_, graph, _) = project.source_in_brief(Some(&path))?;
    let scope = project.scope(&graph)?;
    let plan = Plan::new(&graph, scope.parent()).map_err(CommandError::internal)?;
    let counts = plan.counts();
    let remaining_tasks = counts.ready + counts.waiting;
    // Where subagents worked already, what they cost is in the history.
    let factor = match project.config().economics.multi_agent && !past.had_subagents {
        true => MULTI_AGENT_FACTOR,
        false => 1,
    };
    Ok(Foreseen {
        loop_id: past.loop_id,
        finished_tasks: past.finished.len(),
        remaining_tasks,
        range: forecast(ForecastBasis {
            finished: &past.finished,
            remaining_tasks,
            factor,
            seed: SEED,
        }),
    })
}

#[derive(Default)]
struct Past {
    loop_id: Option<String>,
    finished: Vec<Dollars>,
    had_subagents: bool,
}

impl Past {
    async fn read(
        project: &Project,
        journal: &mut Journal,
        repository: &RepositoryId,
    ) -> Result<Self, JournalError> {
        let worktree = project.worktree();
        let Some(last) = journal.last_loop(repository, &worktree).await? else {
            return Ok(Self::default());
        };
        let mut costs = journal.finished_costs(repository, &last.id).await?;
        costs.sort();
        let parts = journal.parts_of_loop(repository, &last.id).await?;
        Ok(Self {
            loop_id: Some(last.id),
            finished: costs.into_iter().map(|(_, cost)| cost).collect(),
            had_subagents: parts.iter().any(|part| part.caller == Caller::Subagent),
        })
    }
}
