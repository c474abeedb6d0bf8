//! `ralph demo`: writes a small sample repository, and calls what `ralph run` calls.

mod sample;

use std::{
    path::{Path, PathBuf},
    process::ExitCode,
};

use super::run;
use crate::{cli::Global, error::CommandError, output};

#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// Make the sample here instead of in a temporary folder; it must not exist or be empty
    #[arg(long, value_name = "DIR")]
    dir: Option<PathBuf>,

    #[command(flatten)]
    look: run::Look,
}

pub(crate) fn run(args: Args) -> Result<ExitCode, CommandError> {
    let folder = folder(args.dir.as_deref())?;
    sample::write(&folder)?;
    let shown = folder.display();
    if !args.look.is_json() {
        output::print(&format!(
            "A sample repository with five tasks is in {shown}\n\
             An agent that plays a script works on them; everything else is real.\n\n"
        ));
    }
    let global = Global {
        directory: Some(folder.clone()),
        config: None,
    };
    let code = run::run(run::Args::for_demo(args.look.clone()), &global)?;
    if !args.look.is_json() {
        super::report::run(&super::report::Args::default(), &global)?;
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
        return Ok(made.map_err(CommandError::internal)?.keep());
    };
    let taken = wanted
        .read_dir()
        .is_ok_and(|mut entries| entries.next().is_some());
    if taken || wanted.is_file() {
        return Err(
            CommandError::user(format!("{} is there already", wanted.display()))
                .hint("name a folder that does not exist, or an empty one"),
        );
    }
    std::fs::create_dir_all(wanted).map_err(CommandError::user)?;
    wanted.canonicalize().map_err(CommandError::user)
}
