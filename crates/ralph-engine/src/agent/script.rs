//! The embedded agent: plays a file that says what to do, per task and attempt.
//!
//! For demos, tests, and trying out a config without spending. It is a real process like any other
//! agent: ralph starts itself under a hidden name, and it edits files and runs commands for real.

mod file;
mod play;

pub use file::{Script, ScriptError};
pub use play::play;

use std::path::PathBuf;

use ralph_core::{
    agent::{AgentEvent, AgentResult, Ending, Usage},
    dollars::Dollars,
    economics::{Caller, ModelCall, Tokens},
};

use super::{
    Agent, AgentFacts, Conclusion, Costs, Dialect, RunContext, cost::CallLog, jsonl, no_result,
};
use crate::process::{CommandSpec, Ended, Output, Stdin};

/// The hidden command that plays a script.
pub const PLAY_COMMAND: &str = "__play-script";

pub struct ScriptAgent {
    /// The `ralph` that is running.
    pub ralph: PathBuf,
    pub file: PathBuf,
}

impl Agent for ScriptAgent {
    fn name(&self) -> String {
        format!("script:{}", self.file.display())
    }

    fn command(&self, context: &RunContext) -> CommandSpec {
        let prompt = context.prompt.clone().into_bytes();
        let mut spec = CommandSpec::new(&self.ralph, &context.cwd)
            .args([PLAY_COMMAND.as_ref(), self.file.as_os_str()])
            .stdin(Stdin::Bytes(prompt))
            .output(Output::Separate);
        spec.env.clone_from(&context.env);
        spec
    }

    fn facts(&self) -> AgentFacts {
        AgentFacts {
            costs: Costs::AsItGoes,
            ..AgentFacts::UNKNOWN
        }
    }

    fn dialect(&self) -> Box<dyn Dialect> {
        Box::new(ScriptEvents::default())
    }
}

/// The script speaks ralph's own events, one a line.
#[derive(Default)]
struct ScriptEvents {
    usage: Usage,
    calls: CallLog,
    limit: Option<Option<jiff::Timestamp>>,
    result: Option<AgentResult>,
}

impl Dialect for ScriptEvents {
    fn read_line(&mut self, line: &[u8], events: &mut Vec<AgentEvent>) {
        let Ok(event) = serde_json::from_slice::<AgentEvent>(line) else {
            return events.push(jsonl::other("text"));
        };
        if let AgentEvent::Usage(usage) = &event {
            self.count(*usage);
        } else if let AgentEvent::Limit {
            rejected: true,
            resets_at,
            ..
        } = &event
        {
            self.limit = Some(*resets_at);
        } else if let AgentEvent::Result(result) = &event {
            self.result = Some(result.clone());
        }
        events.push(event);
    }

    fn used(&mut self) -> Vec<ModelCall> {
        self.calls.take_new()
    }

    fn conclude(self: Box<Self>, ended: Ended, stderr: &str) -> Conclusion {
        let ending = match (&self.limit, &self.result) {
            (Some(resets_at), _) => Ending::Limit {
                resets_at: *resets_at,
            },
            (None, Some(result)) if result.ok => Ending::Finished,
            (None, Some(result)) => Ending::Error {
                message: result.error.clone().unwrap_or_default(),
            },
            (None, None) => no_result(ended, stderr),
        };
        let text = self.result.map(|r| r.text).unwrap_or_default();
        Conclusion {
            usage: self.usage,
            calls: self.calls.into_all(),
            model: Some("script".into()),
            ..Conclusion::new(ending, text)
        }
    }
}

impl ScriptEvents {
    /// Its sums grow by a call at a time.
    fn count(&mut self, usage: Usage) {
        let before = self.usage.told();
        self.calls.push(ModelCall {
            model: Some("script".into()),
            caller: Caller::Agent,
            tokens: Tokens::from(usage).without(self.usage.into()),
            told: usage
                .cost_usd
                .map(|cost| Dollars::told(cost).without(before)),
        });
        self.usage = usage;
    }
}
