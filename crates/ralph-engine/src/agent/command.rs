//! Any program that takes the prompt on stdin. What it prints is its final message.

use ralph_core::{
    agent::{AgentEvent, Ending, FINAL_MESSAGE_BYTES},
    config::CustomAgent,
};

use super::{
    Agent, CommandCheck, Conclusion, Dialect, ReadOnly, RunContext, asked_to_end, describe_end,
    limit_in_words,
    table::{AgentKind, AgentSetup},
    version::Fitness,
    with_env,
};
use crate::process::{CommandSpec, Ended, Stdin, Tail};

pub(super) const KIND: AgentKind = AgentKind {
    name: "text",
    title: "any program",
    make: |setup| Box::new(CommandAgent::new(setup)),
    dialect: || Box::new(PlainText::new()),
    read_only: ReadOnly::Trusted,
    judge_version: |_| Fitness::Good,
    settings: &[],
    command_check: CommandCheck::Never,
    runtime: None,
};

pub struct CommandAgent {
    pub name: String,
    /// The program and its arguments; empty where there is none to start.
    pub command: Vec<String>,
    pub env: Vec<(String, String)>,
}

impl CommandAgent {
    /// Without a program of the user's there is nothing to start: `text` alone is only read.
    fn new(setup: &AgentSetup<'_>) -> Self {
        let custom = setup.custom;
        let words = |c: &CustomAgent| [c.command.as_slice(), &c.args].concat();
        Self {
            name: setup.name(KIND.name),
            command: custom.map(words).unwrap_or_default(),
            env: custom.map_or_else(Vec::new, |c| c.env.0.clone().into_iter().collect()),
        }
    }
}

impl Agent for CommandAgent {
    fn name(&self) -> String {
        self.name.clone()
    }

    fn own_command(&self) -> &[String] {
        &self.command
    }

    fn command(&self, context: &RunContext) -> CommandSpec {
        let (program, args) = match self.command.split_first() {
            Some((program, args)) => (program.as_str(), args),
            None => ("", &[][..]),
        };
        let own = self.env.iter().map(|(k, v)| (k.as_str(), v.as_str()));
        let mut spec = CommandSpec::new(program, &context.cwd)
            .args(args)
            .stdin(Stdin::Bytes(context.prompt.clone().into_bytes()));
        spec.env = with_env(&context.env, own);
        spec
    }

    fn dialect(&self) -> Box<dyn Dialect> {
        Box::new(PlainText::new())
    }
}

/// Any output: all of it is the final message.
struct PlainText {
    output: Tail,
}

impl PlainText {
    fn new() -> Self {
        Self {
            output: Tail::new(FINAL_MESSAGE_BYTES),
        }
    }
}

/// Longest line that is shown as it comes; the log has all of it.
const SHOWN_BYTES: usize = 2_000;
/// Lines of one batch that are shown.
const SHOWN_LINES: usize = 20;

impl Dialect for PlainText {
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
