//! The prompt of a run: the template of the execution around what every prompt says of its task.

use ralph_core::{
    artefacts::{
        FromFiles,
        obstacles::Obstacles,
        render_task_part,
        template::{Params, render},
    },
    prompt::{Bundle, PromptCaps, Template},
};

use super::{Artefacts, read};
use crate::driver::{Driver, LoopError, notes::Turn};

/// The project's own template, where it has one.
pub(super) const TEMPLATE: &str = ".ralph/prompts/execute.md";

impl Driver {
    pub(in crate::driver) fn execute_prompt(
        &self,
        artefacts: &Artefacts,
        turn: &Turn,
        bundle: &Bundle<'_>,
        caps: &PromptCaps,
    ) -> Result<String, LoopError> {
        let obstacles = read(&artefacts.folder.obstacles(), Obstacles::parse)?;
        let files = FromFiles {
            open: obstacles.map_or_else(Vec::new, |all| all.open()),
            set_aside: artefacts.before.set_aside.clone(),
        };
        let task = render_task_part(bundle, caps, &files)?;
        let own = self.config_files.text(&self.root.join(TEMPLATE));
        let own = own.map(|text| Template {
            name: TEMPLATE.into(),
            text: text.to_owned(),
        });
        let number = u32::try_from(artefacts.number(turn)).unwrap_or(u32::MAX);
        // Counted on from what the project has had before this run of the command.
        let left = self
            .machine
            .limits()
            .max_iterations
            .saturating_sub(self.machine.tally().counted() + 1);
        let params = Params::Execute {
            project: &artefacts.project,
            iteration: number,
            iterations: number.saturating_add(left),
            task: Some(&task),
        };
        Ok(render(own.as_ref(), &params)?)
    }
}
