//! `ralph db init` and `ralph db migrate`: the schema of a team's database.

use std::process::ExitCode;

use ralph_engine::team::SchemaChange;

use super::{Keeper, ServerArg};
use crate::{cli::Global, error::CommandError, output, project::block_on};

/// Needs a role that may make roles and schemas: the owner of the database with CREATEROLE, or a superuser. It can be
/// given again at any time. Machines log in as other roles, which `ralph db role add` makes.
#[derive(Debug, clap::Args)]
pub(crate) struct InitArgs {
    #[command(flatten)]
    server: ServerArg,
}

#[derive(Debug, clap::Args)]
pub(crate) struct MigrateArgs {
    #[command(flatten)]
    server: ServerArg,
}

pub(crate) fn init(args: &InitArgs, global: &Global) -> Result<ExitCode, CommandError> {
    let mut keeper = Keeper::open(global, &args.server)?;
    let change = block_on(async { Ok(keeper.admin.init().await?) })?;
    let shown = keeper.address.shown();
    output::print(&match (&change, change.applied.first()) {
        (SchemaChange { version, .. }, None) => {
            format!("{shown} was set up before (schema {version})\n")
        }
        (SchemaChange { version, .. }, Some(1)) => {
            format!("{shown} is set up (schema {version})\n")
        }
        (SchemaChange { version, .. }, Some(first)) => {
            let from = first - 1;
            format!("{shown} is brought forward from schema {from} to {version}\n")
        }
    });
    Ok(ExitCode::SUCCESS)
}

pub(crate) fn migrate(args: &MigrateArgs, global: &Global) -> Result<ExitCode, CommandError> {
    let mut keeper = Keeper::open(global, &args.server)?;
    let change = block_on(async { Ok(keeper.admin.migrate().await?) })?;
    let (shown, version) = (keeper.address.shown(), change.version);
    output::print(&match change.applied.first() {
        None => format!("{shown} has the newest schema already ({version})\n"),
        Some(first) => {
            let from = first - 1;
            format!("{shown} is brought forward from schema {from} to {version}\n")
        }
    });
    Ok(ExitCode::SUCCESS)
}
