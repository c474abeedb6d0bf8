//! Puts what a command starts outside of a loop into the sandbox that a loop would have.

use std::path::Path;

use ralph_core::config::{Config, VerifyNetwork};
use ralph_engine::{
    environment::Environment,
    git::Repo,
    sandbox::{SandboxFound, SandboxPlace},
};

use crate::{commands::run, error::CommandError, output, project::Project};

/// The environment of the programs of a command, in a sandbox where there can be one. Says as a warning that there
/// is none; `who` can then do what the user can. `written` is a folder that they write to besides.
pub(crate) async fn sandboxed(
    project: &Project,
    environment: Environment,
    who: &str,
    written: Option<&Path>,
) -> Result<Environment, CommandError> {
    let mut config: Config = project.config().clone();
    config
        .safety
        .allow_write
        .extend(written.map(Path::to_owned));
    // No baseline tells whether they need it.
    if config.verification.network == VerifyNetwork::Auto {
        config.verification.network = VerifyNetwork::Open;
    }
    sandboxed_by(project, &config, environment, who).await
}

/// The same by another configuration than the project's own.
pub(crate) async fn sandboxed_by(
    project: &Project,
    config: &Config,
    environment: Environment,
    who: &str,
) -> Result<Environment, CommandError> {
    let scratch = tempfile::tempdir()?;
    let root = project.root();
    let git_environment = project.git_environment();
    let repo = if project.git_root().is_ok() {
        let opened = Repo::open(root, scratch.path(), &git_environment).await;
        Some(opened.map_err(|error| run::explain(error.into()))?)
    } else {
        None
    };
    let place = SandboxPlace {
        config,
        environment: &environment,
        root,
        repo: repo.as_ref(),
        data_dir: &project.data_dir()?,
        containment: run::detection(project)?.containment,
    };
    let (found, missing) = place.find().await.map_err(run::explain)?;
    output::print_warnings(&missing);
    if let SandboxFound::Absent { reason } = &found {
        output::print_warning(&format!(
            "there is no sandbox on this machine: {who} can do what you can ({reason})"
        ));
    }
    Ok(environment.inside(found))
}
