//! opencode, headless: the prompt by stdin, events as JSON lines.
//!
//! The outcome is its last step's reason, or the error behind it. Can't be told anything while it runs.

mod stream;

use super::{
    Agent, Credential, Dialect, RunContext, credentials,
    jsonl::{Program, Start},
    table::Kind,
};
use crate::process::CommandSpec;

pub(super) const KIND: Kind = Kind {
    name: "opencode",
    title: "opencode",
    make: |making| Box::new(OpenCode(Program::new(making, "opencode"))),
    dialect: || Box::new(stream::Stream::default()),
};

struct OpenCode(Program);

impl Agent for OpenCode {
    fn name(&self) -> String {
        self.0.name.clone()
    }

    fn command(&self, context: &RunContext) -> CommandSpec {
        let start = Start {
            // Without a title it asks the model for one, in a request that no figure counts.
            args: &["run", "--format", "json", "--auto", "--title", "ralph run"],
            model_option: "--model",
            last: &[],
            env: &[
                // Settings, plug-ins and commands of the repository are the agent's to write.
                ("OPENCODE_DISABLE_PROJECT_CONFIG", "1"),
                ("OPENCODE_DISABLE_MODELS_FETCH", "1"),
                ("OPENCODE_DISABLE_AUTOUPDATE", "1"),
            ],
            prompt: context.prompt.clone(),
        };
        self.0.command(context, start)
    }

    fn announces_itself(&self) -> bool {
        true
    }

    fn credentials(&self) -> &'static [Credential] {
        credentials::ANY_PROVIDER
    }

    fn dialect(&self) -> Box<dyn Dialect> {
        Box::new(stream::Stream::asking(self.0.model.clone()))
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
    fn the_repositorys_settings_are_left_out_unless_the_user_lets_them_in() {
        let (line, env) = command_line(KIND, None);
        assert_eq!(line, "opencode run --format json --auto --title ralph run");
        assert!(env.contains(&"OPENCODE_DISABLE_PROJECT_CONFIG=1".to_owned()));
        let custom = r#"{"name": "mine", "command": ["oc"], "dialect": "opencode", "model": "p/m",
            "env": {"OPENCODE_DISABLE_PROJECT_CONFIG": "0"}}"#;
        let (line, env) = command_line(KIND, Some(custom));
        assert!(
            line.starts_with("oc run ") && line.ends_with(" --model p/m"),
            "{line}"
        );
        let set = env.iter().filter(|v| v.contains("PROJECT_CONFIG"));
        assert_eq!(
            set.collect::<Vec<_>>(),
            ["OPENCODE_DISABLE_PROJECT_CONFIG=0"]
        );
    }
}
