//! Opens the budget of work outside of a loop, and says what its budgets say.

use ralph_core::economics::{Alert, BudgetAction};
use ralph_engine::{prices::read_prices, side_budget::SideBudget, store::SideWork};

use crate::{
    error::{CommandError, ErrorKind},
    output,
    project::Project,
    queue,
};

/// Opens the budget for work outside of a loop, from this project's settings. Creates the journal if there
/// is none.
pub(crate) async fn open(project: &Project, work: SideWork) -> Result<SideBudget, CommandError> {
    let root = project.git_root()?;
    let (journal, repository) = queue::open(project, &root).await?;
    let config = project.config();
    let prices = read_prices(&config.economics, project.root()).map_err(CommandError::user)?;
    let (budgets, max) = (&config.budgets, config.loop_.max_cost_usd);
    Ok(
        SideBudget::new(journal, repository, prices, budgets, max, work)
            .with_team(project.team_budgets()?),
    )
}

/// Refuses where a budget does. One that is nearly used up is said.
pub(crate) async fn check(budget: &mut SideBudget) -> Result<(), CommandError> {
    match budget.ask_budgets(Project::now()).await? {
        BudgetAction::Allow => Ok(()),
        BudgetAction::AlertOnly { alert } | BudgetAction::Throttle { alert, .. } => {
            output::print_warning(&alert.sentence());
            Ok(())
        }
        BudgetAction::Deny { alert } => Err(denied(&alert)),
    }
}

pub(crate) fn denied(alert: &Alert) -> CommandError {
    CommandError::new(ErrorKind::Budget, alert.sentence())
        .hint("`ralph cost` shows the cost; raise `budgets` in ralph.yaml to allow more")
}
