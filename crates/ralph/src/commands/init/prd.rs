//! `ralph init --prd`: the instructions for every story, and a backlog to begin with.
//!
//! Never writes over a file that is there.

use std::path::Path;

use ralph_core::{
    prompt::{PRD_PROMPT, sample_prd},
    task::format::Format,
};

use super::{
    Checked,
    write::{say, write},
};
use crate::{error::CommandError, project::Project};

/// Instructions go with a PRD alone: with other tasks they would not be read.
pub(super) fn refuse_others(checked: Option<&Checked>) -> Result<(), CommandError> {
    let Some(checked) = checked.filter(|checked| prd_file(checked).is_none()) else {
        return Ok(());
    };
    let message = format!("{} is not a PRD", checked.source.name());
    Err(CommandError::user(message).hint(
        "nothing was written; name a PRD with `--tasks`, or write .ralph/prompts/iteration.md instead",
    ))
}

/// The sample, in a project that has no tasks.
pub(super) fn backlog(project: &Project) -> Result<(), CommandError> {
    let root = project.root();
    let name = root.file_name().map(|name| name.to_string_lossy());
    let file = root.join("PRD.json");
    write(&file, &sample_prd(name.as_deref().unwrap_or("project")))?;
    say(
        "wrote",
        &project.shown(&file),
        "a sample: replace its stories with yours",
    );
    Ok(())
}

/// `PROMPT.md`, beside the PRD.
pub(super) fn instructions(
    project: &Project,
    checked: Option<&Checked>,
) -> Result<(), CommandError> {
    let beside = checked.and_then(prd_file).map(Path::to_owned);
    let prd = beside.unwrap_or_else(|| project.root().join("PRD.json"));
    let file = prd.with_file_name("PROMPT.md");
    // A dangling link belongs to the user, too.
    if file.symlink_metadata().is_ok() {
        say("kept", &project.shown(&file), "");
        return Ok(());
    }
    write(&file, PRD_PROMPT)?;
    say("wrote", &project.shown(&file), "goes into every prompt");
    Ok(())
}

/// The file of a source that is a PRD.
fn prd_file(checked: &Checked) -> Option<&Path> {
    let [file] = checked.source.files() else {
        return None;
    };
    (file.format == Format::Prd).then_some(file.path.as_path())
}
