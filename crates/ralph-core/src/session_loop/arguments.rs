//! The arguments of `/ralph-loop`: one raw text, as a person typed it.
//!
//! Flags may stand anywhere and are taken out; everything else is the prompt, as it was typed. A word that looks like
//! a flag and is none is an error, never a part of the prompt: `--max-iteration 5` must not run for ever. Text in
//! quotes, and what follows `--`, is never a flag.

use crate::{config::did_you_mean, goal::Promise};

named! {
    /// The flags of `/ralph-loop`; not every agent has all of them.
    pub enum LoopFlag {
        MaxIterations = "--max-iterations",
        CompletionPromise = "--completion-promise",
        Verify = "--verify",
        SameContext = "--same-context",
        Subagent = "--subagent",
    }
}

/// The dashes that people and editors write before a flag.
const DASHES: [char; 3] = ['-', '–', '—'];

/// A loop as a person asks for it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LoopArguments {
    pub prompt: String,
    /// 0 for no limit.
    pub max_iterations: u64,
    pub completion_promise: Option<Promise>,
    pub verify: bool,
}

#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ArgumentError {
    #[error(
        "there is no prompt: /ralph-loop <prompt> [--max-iterations N] [--completion-promise TEXT]"
    )]
    NoPrompt,
    #[error(
        "{flag} is not a flag of /ralph-loop{near}; put it in quotes if it belongs to the prompt"
    )]
    Unknown { flag: String, near: String },
    #[error("{flag} is given twice")]
    Twice { flag: LoopFlag },
    #[error("{flag} needs a value")]
    NoValue { flag: LoopFlag },
    #[error("{flag} takes no value, and has {value:?}")]
    Value { flag: LoopFlag, value: String },
    #[error("--max-iterations needs a whole number, 0 for no limit, and has {value:?}")]
    Number { value: String },
    #[error("--verify needs --completion-promise: it is the promise that is verified")]
    NothingToVerify,
    #[error("--completion-promise: {0}")]
    Promise(#[from] crate::goal::BadGoal),
}

impl LoopArguments {
    /// Reads the text behind the command, for an agent that has these flags.
    pub fn parse(text: &str, known: &[LoopFlag]) -> Result<Self, ArgumentError> {
        let mut rest = ArgumentWords { text, at: 0 };
        let mut prompt = Vec::new();
        let mut arguments = Self {
            prompt: String::new(),
            max_iterations: 0,
            completion_promise: None,
            verify: false,
        };
        let mut seen = Vec::new();
        let mut kept_to = 0;
        while let Some(word) = rest.next() {
            if !word.is_quoted && is_nearly_flag(word.raw, known) {
                return Err(unknown(word.raw, known));
            }
            if word.is_quoted || !word.raw.starts_with("--") {
                continue;
            }
            prompt.push(&text[kept_to..word.at]);
            kept_to = rest.at;
            if word.raw == "--" {
                break;
            }
            let flag = flag(word.raw, known)?;
            if seen.contains(&flag) {
                return Err(ArgumentError::Twice { flag });
            }
            seen.push(flag);
            let inline = word.raw.split_once('=').map(|(_, value)| unquoted(value));
            let mut value = || match inline.clone() {
                Some(value) => Ok(value),
                None => rest.value().ok_or(ArgumentError::NoValue { flag }),
            };
            match flag {
                LoopFlag::MaxIterations => {
                    let value = value()?;
                    let number = value.parse();
                    arguments.max_iterations =
                        number.map_err(|_| ArgumentError::Number { value })?;
                }
                LoopFlag::CompletionPromise => {
                    arguments.completion_promise = Some(Promise::parse(&value()?)?);
                }
                LoopFlag::Verify => arguments.verify = true,
                LoopFlag::SameContext | LoopFlag::Subagent => {}
            }
            if let (LoopFlag::Verify | LoopFlag::SameContext | LoopFlag::Subagent, Some(value)) =
                (flag, inline)
            {
                return Err(ArgumentError::Value { flag, value });
            }
            kept_to = rest.at;
        }
        prompt.push(&text[kept_to..]);
        let parts = prompt.iter().map(|part| part.trim());
        let parts: Vec<&str> = parts.filter(|part| !part.is_empty()).collect();
        arguments.prompt = unquoted(&parts.join(" "));
        if arguments.prompt.trim().is_empty() {
            return Err(ArgumentError::NoPrompt);
        }
        if arguments.verify && arguments.completion_promise.is_none() {
            return Err(ArgumentError::NothingToVerify);
        }
        Ok(arguments)
    }
}

