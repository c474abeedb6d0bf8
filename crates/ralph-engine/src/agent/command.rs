//! Any program that takes the prompt on stdin. What it prints is its final message.

use std::ffi::OsString;

use ralph_core::agent::{AgentEvent, Ending, FINAL_MESSAGE_BYTES};

use super::{
    Agent, Conclusion, Dialect, RunContext, asked_to_end, describe_end, limit_in_words,
    table::{Kind, Making},
    with_env,
};
use crate::process::{CommandSpec, Ended, Output, Stdin, Tail};

pub(super) const KIND: Kind = Kind {
    name: "text",
    title: "any program",
    make: |making| Box::new(CommandAgent::new(making)),
    dialect: || Box::new(Plain::new()),
};

pub struct CommandAgent {
    pub name: String,
    pub program: String,
    pub args: Vec<String>,
    pub env: Vec<(String, String)>,
}

impl CommandAgent {
    /// Without a program of the user's there is nothing to start: `text` alone is only read.
    fn new(making: &Making<'_>) -> Self {
        let custom = making.custom;
        let command = custom.map(|c| c.command.clone());
        let program = command.as_ref().map_or("", |c| c.program()).to_owned();
        let mut args = command.as_ref().map_or(&[][..], |c| c.args()).to_vec();
        args.extend(custom.into_iter().flat_map(|c| c.args.clone()));
        Self {
            name: custom.map_or("text", |c| c.name.as_str()).to_owned(),
            program,
            args,
            env: custom
                .map(|c| c.env.0.clone().into_iter().collect())
                .unwrap_or_default(),
        }
    }
}

impl Agent for CommandAgent {
    fn name(&self) -> String {
        self.name.clone()
    }

    fn command(&self, context: &RunContext) -> CommandSpec {
        CommandSpec {
            program: OsString::from(&self.program),
            args: self.args.iter().map(OsString::from).collect(),
            cwd: context.cwd.clone(),
            env: with_env(context, &self.env),
            stdin: Stdin::Bytes(context.prompt.clone().into_bytes()),
            output: Output::Separate,
        }
    }

    fn dialect(&self) -> Box<dyn Dialect> {
        Box::new(Plain::new())
    }
}

struct Plain {
    output: Tail,
}

impl Plain {
    fn new() -> Self {
        Self {
            output: Tail::new(usize::MAX, FINAL_MESSAGE_BYTES),
        }
    }
}

/// Longest line that is shown as it comes; the log has all of it.
const SHOWN_BYTES: usize = 2_000;
/// Lines of one batch that are shown.
const SHOWN_LINES: usize = 20;

impl Dialect for Plain {
    fn read_line(&mut self, line: &[u8], events: &mut Vec<AgentEvent>) {
        self.output.push(line);
        self.output.push(b"\n");
        // Of a flood, the first lines of each batch are shown; the log has all of it.
        if events.len() >= SHOWN_LINES {
            return;
        }
        let shown = &line[..line.len().min(SHOWN_BYTES)];
        events.push(AgentEvent::Text {
            text: String::from_utf8_lossy(shown).into_owned(),
        });
    }

    fn conclude(self: Box<Self>, ended: Ended, stderr: &str) -> Conclusion {
        let output = self.output.text();
        let limit = limit_in_words(&output, None);
        let ending = match ended {
            // Whatever its exit code: a program that prints this alone has done nothing.
            Ended::Code(_) if let Some(limit) = limit => limit,
            Ended::Code(0) => Ending::Finished,
            ended if asked_to_end(ended) => Ending::Interrupted {
                message: describe_end(ended, stderr),
            },
            Ended::Code(_) | Ended::Signal(_) => Ending::Error {
                message: describe_end(ended, stderr),
            },
        };
        Conclusion::new(ending, output)
    }
}
