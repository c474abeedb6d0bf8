//! What an agent is told first: as an argument, or in a file where it is long.
//!
//! An argument ends at 128 KiB and is seen by every user of the machine in the list of processes; and
//! a wall of text at the top of the screen does not help. A short one is best where the person sees it.

use std::{io, io::Write as _, path::Path};

/// Longer prompts go to a file, in bytes.
const LONG: usize = 8 * 1024;

/// What stands in the argument when the prompt is in a file.
pub(in crate::agent) const LONG_PROMPT_GO: &str = "Begin.";

/// The first prompt as an agent's arguments can have it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FirstPrompt<'a> {
    /// The person speaks first.
    None,
    Text(&'a str),
    /// A file that only this user can read, there as long as the conversation is.
    File(&'a Path),
}

/// A prompt, and the file that it is in.
pub(super) enum PromptArgument<'a> {
    Short(&'a str),
    Long(tempfile::NamedTempFile),
}

impl<'a> PromptArgument<'a> {
    pub(super) fn new(prompt: &'a str) -> io::Result<Self> {
        if prompt.len() <= LONG {
            return Ok(Self::Short(prompt));
        }
        // Made for its owner alone.
        let mut file = tempfile::Builder::new()
            .prefix("ralph-prompt-")
            .suffix(".md")
            .tempfile()?;
        file.write_all(prompt.as_bytes())?;
        file.flush()?;
        Ok(Self::Long(file))
    }

    pub(super) fn as_prompt(&self) -> FirstPrompt<'_> {
        match self {
            Self::Short(text) if text.trim().is_empty() => FirstPrompt::None,
            Self::Short(text) => FirstPrompt::Text(text),
            Self::Long(file) => FirstPrompt::File(file.path()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_short_prompt_is_an_argument_and_an_empty_one_is_none() {
        let given = PromptArgument::new("Ask me.").unwrap();
        assert_eq!(given.as_prompt(), FirstPrompt::Text("Ask me."));
        let given = PromptArgument::new(" \n").unwrap();
        assert_eq!(given.as_prompt(), FirstPrompt::None);
    }

    #[test]
    fn a_long_prompt_is_in_a_private_file_that_goes_with_the_conversation() {
        use std::os::unix::fs::PermissionsExt as _;
        let text = "long ".repeat(200_000);
        let given = PromptArgument::new(&text).unwrap();
        let FirstPrompt::File(path) = given.as_prompt() else {
            panic!("{:?}", given.as_prompt());
        };
        let path = path.to_owned();
        assert_eq!(std::fs::read_to_string(&path).unwrap(), text);
        let mode = std::fs::metadata(&path).unwrap().permissions().mode();
        assert_eq!(mode & 0o777, 0o600);
        drop(given);
        assert!(!path.exists());
    }
}
