//! The agent that makes a plan: one that can only read, or a program that its user vouches for.
//!
//! An agent that can't be kept from writing is refused by its name. That nothing was changed is looked at
//! afterwards all the same: an option is not evidence.

use ralph_core::{config::AgentChoice, plan::AnswerBy};
use ralph_engine::agent::{Agent, ReadOnly, kind_of, kinds};

use crate::{commands::run, error::CommandError, project::Project};

/// The way in which the configured agent is kept from writing.
pub(in crate::commands) struct Planner(ReadOnly);

impl Planner {
    pub(in crate::commands) fn choose(project: &Project) -> Result<Self, CommandError> {
        let choice = &project.config().agent;
        let kind = kind_of(choice)
            .map_err(|error| CommandError::user(error).hint("`ralph agent list` shows them"))?;
        // The scripted agent does what its file says, and nothing else.
        match kind.map_or(ReadOnly::Trusted, |kind| kind.read_only) {
            ReadOnly::Impossible => Err(refusal(choice)),
            read_only @ (ReadOnly::Enforced { .. } | ReadOnly::Trusted) => Ok(Self(read_only)),
        }
    }

    pub(in crate::commands) fn answer_by(&self) -> AnswerBy {
        match self.0 {
            ReadOnly::Enforced { answer_by, .. } => answer_by,
            ReadOnly::Trusted | ReadOnly::Impossible => AnswerBy::Prompt,
        }
    }

    pub(in crate::commands) fn make(
        &self,
        project: &Project,
        schema: &str,
    ) -> Result<Box<dyn Agent>, CommandError> {
        let config = project.config();
        match self.0 {
            ReadOnly::Enforced { make, .. } => {
                Ok(make(&run::agent_setup(config, &config.agent), schema))
            }
            ReadOnly::Trusted => run::make_agent(project, config, &config.agent),
            ReadOnly::Impossible => Err(refusal(&config.agent)),
        }
    }
}

fn refusal(choice: &AgentChoice) -> CommandError {
    let can: Vec<&str> = kinds()
        .iter()
        .filter(|kind| matches!(kind.read_only, ReadOnly::Enforced { .. }))
        .map(|kind| kind.name)
        .collect();
    CommandError::user(format!(
        "{choice} can't make a plan: ralph has no way to keep it from changing files"
    ))
    .hint(format!(
        "choose an agent that can only read with `--agent`: {}",
        can.join(", ")
    ))
}
