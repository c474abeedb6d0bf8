//! Makes the agent that the configuration names.

use ralph_core::config::{AgentChoice, PermissionMode};
use ralph_engine::agent::{
    Agent, Claude, ClaudeOptions, CommandAgent, ScriptAgent, script::Script,
};

use crate::{error::CommandError, project::Project};

pub(crate) fn choose(project: &Project) -> Result<Box<dyn Agent>, CommandError> {
    let config = project.config();
    Ok(match &config.agent {
        AgentChoice::Claude => Box::new(Claude {
            options: claude_options(project),
        }),
        AgentChoice::Script(file) => {
            let file = project.surroundings.start.join(file);
            // A script with a mistake is found before anything is begun.
            Script::read(&file).map_err(CommandError::user)?;
            Box::new(ScriptAgent {
                ralph: std::env::current_exe().map_err(CommandError::internal)?,
                file,
            })
        }
        AgentChoice::Command(program) => Box::new(CommandAgent {
            program: program.clone(),
            args: config.command.args.clone(),
        }),
    })
}

fn claude_options(project: &Project) -> ClaudeOptions {
    let claude = &project.config().claude;
    let mode: PermissionMode = claude.permission_mode;
    ClaudeOptions {
        command: claude.command.as_slice().to_vec(),
        args: claude.args.clone(),
        model: claude.model.clone(),
        permission_mode: mode.claude_name().to_owned(),
        env: claude.env.0.clone().into_iter().collect(),
        is_root: rustix::process::geteuid().is_root(),
    }
}
