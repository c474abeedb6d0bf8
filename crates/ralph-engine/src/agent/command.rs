//! Any program that takes the prompt on stdin. What it prints is its final message.

use std::ffi::OsString;

use ralph_core::agent::{AgentEvent, Ending, FINAL_MESSAGE_BYTES};

use super::{Agent, Conclusion, Dialect, RunContext, describe_end};
use crate::process::{CommandSpec, Ended, Output, Stdin, Tail};

pub struct CommandAgent {
    pub program: String,
    pub args: Vec<String>,
}

impl Agent for CommandAgent {
    fn name(&self) -> String {
        format!("command:{}", self.program)
    }

    fn command(&self, context: &RunContext) -> CommandSpec {
        CommandSpec {
            program: OsString::from(&self.program),
            args: self.args.iter().map(OsString::from).collect(),
            cwd: context.cwd.clone(),
            env: context.env.clone(),
            stdin: Stdin::Bytes(context.prompt.clone().into_bytes()),
            output: Output::Separate,
        }
    }

    fn dialect(&self) -> Box<dyn Dialect> {
        Box::new(Plain {
            output: Tail::new(usize::MAX, FINAL_MESSAGE_BYTES),
        })
    }
}

struct Plain {
    output: Tail,
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
        let ending = match ended {
            Ended::Code(0) => Ending::Finished,
            Ended::Code(_) | Ended::Signal(_) => Ending::Error {
                message: describe_end(ended, stderr),
            },
        };
        Conclusion::new(ending, self.output.text())
    }
}
