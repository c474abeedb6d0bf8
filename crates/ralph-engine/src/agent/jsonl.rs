//! What agents share that write JSON lines: how those are started that take the prompt on stdin and
//! nothing more, how their events are read, and what the failures of their APIs mean.
//!
//! Knows no agent's events: these stay in the folder of each.

use jiff::Timestamp;
use ralph_core::{
    agent::{AgentEvent, Ending, FINAL_MESSAGE_BYTES, Mark},
    config::Argv,
    economics::Tokens,
};
use serde_json::Value;

use super::{
    Agent, AgentFacts, Dialect, RunContext,
    fields::{count, text_of},
    json::Json,
    table::AgentSetup,
    with_env,
};
use crate::process::{CommandSpec, Stdin};

/// A program that is started for one prompt and ends by itself: what ralph starts it with.
pub(super) struct JsonlProgram {
    pub(super) name: &'static str,
    pub(super) args: &'static [&'static str],
    /// Arguments behind all that the user adds.
    pub(super) last_args: &'static [&'static str],
    pub(super) env: &'static [(&'static str, &'static str)],
    /// Makes the prompt one that the program takes as plain text.
    pub(super) escape_prompt: fn(&str) -> String,
    /// Makes the reader of its stream, which may need the model that was asked for.
    pub(super) dialect: fn(Option<String>) -> Box<dyn Dialect>,
    pub(super) facts: AgentFacts,
}

/// Such a program as the user has it.
pub(super) struct JsonlAgent {
    program: &'static JsonlProgram,
    name: String,
    /// The program, and the user's words before ralph's own.
    command: Argv,
    model: Option<String>,
    args: Vec<String>,
    env: Vec<(String, String)>,
}

impl JsonlAgent {
    /// The program by its name, unless the user names another.
    pub(super) fn new(program: &'static JsonlProgram, setup: &AgentSetup<'_>) -> Self {
        let custom = setup.custom;
        Self {
            program,
            name: setup.name(program.name),
            command: custom.map_or_else(|| Argv::one(program.name), |c| c.command.clone()),
            model: custom.and_then(|c| c.model.clone()),
            args: custom.map(|c| c.args.clone()).unwrap_or_default(),
            env: custom.map_or_else(Vec::new, |c| c.env.0.clone().into_iter().collect()),
        }
    }

    /// With more arguments, behind those of the user.
    pub(super) fn with_args(mut self, args: &[&str]) -> Self {
        self.args.extend(args.iter().map(|arg| (*arg).to_owned()));
        self
    }
}

impl Agent for JsonlAgent {
    fn name(&self) -> String {
        self.name.clone()
    }

    fn own_command(&self) -> &[String] {
        self.command.as_slice()
    }

    /// The user's words, ralph's own, the user's last. Of the environment, what the user set wins.
    fn command(&self, context: &RunContext) -> CommandSpec {
        let program = self.program;
        let prompt = (program.escape_prompt)(&context.prompt);
        let model = self.model.iter().flat_map(|model| ["--model", model]);
        let own = self.env.iter().map(|(k, v)| (k.as_str(), v.as_str()));
        let mut spec = CommandSpec::new(self.command.program(), &context.cwd)
            .args(self.command.args())
            .args(program.args)
            .args(model)
            .args(&self.args)
            .args(program.last_args)
            .stdin(Stdin::Bytes(prompt.into_bytes()));
        spec.env = with_env(&context.env, program.env.iter().copied().chain(own));
        spec
    }

    fn models(&self) -> Vec<String> {
        self.model.iter().cloned().collect()
    }

    fn dialect(&self) -> Box<dyn Dialect> {
        (self.program.dialect)(self.model.clone())
    }

    fn facts(&self) -> AgentFacts {
        self.program.facts
    }

    fn skips_permission_checks(&self) -> bool {
        true
    }
}

/// One event of a stream; `None` for what is none, such as a word that a library printed.
///
/// The values under the keys of `skipped` are as if they were missing.
pub(super) fn parse_event<'a>(
    line: &'a [u8],
    skipped: &'static [&'static str],
) -> Option<Json<'a>> {
    if !line.trim_ascii_start().starts_with(b"{") {
        return None;
    }
    let event = Json::parse(line, skipped).ok()?;
    event["type"].as_str().is_some().then_some(event)
}

