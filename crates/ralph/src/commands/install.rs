//! `ralph install` and `ralph uninstall`: ralph inside Claude Code and Pi.

use std::process::ExitCode;

use crate::{
    cli::Global,
    error::CommandError,
    integration::{Host, InstallScope, Installation},
    output,
    project::Project,
};

/// Writes the plugin or package into a folder that the agent looks through by itself: no setting is changed. It can be
/// repeated; an older version is replaced.
#[derive(Debug, clap::Args)]
pub(crate) struct InstallArgs {
    /// The agent
    #[arg(value_enum)]
    agent: Host,

    /// For this project alone, in a folder that can be committed
    #[arg(long)]
    project: bool,

    /// Print JSON instead of text
    #[arg(long)]
    json: bool,
}

/// Removes exactly the files that `ralph install` wrote. One that was changed since is left, and named.
#[derive(Debug, clap::Args)]
pub(crate) struct UninstallArgs {
    /// The agent
    #[arg(value_enum)]
    agent: Host,

    /// The one of this project
    #[arg(long)]
    project: bool,

    /// Print JSON instead of text
    #[arg(long)]
    json: bool,
}

pub(crate) fn install(args: &InstallArgs, global: &Global) -> Result<ExitCode, CommandError> {
    let installed = find(args.agent, args.project, global)?.install()?;
    output::show(args.json, &installed, || installed.to_string())
}

pub(crate) fn uninstall(args: &UninstallArgs, global: &Global) -> Result<ExitCode, CommandError> {
    let removed = find(args.agent, args.project, global)?.uninstall()?;
    output::show(args.json, &removed, || removed.to_string())
}

fn find(agent: Host, project: bool, global: &Global) -> Result<Installation, CommandError> {
    let opened = Project::open(global, Vec::new())?;
    let scope = if project {
        InstallScope::Project
    } else {
        InstallScope::User
    };
    Installation::find(agent, scope, &opened)
}
