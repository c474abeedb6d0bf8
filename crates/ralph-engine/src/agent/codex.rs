//! Codex, headless: the prompt by stdin, events as JSON lines.
//!
//! The outcome is what its turn ended with. Can't be told anything while it runs.

mod stream;

use super::{
    Agent, Costs, Credential, Dialect, RunContext, credentials,
    jsonl::{Program, Start},
    table::Kind,
};
use crate::process::{CommandSpec, Signal};

pub(super) const KIND: Kind = Kind {
    name: "codex",
    title: "Codex",
    make: |making| Box::new(Codex(Program::new(making, "codex"))),
    dialect: || Box::new(stream::Stream::default()),
};

struct Codex(Program);

impl Agent for Codex {
    fn name(&self) -> String {
        self.0.name.clone()
    }

    fn command(&self, context: &RunContext) -> CommandSpec {
        let start = Start {
            args: &[
                "exec",
                "--json",
                "--skip-git-repo-check",
                // A session that nobody goes on with is not worth its file.
                "--ephemeral",
                // As settings rather than flags, so that the user's own arguments can change them.
                "-c",
                "approval_policy=\"never\"",
                "-c",
                "sandbox_mode=\"danger-full-access\"",
            ],
            model_option: "--model",
            // The prompt is on stdin.
            last: &["-"],
            env: &[],
            prompt: context.prompt.clone(),
        };
        self.0.command(context, start)
    }

    fn announces_itself(&self) -> bool {
        true
    }

    fn costs(&self) -> Costs {
        Costs::AtTheEnd
    }

    fn credentials(&self) -> &'static [Credential] {
        credentials::CODEX
    }

    fn dialect(&self) -> Box<dyn Dialect> {
        Box::new(stream::Stream::asking(self.0.model.clone()))
    }

    /// On SIGTERM it dies and leaves the command of its tool behind; this ends that too.
    fn polite_signal(&self) -> Signal {
        Signal::INT
    }

    fn warning(&self) -> Option<String> {
        Some(self.0.warning())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::agent::jsonl::command_line;

    #[test]
    fn by_its_name_it_is_the_program_of_that_name() {
        let (line, env) = command_line(KIND, None);
        assert_eq!(
            line,
            "codex exec --json --skip-git-repo-check --ephemeral -c approval_policy=\"never\" \
             -c sandbox_mode=\"danger-full-access\" -"
        );
        assert_eq!(env, ["TEAM=a"]);
    }

    #[test]
    fn the_users_words_stand_around_ralphs_own_and_its_variables_win() {
        let custom = r#"{"name": "mine", "command": ["box", "codex"], "dialect": "codex",
            "model": "m", "args": ["-c", "x=1"], "env": {"TEAM": "b"}}"#;
        let (line, env) = command_line(KIND, Some(custom));
        assert!(line.starts_with("box codex exec --json "), "{line}");
        assert!(line.ends_with(" --model m -c x=1 -"), "{line}");
        assert_eq!(env, ["TEAM=b"]);
    }
}
