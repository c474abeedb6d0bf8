//! Makes the agent that the configuration names.

use ralph_core::config::{AgentChoice, Config, FlagValue, OnUsageLimit};
use ralph_engine::{
    agent::{
        Agent, AgentSetup, CommandAgent, CommandCheck, CommandGuard, ScriptAgent, find_kind,
        script::Script,
    },
    loop_runner::Fallback,
};

use crate::{error::CommandError, project::Project};

/// The settings from `--agent`.
pub(crate) fn chosen(agent: Option<&String>) -> Vec<FlagValue> {
    let agent = agent.map(|agent| FlagValue {
        key: "agent".into(),
        value: agent.clone().into(),
        flag: "--agent".into(),
    });
    agent.into_iter().collect()
}

pub(crate) fn choose(project: &Project) -> Result<Box<dyn Agent>, CommandError> {
    let config = project.config();
    make(project, config, &config.agent)
}

/// The same, with another model where one is named.
pub(crate) fn choose_with(
    project: &Project,
    model: Option<&str>,
) -> Result<Box<dyn Agent>, CommandError> {
    let Some(model) = model else {
        return choose(project);
    };
    let config = project.config();
    let other = config
        .with_model(&config.agent, model)
        .ok_or_else(|| CommandError::user(format!("--model: {} takes no model", config.agent)))?;
    make(project, &other, &other.agent)
}

/// The fallback agent at a usage limit, if one is configured.
pub(crate) fn fallback(project: &Project) -> Result<Option<Fallback>, CommandError> {
    let config = project.config();
    match config.limits.on_usage_limit {
        OnUsageLimit::Wait | OnUsageLimit::Stop => return Ok(None),
        OnUsageLimit::Fallback => {}
    }
    let limits = &config.limits;
    let choice = limits.fallback_agent.as_ref().unwrap_or(&config.agent);
    let Some(model) = &limits.fallback_model else {
        let agent = make(project, config, choice)?;
        let name = agent.name();
        return Ok(Some(Fallback { agent, name }));
    };
    let other = config.with_model(choice, model).ok_or_else(|| {
        let message = format!("limits.fallback_model: {choice} takes no model");
        CommandError::user(message).hint("name another agent with `limits.fallback_agent`")
    })?;
    let agent = make(project, &other, &other.agent)?;
    let name = format!("{} ({model})", agent.name());
    Ok(Some(Fallback { agent, name }))
}

/// One that a configuration names, which need not be the project's own.
pub(crate) fn make(
    project: &Project,
    config: &Config,
    choice: &AgentChoice,
) -> Result<Box<dyn Agent>, CommandError> {
    let named = |name: &str| {
        let kind = find_kind(name)
            .map_err(|error| CommandError::user(error).hint("`ralph agent list` shows them"))?;
        Ok((kind.make)(&AgentSetup {
            guard: guard(project, config, kind.command_check)?,
            ..agent_setup(config, choice)
        }))
    };
    match choice {
        AgentChoice::Named(name) => named(name),
        AgentChoice::Custom(custom) => named(&custom.dialect),
        AgentChoice::Script(file) => {
            let file = project.surroundings.start.join(file);
            // A script with a mistake is found before anything is begun.
            Script::read(&file).map_err(CommandError::user)?;
            Ok(Box::new(ScriptAgent {
                ralph: std::env::current_exe()?,
                file,
            }))
        }
        AgentChoice::Command(program) => Ok(Box::new(CommandAgent {
            name: format!("command:{program}"),
            command: [std::slice::from_ref(program), &config.command.args].concat(),
            env: Vec::new(),
        })),
    }
}

/// The check of an agent's commands, where `safety.allowed_commands` names some.
fn guard(
    project: &Project,
    config: &Config,
    check: CommandCheck,
) -> Result<Option<CommandGuard>, CommandError> {
    let entries = &config.safety.allowed_commands;
    if entries.is_empty() {
        return Ok(None);
    }
    let (ralph, folder) = (std::env::current_exe()?, project.data_dir()?);
    Ok(CommandGuard::install(check, entries, ralph, &folder)?)
}

/// All that an agent is made of: the configuration, a program of the user's, and whose rights it has.
pub(crate) fn agent_setup<'a>(config: &'a Config, choice: &'a AgentChoice) -> AgentSetup<'a> {
    AgentSetup {
        config,
        custom: match choice {
            AgentChoice::Custom(custom) => Some(custom),
            AgentChoice::Named(_) | AgentChoice::Script(_) | AgentChoice::Command(_) => None,
        },
        // In a container every user is.
        is_root: rustix::process::geteuid().is_root() || config.safety.container.is_some(),
        guard: None,
    }
}
