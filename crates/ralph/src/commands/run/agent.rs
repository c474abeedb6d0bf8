//! Makes the agent that the configuration names.

use ralph_core::config::AgentChoice;
use ralph_engine::agent::{Agent, CommandAgent, Making, ScriptAgent, find, script::Script};

use crate::{error::CommandError, project::Project};

pub(crate) fn choose(project: &Project) -> Result<Box<dyn Agent>, CommandError> {
    make(project, &project.config().agent)
}

fn make(project: &Project, choice: &AgentChoice) -> Result<Box<dyn Agent>, CommandError> {
    let config = project.config();
    let named = |name: &str, custom| {
        let kind = find(name).map_err(|error| {
            CommandError::user(error).hint_opt(Some("`ralph agent list` shows them".into()))
        })?;
        let is_root = rustix::process::geteuid().is_root();
        Ok((kind.make)(&Making {
            config,
            custom,
            is_root,
        }))
    };
    match choice {
        AgentChoice::Named(name) => named(name, None),
        AgentChoice::Custom(custom) => named(&custom.dialect, Some(custom)),
        AgentChoice::Script(file) => {
            let file = project.surroundings.start.join(file);
            // A script with a mistake is found before anything is begun.
            Script::read(&file).map_err(CommandError::user)?;
            Ok(Box::new(ScriptAgent {
                ralph: std::env::current_exe().map_err(CommandError::internal)?,
                file,
            }))
        }
        AgentChoice::Command(program) => Ok(Box::new(CommandAgent {
            name: format!("command:{program}"),
            program: program.clone(),
            args: config.command.args.clone(),
            env: Vec::new(),
        })),
    }
}
