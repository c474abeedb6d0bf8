//! `ralph agent list`: the kinds of agents, and which one is configured.

use std::process::ExitCode;

use ralph_engine::agent::{kind_of, kinds};
use serde::Serialize;

use crate::{
    error::CommandError,
    output,
    project::Project,
    view::{Table, Tone, cell},
};

#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// Print one JSON document instead of text
    #[arg(long)]
    json: bool,
}

/// The JSON form is a contract (docs/json.md).
#[derive(Debug, Serialize)]
struct ListedAgents {
    /// As the configuration has it; it need not be one of those below.
    configured: String,
    agents: Vec<Known>,
}

#[derive(Debug, Serialize)]
struct Known {
    name: &'static str,
    title: &'static str,
    configured: bool,
}

pub(crate) fn run(args: &Args, project: &Project) -> Result<ExitCode, CommandError> {
    let choice = &project.config().agent;
    let chosen = kind_of(choice).ok().flatten().map(|kind| kind.name);
    let listed = ListedAgents {
        configured: choice.to_string(),
        agents: kinds()
            .iter()
            .map(|kind| Known {
                name: kind.name,
                title: kind.title,
                configured: Some(kind.name) == chosen,
            })
            .collect(),
    };
    output::show(args.json, &listed, || render(&listed))
}

fn render(listed: &ListedAgents) -> String {
    let mut table = Table::new(1, 0);
    for agent in &listed.agents {
        let mark = if agent.configured { "configured" } else { "" };
        table.row([
            cell(Tone::Name, agent.name),
            cell(Tone::Plain, agent.title),
            cell(Tone::Good, mark),
        ]);
    }
    let known = listed.agents.iter().any(|agent| agent.configured);
    let mut text = table.render(output::width());
    // A script, a program, a name of the user's, or one that nobody has.
    if !listed.agents.iter().any(|a| a.name == listed.configured) {
        let what = ralph_core::sanitize::terminal_safe(&listed.configured).into_owned();
        let is_script = what.starts_with("script:");
        let note = match (known, is_script) {
            (true, _) => "",
            (false, true) => ", the scripted agent",
            (false, false) => ", which ralph does not know",
        };
        text.push_str(&format!("\nconfigured: {what}{note}\n"));
    }
    text
}
