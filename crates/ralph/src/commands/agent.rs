//! `ralph agent`: the agents themselves, apart from any task: which there are, what ralph makes of what
//! one said, and a conversation with one.

mod explain;
mod list;
mod outline;
mod talk;

pub(crate) use talk::explain as explain_talk;

subcommands! {
    AgentCommand {
        /// Read the recorded stream of an agent and print what ralph makes of it
        Explain(explain::Args => run; reads),
        /// List the agents that ralph knows, and which one is configured
        List(list::Args => run in project; reads),
        /// Talk to an agent in this terminal
        Talk(talk::Args => run; writes),
    }
}
