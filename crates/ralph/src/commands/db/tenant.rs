//! `ralph db tenant`: the tenants of a server.

use std::process::ExitCode;

use ralph_engine::team::TenantRows;
use serde::Serialize;

use super::{Keeper, ServerArg};
use crate::{
    cli::Global,
    error::CommandError,
    output,
    project::{Project, block_on},
    view::{
        Table, Tone, cell,
        figures::{ago_text, count},
    },
};

subcommands! {
    TenantCommand {
        /// Add a tenant
        Add(self::TenantAddArgs => add; writes),
        /// List the tenants
        List(self::TenantListArgs => list; reads),
        /// Remove a tenant
        Remove(self::TenantRemoveArgs => remove; writes),
    }
}

#[derive(Debug, clap::Args)]
pub(crate) struct TenantAddArgs {
    /// Name of the tenant: letters, digits, `-`, `_` and `.`
    name: String,

    #[command(flatten)]
    server: ServerArg,
}

#[derive(Debug, clap::Args)]
pub(crate) struct TenantListArgs {
    /// Print JSON instead of text
    #[arg(long)]
    json: bool,

    #[command(flatten)]
    server: ServerArg,
}

#[derive(Debug, clap::Args)]
pub(crate) struct TenantRemoveArgs {
    /// Name of the tenant
    name: String,

    /// Delete its rows too, its audit trail among them: they can't be brought back
    #[arg(long)]
    with_rows: bool,

    #[command(flatten)]
    server: ServerArg,
}

fn add(args: &TenantAddArgs, global: &Global) -> Result<ExitCode, CommandError> {
    let mut keeper = Keeper::open(global, &args.server)?;
    let made = block_on(async { Ok(keeper.admin.add_tenant(&args.name).await?) })?;
    output::print(&format!("tenant {} is added\n", made.name));
    Ok(ExitCode::SUCCESS)
}

/// The JSON form is a contract (docs/json.md).
#[derive(Debug, Serialize)]
struct ListedTenants {
    tenants: Vec<ListedTenant>,
}

#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
struct ListedTenant {
    name: String,
    id: String,
    created_at: String,
}

fn list(args: &TenantListArgs, global: &Global) -> Result<ExitCode, CommandError> {
    let mut keeper = Keeper::open(global, &args.server)?;
    let found = block_on(async { Ok(keeper.admin.tenants().await?) })?;
    let tenants = found.into_iter().map(|tenant| ListedTenant {
        name: tenant.name,
        id: tenant.id,
        created_at: tenant.created_at,
    });
    let listed = ListedTenants {
        tenants: tenants.collect(),
    };
    output::show(args.json, &listed, || render(&listed))
}

fn render(listed: &ListedTenants) -> String {
    if listed.tenants.is_empty() {
        return "no tenants yet: `ralph db tenant add NAME` adds one\n".to_owned();
    }
    let now = Project::now();
    let mut table = Table::new(0, 0);
    for tenant in &listed.tenants {
        table.row([
            cell(Tone::Name, &tenant.name),
            cell(
                Tone::Faint,
                format!("added {}", ago_text(&tenant.created_at, now)),
            ),
        ]);
    }
    table.render(output::width())
}

fn remove(args: &TenantRemoveArgs, global: &Global) -> Result<ExitCode, CommandError> {
    let mut keeper = Keeper::open(global, &args.server)?;
    let rows = if args.with_rows {
        TenantRows::Removed
    } else {
        TenantRows::Refused
    };
    let gone = block_on(async {
        let gone = keeper.admin.remove_tenant(&args.name, rows).await;
        gone.map_err(|error| {
            let has_rows = error.hint().is_none() && error.is_users() && !args.with_rows;
            let hint = "`--with-rows` deletes them too; they can't be brought back";
            CommandError::from(error).hint_opt(has_rows.then(|| hint.to_owned()))
        })
    })?;
    let rows = count(
        usize::try_from(gone.rows).unwrap_or(usize::MAX),
        "row",
        "rows",
    );
    output::print(&format!("tenant {} is removed, with {rows}\n", args.name));
    for role in &gone.roles {
        output::print(&format!(
            "  role {role} was bound to it: it sees nothing any more, and can still log in\n"
        ));
    }
    Ok(ExitCode::SUCCESS)
}