/// A value as a line for the input of an agent.
pub(super) fn to_line(value: &Value) -> Vec<u8> {
    format!("{value}\n").into_bytes()
}

/// The event of anything that has no event of its own.
pub(super) fn other(name: impl Into<String>) -> AgentEvent {
    AgentEvent::Other { name: name.into() }
}

pub(super) fn notice(text: impl Into<String>) -> AgentEvent {
    AgentEvent::Notice { text: text.into() }
}

/// The beginning of a run whose stream does not say the version.
pub(super) fn started(model: &Option<String>, session: &Option<String>) -> AgentEvent {
    AgentEvent::Started {
        model: model.clone(),
        version: None,
        session: session.clone(),
    }
}

/// The call of a tool, by the fields of its event.
pub(super) fn tool_called(id: &Json<'_>, name: &Json<'_>, input: &Json<'_>) -> AgentEvent {
    AgentEvent::Tool {
        id: text_of(id),
        name: text_of(name),
        target: tool_target(input),
        arguments: mark_of(input, Digits::Count),
    }
}

/// The end of a tool, with what it answered.
pub(super) fn tool_done(id: &Json<'_>, ok: bool, answer: &Json<'_>) -> AgentEvent {
    // A failure that comes again has another time or another process in it.
    let digits = if ok { Digits::Count } else { Digits::LeftOut };
    AgentEvent::ToolDone {
        id: text_of(id),
        ok,
        answer: mark_of(answer, digits),
    }
}

/// Tells whether digits, and the points between them, make a difference.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Digits {
    Count,
    LeftOut,
}

/// Bytes of a value that its mark is made of, at most.
const MARKED_BYTES: usize = 16 * 1024;

/// The mark of the beginning of a value.
pub(super) fn mark_of(value: &Json<'_>, digits: Digits) -> Mark {
    let mut marking = Marking {
        mark: Mark::EMPTY,
        left: MARKED_BYTES,
        digits,
    };
    marking.add(value);
    marking.mark
}

struct Marking {
    mark: Mark,
    left: usize,
    digits: Digits,
}

impl Marking {
    fn add(&mut self, value: &Json<'_>) {
        match value {
            Json::Null => {}
            Json::Bool(value) => self.mark = self.mark.with(&[u8::from(*value)]),
            Json::Number(value) => self.text(&value.to_string()),
            Json::Text(text) => self.text(text),
            Json::List(all) => all.iter().for_each(|one| self.add(one)),
            Json::Object(fields) => {
                for (key, value) in fields {
                    self.text(key);
                    self.add(value);
                }
            }
        }
    }

    fn text(&mut self, text: &str) {
        let bytes = &text.as_bytes()[..text.len().min(self.left)];
        self.left -= bytes.len();
        let mark = match self.digits {
            Digits::Count => self.mark.with(bytes),
            Digits::LeftOut => bytes
                .split(|byte| byte.is_ascii_digit() || *byte == b'.')
                .fold(self.mark, Mark::with),
        };
        // A byte that no text has keeps one text and the next apart.
        self.mark = mark.with(&[0xff]);
    }
}

/// The tokens of a call, by the names of its fields: input, output, read from the cache, written to it.
pub(super) fn tokens(usage: &Json<'_>, names: [&str; 4]) -> Tokens {
    let [input, output, cache_read, cache_write] = names.map(|name| count(&usage[name]));
    Tokens {
        input,
        output,
        cache_read,
        cache_write,
    }
}

/// The event of a usage limit that was reached.
pub(super) fn limit_reached(resets_at: Option<Timestamp>) -> AgentEvent {
    AgentEvent::Limit {
        rejected: true,
        resets_at,
        which: None,
    }
}

/// The end of a final message: signals stand there.
pub(super) fn capped(text: &str) -> String {
    let cut = text.len().saturating_sub(FINAL_MESSAGE_BYTES);
    let cut = (cut..=text.len()).find(|at| text.is_char_boundary(*at));
    text[cut.unwrap_or(0)..].to_owned()
}

/// Drops the beginning of words that grow without an end; the end is what is read of them.
pub(super) fn keep_end(said: &mut String) {
    if said.len() > 2 * FINAL_MESSAGE_BYTES {
        *said = capped(said);
    }
}

