//! `ralph db`: sets up the PostgreSQL server of a team and keeps it: its schema, tenants, roles, budgets and audit trail.
//!
//! Works outside of a repository too. Touches the server alone, never the journal of this machine.

mod audit;
mod budget;
mod check;
mod role;
mod schema;
mod tenant;

use ralph_core::config::{FlagValue, StoreConfig, StoreMode};
use ralph_engine::team::{HAS_TEAM, StoreAddress, StoreAdmin, TeamError, open_admin};

use crate::{cli::Global, error::CommandError, project::Project};

subcommands! {
    DbCommand {
        /// Set up the database of a team: roles, schemas and tables; what is there already stays
        Init(schema::InitArgs => init; writes),
        /// Bring the database forward to the schema of this ralph
        Migrate(schema::MigrateArgs => migrate; writes),
        /// Add, list and remove tenants: each sees its own rows alone
        #[command(subcommand)]
        Tenant(tenant::TenantCommand => dispatch; asks),
        /// Add roles that ralph logs in as
        #[command(subcommand)]
        Role(role::RoleCommand => dispatch; asks),
        /// Prove on the live database that tenants are kept apart, and name what could not be proven
        Check(check::Args => run; reads),
        /// Show who did what, when and from where, or verify that nothing of it was changed
        Audit(audit::Args => run; reads),
        /// Set and list what a tenant may spend on all machines together
        #[command(subcommand)]
        Budget(budget::BudgetCommand => dispatch; asks),
    }
}

/// The server that a command works on.
#[derive(Debug, Clone, clap::Args)]
pub(super) struct ServerArg {
    /// Address of the database, without a password [default: `store.url`, RALPH_STORE_URL]
    #[arg(long, value_name = "URL")]
    url: Option<String>,
}

/// The tenant that a command is about.
#[derive(Debug, Clone, clap::Args)]
pub(super) struct TenantArg {
    /// Name of the tenant [default: `store.tenant`, RALPH_STORE_TENANT]
    #[arg(long, value_name = "NAME")]
    tenant: Option<String>,
}

/// A server with the settings that name it.
struct Keeper {
    project: Project,
    address: StoreAddress,
    admin: Box<dyn StoreAdmin>,
}

impl Keeper {
    fn open(global: &Global, server: &ServerArg) -> Result<Self, CommandError> {
        refuse_unbuilt()?;
        // Before a server is set up there is no tenant: only a journal needs one.
        let no_journal = FlagValue {
            key: "store.mode".to_owned(),
            value: "local".into(),
            flag: "ralph db".to_owned(),
        };
        let project = Project::look(global, vec![no_journal])?;
        let variables = &project.surroundings.env;
        let address = match &server.url {
            Some(url) => StoreAddress::argument(url, variables)?,
            None => StoreAddress::configured(&project.settings.resolved, variables)
                .map_err(|error| CommandError::from(error).hint(NO_SERVER))?,
        };
        let admin = open_admin(&address)?;
        Ok(Self {
            project,
            address,
            admin,
        })
    }

    fn tenant(&self, named: &TenantArg) -> Result<String, CommandError> {
        let configured = self.project.config().store.tenant.as_ref();
        let named = named.tenant.as_ref().or(configured);
        named.cloned().ok_or_else(|| {
            CommandError::from(TeamError::NoTenant)
                .hint("name one by `--tenant`, or set `store.tenant` or RALPH_STORE_TENANT")
        })
    }
}

const NO_SERVER: &str =
    "name it by `--url postgresql://ROLE@HOST/DATABASE`, or set RALPH_STORE_URL or `store.url`";

/// The way to a build that has the store of a team.
const BUILD_HINT: &str = "build ralph with `--features team`";

/// Refuses commands that this build of ralph has no part for.
pub(crate) fn refuse_unbuilt() -> Result<(), CommandError> {
    if HAS_TEAM {
        return Ok(());
    }
    Err(CommandError::from(TeamError::NotBuilt).hint(BUILD_HINT))
}

/// Refuses settings that this build of ralph has no part for, before anything is changed.
pub(crate) fn check_built_in(store: &StoreConfig, has_team: bool) -> Result<(), CommandError> {
    match store.mode() {
        StoreMode::Sync | StoreMode::Direct if !has_team => {
            let error = "`store` is set, and this build of ralph has no store for teams";
            let hint = format!("{BUILD_HINT}, or set `store.mode: local`");
            Err(CommandError::user(error).hint(hint))
        }
        StoreMode::Local | StoreMode::Sync | StoreMode::Direct => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_store_that_is_not_built_in_is_refused_by_name() {
        let store = StoreConfig {
            mode: Some(StoreMode::Sync),
            ..StoreConfig::default()
        };
        let error = check_built_in(&store, false).unwrap_err();
        assert_eq!(error.exit_code(), 2);
        assert_eq!(
            error.sentences(),
            ["`store` is set, and this build of ralph has no store for teams"]
        );
        assert!(check_built_in(&store, true).is_ok());
        assert!(check_built_in(&StoreConfig::default(), false).is_ok());
    }
}
