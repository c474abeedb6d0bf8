//! Claude Code with a person at the terminal: `claude [options] -- PROMPT`.
//!
//! Reads nothing of what it says; only how it is started.

use std::ffi::OsString;

use super::Claude;
use crate::{
    agent::interactive::{FirstPrompt, TalkContext},
    process::CommandSpec,
};

/// The first word when the prompt itself stands in the system prompt. It must be read there without a
/// tool: one would ask for permission, and cut a long file short.
const BEGIN: &str = "Begin: follow the instructions at the end of your system prompt.";

impl Claude {
    pub(super) fn talk(&self, context: &TalkContext<'_>) -> CommandSpec {
        let mut args: Vec<OsString> = self.options.command.args().iter().map(Into::into).collect();
        let common = self.common_arguments(&[]);
        args.extend(common.into_iter().map(OsString::from));
        let append = self.options.append_system_prompt.as_deref();
        let prompt = match context.prompt {
            FirstPrompt::File(path) => {
                args.extend(["--append-system-prompt-file".into(), path.into()]);
                // Claude Code takes one text or one file, not both.
                let text = append.map(|text| format!("{text}\n\n{BEGIN}"));
                Some(text.unwrap_or_else(|| BEGIN.to_owned()))
            }
            FirstPrompt::Text(text) => Some(text.to_owned()),
            FirstPrompt::None => None,
        };
        if let (Some(text), FirstPrompt::Text(_) | FirstPrompt::None) = (append, context.prompt) {
            args.extend(["--append-system-prompt".into(), text.into()]);
        }
        if let Some(prompt) = prompt {
            // Options that take a list would take the prompt, and a dash would make it an option.
            args.extend(["--".into(), prompt.into()]);
        }
        let mut spec = CommandSpec::new(self.options.command.program(), context.cwd).args(args);
        spec.env = self.environment(context.env);
        spec
    }
}

#[cfg(test)]
mod tests {
    use std::path::{Path, PathBuf};

    use ralph_core::config::Config;

    use super::*;
    use crate::agent::Making;

    fn args(append: Option<&str>, prompt: FirstPrompt<'_>) -> Vec<String> {
        let mut config = Config::default();
        config.claude.append_system_prompt = append.map(str::to_owned);
        config.claude.allowed_tools = vec!["Read".into()];
        let claude = Claude::new(&Making {
            config: &config,
            custom: None,
            is_root: false,
        });
        let spec = claude.talk(&TalkContext {
            cwd: &PathBuf::from("/"),
            env: &[],
            prompt,
        });
        let text = |arg: OsString| arg.into_string().unwrap();
        spec.args.into_iter().map(text).collect()
    }

    const COMMON: [&str; 9] = [
        "--strict-mcp-config",
        "--setting-sources",
        "user",
        "--permission-mode",
        "bypassPermissions",
        "--model",
        "sonnet",
        "--allowedTools",
        "Read",
    ];

    #[test]
    fn a_short_prompt_stands_behind_all_options() {
        let found = args(Some("Be kind."), FirstPrompt::Text("-x"));
        let rest = ["--append-system-prompt", "Be kind.", "--", "-x"];
        assert_eq!(found, [&COMMON[..], &rest[..]].concat());
    }

    #[test]
    fn without_a_prompt_the_person_speaks_first() {
        assert_eq!(args(None, FirstPrompt::None), COMMON);
    }

    #[test]
    fn a_long_prompt_is_in_the_system_prompt_and_no_second_one_beside_it() {
        let found = args(Some("Be kind."), FirstPrompt::File(Path::new("/tmp/p")));
        let begin = "Be kind.\n\nBegin: follow the instructions at the end of your system prompt.";
        let rest = ["--append-system-prompt-file", "/tmp/p", "--", begin];
        assert_eq!(found, [&COMMON[..], &rest[..]].concat());
    }
}