/// The first line of a failure, cut where it is long.
pub(super) fn first_line(text: &str) -> String {
    let line = text.trim().lines().next().unwrap_or("");
    shortened(line, 300).to_owned()
}

/// The first so many characters of a text.
fn shortened(text: &str, chars: usize) -> &str {
    let cut = if text.len() <= chars {
        None
    } else {
        text.char_indices().nth(chars)
    };
    cut.map_or(text, |(at, _)| &text[..at])
}

/// The one thing that a tool works on, for a person who watches.
pub(super) fn tool_target(input: &Json<'_>) -> String {
    const KEYS: [&str; 10] = [
        "file_path",
        "filePath",
        "command",
        "path",
        "dir_path",
        "pattern",
        "url",
        "query",
        "description",
        "prompt",
    ];
    let found = KEYS.iter().find_map(|key| input[*key].as_str());
    let line = found.unwrap_or("").lines().next().unwrap_or("");
    shortened(line, 200).to_owned()
}

/// The ending that an API's refusal makes, by its status.
pub(super) fn by_status(status: u16, message: String) -> Ending {
    match status {
        401 | 403 => Ending::Auth { message },
        402 | 404 => Ending::Rejected { message },
        408 | 429 | 500..=599 => Ending::Overloaded { message },
        _ => Ending::Api { message },
    }
}

/// The command of an agent, as the shell would have it, and its environment: started by its name alone,
/// or by a program of the user's.
#[cfg(test)]
pub(super) fn command_line(
    make: impl Fn(&AgentSetup<'_>) -> Box<dyn Agent>,
    custom: Option<&str>,
) -> (String, Vec<String>) {
    let custom = custom.map(|json| serde_json::from_str(json).expect("a custom agent"));
    let setup = AgentSetup {
        config: &ralph_core::config::Config::default(),
        custom: custom.as_ref(),
        is_root: false,
        guard: None,
    };
    let context = RunContext {
        cwd: "/repo".into(),
        env: vec![("TEAM".into(), "a".into())],
        prompt: "the prompt".into(),
        labels: Vec::new(),
        budget: None,
    };
    let spec = make(&setup).command(&context);
    let word = |word: &std::ffi::OsStr| word.to_string_lossy().into_owned();
    let line = std::iter::once(word(&spec.program)).chain(spec.args.iter().map(|a| word(a)));
    let env = spec
        .env
        .iter()
        .map(|(k, v)| format!("{}={}", word(k), word(v)));
    (line.collect::<Vec<_>>().join(" "), env.collect())
}

/// Reads lines with a fresh reader, for tests of streams.
#[cfg(test)]
pub(super) fn read_lines<D: Dialect + Default>(
    lines: impl IntoIterator<Item: AsRef<str>>,
) -> (Vec<AgentEvent>, Box<D>) {
    let mut dialect = Box::new(D::default());
    let mut events = Vec::new();
    for line in lines {
        dialect.read_line(line.as_ref().as_bytes(), &mut events);
    }
    (events, dialect)
}

/// Returns what a real program wrote, as it was captured.
#[cfg(test)]
pub(super) fn captured(name: &str) -> String {
    ralph_testkit::captures::text(&format!("pi/{name}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_status_says_whose_trouble_it_is() {
        for (status, outcome) in [
            (401, "auth"),
            (403, "auth"),
            (429, "overloaded"),
            (500, "overloaded"),
            (503, "overloaded"),
            (400, "api_error"),
            (404, "api_error"),
        ] {
            assert_eq!(by_status(status, String::new()).outcome(), outcome);
        }
    }

    #[test]
    fn the_end_of_a_long_final_message_is_kept_whole_in_its_characters() {
        let text = format!("{}é done", "é".repeat(40_000));
        let kept = capped(&text);
        assert!(kept.len() <= FINAL_MESSAGE_BYTES && kept.ends_with("é done"));
        assert_eq!(capped("short"), "short");
    }

    #[test]
    fn what_is_no_event_is_not_one() {
        for line in ["", "not json", "{\"type\":", "[1]", "{\"kind\":\"x\"}"] {
            assert_eq!(parse_event(line.as_bytes(), &[]), None, "{line}");
        }
    }
}