fn flag(word: &str, known: &[LoopFlag]) -> Result<LoopFlag, ArgumentError> {
    let found = LoopFlag::from_word(name_of(word)).filter(|flag| known.contains(flag));
    found.ok_or_else(|| unknown(word, known))
}

/// The word up to its value.
fn name_of(word: &str) -> &str {
    word.split_once('=').map_or(word, |(name, _)| name)
}

/// Tells whether a word is a flag with the wrong dashes: `-verify`, or what an editor made of `--`.
fn is_nearly_flag(word: &str, known: &[LoopFlag]) -> bool {
    let bare = name_of(word).trim_start_matches(DASHES);
    let has_dashes = bare.len() < name_of(word).len();
    has_dashes && !word.starts_with("--") && known.iter().any(|flag| flag.as_str()[2..] == *bare)
}

fn unknown(word: &str, known: &[LoopFlag]) -> ArgumentError {
    let name = name_of(word);
    let names: Vec<&str> = known.iter().map(|flag| flag.as_str()).collect();
    let meant = format!("--{}", name.trim_start_matches(DASHES));
    let near = did_you_mean(&meant, &names);
    ArgumentError::Unknown {
        flag: name.to_owned(),
        near: near.map_or_else(String::new, |near| format!("; did you mean {near}?")),
    }
}

/// One word, or one text in quotes, which may hold blanks.
struct ArgumentWord<'a> {
    at: usize,
    raw: &'a str,
    is_quoted: bool,
}

struct ArgumentWords<'a> {
    text: &'a str,
    at: usize,
}

impl<'a> ArgumentWords<'a> {
    fn next(&mut self) -> Option<ArgumentWord<'a>> {
        let rest = &self.text[self.at..];
        let at = self.at + rest.find(|c: char| !c.is_whitespace())?;
        let rest = &self.text[at..];
        // A value in quotes may follow its flag by `=`: `--completion-promise="ALL DONE"`.
        let open = match rest.find(|c: char| c.is_whitespace() || c == '=') {
            Some(equals) if rest.starts_with("--") && rest[equals..].starts_with('=') => equals + 1,
            _ => 0,
        };
        let quoted = closing(&rest[open..]).map(|end| open + end);
        let length = quoted.unwrap_or_else(|| {
            let blank = rest.find(char::is_whitespace);
            blank.unwrap_or(rest.len())
        });
        self.at = at + length;
        Some(ArgumentWord {
            at,
            raw: &rest[..length],
            is_quoted: open == 0 && quoted.is_some(),
        })
    }

    /// The next word as the value of a flag: another flag is none.
    fn value(&mut self) -> Option<String> {
        let before = self.at;
        let word = self.next()?;
        if !word.is_quoted && word.raw.starts_with("--") {
            self.at = before;
            return None;
        }
        Some(unquoted(word.raw))
    }
}

/// The length of a text in quotes that stands here as a word of its own. An apostrophe within words opens nothing.
fn closing(text: &str) -> Option<usize> {
    let quote = text.chars().next().filter(|c| matches!(c, '"' | '\''))?;
    let mut escaped = false;
    for (at, c) in text.char_indices().skip(1) {
        if escaped {
            escaped = false;
        } else if c == '\\' && quote == '"' {
            escaped = true;
        } else if c == quote {
            let end = at + c.len_utf8();
            let alone = text[end..].chars().next().is_none_or(char::is_whitespace);
            return alone.then_some(end);
        }
    }
    None
}

/// The text without the quotes around all of it.
fn unquoted(text: &str) -> String {
    let is_whole = closing(text) == Some(text.len());
    if !is_whole || text.len() < 2 {
        return text.to_owned();
    }
    let inner = &text[1..text.len() - 1];
    if text.starts_with('\'') {
        return inner.to_owned();
    }
    let mut out = String::with_capacity(inner.len());
    let mut escaped = false;
    for c in inner.chars() {
        match c {
            '\\' if !escaped => escaped = true,
            '"' | '\\' => {
                out.push(c);
                escaped = false;
            }
            _ => {
                if escaped {
                    out.push('\\');
                }
                out.push(c);
                escaped = false;
            }
        }
    }
    if escaped {
        out.push('\\');
    }
    out
}
