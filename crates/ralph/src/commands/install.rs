//! `ralph install` and `ralph uninstall`: ralph inside Claude Code and Pi.

use std::process::ExitCode;

use crate::{
    cli::Global,
    error::CommandError,
    integration::{Host, InstallScope, Installation},
    output,
    project::Project,
};

/// The plugin or package is one folder that the agent looks through by itself: no setting is changed. `install` writes
/// it, and replaces an older version; `uninstall` removes exactly the files that `install` wrote. Both can be repeated,
/// and leave and name a file that was changed by hand.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
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

pub(crate) fn install(args: &Args, global: &Global) -> Result<ExitCode, CommandError> {
    let installed = args.installation(global)?.install()?;
    output::show(args.json, &installed, || installed.to_string())
}

pub(crate) fn uninstall(args: &Args, global: &Global) -> Result<ExitCode, CommandError> {
    let removed = args.installation(global)?.uninstall()?;
    output::show(args.json, &removed, || removed.to_string())
}

impl Args {
    fn installation(&self, global: &Global) -> Result<Installation, CommandError> {
        let scope = if self.project {
            InstallScope::Project
        } else {
            InstallScope::User
        };
        Installation::find(self.agent, scope, &Project::open(global, Vec::new())?)
    }
}
