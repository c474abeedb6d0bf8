//! The arguments of `/ralph-loop`: one raw text, as a person typed it.
//!
//! Flags may stand anywhere and are taken out; everything else is the prompt, as it was typed. A word that looks like
//! a flag and is none is an error, never a part of the prompt: `--max-iteration 5` must not run for ever. Text in
//! quotes, and what follows `--`, is never a flag. A quote opens at the beginning of a word or of a flag's value, so
//! that the apostrophe of a word is a letter; one that opens has to be closed, or it would hide the flags behind it.
//!
//! The package for Pi reads them in TypeScript; both are held to one table, `integrations/arguments.json`.

use crate::goal::Promise;

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

/// A prompt may be this long.
pub(super) const MOST_PROMPT_BYTES: usize = 256 * 1024;

/// The largest number that every reader of JSON takes for what it is.
const MOST_ITERATIONS: u64 = (1 << 53) - 1;

/// The dashes that people and editors write before a flag.
const DASHES: [char; 3] = ['-', '–', '—'];

/// As much of a word as an error repeats.
const SHOWN_CHARS: usize = 40;

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
        "the prompt has {bytes} bytes, and {MOST_PROMPT_BYTES} are the limit: put it in a file and name that"
    )]
    LongPrompt { bytes: usize },
    #[error(
        "{flag} is not a flag of /ralph-loop{near} (in quotes or after -- it belongs to the prompt)"
    )]
    Unknown { flag: String, near: String },
    #[error("the quote {quote} is never closed in {word} (after -- it belongs to the prompt)")]
    OpenQuote { quote: char, word: String },
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
        let mut words = ArgumentWords { text, at: 0 };
        let mut prompt = Vec::new();
        let mut arguments = Self {
            prompt: String::new(),
            max_iterations: 0,
            completion_promise: None,
            verify: false,
        };
        let mut seen = Vec::new();
        let mut kept_to = 0;
        while let Some(word) = words.next()? {
            if word.is_quoted {
                continue;
            }
            if word.raw == "--" {
                prompt.push(&text[kept_to..word.at]);
                kept_to = words.at;
                break;
            }
            if !is_flag(word.raw) {
                match is_nearly_flag(word.raw, known) {
                    true => return Err(unknown(word.raw, known)),
                    false => continue,
                }
            }
            prompt.push(&text[kept_to..word.at]);
            let flag = flag(word.raw, known)?;
            if seen.contains(&flag) {
                return Err(ArgumentError::Twice { flag });
            }
            seen.push(flag);
            let inline = word.raw.split_once('=').map(|(_, value)| unquoted(value));
            match flag {
                LoopFlag::MaxIterations => {
                    arguments.max_iterations = number(words.value_of(flag, inline)?)?;
                }
                LoopFlag::CompletionPromise => {
                    let value = words.value_of(flag, inline)?;
                    arguments.completion_promise = Some(Promise::parse(&value)?);
                }
                LoopFlag::Verify | LoopFlag::SameContext | LoopFlag::Subagent => {
                    if let Some(value) = inline {
                        return Err(ArgumentError::Value { flag, value });
                    }
                    arguments.verify |= flag == LoopFlag::Verify;
                }
            }
            kept_to = words.at;
        }
        prompt.push(&text[kept_to..]);
        arguments.prompt = prompt_of(&prompt)?;
        if arguments.verify && arguments.completion_promise.is_none() {
            return Err(ArgumentError::NothingToVerify);
        }
        Ok(arguments)
    }
}

/// The prompt, of the parts between the flags. One that is a quotation as a whole loses its quotes.
fn prompt_of(parts: &[&str]) -> Result<String, ArgumentError> {
    let parts = parts.iter().map(|part| part.trim());
    let parts: Vec<&str> = parts.filter(|part| !part.is_empty()).collect();
    let prompt = unquoted(&parts.join(" ")).trim().to_owned();
    match prompt.len() {
        0 => Err(ArgumentError::NoPrompt),
        bytes if bytes > MOST_PROMPT_BYTES => Err(ArgumentError::LongPrompt { bytes }),
        _ => Ok(prompt),
    }
}

