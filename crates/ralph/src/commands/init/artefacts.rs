//! `ralph init NAME`: the folder of an artefacts project, and the blank brief in it.
//!
//! Never writes over a file that is there, and makes nothing else.

use std::{
    fs::OpenOptions,
    io::{ErrorKind, Write as _},
    process::ExitCode,
};

use ralph_core::artefacts::blank_spec;

use super::write::say;
use crate::{artefacts::ArtefactsProject, error::CommandError, output, project::Project};

pub(super) fn make(project: &Project, name: &str) -> Result<ExitCode, CommandError> {
    let made = ArtefactsProject::named(project, name)?;
    let file = made.folder.spec();
    let shown = project.shown(&file);
    let failed =
        |error: std::io::Error| CommandError::user(format!("can't write {shown}: {error}"));
    std::fs::create_dir_all(made.folder.path()).map_err(failed)?;
    // Made only if nothing has that name, a link that leads nowhere included.
    match OpenOptions::new().write(true).create_new(true).open(&file) {
        Ok(mut new) => {
            new.write_all(blank_spec(&made.name).as_bytes())
                .map_err(failed)?;
            say("wrote", &shown, "");
        }
        Err(error) if error.kind() == ErrorKind::AlreadyExists => say("kept", &shown, ""),
        Err(error) => return Err(failed(error)),
    }
    output::print(&format!(
        "\nfill in what you know (`$EDITOR {shown}`); \
         `ralph interview {name}` asks about the rest and creates the tasks\n"
    ));
    Ok(ExitCode::SUCCESS)
}
