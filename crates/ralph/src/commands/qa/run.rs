//! `ralph qa run`: runs flows. By hand it starts itself again inside of a sandbox; inside a run it is in the walls of
//! that run already, and does the work.

use std::{
    path::{Path, PathBuf},
    process::ExitCode,
};

use super::{inside, settings, settings::QaFlags, walls};
use crate::{
    cli::Global,
    error::CommandError,
    inside_run,
    project::{self, Project},
};

/// The exit code where a flow failed.
pub(super) const FLOW_FAILED: u8 = 4;
/// The exit code where a flow is wrong itself.
pub(super) const FLOW_IS_WRONG: u8 = 2;

#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  ralph qa run                            all flows of .ralph/flows
  ralph qa run checkout                   the flow of .ralph/flows/checkout.yaml
  ralph qa run --url http://localhost:3000

Exit codes: 0 all passed, 4 a flow failed, 2 a flow is wrong, or there is no browser or no answer.")]
pub(crate) struct Args {
    /// Names of flows, or their files [default: all in `qa.flows`]
    #[arg(value_name = "FLOW")]
    flows: Vec<String>,

    #[command(flatten)]
    flags: QaFlags,

    /// Print the results as JSON
    #[arg(long)]
    json: bool,

    /// Write the results as JUnit XML to this file too
    #[arg(long, value_name = "FILE")]
    junit: Option<PathBuf>,
}

/// The flows that are asked for, and the forms of their results.
pub(super) struct FlowsWanted {
    pub(super) flows: Vec<String>,
    pub(super) json: bool,
    pub(super) junit: Option<PathBuf>,
}

pub(crate) fn run(args: &Args, global: &Global) -> Result<ExitCode, CommandError> {
    let start = global.surroundings()?.start;
    let junit = args.junit.as_ref().map(|file| start.join(file));
    let wanted = FlowsWanted {
        flows: args.flows.clone(),
        json: args.json,
        junit,
    };
    if let Some(mut config) = settings::of_run()? {
        args.flags.apply(&mut config);
        let place = inside::InsidePlace::of_environment(start)?;
        return project::block_on(inside::perform(place, &config, &wanted));
    }
    let project = Project::open(global, Vec::new())?;
    let mut config = project.config().clone();
    args.flags.apply(&mut config.qa);
    let wanted = FlowsWanted {
        flows: from_root(&wanted.flows, &start, project.root()),
        ..wanted
    };
    if inside_run::sign(global)?.is_some() {
        let place = inside::InsidePlace::of_run(&project)?;
        return project::block_on(inside::perform(place, &config.qa, &wanted));
    }
    walls::run(&project, &config, &wanted)
}

/// Flows that are named by paths from the folder that the command was started in, as paths from the project's.
pub(super) fn from_root(flows: &[String], start: &Path, root: &Path) -> Vec<String> {
    let one = |flow: &String| {
        let path = start.join(flow);
        let path = path.is_file().then(|| path.canonicalize().ok()).flatten();
        let root = root.canonicalize().ok();
        let within = path
            .zip(root)
            .and_then(|(path, root)| path.strip_prefix(root).ok().map(Path::to_owned));
        within.map_or_else(|| flow.clone(), |path| path.to_string_lossy().into_owned())
    };
    flows.iter().map(one).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_are_named_from_the_folder_that_the_command_was_started_in() {
        let top = tempfile::tempdir().unwrap();
        let root = top.path();
        std::fs::create_dir_all(root.join("web/flows")).unwrap();
        std::fs::write(root.join("web/flows/home.yaml"), "").unwrap();
        let flows = ["flows/home.yaml".to_owned(), "home".to_owned()];
        assert_eq!(
            from_root(&flows, &root.join("web"), root),
            ["web/flows/home.yaml", "home"]
        );
        assert_eq!(from_root(&flows, root, root), flows);
    }
}