fn number(value: String) -> Result<u64, ArgumentError> {
    let is_plain = !value.is_empty() && value.bytes().all(|byte| byte.is_ascii_digit());
    let number = value.parse().ok();
    match number.filter(|number| is_plain && *number <= MOST_ITERATIONS) {
        Some(number) => Ok(number),
        None => Err(ArgumentError::Number { value }),
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

/// The name without the dashes before it.
fn bare_name(word: &str) -> &str {
    name_of(word).trim_start_matches(DASHES)
}

/// Tells whether a word is to be a flag. A line, an arrow and the like are text.
fn is_flag(word: &str) -> bool {
    word.starts_with("--") && bare_name(word).starts_with(char::is_alphabetic)
}

/// Tells whether a word is a flag with the wrong dashes: `-verify`, or what an editor made of `--`. One letter in
/// three may be wrong, too.
fn is_nearly_flag(word: &str, known: &[LoopFlag]) -> bool {
    let bare = bare_name(word);
    let has_dashes = bare.len() < name_of(word).len();
    let is_near = |flag: &LoopFlag| edits(bare, *flag) * 3 <= bare.chars().count();
    has_dashes && bare.starts_with(char::is_alphabetic) && known.iter().any(is_near)
}

fn edits(bare: &str, flag: LoopFlag) -> usize {
    strsim::levenshtein(bare, &flag.as_str()[2..])
}

/// The flag that a name was most likely meant for: one that it is a part of, else the nearest of those in which one
/// letter in three is right.
fn nearest(bare: &str, known: &[LoopFlag]) -> Option<LoopFlag> {
    let length = bare.chars().count();
    let is_part = |flag: &&LoopFlag| length > 2 && flag.as_str()[2..].contains(bare);
    let near = known
        .iter()
        .filter(|flag| edits(bare, **flag) * 3 <= length * 2);
    let part = known.iter().find(is_part);
    part.or_else(|| near.min_by_key(|flag| edits(bare, **flag)))
        .copied()
}

fn unknown(word: &str, known: &[LoopFlag]) -> ArgumentError {
    let near = nearest(bare_name(word), known);
    ArgumentError::Unknown {
        flag: shown(name_of(word)),
        near: near.map_or_else(String::new, |near| format!("; did you mean {near}?")),
    }
}

/// A word in an error.
fn shown(word: &str) -> String {
    word.chars().take(SHOWN_CHARS).collect()
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
    fn next(&mut self) -> Result<Option<ArgumentWord<'a>>, ArgumentError> {
        let rest = &self.text[self.at..];
        let Some(blank) = rest.find(|c: char| !c.is_whitespace()) else {
            return Ok(None);
        };
        let at = self.at + blank;
        let rest = &self.text[at..];
        let open = value_at(rest);
        let quoted = match quote_of(&rest[open..]) {
            None => 0,
            Some(quote) => closing(&rest[open..]).ok_or_else(|| ArgumentError::OpenQuote {
                quote,
                word: shown(rest[open..].split_whitespace().next().unwrap_or_default()),
            })?,
        };
        // A quotation that goes on as a word is prose.
        let blank = rest[open + quoted..].find(char::is_whitespace);
        let end = blank.map_or(rest.len(), |blank| open + quoted + blank);
        self.at = at + end;
        Ok(Some(ArgumentWord {
            at,
            raw: &rest[..end],
            is_quoted: open == 0 && quoted > 0,
        }))
    }

    /// The value of a flag: behind its `=`, or the next word; another flag is none.
    fn value_of(
        &mut self,
        flag: LoopFlag,
        inline: Option<String>,
    ) -> Result<String, ArgumentError> {
        if let Some(value) = inline {
            return Ok(value);
        }
        let word = self.next()?;
        let word = word.filter(|word| word.is_quoted || !word.raw.starts_with("--"));
        let word = word.ok_or(ArgumentError::NoValue { flag })?;
        Ok(unquoted(word.raw))
    }
}

/// The place where the value of a flag begins that has it by `=`: `--completion-promise="ALL DONE"`. Otherwise 0.
fn value_at(rest: &str) -> usize {
    let ends_name = |c: char| c.is_whitespace() || matches!(c, '=' | '"' | '\'');
    match rest.find(ends_name) {
        Some(end) if is_flag(&rest[..end]) && rest[end..].starts_with('=') => end + 1,
        _ => 0,
    }
}

fn quote_of(text: &str) -> Option<char> {
    text.chars().next().filter(|c| matches!(c, '"' | '\''))
}

/// The length of the text in quotes that stands here. A letter right behind a single quote makes it an apostrophe.
fn closing(text: &str) -> Option<usize> {
    let quote = quote_of(text)?;
    let mut rest = text[1..].char_indices().peekable();
    while let Some((at, c)) = rest.next() {
        let next = rest.peek().map(|(_, next)| *next);
        if c == '\\' && next.is_some_and(|next| is_escaped(next, quote)) {
            rest.next();
        } else if c == quote {
            let is_apostrophe = quote == '\'' && next.is_some_and(char::is_alphanumeric);
            if !is_apostrophe {
                return Some(at + 2);
            }
        }
    }
    None
}

/// Tells whether a backslash before it takes its meaning from a character in these quotes.
fn is_escaped(c: char, quote: char) -> bool {
    c == quote || (quote == '"' && c == '\\')
}

/// The text without the quotes around all of it.
fn unquoted(text: &str) -> String {
    let Some(quote) = quote_of(text).filter(|_| closing(text) == Some(text.len())) else {
        return text.to_owned();
    };
    let mut out = String::with_capacity(text.len());
    let mut inner = text[1..text.len() - 1].chars().peekable();
    while let Some(c) = inner.next() {
        match inner.peek() {
            Some(next) if c == '\\' && is_escaped(*next, quote) => out.extend(inner.next()),
            _ => out.push(c),
        }
    }
    out
}
