//! Agents: dialects behind one process runner.
//!
//! An agent says how its program is started and how its stream reads; starting, watching and ending
//! it is the same for all ([`crate::supervisor`]). None of them decides what a run is worth.

mod claude;
mod codex;
mod command;
mod command_guard;
mod cost;
mod credentials;
mod done_file;
mod fields;
mod gemini;
mod interactive;
mod json;
mod jsonl;
mod opencode;
pub(crate) mod output;
mod pi;
mod replay;
pub mod script;
mod table;
mod version;

pub use command::CommandAgent;
pub use command_guard::{CHECK_COMMAND, CommandCheck, CommandGuard, answer_check};
pub use cost::{CostLimit, Costs, RunCost};
pub use credentials::Credential;
pub(crate) use credentials::is_key_of_model;
pub use done_file::DoneFile;
pub use interactive::{
    FirstPrompt, InteractiveContext, InteractiveEnd, InteractiveError, InteractiveSession,
    run_interactive,
};
pub(crate) use replay::run_line;
pub use replay::{RecordedEnd, read_stream};
pub use script::ScriptAgent;
pub use table::{AgentKind, AgentSetup, ReadOnly, UnknownAgent, find_kind, kind_of, kinds};
pub use version::{Fitness, Runtime, Version, VersionProblem, parse_version};

use std::{ffi::OsString, path::PathBuf};

use jiff::{Timestamp, tz::TimeZone};
use ralph_core::{
    agent::{AgentEvent, ContextUse, Ending, Usage},
    dollars::Dollars,
    economics::ModelCall,
    usage_limit,
};

pub use crate::stop_request::StopRequest;
use crate::{
    clock::{Clock as _, SystemClock},
    process::{CommandSpec, Ended, Signal},
    sandbox::AgentFolder,
};

/// The input of every run of an agent.
#[derive(Debug, Clone)]
pub struct RunContext {
    pub cwd: PathBuf,
    /// The whole environment, already scrubbed.
    pub env: Vec<(OsString, OsString)>,
    pub prompt: String,
    /// Of the task that is worked on: they can choose the model.
    pub labels: Vec<String>,
    /// The cost that the run may have, for an agent that can be told.
    pub budget: Option<Dollars>,
}

/// Everything that is known of an agent, however a person set it up.
#[derive(Clone, Copy)]
pub struct AgentFacts {
    /// The signal that it ends politely on.
    pub polite_signal: Signal,
    /// True if its stream begins with a word of its own, so that one that never began can be told.
    pub announces_itself: bool,
    /// Variables that it may have although they look like credentials: those of its own model.
    pub credentials: &'static [Credential],
    /// The folders of the user's that it is set up by: all that it sees of a home in a sandbox.
    pub folders: &'static [AgentFolder],
    /// The hosts of its model, as far as they are known: all that it reaches where its network is limited.
    pub hosts: &'static [&'static str],
    /// When it says what its run costs, if ever.
    pub costs: Costs,
}

impl AgentFacts {
    /// Those of any program.
    const UNKNOWN: Self = Self {
        polite_signal: Signal::TERM,
        announces_itself: false,
        credentials: &[],
        folders: &[],
        hosts: &[],
        costs: Costs::Untold,
    };
}

/// A kind of agent that the loop can start.
pub trait Agent: Send {
    /// As the user names it: `claude`, `script:demo.yaml`.
    fn name(&self) -> String;

    /// The program and the arguments before ralph's own: what can be asked for its version. Empty where
    /// there is no such program.
    fn own_command(&self) -> &[String] {
        &[]
    }

    fn command(&self, context: &RunContext) -> CommandSpec;

    fn dialect(&self) -> Box<dyn Dialect>;

    /// Returns how it is started for a person to talk to, on a terminal; nothing where it can't be.
    fn interactive(&self, _context: &InteractiveContext<'_>) -> Option<CommandSpec> {
        None
    }

    fn facts(&self) -> AgentFacts {
        AgentFacts::UNKNOWN
    }

    /// The models that it is told to use; empty where it chooses one itself.
    fn models(&self) -> Vec<String> {
        Vec::new()
    }

    /// True if it asks for no permission and has no sandbox: it can do what its user can.
    fn skips_permission_checks(&self) -> bool {
        false
    }

    /// True if it asks ralph before it runs a command in a shell.
    fn checks_commands(&self) -> bool {
        false
    }

    /// Something that the user should know before it runs unattended.
    fn warning(&self) -> Option<String> {
        self.skips_permission_checks().then(|| {
            format!(
                "{} runs without permission checks and without a sandbox: it can do what you can",
                self.name()
            )
        })
    }
}

