//! Opens the artefacts project that a command names: its folder, and the prompts of its agents.

use ralph_core::artefacts::{
    BadProjectName, Folder, ProjectName,
    template::{Params, render},
};
use ralph_engine::prompts::read_own;

use crate::{error::CommandError, project::Project};

pub(crate) struct ArtefactsProject {
    pub(crate) name: ProjectName,
    pub(crate) folder: Folder,
}

impl ArtefactsProject {
    /// By its name; whether it is there is not looked at.
    pub(crate) fn named(project: &Project, name: &str) -> Result<Self, CommandError> {
        let name = ProjectName::parse(name)
            .map_err(|error| CommandError::user(error).hint(BadProjectName::ALLOWED))?;
        let folder = Folder::new(project.root(), &name);
        Ok(Self { name, folder })
    }

    /// That it is not there, and how it is made.
    pub(crate) fn missing(&self, what: &str) -> CommandError {
        let message = format!("there is no {what}");
        CommandError::user(message).hint(format!("`ralph init {}` makes it", self.name))
    }
}

/// A prompt, by the project's own template where it has one.
pub(crate) fn prompt(project: &Project, params: &Params<'_>) -> Result<String, CommandError> {
    let own = read_own(project.root(), params.kind()).map_err(CommandError::user)?;
    render(own.as_ref(), params).map_err(CommandError::user)
}
