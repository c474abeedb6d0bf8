//! How Pi is started for a conversation: `pi [options] -- [@FILE] PROMPT`.
//!
//! Only what a person set for it; what makes a headless run fresh has no place here.

use std::ffi::OsString;

use ralph_core::config::PiConfig;

use crate::{
    agent::interactive::{FirstPrompt, LONG_PROMPT_GO, TalkContext},
    process::CommandSpec,
};

/// The command that starts Pi on a terminal.
pub(super) fn command(options: &PiConfig, context: &TalkContext<'_>) -> CommandSpec {
    let mut args: Vec<OsString> = options.command.args().iter().map(Into::into).collect();
    let own = super::options(options, options.model.clone());
    args.extend(own.into_iter().map(OsString::from));
    match context.prompt {
        FirstPrompt::None => {}
        // Pi would read the file of that name instead.
        FirstPrompt::Text(text) if text.starts_with('@') => {
            args.extend(["--".into(), format!(" {text}").into()]);
        }
        FirstPrompt::Text(text) => args.extend(["--".into(), text.into()]),
        FirstPrompt::File(path) => {
            let mut file = OsString::from("@");
            file.push(path);
            args.extend(["--".into(), file, LONG_PROMPT_GO.into()]);
        }
    }
    let mut env = context.env.to_vec();
    for (key, value) in &options.env.0 {
        env.retain(|(k, _)| k != key.as_str());
        env.push((key.into(), value.into()));
    }
    let mut spec = CommandSpec::new(options.command.program(), context.cwd).args(args);
    spec.env = env;
    spec
}

#[cfg(test)]
mod tests {
    use std::path::{Path, PathBuf};

    use super::*;

    fn args(options: &PiConfig, prompt: FirstPrompt<'_>) -> Vec<String> {
        let context = TalkContext {
            cwd: &PathBuf::from("/"),
            env: &[],
            prompt,
        };
        let spec = command(options, &context);
        let text = |arg: OsString| arg.into_string().unwrap();
        spec.args.into_iter().map(text).collect()
    }

    #[test]
    fn a_prompt_that_looks_like_an_option_is_a_prompt() {
        let options = PiConfig {
            model: Some("loop/one".into()),
            ..PiConfig::default()
        };
        assert_eq!(
            args(&options, FirstPrompt::Text("--help me")),
            ["--no-approve", "--model", "loop/one", "--", "--help me"]
        );
    }

    #[test]
    fn a_prompt_that_begins_with_an_at_sign_is_no_file() {
        let found = args(&PiConfig::default(), FirstPrompt::Text("@me first"));
        assert_eq!(found, ["--no-approve", "--", " @me first"]);
    }

    #[test]
    fn a_long_prompt_is_named_as_a_file() {
        let prompt = FirstPrompt::File(Path::new("/tmp/p.md"));
        assert_eq!(
            args(&PiConfig::default(), prompt),
            ["--no-approve", "--", "@/tmp/p.md", "Begin."]
        );
    }
}