/// Reads an agent's stream. A new one for every run.
pub trait Dialect {
    /// Reads one line of its output into events.
    fn read_line(&mut self, line: &[u8], events: &mut Vec<AgentEvent>);

    /// True once the agent has said that it is done and only has to exit. An open input is then
    /// closed, which is what the exit waits for.
    fn has_concluded(&self) -> bool {
        false
    }

    /// True once it can only fail, though its program goes on trying for minutes: it is stopped.
    fn is_hopeless(&self) -> bool {
        false
    }

    /// Returns what is written to an open input ([`crate::process::Stdin::Open`]) at the start: the prompt.
    fn opening(&mut self, _prompt: &str) -> Vec<u8> {
        Vec::new()
    }

    /// A message to the running agent, as its open input takes it; nothing where it takes none.
    fn nudge(&mut self, _text: &str) -> Option<Vec<u8>> {
        None
    }

    /// The request to stop, as its open input takes it; nothing where only a signal does.
    fn interrupt(&mut self) -> Option<Vec<u8>> {
        None
    }

    /// Returns what the stream asked for and waits for, to be written to the open input.
    fn replies(&mut self) -> Vec<u8> {
        Vec::new()
    }

    /// Returns what calls to models were seen to use since this was last asked. A call that grows comes in
    /// parts; an agent that sums up only at its end shows none.
    fn used(&mut self) -> Vec<ModelCall> {
        Vec::new()
    }

    /// Returns whether a line is a piece of something that comes again as a whole: it is not logged.
    fn is_chatter(&self, _line: &[u8]) -> bool {
        false
    }

    /// Returns how the run ended, given how the process did and the end of what it wrote to stderr.
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
    pub context: ContextUse,
    pub turns: Option<u32>,
    pub denied: Vec<String>,
    /// Calls to models that its stream tells apart.
    pub calls: Vec<ModelCall>,
}

impl Conclusion {
    /// The last words of an agent count only where it ended well.
    fn in_words(ending: Ending, said: &str) -> Self {
        let is_well = ending == Ending::Finished;
        let said = is_well.then(|| jsonl::capped(said));
        Self::new(ending, said.unwrap_or_default())
    }

    pub(crate) fn new(ending: Ending, final_message: String) -> Self {
        Self {
            ending,
            final_message,
            model: None,
            version: None,
            usage: Usage::default(),
            context: ContextUse::default(),
            turns: None,
            denied: Vec::new(),
            calls: Vec::new(),
        }
    }
}

/// An environment with other variables in it, the last of a name in force.
fn with_env<'a>(
    given: &[(OsString, OsString)],
    own: impl IntoIterator<Item = (&'a str, &'a str)>,
) -> Vec<(OsString, OsString)> {
    let mut env = given.to_vec();
    for (key, value) in own {
        env.retain(|(k, _)| k != key);
        env.push((key.into(), value.into()));
    }
    env
}

/// The usage limit that a whole final message tells of, if it is such a notice. `seen_at` is the time
/// that the stream itself gives: a time of day in the notice is the next one behind it.
fn limit_in_words(message: &str, seen_at: Option<Timestamp>) -> Option<Ending> {
    let now = seen_at.unwrap_or_else(|| SystemClock.now());
    let notice = usage_limit::notice(message, now, &TimeZone::system())?;
    let resets_at = notice.resets_at;
    Some(Ending::Limit { resets_at })
}

/// Describes how a process ended, for an error message: its code or signal, and its last words.
pub(crate) fn describe_end(ended: Ended, stderr: &str) -> String {
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

/// The ending of a run that said nothing of how it went.
fn no_result(ended: Ended, stderr: &str) -> Ending {
    let message = format!(
        "it ended without a result ({})",
        describe_end(ended, stderr)
    );
    if asked_to_end(ended) {
        Ending::Interrupted { message }
    } else {
        Ending::NoResult { message }
    }
}

/// Tells whether a signal asked it to end. A program that handles one says so by
/// its exit code; one that crashed got a signal of another kind.
fn asked_to_end(ended: Ended) -> bool {
    const ASKING: [i32; 5] = [
        libc::SIGHUP,
        libc::SIGINT,
        libc::SIGQUIT,
        libc::SIGKILL,
        libc::SIGTERM,
    ];
    match ended {
        Ended::Signal(signal) => ASKING.contains(&signal),
        Ended::Code(code) => ASKING.contains(&(code - 128)),
    }
}
