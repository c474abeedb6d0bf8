//! The prompt of a run: the template of the execution around what every prompt says of its task.

use ralph_core::{
    artefacts::{
        FromFiles,
        obstacles::Obstacles,
        render_task_part,
        template::{Params, render},
    },
    job::Job,
    prompt::{Bundle, PromptCaps, Template},
};

use super::{Artefacts, read};
use crate::error::LoopError;

/// The project's own template, where it has one.
pub(crate) const EXECUTE_TEMPLATE: &str = ".ralph/prompts/execute.md";

impl Artefacts {
    pub(crate) fn prompt(
        &self,
        job: &Job,
        bundle: &Bundle<'_>,
        caps: &PromptCaps,
    ) -> Result<String, LoopError> {
        let obstacles = read(&self.folder.obstacles(), Obstacles::parse)?;
        let files = FromFiles {
            open: obstacles.map_or_else(Vec::new, |all| all.open()),
            set_aside: self.before.set_aside.clone(),
        };
        let task = render_task_part(bundle, caps, &files)?;
        let own = job.prompt.template.clone();
        let own = own.map(|(name, text)| Template { name, text });
        let number = u32::try_from(self.number(job)).unwrap_or(u32::MAX);
        let params = Params::Execute {
            project: &self.project,
            iteration: number,
            // Counted on from what the project has had before this run of the command.
            iterations: number.saturating_add(job.prompt.iterations_left),
            task: Some(&task),
        };
        Ok(render(own.as_ref(), &params)?)
    }
}
