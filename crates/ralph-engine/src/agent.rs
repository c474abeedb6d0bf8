//! Agents: dialects behind one process runner.
//!
//! An agent says how its program is started and how its stream reads; starting, watching and ending
//! it is the same for all (`run`). None of them decides what a run is worth.

mod claude;
mod command;
mod run;
pub mod script;

pub use claude::{Claude, ClaudeOptions};
pub use command::CommandAgent;
pub use run::{RunLimits, StopRequest, Watch, Watcher, run_agent};
pub use script::ScriptAgent;

use std::{ffi::OsString, path::PathBuf};

use ralph_core::agent::{AgentEvent, Ending, Usage};

use crate::process::{CommandSpec, Ended, Signal};

/// What every run of an agent is given.
#[derive(Debug, Clone)]
pub struct RunContext {
    pub cwd: PathBuf,
    /// The whole environment, already scrubbed.
    pub env: Vec<(OsString, OsString)>,
    pub prompt: String,
}

/// A kind of agent that the loop can start.
pub trait Agent {
    /// As the user names it: `claude`, `script:demo.yaml`.
    fn name(&self) -> String;

    fn command(&self, context: &RunContext) -> CommandSpec;

    fn dialect(&self) -> Box<dyn Dialect>;

    /// The signal that this agent ends politely on.
    fn polite_signal(&self) -> Signal {
        Signal::TERM
    }

    /// Something the user should hear before it runs unattended.
    fn warning(&self) -> Option<String> {
        None
    }
}

/// Reads an agent's stream. Made anew for every run.
pub trait Dialect {
    /// Reads one line of its output into events.
    fn read_line(&mut self, line: &[u8], events: &mut Vec<AgentEvent>);

    /// True once the agent has said that it is done and only has to exit.
    fn has_concluded(&self) -> bool {
        false
    }

    /// How the run ended, given how the process did and the end of what it wrote to stderr.
    fn conclude(self: Box<Self>, ended: Ended, stderr: &str) -> Conclusion;
}

/// A run as its own stream and exit tell it.
#[derive(Debug, Clone, PartialEq)]
pub struct Conclusion {
    pub ending: Ending,
    pub final_message: String,
    pub model: Option<String>,
    pub version: Option<String>,
    pub usage: Usage,
    pub turns: Option<u32>,
    pub denied: Vec<String>,
}

impl Conclusion {
    fn new(ending: Ending, final_message: String) -> Self {
        Self {
            ending,
            final_message,
            model: None,
            version: None,
            usage: Usage::default(),
            turns: None,
            denied: Vec::new(),
        }
    }
}

/// How a process ended, for an error message: its code or signal, and its last words.
fn describe_end(ended: Ended, stderr: &str) -> String {
    let how = match ended {
        Ended::Code(code) => format!("exit code {code}"),
        Ended::Signal(signal) => format!("killed by signal {signal}"),
    };
    let last = stderr.trim().lines().last().unwrap_or("").trim();
    if last.is_empty() {
        how
    } else {
        format!("{how}: {}", last.chars().take(300).collect::<String>())
    }
}
