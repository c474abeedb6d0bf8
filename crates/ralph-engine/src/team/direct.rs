//! A journal on the server of a team, in place of the one in the data folder, and the budgets of that team.

use super::{StoreAddress, TeamBudgets, TeamError};
use crate::store::DataDir;

/// Puts the journal of a data folder on a server. `notice` tells a person that the server is waited for.
#[cfg(feature = "team")]
pub fn journal_on_server(
    data_dir: DataDir,
    address: &StoreAddress,
    tenant: &str,
    notice: impl Fn(&str) + Send + Sync + 'static,
) -> Result<DataDir, TeamError> {
    use crate::store::JournalServer;
    let url = super::server::url(address)?;
    let server = JournalServer::new(url, tenant.to_owned(), std::sync::Arc::new(notice));
    Ok(data_dir.on(server))
}

/// Refuses, because it is not part of this build.
#[cfg(not(feature = "team"))]
pub fn journal_on_server(
    _data_dir: DataDir,
    _address: &StoreAddress,
    _tenant: &str,
    _notice: impl Fn(&str) + Send + Sync + 'static,
) -> Result<DataDir, TeamError> {
    Err(TeamError::NotBuilt)
}

/// The budgets that the server holds. Nothing is asked yet.
#[cfg(feature = "team")]
pub fn open_budgets(address: &StoreAddress, tenant: &str) -> Result<TeamBudgets, TeamError> {
    let url = super::server::url(address)?;
    let server = super::budgets::BudgetsOnServer::new(url, tenant.to_owned());
    Ok(TeamBudgets::new(Box::new(server)))
}

/// Refuses, because it is not part of this build.
#[cfg(not(feature = "team"))]
pub fn open_budgets(_address: &StoreAddress, _tenant: &str) -> Result<TeamBudgets, TeamError> {
    Err(TeamError::NotBuilt)
}
