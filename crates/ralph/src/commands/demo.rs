//! `ralph demo`: writes a small sample repository, and calls what `ralph run` calls.

mod sample;

use std::{
    path::{Path, PathBuf},
    process::ExitCode,
};

use super::run;
use crate::{cli::Global, error::CommandError, output, project::Project};

#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// Create the sample in this folder, which must be empty or not exist [default: a temporary folder]
    #[arg(long, value_name = "DIR")]
    dir: Option<PathBuf>,

    #[command(flatten)]
    look: run::OutputArgs,
}

pub(crate) fn run(args: &Args, _: &Global) -> Result<ExitCode, CommandError> {
    let folder = folder(args.dir.as_deref())?;
    sample::write(&folder)?;
    let shown = folder.display();
    if !args.look.is_json() {
        output::print(&format!(
            "Created a sample repository with five tasks in {shown}\n\
             A scripted agent works on them; everything else is real.\n\n"
        ));
    }
    let global = Global {
        directory: Some(folder.clone()),
        config: None,
    };
    let target = run::RunTarget::Source(run::SourceArg::Unnamed);
    let options = run::Options {
        look: args.look.clone(),
        ..run::Options::default()
    };
    let code = run::start(run::Order::new(target, None, options), &global)?;
    if !args.look.is_json() {
        let project = Project::open(&global, Vec::new())?;
        super::report::run(&super::report::Args::default(), &project)?;
        output::print(&format!(
            "\nLook around:\n  \
             git -C {shown} log --stat\n  \
             ralph -C {shown} status\n  \
             ralph -C {shown} logs --iteration 2\n"
        ));
    }
    Ok(code)
}

fn folder(wanted: Option<&Path>) -> Result<PathBuf, CommandError> {
    let Some(wanted) = wanted else {
        let made = tempfile::Builder::new().prefix("ralph-demo-").tempdir();
        return Ok(made?.keep());
    };
    let taken = wanted
        .read_dir()
        .is_ok_and(|mut entries| entries.next().is_some());
    if taken || wanted.is_file() {
        return Err(
            CommandError::user(format!("{} already exists", wanted.display()))
                .hint("choose an empty folder, or one that does not exist"),
        );
    }
    std::fs::create_dir_all(wanted).map_err(CommandError::user)?;
    wanted.canonicalize().map_err(CommandError::user)
}
